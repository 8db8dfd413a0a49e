"""Sentence embeddings from concatenated power means of word vectors, across languages."""

from pmeans._version import __version__
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import PmeansError
from pmeans.recipe import Part, Recipe
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space, save_space

__all__ = [
    "Part",
    "PmeansError",
    "PowerMeanEncoder",
    "Recipe",
    "WordSpace",
    "__version__",
    "open_space",
    "save_space",
]
