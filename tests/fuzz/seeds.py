"""Small valid files of every format, a few hundred bytes each, made here."""

import io
import json
import struct
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from pmeans.encoder.znorm import Statistics, ZNorm
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import save_space
from pmeans.tensors import write_tensors

WORDS = ("the", "cat", "Katze", "straße", "donaudampfschiff")
VALUES = np.arange(-7, 8, dtype=np.float32).reshape(5, 3) / 4

Files = dict[str, bytes]
"""The files of one input by name; the first, or the folder it is in, is the one to open."""


def text(header: bool, suffix: str = "") -> bytes:
    lines = [
        f"{word}{suffix} {' '.join(map(str, row))}" for word, row in zip(WORDS, VALUES, strict=True)
    ]
    return "\n".join([f"{len(WORDS)} 3"] * header + lines).encode() + b"\n"


def mapped() -> bytes:
    return text(False, "_en") + text(False, "_de")


def word2vec(newlines: bool) -> bytes:
    entries = [
        word.encode() + b" " + row.tobytes() + b"\n" * newlines
        for word, row in zip(WORDS, VALUES, strict=True)
    ]
    return b"5 3\n" + b"".join(entries)


def fasttext(buckets: int) -> bytes:
    """Return a model of version 12; the order of its fields is told in the reader."""
    arguments = (3, 5, 5, 1, 5, 1, 2, 2, buckets, 2, 4, 100)
    start = struct.pack("<2i12id", 793712314, 12, *arguments, 1e-4)
    counts = struct.pack("<3i2q", 6, 5, 1, 99, -1)
    entries = [word.encode() + b"\0" + struct.pack("<qb", 9, 0) for word in WORDS]
    label = b"__label__x\0" + struct.pack("<qb", 9, 1)
    rows = np.resize(VALUES, (5 + buckets, 3))
    matrix = struct.pack("<bqq", 0, *rows.shape) + rows.tobytes()
    return start + counts + b"".join(entries) + label + matrix


def npy(dtype: str) -> Files:
    buffer = io.BytesIO()
    np.save(buffer, VALUES.astype(dtype))
    return {"x.npy": buffer.getvalue(), "x.words.txt": "\n".join(WORDS).encode() + b"\n"}


def model2vec(kind: str) -> Files:
    """Return a folder whose tokeniser is of the kind ``WordPiece`` or ``Unigram``."""
    tensors = {"embeddings": VALUES}
    tokens = ["[PAD]", "the", "##ing", "katze", "straße"]
    vocabulary: object = {token: i for i, token in enumerate(tokens)}
    if kind == "Unigram":
        tensors |= {"mapping": np.array([0, 1, 2, 3, 4, 4]), "weights": np.ones(6, np.float32)}
        vocabulary = [[f"▁{token}", -1.5] for token in [*tokens, "new"]]
    tokenizer = {
        "model": {"type": kind, "vocab": vocabulary},
        "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}],
    }
    return {
        "folder/config.json": b'{"model_type": "model2vec"}',
        "folder/tokenizer.json": json.dumps(tokenizer).encode(),
        "folder/model.safetensors": _written(lambda path: write_tensors(path, tensors, {})),
    }


def store(dtype: str) -> bytes:
    """Return a stored space; those of int8, int4 and float16 have subwords too."""
    rest: dict[str, object] = {"case": "cased-then-lower"}
    if dtype == "int4":
        matrix = (VALUES * 4).astype(np.int8).view(np.uint8)
        subwords = Subwords(np.resize(matrix, (7, 3)), 2, 4, np.full(7, 0.25, np.float32))
        rest = {"scale": np.ones(5, np.float32), "subwords": subwords}
    else:
        matrix = VALUES.astype(dtype)
    if dtype == "int8":
        ngrams = np.resize(VALUES * 4, (7, 3)).astype(np.int8)
        subwords = Subwords(ngrams, 2, 4, np.full(7, 0.25, np.float32))
        rest = {"scale": np.ones(5, np.float32), "subwords": subwords}
    elif dtype == "float16":
        rest["subwords"] = Subwords(np.resize(VALUES, (7, 3)).astype(np.float16), 2, 4)
    words = {"en": WORDS[:2], "de": WORDS[2:]}
    space = WordSpace.from_words("s", words, matrix, **rest)
    return _written(lambda path: save_space(space, path))


@cache
def znorm() -> bytes:
    fitted = Statistics(VALUES[0], np.ones(3, np.float32), 7)
    return _written(ZNorm("per_language", {"en": fitted, "de": fitted}).save)


TRANSLATIONS = "lang\ten\ttranslation\nde\tA dog.\tEin Hündchen.\nfr\tYes\u2028!\tOui\n".encode()
RECIPES = (
    b'name = "min-mean-max"\ntokenizer = "words"\nznorm = "per_language"\n'
    b'\n[[parts]]\nspace = "glove-840b"\npowers = [-inf, 1, inf]\n',
    b'root = "principal"\n'
    b'parts = [{space = "a", powers = [0.5, 0x10, 1e3]}, {space = "\\u00e4"}]\n',
)


def _written(write: object) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        return path.read_bytes()


@cache
def vector_files() -> dict[str, tuple[Files, ...]]:
    """Return the seeds of every format that a reader knows."""
    single = {
        "text": (text(False), text(True)),
        "mapped": (mapped(),),
        "word2vec-binary": (word2vec(True), word2vec(False)),
        "fasttext-binary": (fasttext(6), fasttext(0)),
    }
    files = {kind: tuple({"x": data} for data in seeds) for kind, seeds in single.items()}
    files["model2vec"] = (model2vec("WordPiece"), model2vec("Unigram"))
    files["npy"] = (npy("<f4"), npy("<f2"))
    return files


@cache
def stores() -> tuple[bytes, ...]:
    return store("float32"), store("float16"), store("int8"), store("int4")
