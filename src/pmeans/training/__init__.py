"""Trainers: raw material in, a `WordSpace` out.

A trainer is a frozen dataclass; its fields are the keys of its TOML file, and `kind` says which
one is meant. `read_trainers` reads a file, `pmeans.building.graph` makes what it needs first.
"""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

from pmeans import config
from pmeans.errors import ConfigError, did_you_mean
from pmeans.spaces.library import data_home
from pmeans.training.templates import variants
from pmeans.training.trainer import Trainer

KINDS: dict[str, tuple[str, str]] = {
    "convert": ("joined", "Convert"),
    "merge": ("joined", "Merge"),
    "bivcd": ("bivcd", "Bivcd"),
    "fasttext": ("fasttext", "FastText"),
    "attract-repel": ("specialise", "AttractRepel"),
    "morph-fit": ("specialise", "MorphFit"),
    "projection": ("projection", "Projection"),
    "cca": ("word_map", "Cca"),
    "procrustes": ("word_map", "Procrustes"),
    "dictionary": ("translated", "Dictionary"),
    "repair": ("repair", "Repair"),
}
"""Module and class of each kind."""


def read_trainers(path: str | Path, data: str | Path | None = None) -> dict[str, Trainer]:
    """Read the trainers of a file, by the names of their spaces.

    Args:
        path: A TOML file; the files it names are relative to it.
        data: What ``{data}`` stands for; `data_home` if None.
    """
    content = config.read_toml(path)
    kind = content.pop("kind", None)
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise ConfigError(f"{path}: kind {kind!r} is none of {', '.join(KINDS)}.{near}")
    module, name = KINDS[kind]
    cls = getattr(importlib.import_module(f"pmeans.training.{module}"), name)
    keys = [field.name for field in dataclasses.fields(cls)]
    values = {"data": str(data_home(data))}
    found: dict[str, Trainer] = {}
    for variant in variants(content, keys, str(path), values):
        trainer: Trainer = config.build(cls, variant, str(path))
        if trainer.name in found:
            raise ConfigError(
                f"{path}: makes two spaces named {trainer.name!r}; what differs belongs into the "
                "name, as in 'glove-{lang}'."
            )
        found[trainer.name] = trainer.beside(Path(path).resolve().parent)
    return found


def from_toml(path: str | Path) -> Trainer:
    """Read the trainer of a file that makes one space."""
    first, *others = read_trainers(path).values()
    if others:
        raise ConfigError(f"{path}: makes {1 + len(others)} spaces, and one is wanted.")
    return first
