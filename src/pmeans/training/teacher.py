"""A teacher: vectors of the sentences of one language, for word vectors to be taught by.

It is a model, or a table of vectors at hand: a word space or any file of word vectors that has
sentences for words, such as ``X.npy`` beside ``X.words.txt``, one sentence per line.

A model speaks slowly, so what it said is kept: a folder per teacher beside the installed spaces,
named by a hash of the teacher's files and settings, with a file for every few thousand vectors, in
int8: half a gigabyte for a million sentences.
A sentence is found by its own hash, whatever text it comes from. What was interrupted goes on with
the sentences that are missing. The folder may be deleted at any time.

Models are sentence-transformers folders and ONNX files. Their packages are optional. They run on
CUDA where there is one.
On the CPU an ONNX model is given one sentence at a time, several side by side. One with int8
weights rounds all numbers of a batch by their common range, so that a sentence's vector would
depend on the sentences beside it, to a cosine of 0.99; one by one it is the same in any company,
for about a quarter more time. On CUDA, and in sentence-transformers, batches are padded, and a
vector depends on its batch in the last bits of float32, which rounding to float16 mostly hides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from pmeans.config import Range, check
from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import FormatError, InputError, StorageError
from pmeans.files import optional, sha256
from pmeans.identity import SHORT, identity
from pmeans.kernels import available_threads
from pmeans.spaces import cache
from pmeans.spaces.readers import read_space
from pmeans.spaces.store import open_space
from pmeans.tensors import decoded, map_tensors, quantised, write_tensors
from pmeans.training.trainer import FilePath, FromFiles
from pmeans.types import Array, Floats, Progress

Pooling = Literal["cls", "mean"]
Speaker = Callable[[Sequence[str]], Floats]
"""Sentences in, (n, dim) out."""

BATCH = 64
_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
KEPT_AT_ONCE = 4096
"""Vectors of one file, and the most that an interruption loses."""


def model_files(path: Path) -> list[Path]:
    """Return the files that make a model, sorted; none if the path is not a model's."""
    if (path / "modules.json").is_file():
        return sorted(file for file in path.rglob("*") if file.is_file())
    model = path / "model.onnx" if path.is_dir() else path
    if model.suffix != ".onnx":
        return []
    files = [model, model.with_name("tokenizer.json")]
    for file in files:
        if not file.is_file():
            raise StorageError(
                f"no file {str(file)!r}; a teacher is an ONNX file with its tokenizer.json beside "
                "it, a sentence-transformers folder, or a table of vectors."
            )
    return files


def model_digest(files: Sequence[Path], pooling: Pooling, tokens: int) -> str:
    """Return twelve hexadecimal digits over everything that a model's vectors depend on."""
    contents = (bytes.fromhex(sha256(file)) for file in files)
    return identity((pooling, tokens), *contents, digits=SHORT)


def open_model(path: Path, pooling: Pooling, tokens: int) -> Speaker:
    """Open a model that `model_files` knows."""
    if (path / "modules.json").is_file():
        return _open_transformer(path, tokens)
    model, tokenizer = model_files(path)
    return _open_onnx(model, tokenizer, pooling, tokens)


def _open_transformer(path: Path, tokens: int) -> Speaker:
    package = optional("sentence_transformers", "train", "a sentence-transformers teacher")
    try:
        # Without safetensors, weights would be a pickle, which may run any program.
        model = package.SentenceTransformer(
            str(path), local_files_only=True, model_kwargs={"use_safetensors": True}
        )
    except Exception as error:
        raise FormatError(f"{path}: not a sentence-transformers model: {error}") from error
    model.max_seq_length = min(tokens, model.max_seq_length or tokens)

    def speak(sentences: Sequence[str]) -> Floats:
        return model.encode(list(sentences), batch_size=BATCH, show_progress_bar=False)

    return speak


def _open_onnx(model: Path, tokenizer: Path, pooling: Pooling, tokens: int) -> Speaker:
    runtime = optional("onnxruntime", "teach", "an ONNX teacher")
    tokenizers = optional("tokenizers", "teach", "an ONNX teacher")
    options = runtime.SessionOptions()
    # Not within a sentence, but between them; see the module's docstring.
    options.intra_op_num_threads = 1
    providers = [each for each in (_CUDA, _CPU) if each in runtime.get_available_providers()]
    try:
        session = runtime.InferenceSession(str(model), options, providers=providers)
    except Exception as error:  # its own, without a common base
        raise FormatError(f"{model}: not an ONNX model that can be run: {error}") from error
    try:
        splitter = tokenizers.Tokenizer.from_file(str(tokenizer))
    except Exception as error:
        raise FormatError(f"{tokenizer}: not a tokenizer: {error}") from error
    splitter.enable_truncation(tokens)
    splitter.no_padding()
    return OnnxSpeaker(session, splitter, pooling, on_cuda=_CUDA in session.get_providers())


