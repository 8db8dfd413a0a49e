"""Trainers: raw material in, a `WordSpace` out, or an encoder of `pmeans.models.baselines`.

A trainer is a frozen dataclass; its fields are the keys of its TOML file, and `kind` says which
one is meant. `read_trainers` reads a file, `pmeans.building.graph` makes what it needs first.

A file may make several spaces alike::

    kind = "dictionary"
    name = "glove-{lang}"
    space = "vectors.toml#glove"
    files = ["{data}/en-{lang}.tsv.gz"]
    for = [{ lang = "de", weights = "frequency" }, { lang = "fr" }]

Each table of ``for`` makes a space. ``{lang}`` in the file's strings stands for the table's own
`lang`, and keys that the kind has, such as `lang` and `weights` here, are laid over the file's.
``{data}`` is the folder with the data, in every file.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pmeans import config, plugins
from pmeans.errors import ConfigError, did_you_mean, naming
from pmeans.spaces.library import data_home
from pmeans.training.trainer import BaselineTrainer, Trainer

KINDS: dict[str, str] = {
    "convert": "pmeans.training.joined:Convert",
    "merge": "pmeans.training.joined:Merge",
    "bivcd": "pmeans.training.bivcd:Bivcd",
    "fasttext": "pmeans.training.word2vec:FastText",
    "attract-repel": "pmeans.training.attract_repel:AttractRepel",
    "dictionary": "pmeans.training.lexicon:Dictionary",
    "taught": "pmeans.training.taught:Taught",
}
"""The class of each kind of our own."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def read_trainers(path: str | Path, data: str | Path | None = None) -> dict[str, Trainer]:
    """Read the trainers of a file, by the names of their spaces.

    Args:
        path: A TOML file; the files it names are relative to it.
        data: What ``{data}`` stands for; `data_home` if None.
    """
    content = config.read_toml(path)
    cls = _of_kind(content.pop("kind", None), kinds(), path)
    keys = [field.name for field in dataclasses.fields(cls)]
    trainers: dict[str, Trainer] = {}
    for variant in _variants(content, keys, str(path), {"data": str(data_home(data))}):
        with naming(str(path)):
            trainer: Trainer = config.build(cls, variant, str(path))
        if trainer.name in trainers:
            raise ConfigError(
                f"{path}: makes two spaces named {trainer.name!r}; what differs belongs into the "
                "name, as in 'glove-{lang}'."
            )
        trainers[trainer.name] = trainer.beside(Path(path).resolve().parent)
    return trainers


def read_baseline(path: str | Path, data: str | Path | None = None) -> BaselineTrainer:
    """Read the trainer of a baseline; its file's name is its name unless it says otherwise."""
    content = {"name": Path(path).stem} | config.read_toml(path)
    cls = _of_kind(content.pop("kind", None), baseline_kinds(), path)
    content = filled(content, {"data": str(data_home(data))}, str(path))
    with naming(str(path)):
        trainer: BaselineTrainer = config.build(cls, content, str(path))
    return trainer.beside(Path(path).resolve().parent)


def kinds() -> dict[str, str]:
    """Return the kinds whose result is a word space, with those of other packages."""
    return KINDS | plugins.added("pmeans.trainers")


def baseline_kinds() -> dict[str, str]:
    """Return the kinds whose result is an encoder; other packages have them."""
    return plugins.added("pmeans.baseline_trainers")


def _of_kind(kind: object, known: Mapping[str, str], path: str | Path) -> type[Any]:
    if not isinstance(kind, str) or kind not in known:
        if isinstance(kind, str) and kind in baseline_kinds():
            hint = " It makes an encoder: 'pmeans build' takes it."
        elif isinstance(kind, str) and kind in kinds():
            hint = " It makes a word space: 'pmeans train' takes it."
        else:
            hint = did_you_mean(str(kind), known)
        names = ", ".join(known) or "those that are installed"
        raise ConfigError(
            f"{path}: kind {kind!r} is none of {names}.{hint} "
            "Packages add further kinds: see docs/training.md and docs/baselines.md."
        )
    trainer: type[Any] = plugins.load(known[kind])
    return trainer


def from_toml(path: str | Path) -> Trainer:
    """Read the trainer of a file that makes one space."""
    first, *others = read_trainers(path).values()
    if others:
        raise ConfigError(f"{path}: makes {1 + len(others)} spaces, and one is wanted.")
    return first


def _variants(
    content: Mapping[str, Any], keys: Collection[str], where: str, values: dict[str, str]
) -> list[dict[str, Any]]:
    """Return what a trainer file says of each of its spaces.

    Only `keys` of a table, those of the kind, are laid over the file; others serve placeholders.
    """
    plain = {key: value for key, value in content.items() if key != "for"}
    tables = content.get("for", [{}])
    if not (isinstance(tables, list) and tables and all(isinstance(t, dict) for t in tables)):
        raise ConfigError(f"{where}: 'for' must be a list of tables, one for each space.")
    used = set(_PLACEHOLDER.findall(repr(content)))
    for key in {key: None for table in tables for key in table}:
        if key not in keys and key not in used:
            raise ConfigError(
                f"{where}: 'for' has {key!r}, which is not a key of the kind, and '{{{key}}}' is "
                f"not used.{did_you_mean(key, [*keys, *used])}"
            )
    return [
        filled(_laid(plain, {k: v for k, v in table.items() if k in keys}), values | table, where)
        for table in tables
    ]


def filled(value: Any, values: Mapping[str, Any], where: str) -> Any:
    """Return a TOML value with its placeholders filled in."""
    if isinstance(value, dict):
        return {key: filled(inner, values, where) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, values, where) for inner in value]

    def stated(match: re.Match[str]) -> str:
        if not isinstance(values.get(match[1]), str):
            known = ", ".join(f"{{{key}}}" for key, each in values.items() if isinstance(each, str))
            raise ConfigError(
                f"{where}: {value!r}: nothing says what {match[0]} is; known: {known or 'none'}."
            )
        return str(values[match[1]])

    return _PLACEHOLDER.sub(stated, value) if isinstance(value, str) else value


def _laid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one table over another, and tables within them likewise."""
    both = {
        key: _laid(under[key], value) if isinstance(value, dict) and key in under else value
        for key, value in over.items()
    }
    return {**under, **both}
