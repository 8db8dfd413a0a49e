"""The same small space, written in every format that pmeans reads."""

import json
import struct

import numpy as np

from pmeans.tensors import write_tensors

WORDS = [
    "the",
    "of",
    "House",
    "caf\u00e9",
    "a\u00a0b",
    "x\u2028y",
    "\u0085",
    "\U0001f600",
    "0.5",
    "7",
]
MATRIX = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)


def encoded(words):
    return [word if isinstance(word, bytes) else word.encode("utf-8") for word in words]


def text_lines(words, matrix, separator=b" "):
    for word, row in zip(encoded(words), matrix.tolist(), strict=True):
        yield separator.join([word, *(repr(value).encode() for value in row)]) + b"\n"


def write_text(folder, words=WORDS, matrix=MATRIX):
    path = folder / "space.vec"
    path.write_bytes(b"%d %d\n" % matrix.shape + b"".join(text_lines(words, matrix)))
    return path


def write_mapped(folder, words=WORDS, matrix=MATRIX):
    path = folder / "space.txt"
    suffixed = [word + b"_en" for word in encoded(words)]
    path.write_bytes(b"%d %d\n" % matrix.shape + b"".join(text_lines(suffixed, matrix)))
    return path


def write_word2vec_binary(folder, words=WORDS, matrix=MATRIX, end=b"\n"):
    path = folder / "space.bin"
    records = (
        word + b" " + row.astype("<f4").tobytes() + end
        for word, row in zip(encoded(words), matrix, strict=True)
    )
    path.write_bytes(b"%d %d\n" % matrix.shape + b"".join(records))
    return path


def write_fasttext_binary(folder, words=WORDS, matrix=MATRIX):
    n, dim = matrix.shape
    data = struct.pack("<2i", 793712314, 12)
    data += struct.pack("<12id", dim, 5, 1, 1, 5, 1, 1, 2, 0, 0, 0, 100, 1e-4)
    data += struct.pack("<3i2q", n, n, 0, 1000, -1)
    data += b"".join(word + b"\0" + struct.pack("<qb", 9, 0) for word in encoded(words))
    data += struct.pack("<bqq", 0, n, dim) + matrix.astype("<f4").tobytes()
    path = folder / "space.bin"
    path.write_bytes(data)
    return path


def write_model2vec(folder, words=WORDS, matrix=MATRIX, **tensors):
    vocabulary = [[word, 0.0] for word in words]  # a list, so that a word can stand there twice
    model = {"type": "Unigram", "vocab": vocabulary}
    write_model2vec_folder(folder, {"model": model}, {"embeddings": matrix, **tensors})
    return folder


def write_model2vec_folder(folder, tokenizer, tensors):
    (folder / "config.json").write_text('{"model_type": "model2vec"}')
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    write_tensors(folder / "model.safetensors", tensors, {})


def write_npy(folder, words=WORDS, matrix=MATRIX):
    path = folder / "space.f32.npy"
    np.save(path, matrix)
    (folder / "space.words.txt").write_bytes(b"".join(word + b"\n" for word in encoded(words)))
    return path


WRITERS = {
    "text": write_text,
    "mapped": write_mapped,
    "word2vec-binary": write_word2vec_binary,
    "fasttext-binary": write_fasttext_binary,
    "model2vec": write_model2vec,
    "npy": write_npy,
}
STREAMED = ("text", "mapped", "word2vec-binary", "fasttext-binary")


def main_file(path):
    """The file that holds the vectors."""
    return path / "model.safetensors" if path.is_dir() else path