class OnnxSpeaker:
    """A session of onnxruntime and a tokenizer, as a `Speaker`."""

    def __init__(self, session: Any, tokenizer: Any, pooling: Pooling, *, on_cuda: bool) -> None:
        self._session, self._tokenizer, self._pooling = session, tokenizer, pooling
        self._batch, self._threads = (BATCH, 1) if on_cuda else (1, available_threads())
        self._inputs = [each.name for each in session.get_inputs()]
        if unknown := set(self._inputs) - set(_INPUTS):
            raise FormatError(
                f"the ONNX model asks for {', '.join(sorted(unknown))}; one of sentences asks for "
                f"{', '.join(_INPUTS)}."
            )

    def __call__(self, sentences: Sequence[str]) -> Floats:
        """Return the vectors of sentences, (n, dim)."""
        split = [each.ids for each in self._tokenizer.encode_batch(list(sentences))]
        # Sentences of about the same length share a batch, for little padding.
        order = np.argsort([len(ids) for ids in split], kind="stable")
        batches = [order[low : low + self._batch] for low in range(0, len(order), self._batch)]
        with ThreadPoolExecutor(self._threads) as pool:
            said = list(pool.map(lambda batch: self._say([split[i] for i in batch]), batches))
        vectors = np.concatenate(said)
        vectors[order] = vectors.copy()
        return vectors

    def _say(self, split: list[list[int]]) -> Floats:
        lengths = np.array([len(ids) for ids in split])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(mask.shape, dtype=np.int64)
        ids[mask] = np.concatenate(split)
        arrays = dict(zip(_INPUTS, (ids, mask.astype(np.int64), np.zeros_like(ids)), strict=True))
        output: Array = self._session.run(None, {name: arrays[name] for name in self._inputs})[0]
        if output.ndim == 2:
            return output  # pooled already
        if self._pooling == "cls":
            return output[:, 0]
        weights = (mask / lengths[:, None]).astype(np.float32)
        return np.einsum("ijk,ij->ik", output, weights)


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
            digest = model_digest(files, self.pooling, self.tokens)
            spoken = self._spoken(sentences, digest, progress)
            return spoken, np.ones(len(sentences), dtype=np.bool_)
        if path.suffix == ".safetensors":
            table = open_space(path)
        else:
            table, _ = read_space(path, lang=lang, case="cased")
        listed, known = table.vectors(sentences, lang)
        return unit_rows(listed).astype(np.float16), known

    def _spoken(self, sentences: Sequence[str], digest: str, progress: Progress) -> Array:
        """Return the model's vectors, (n, dim): those that are kept, and the others from it."""
        folder = cache.folder("teachers") / f"{self.name}-{digest}"
        keys, first, places = np.unique(_keys(sentences), return_index=True, return_inverse=True)
        parts: list[tuple[Array, Array]] = []
        for kept_keys, stored in _stored_vectors(folder, digest):
            at = np.searchsorted(keys[:-1], kept_keys)
            here = keys[at] == kept_keys
            parts.append((at[here], stored[here]))
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
                {"teacher": digest},
            )
            parts.append((np.searchsorted(keys, new), decoded(codes, scale)))
        answers = np.empty((len(keys), parts[0][1].shape[1]), dtype=np.float16)
        for at, vectors in parts:
            answers[at] = vectors
        return answers[places]


def _keys(sentences: Sequence[str]) -> Array:
    """Return a hash of each sentence, (n,) uint64: two of a million meet once in 10^7 texts."""
    spelled = (sentence.encode("utf-8", "surrogatepass") for sentence in sentences)
    hashed = b"".join(hashlib.blake2b(each, digest_size=8).digest() for each in spelled)
    return np.frombuffer(hashed, dtype="<u8")


def _stored_vectors(folder: Path, digest: str) -> Iterator[tuple[Array, Array]]:
    """Yield the keys and vectors of each file, (n,) and (n, dim)."""
    width = None
    for path in sorted(folder.glob("*.safetensors")):
        arrays, metadata = map_tensors(path)
        if metadata.get("teacher") != digest or {"keys", "vectors", "scale"} - arrays.keys():
            raise StorageError(f"{path} is not of this teacher. Delete it, or move it away.")
        keys, vectors = arrays["keys"], arrays["vectors"]
        if vectors.shape != (len(keys), width or vectors.shape[-1]):
            raise StorageError(
                f"{path} has vectors {vectors.shape}, where ({len(keys)}, {width}) is expected. "
                "Delete it: it will be computed again."
            )
        width = vectors.shape[1]
        yield keys, decoded(vectors, arrays["scale"])
