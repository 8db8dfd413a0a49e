"""Models that turn sentences into vectors: sentence-transformers folders, and ONNX files.

Their packages are optional. They run on CUDA where there is one.

On the CPU an ONNX model is given one sentence at a time, several side by side. One with int8
weights rounds all numbers of a batch by their common range, so that a sentence's vector would
depend on the sentences beside it, to a cosine of 0.99; one by one it is the same in any company,
for about a quarter more time. On CUDA, and in sentence-transformers, batches are padded, and a
vector depends on its batch in the last bits of float32, which rounding to float16 mostly hides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pmeans.errors import FormatError, StorageError
from pmeans.files import optional, sha256
from pmeans.identity import SHORT, identity
from pmeans.kernels import available_threads
from pmeans.types import Array, Floats

Pooling = Literal["cls", "mean"]
Speaker = Callable[[Sequence[str]], Floats]
"""Sentences in, (n, dim) out."""

BATCH = 64
_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


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
        found: Array = self._session.run(None, {name: arrays[name] for name in self._inputs})[0]
        if found.ndim == 2:
            return found  # pooled already
        if self._pooling == "cls":
            return found[:, 0]
        weights = (mask / lengths[:, None]).astype(np.float32)
        return np.einsum("ijk,ij->ik", found, weights)
