"""Strict mappings to frozen dataclasses, for TOML files and request bodies alike.

A key that the dataclass does not have is an error with the nearest name, never a silent
default; a value of the wrong type says which type was expected. Nested dataclasses and
``tuple[X, ...]`` are built the same way.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pmeans.errors import ConfigError, InputError, did_you_mean, shown
from pmeans.files import reading

T = TypeVar("T")


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file, with our errors for a missing or a malformed one."""
    try:
        with reading(path):
            return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def toml_string(text: str) -> str:
    """Return a string as TOML writes it."""
    # JSON's escapes are a subset of TOML's, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def build(cls: type[T], mapping: object, where: str) -> T:
    """Build the dataclass ``cls`` from a mapping, refusing what it does not know.

    Args:
        cls: A dataclass; its field types say what is accepted.
        mapping: Keys and values, as TOML or JSON give them.
        where: Names the mapping in messages, such as ``"recipe.toml"``.
    """
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"{where}: expected a table, got {shown(mapping)}.")
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in mapping:
        if key not in fields:
            raise ConfigError(
                f"{where}: unknown key {shown(key)}.{did_you_mean(str(key), fields)} "
                f"Known keys: {', '.join(fields)}."
            )
    for name, field in fields.items():
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if required and name not in mapping:
            raise ConfigError(f"{where}: the key {shown(name)} is missing.")
    values = {key: _convert(hints[key], value, f"{where}: {key}") for key, value in mapping.items()}
    return cls(**values)


def _convert(hint: Any, value: object, where: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        kind, *beside = args
        value = _convert(kind, value, where)
        for each in beside:
            if isinstance(each, Range) and value is not None and (bound := each.broken(value)):
                raise ConfigError(f"{where} must be {bound}, not {shown(value)}.")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where}: expected a list, got {shown(value)}.")
        return tuple(_convert(args[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is typing.Literal:
        if value not in args:
            near = did_you_mean(value, map(str, args)) if isinstance(value, str) else ""
            choices = ", ".join(map(repr, args))
            raise ConfigError(f"{where}: {shown(value)} is not one of {choices}.{near}")
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in args:
            return None
        hints = [arg for arg in args if arg is not type(None)]
        # Of several types the value's own; if it has none of them, the first is asked for.
        of = tuple if isinstance(value, list | tuple) else type(value)
        own = (hint for hint in hints if of in (hint, typing.get_origin(hint)))
        return _convert(next(own, hints[0]), value, where)
    if dataclasses.is_dataclass(hint):
        return build(typing.cast(type, hint), value, where)
    # A whole number is a number; True is not, although Python thinks so.
    accepted = (int, float) if hint is float else hint
    if not isinstance(value, accepted) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{where}: expected {_NAMES.get(hint, hint)}, got {shown(value)}.")
    try:
        return float(value) if hint is float else value
    except OverflowError:
        raise ConfigError(f"{where}: {shown(value)} is too large for a number.") from None


_NAMES = {str: "a string", float: "a number", int: "a whole number", bool: "true or false"}


@dataclasses.dataclass(frozen=True)
class Range:
    """Beside the type of a field: between which numbers its value lies.

    Attributes:
        low: The least that it may be.
        high: The largest.
        above: What it must be larger than, in place of ``low``.
        below: What it must be smaller than, in place of ``high``.
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None

    def broken(self, number: Any) -> str:
        """Return the bound that a number breaks, as "at least 1"; nothing if it breaks none."""
        if isinstance(number, float) and not math.isfinite(number):
            return "a finite number"
        if self.low is not None and number < self.low:
            return f"at least {self.low}"
        if self.above is not None and number <= self.above:
            return f"above {self.above}"
        if self.high is not None and number > self.high:
            return f"at most {self.high:,}"
        if self.below is not None and number >= self.below:
            return f"below {self.below}"
        return ""


Count = typing.Annotated[int, Range(1, 2**31 - 1)]
"""A number of things, of which there is one at least."""
Seed = typing.Annotated[int, Range(0, 2**62 - 1)]
"""Of everything random."""
Share = typing.Annotated[float, Range(0, below=1)]
"""Of a whole, and never all of it."""
Rate = typing.Annotated[float, Range(above=0)]
"""A number above 0."""


@dataclasses.dataclass(frozen=True)
class Help:
    """Beside the type of a field: what the command line says of it.

    Attributes:
        text: A sentence.
        metavar: What stands for the value; None if its choices or nothing does.
        shown: What the default is called, if its value does not say it.
        name: What the option is called, as Python writes it; as the field if None.
    """

    text: str
    metavar: str | None = None
    shown: str | bool = True
    name: str | None = None


def check(options: Any) -> None:
    """Refuse a dataclass that Python made with a field of another type than it says, or too large.

    Only fields with a `Range` or `Help` beside their type are looked at: `build` has checked all.
    """
    hints = typing.get_type_hints(type(options), include_extras=True)
    for field in dataclasses.fields(options):
        hint = hints[field.name]
        kinds = (hint, *typing.get_args(hint))  # or what it may be besides None
        beside = [each for kind in kinds for each in getattr(kind, "__metadata__", ())]
        if not any(isinstance(each, Range | Help) for each in beside):
            continue
        try:
            _convert(hint, getattr(options, field.name), field.name)
        except ConfigError as error:
            raise InputError(str(error)) from None
