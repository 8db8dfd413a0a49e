"""Trainers: raw material in, a `WordSpace` out.

A trainer is a frozen dataclass; its fields are the keys of its TOML file, and `kind` says which
one is meant. `from_toml` reads one, `pmeans train FILE` runs it.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from pmeans import config
from pmeans.errors import ConfigError, did_you_mean
from pmeans.training.trainer import Trainer

KINDS: dict[str, tuple[str, str]] = {
    "bivcd": ("bivcd", "Bivcd"),
    "fasttext": ("fasttext", "FastText"),
    "attract-repel": ("attract_repel", "AttractRepel"),
    "morph-fit": ("morph_fit", "MorphFit"),
    "projection": ("projection", "Projection"),
    "cca": ("cca", "Cca"),
    "procrustes": ("procrustes", "Procrustes"),
    "dictionary": ("translated", "Dictionary"),
    "repair": ("repair", "Repair"),
}
"""Module and class of each kind."""


def from_toml(path: str | Path) -> Trainer:
    """Read a trainer; its files are relative to the TOML file."""
    content = config.read_toml(path)
    kind = content.pop("kind", None)
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise ConfigError(f"{path}: kind {kind!r} is none of {', '.join(KINDS)}.{near}")
    module, name = KINDS[kind]
    cls = getattr(importlib.import_module(f"pmeans.training.{module}"), name)
    trainer: Trainer = config.build(cls, content, str(path))
    return trainer.beside(Path(path).resolve().parent)
