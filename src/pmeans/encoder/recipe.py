"""A recipe says which power means of which word spaces make up a sentence vector.

::

    name = "min-mean-max"
    tokenizer = "words"
    znorm = "per_language"

    [[parts]]
    space = "glove-840b"
    powers = [-inf, 1, inf]

The vector is the concatenation space by space, power by power. With ``root = "shifted"`` a power
may be a list with one number for each dimension of the space: ``powers = [[1.2, -3.4, inf], 1]``.
A recipe holds no data: the same recipe over the same spaces is the same encoder, and `Recipe.id`
names it in results.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmeans import config
from pmeans.errors import ConfigError, InputError
from pmeans.identity import SHORT, identity
from pmeans.kernels import checked_powers
from pmeans.types import Power, Root, Scope, Tokenizer


@dataclass(frozen=True)
class Part:
    """Some power means of one word space.

    Attributes:
        space: Name of an installed space, or a path to a ``.safetensors`` file.
        powers: Exponents in output order; ``inf`` is max, ``-inf`` is min, 1 the mean. A tuple has
            one for each dimension.
        phrases: Whether text is searched for the space's phrases, if it has any.
    """

    space: str
    powers: tuple[Power, ...] = (-math.inf, 1.0, math.inf)
    phrases: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        powers = tuple(p if isinstance(p, int | float) else tuple(p) for p in self.powers)
        object.__setattr__(self, "powers", powers)
        listed = any(isinstance(p, tuple) for p in powers)
        object.__setattr__(self, "powers", self.checked("shifted" if listed else "signed"))

    def checked(self, root: Root) -> tuple[Power, ...]:
        """Return the powers, refusing those that have no mean with this root."""
        try:
            return checked_powers(self.powers, root)
        except InputError as error:
            raise ConfigError(f"part {self.space!r}: {error}") from error


@dataclass(frozen=True)
class Recipe:
    """What goes into a sentence vector, in which order.

    Attributes:
        parts: Spaces and powers, in output order.
        name: For people, and for result tables.
        tokenizer: ``"whitespace"`` for tokenised text (the paper's), ``"words"`` for raw text.
        root: ``"signed"``, ``"principal"`` for the paper's program to the letter, or ``"shifted"``,
            see `pmeans.kernels.reference`.
        znorm: What the z-norm is fitted on, or ``"none"``.
    """

    parts: tuple[Part, ...]
    name: str = "recipe"
    tokenizer: Tokenizer = "whitespace"
    root: Root = "signed"
    znorm: Scope = "none"

    def __post_init__(self) -> None:
        if not self.parts:
            raise ConfigError(f"recipe {self.name!r} has no parts.")
        for part in self.parts:
            part.checked(self.root)
        searched = dict.fromkeys((part.space, part.phrases) for part in self.parts)
        for space, count in Counter(space for space, _ in searched).items():
            if count > 1:
                raise ConfigError(
                    f"recipe {self.name!r}: one part of {space!r} has phrases, another has not."
                )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "recipe") -> Recipe:
        """Build a recipe from what TOML or JSON gives, refusing what it does not know."""
        return config.build(cls, mapping, where)

    @classmethod
    def from_toml(cls, path: str | Path) -> Recipe:
        """Read a recipe; its file's name is its name unless it says otherwise."""
        mapping = config.read_toml(path)
        return cls.from_mapping({"name": Path(path).stem} | mapping, str(path))

    def to_toml(self) -> str:
        """Return the recipe as TOML, which `from_toml` reads back to an equal one."""
        lines = [
            f"{key} = {config.toml_string(getattr(self, key))}"
            for key in ("name", "tokenizer", "root", "znorm")
        ]
        for part in self.parts:
            powers = ", ".join(map(_toml_power, part.powers))
            lines += ["", "[[parts]]", f"space = {config.toml_string(part.space)}"]
            lines += [f"powers = [{powers}]"] + ["phrases = false"] * (not part.phrases)
        return "\n".join(lines) + "\n"

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits over everything but the name."""
        content = self.to_toml().split("\n", 1)[1]
        return identity(content, digits=SHORT)


def _toml_power(p: Power) -> str:
    if isinstance(p, tuple):
        return f"[{', '.join(map(_toml_power, p))}]"
    return str(int(p)) if p.is_integer() else repr(p)
