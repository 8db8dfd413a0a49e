"""A teacher: vectors of the sentences of one language, for word vectors to be taught by.

It is a model (`pmeans.training.sentence_models`), or a table of vectors at hand: a word space or
any file of word vectors that has sentences for words, such as ``X.npy`` beside ``X.words.txt``, one
sentence per line.

A model speaks slowly, so what it said is kept: a folder per teacher beside the installed spaces,
named by a hash of the teacher's files and settings, with a file for every few thousand vectors, in
int8: half a gigabyte for a million sentences.
A sentence is found by its own hash, whatever text it comes from. What was interrupted goes on with
the sentences that are missing. The folder may be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from pmeans.config import Range, check
from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import InputError, StorageError
from pmeans.spaces import cache
from pmeans.spaces.readers import read_space
from pmeans.spaces.store import open_space
from pmeans.tensors import decoded, map_tensors, quantised, write_tensors
from pmeans.training.sentence_models import Pooling, model_digest, model_files, open_model
from pmeans.training.trainer import FilePath, FromFiles
from pmeans.types import Array, Progress

KEPT_AT_ONCE = 4096
"""Vectors of one file, and the most that an interruption loses."""


@dataclass(frozen=True)
class Teacher(FromFiles):
    """Where a teacher is, and how it is asked.

    Attributes:
        path: A sentence-transformers folder, an ONNX file or a folder with ``model.onnx``, or a
            table of vectors.
        pooling: What of an ONNX model's vectors of tokens is the sentence's: the first one
            (``"cls"``), or their mean. A sentence-transformers folder says so itself.
        tokens: Longer sentences are cut.
    """

    path: FilePath
    pooling: Pooling = "cls"
    tokens: Annotated[int, Range(3)] = 128

    def __post_init__(self) -> None:
        check(self)

    @property
    def name(self) -> str:
        """What messages call it: the folder's name where the file's says nothing."""
        path = Path(self.path)
        return path.parent.name if path.stem == "model" else path.stem

    def vectors(
        self, sentences: Sequence[str], lang: str, progress: Progress
    ) -> tuple[Array, Array]:
        """Return vectors of length 1, (n, dim) float16, and which sentences have one, (n,).

        A model has a vector of every sentence, a table of those in it; the others' are zeros.
        """
        path = Path(self.path)
        files = model_files(path)
        if files:
            identity = model_digest(files, self.pooling, self.tokens)
            found = self._spoken(sentences, identity, progress)
            return found, np.ones(len(sentences), dtype=np.bool_)
        if path.suffix == ".safetensors":
            table = open_space(path)
        else:
            table, _ = read_space(path, lang=lang, case="cased")
        listed, known = table.vectors(sentences, lang)
        return unit_rows(listed).astype(np.float16), known

    def _spoken(self, sentences: Sequence[str], identity: str, progress: Progress) -> Array:
        """Return the model's vectors, (n, dim): those that are kept, and the others from it."""
        folder = cache.folder("teachers") / f"{self.name}-{identity}"
        keys, first, places = np.unique(_keys(sentences), return_index=True, return_inverse=True)
        parts: list[tuple[Array, Array]] = []
        for kept_keys, kept in _stored_vectors(folder, identity):
            at = np.searchsorted(keys[:-1], kept_keys)
            here = keys[at] == kept_keys
            parts.append((at[here], kept[here]))
        known = np.zeros(len(keys), dtype=np.bool_)
        known[np.concatenate([[], *(at for at, _ in parts)]).astype(np.int64)] = True
        # In the order of the text: a rerun asks for the same sentences together.
        missing = np.setdiff1d(first, first[known])
        if len(missing):
            speak = open_model(Path(self.path), self.pooling, self.tokens)
        for low in range(0, len(missing), KEPT_AT_ONCE):
            done = len(keys) - len(missing) + low
            progress(done / len(keys), f"teacher: {done:,} of {len(keys):,} sentences")
            asked = [sentences[i] for i in missing[low : low + KEPT_AT_ONCE].tolist()]
            said, new = speak(asked), _keys(asked)
            if not np.isfinite(said).all():
                raise InputError(f"{self.path}: the teacher's vectors hold NaN or infinity.")
            codes, scale = quantised(unit_rows(said), None, "int8", str)
            assert scale is not None
            write_tensors(
                folder / f"{new[0]:016x}-{len(new)}.safetensors",
                {"keys": new, "vectors": codes, "scale": scale},
                {"teacher": identity},
            )
            parts.append((np.searchsorted(keys, new), decoded(codes, scale)))
        found = np.empty((len(keys), parts[0][1].shape[1]), dtype=np.float16)
        for at, vectors in parts:
            found[at] = vectors
        return found[places]


def _keys(sentences: Sequence[str]) -> Array:
    """Return a hash of each sentence, (n,) uint64: two of a million meet once in 10^7 texts."""
    spelled = (sentence.encode("utf-8", "surrogatepass") for sentence in sentences)
    hashed = b"".join(hashlib.blake2b(each, digest_size=8).digest() for each in spelled)
    return np.frombuffer(hashed, dtype="<u8")


def _stored_vectors(folder: Path, identity: str) -> Iterator[tuple[Array, Array]]:
    """Yield the keys and vectors of each file, (n,) and (n, dim)."""
    width = None
    for path in sorted(folder.glob("*.safetensors")):
        arrays, metadata = map_tensors(path)
        if metadata.get("teacher") != identity or {"keys", "vectors", "scale"} - arrays.keys():
            raise StorageError(f"{path} is not of this teacher. Delete it, or move it away.")
        keys, vectors = arrays["keys"], arrays["vectors"]
        if vectors.shape != (len(keys), width or vectors.shape[-1]):
            raise StorageError(
                f"{path} has vectors {vectors.shape}, where ({len(keys)}, {width}) is expected. "
                "Delete it: it will be computed again."
            )
        width = vectors.shape[1]
        yield keys, decoded(vectors, arrays["scale"])
