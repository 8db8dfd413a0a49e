"""Dataclasses from mappings, and the bounds that stand beside their fields."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from pmeans.config import Help, Range, build, check
from pmeans.errors import ConfigError, InputError


@dataclass(frozen=True)
class Inner:
    share: Annotated[float, Range(0, 1)] = 0.5


@dataclass(frozen=True)
class Outer:
    words: Annotated[int, Range(2)]
    limit: Annotated[int | None, Help("At most so many."), Range(1)] = None
    parts: tuple[Inner, ...] = ()


def test_a_value_in_its_range_is_taken_and_none_is_where_it_may_be():
    assert build(Outer, {"words": 2, "parts": [{"share": 1}]}, "x") == Outer(2, None, (Inner(1.0),))
    check(Outer(2, 1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"words": 1}, "x: words must be at least 2, not 1."),
        ({"words": 2, "limit": 0}, "x: limit must be at least 1, not 0."),
        ({"words": 2, "limit": "many"}, "x: limit: expected a whole number, got 'many'."),
        (
            {"words": 2, "parts": [{"share": 1.5}]},
            "x: parts[0]: share must be at most 1, not 1.5.",
        ),
        (
            {"words": 2, "parts": [{"share": float("nan")}]},
            "x: parts[0]: share must be a finite number, not nan.",
        ),
        ({"words": 2, "limits": 3}, "x: unknown key 'limits'. Did you mean 'limit'? "
         "Known keys: words, limit, parts."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_that_says_where(given, message):
    with pytest.raises(ConfigError) as caught:
        build(Outer, given, "x")
    assert str(caught.value) == message


def test_what_python_made_is_checked_alike():
    with pytest.raises(InputError, match="words must be at least 2, not 1"):
        check(Outer(1))
    with pytest.raises(InputError, match=r"limit: expected a whole number, got 1\.5"):
        check(Outer(2, 1.5))
