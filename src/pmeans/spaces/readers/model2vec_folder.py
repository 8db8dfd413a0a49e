"""Folders of model2vec: a static embedding of a transformer's tokens.

- ``config.json``: says that it is one;
- ``model.safetensors``: ``embeddings`` (n_rows, dim); ``mapping`` (n_tokens,) where tokens share
  rows; ``weights`` (n_tokens,) by which token vectors are multiplied;
- ``tokenizer.json``: the tokens, numbered.

A tokeniser's tokens are not all words, and a word space is looked up by whole words. So tokens
that can start a word become words, without the mark that says so (``▁the`` and ``Ġthe`` become
``the``; BERT's ``the`` has none). Pieces that only continue a word (``##ing``, or ``ing`` where
a mark is used), special tokens (``[CLS]``) and rows without a token are left out and counted
as ``not_words``. A word that the tokeniser would put together from pieces is unknown here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import FormatError
from pmeans.files import reading
from pmeans.spaces.readers.entries import Entries, Tally, make_space, spelled, usable
from pmeans.spaces.space import WordSpace
from pmeans.tensors import map_tensors
from pmeans.types import Array, Ints


def read_model2vec(tally: Tally, name: str, lang: str, limit: int) -> WordSpace:
    """Read the word-like tokens of a model2vec folder."""
    folder = tally.path
    _json(folder / "config.json")
    tensors, _ = map_tensors(folder / "model.safetensors")
    embeddings, mapping, weights = _checked(tensors, folder)
    tokenizer = _json(folder / "tokenizer.json")
    try:
        tokens, special = _tokens(tokenizer)
        word_of = _word_rule(tokenizer["model"], tokens)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(
            f"{folder}: no tokenizer.json of this kind is known: {error!r}."
        ) from error
    n_tokens = len(mapping)
    words: list[bytes] = []
    ids: list[int] = []
    for number in sorted({*tokens, *range(n_tokens)}):
        if len(words) == limit:
            break
        tally.seen += 1
        word = word_of(tokens[number]) if number in tokens and number not in special else None
        if not word:
            tally.counts["not_words"] += 1
        elif not 0 <= number < n_tokens:
            tally.enter("malformed", number, f"no vector for {spelled(word)}")
        else:
            words.append(word)
            ids.append(number)
    rows = np.array(ids, dtype=np.int64)
    listed = Entries.of(words, _vectors(embeddings, mapping, weights, rows))
    entries = Entries(listed.words, listed.offsets, listed.matrix, rows)
    return make_space(usable(entries, tally), tally, name, lang)


def _checked(tensors: dict[str, Array], folder: Path) -> tuple[Array, Ints, Array | None]:
    """Return the embeddings, the row of each token, and its weight."""
    embeddings, weights = tensors.get("embeddings"), tensors.get("weights")
    if embeddings is None or embeddings.ndim != 2 or not embeddings.shape[1]:
        raise FormatError(f"{folder}: model.safetensors has no matrix 'embeddings'.")
    mapping = tensors.get("mapping")
    if mapping is None:
        mapping = np.arange(len(embeddings))
    if mapping.ndim != 1 or mapping.dtype.kind not in "iu":
        raise FormatError(f"{folder}: the mapping of model.safetensors is not a list of rows.")
    if len(mapping) and not (mapping.min() >= 0 and mapping.max() < len(embeddings)):
        raise FormatError(f"{folder}: the mapping names rows that the embeddings do not have.")
    if weights is not None and (weights.shape != mapping.shape or weights.dtype.kind != "f"):
        raise FormatError(
            f"{folder}: weights {weights.shape} do not fit the {len(mapping)} tokens."
        )
    return embeddings, mapping, weights


def _vectors(embeddings: Array, mapping: Ints, weights: Array | None, rows: Ints) -> Array:
    """Return the vectors of these tokens, (n, dim); float16 stays if nothing multiplies it."""
    vectors = embeddings[mapping[rows]]
    if weights is not None:
        vectors = np.multiply(vectors, weights[rows, None], dtype=np.float64)
    with np.errstate(over="ignore"):  # what overflows is reported as such
        return vectors if vectors.dtype == np.float16 else vectors.astype(np.float32, copy=False)


def _tokens(tokenizer: dict[str, Any]) -> tuple[dict[int, str], set[int]]:
    """Return the tokens by number, and the numbers of those that are no text."""
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, list):  # Unigram: pairs of a token and its score
        tokens = {i: str(pair[0]) for i, pair in enumerate(vocabulary)}
    else:
        tokens = {int(i): str(token) for token, i in vocabulary.items()}
    unknown = tokenizer["model"].get("unk_token")  # stands for all words that have no vector
    special = {i for i, token in tokens.items() if token == unknown}
    for added in tokenizer.get("added_tokens") or ():
        tokens.setdefault(int(added["id"]), str(added["content"]))
        if added.get("special"):
            special.add(int(added["id"]))
    return tokens, special


def _word_rule(model: dict[str, Any], tokens: dict[int, str]) -> Callable[[str], bytes | None]:
    """Return how a token becomes a word, or None where it is none."""
    if model.get("type") == "WordPiece":
        prefix = str(model.get("continuing_subword_prefix") or "##")
        return lambda token: None if token.startswith(prefix) else token.encode("utf-8", "replace")
    counts = {mark: sum(token[:1] == mark for token in tokens.values()) for mark in "▁Ġ"}
    mark = max(counts, key=lambda mark: counts[mark])
    if model.get("type") == "WordLevel" or not counts[mark]:
        return lambda token: token.encode("utf-8", "replace")
    spelled = _byte_level if mark == "Ġ" else _plain
    return lambda token: spelled(token[1:]) if token.startswith(mark) else None


def _plain(token: str) -> bytes:
    return token.replace("▁", " ").encode("utf-8", "replace")


def _byte_level(token: str) -> bytes | None:
    """Undo GPT-2's spelling of bytes as characters; None for a part of a character."""
    try:
        word = bytes(_BYTES[character] for character in token)
        word.decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
    return word


def _byte_alphabet() -> dict[str, int]:
    # Printable bytes stand for themselves; the others for the characters from U+0100 on.
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


_BYTES = _byte_alphabet()


def _json(path: Path) -> dict[str, Any]:
    try:
        with reading(path, "; a model2vec folder has one"):
            loaded = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise FormatError(f"{path}: expected a JSON object, found {type(loaded).__name__}.")
    return loaded
