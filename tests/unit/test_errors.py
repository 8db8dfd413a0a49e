"""What messages are made of."""

import pytest

from pmeans.errors import count


@pytest.mark.parametrize(
    ("number", "nouns", "expected"),
    [
        (0, ["row"], "0 rows"),
        (1, ["row"], "1 row"),
        (2000, ["row"], "2,000 rows"),
        (1, ["query", "queries"], "1 query"),
        (3, ["query", "queries"], "3 queries"),
    ],
)
def test_a_number_has_its_noun(number, nouns, expected):
    assert count(number, *nouns) == expected
