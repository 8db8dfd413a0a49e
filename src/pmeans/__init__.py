"""Sentence embeddings from concatenated power means of word vectors, across languages.

The names below, and the public modules, are imported when they are first used, so that the command
line can say its version, or what is wrong with an option, without waiting for NumPy.
"""

import importlib
import typing

from pmeans._version import __version__

if typing.TYPE_CHECKING:
    from pmeans.encoder.power_means import PowerMeanEncoder
    from pmeans.encoder.recipe import Part, Recipe
    from pmeans.errors import PmeansError
    from pmeans.estimators import MapTransformer, PowerMeanVectorizer, ZNormTransformer
    from pmeans.models import load, save
    from pmeans.search import dedupe, mine
    from pmeans.spaces.readers import read_space
    from pmeans.spaces.space import WordSpace
    from pmeans.spaces.store import open_space, save_space
    from pmeans.transfer import TransferClassifier, label

__all__ = [
    "MapTransformer",
    "Part",
    "PmeansError",
    "PowerMeanEncoder",
    "PowerMeanVectorizer",
    "Recipe",
    "TransferClassifier",
    "WordSpace",
    "ZNormTransformer",
    "__version__",
    "dedupe",
    "label",
    "load",
    "mine",
    "open_space",
    "read_space",
    "save",
    "save_space",
]
_HOMES = {
    "MapTransformer": "pmeans.estimators",
    "Part": "pmeans.encoder.recipe",
    "PmeansError": "pmeans.errors",
    "PowerMeanEncoder": "pmeans.encoder.power_means",
    "PowerMeanVectorizer": "pmeans.estimators",
    "Recipe": "pmeans.encoder.recipe",
    "TransferClassifier": "pmeans.transfer",
    "WordSpace": "pmeans.spaces.space",
    "ZNormTransformer": "pmeans.estimators",
    "dedupe": "pmeans.search",
    "label": "pmeans.transfer",
    "load": "pmeans.models",
    "mine": "pmeans.search",
    "open_space": "pmeans.spaces.store",
    "read_space": "pmeans.spaces.readers",
    "save": "pmeans.models",
    "save_space": "pmeans.spaces.store",
}


_MODULES = (
    "arrow",
    "errors",
    "integrations",
    "jobs",
    "models",
    "search",
    "serve",
    "tables",
    "transfer",
)
"""The public ones: ``pmeans.search`` is there after ``import pmeans``."""


def __getattr__(name: str) -> typing.Any:
    if name in _MODULES:
        return importlib.import_module(f"pmeans.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'pmeans' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
