"""Sentence embeddings from concatenated power means of word vectors, across languages."""

__version__ = "0.1.0"
