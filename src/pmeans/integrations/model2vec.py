"""model2vec: an encoder of one mean becomes a folder that ``StaticModel.from_pretrained`` opens.

A `StaticModel` is a tokeniser and a vector per token, and a text is the mean of its tokens. So an
encoder can be written that has one part with the power 1, for one language. Its z-norm and its map
are linear: they are done to the vectors of the words, and their mean is the encoder's row but for
rounding. Nothing is needed to write it. What differs when it is used:

- unknown words stay unknown, also where the space composes them of subwords;
- phrases are looked up word by word;
- ligatures, full-width letters and other forms of letters stay as they are;
- marks are composed by Unicode's NFC, which joins a few that we leave apart, and a sigma at the
  end of a Greek word in capitals is not lower-cased as one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.choices import Case
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.files import replacing_folder
from pmeans.kernels import Splitting
from pmeans.kernels.splitting import DIGIT_SEPARATORS, ENDINGS, JOINERS, UNSPLIT_ELISIONS
from pmeans.languages.tokenizers import splitting
from pmeans.models import files_of, power_means
from pmeans.tensors import write_tensors
from pmeans.types import Array

_UNKNOWN = "[UNK]"
_CONFIG, _TOKENIZER, _MODEL = "config.json", "tokenizer.json", "model.safetensors"
# As `pmeans.kernels.splitting` tells characters apart: \s of the tokenisers' expressions lacks the
# separators U+001C to U+001F.
_WORD, _MARK, _SPACE = r"\p{L}\p{N}_", r"\p{M}\p{Cf}", r"\s\x1C-\x1F"
# Invisible characters are left out everywhere. Those that emoji consist of stay after a symbol.
_EMOJI_PARTS = "\u200d\U000e0020-\U000e007f"
_INVISIBLE = (
    rf"[\p{{Cf}}&&[^{_EMOJI_PARTS}]]",
    rf"(?<![\p{{S}}\p{{M}}{_EMOJI_PARTS}])[{_EMOJI_PARTS}]+|(?<=[{_WORD}]\p{{M}})[{_EMOJI_PARTS}]+",
)
_APOSTROPHE, _HYPHEN = (
    re.escape("".join(c for c, spelled in JOINERS.items() if spelled == plain)) for plain in "'-"
)
_TOKEN = (
    f"[{_WORD}{_MARK}](?:[{_WORD}{_MARK}]|[{_APOSTROPHE}{_HYPHEN}](?=[{_WORD}]))*"
    f"|[^{_WORD}{_MARK}{_SPACE}][{_MARK}]*"
)


def export(encoder: PowerMeanEncoder, folder: str | Path, *, lang: str | None = None) -> None:
    """Write an encoder as a folder of model2vec, whole or not at all; an older one is replaced.

    Args:
        encoder: One part, powers ``(1,)``; with or without z-norm and alignment.
        folder: Where to.
        lang: The language to write; needed if the encoder has several.
    """
    encoder = power_means(encoder, "model2vec")
    recipe, code = encoder.recipe, encoder.language(lang)
    if [part.powers for part in recipe.parts] != [(1.0,)]:
        raise InputError(
            f"model2vec takes the mean of one space, and recipe {encoder.name!r} has "
            + " and ".join(f"powers {part.powers} of {part.space!r}" for part in recipe.parts)
            + ": make an encoder of one part with powers (1,)."
        )
    (space,) = encoder.spaces.values()
    if space.case == "cased-then-lower":
        raise InputError(
            f"the space {space.name!r} tries each word cased and then lower-cased, which a "
            "tokeniser of model2vec cannot: give it another case, with dataclasses.replace."
        )
    table = space.table(code)
    words = list(space.words(code))
    rows = [i for i, word in enumerate(words) if " " not in word and word != _UNKNOWN]
    vectors = _vectors(encoder, code, space.rows(np.array(rows, dtype=np.int64) + table.start))
    unknown = np.zeros((1, encoder.dim), dtype=np.float32)  # never added up: it is left out
    tokenizer = _tokenizer([words[i] for i in rows], splitting(recipe.tokenizer, code), space.case)
    config = {"normalize": False, "max_length": None, "language": [code]}
    names = (_CONFIG, _TOKENIZER, _MODEL)
    with replacing_folder(folder, "model2vec folder", names, files_of(encoder)) as new:
        (new / _CONFIG).write_text(json.dumps(config, indent=2), encoding="utf-8")
        (new / _TOKENIZER).write_text(json.dumps(tokenizer), encoding="utf-8")
        tensors = {"embeddings": np.concatenate([vectors, unknown])}
        write_tensors(new / _MODEL, tensors, {})


def _vectors(encoder: PowerMeanEncoder, lang: str, rows: Array) -> Array:
    """Return the vectors of words, (n, dim), z-normed and mapped as a mean of them would be."""
    vectors: Array = rows.astype(np.float64)
    if encoder.znorm:
        vectors = encoder.znorm.for_language(lang).apply(vectors)
    for factor in encoder.alignment.factors(lang) if encoder.alignment else ():
        vectors = vectors @ factor
    return vectors.astype(np.float32)


def _tokenizer(words: list[str], how: Splitting, case: Case) -> dict[str, Any]:
    """Return what ``tokenizers`` reads: words, numbered, and how text is split into them."""
    steps: list[dict[str, Any]] = []
    if how != Splitting.WHITESPACE:
        steps += [_replace(pattern, "") for pattern in _INVISIBLE]
        steps.append({"type": "NFC"})
        steps.append(_replace(f"(?<=[0-9])[{DIGIT_SEPARATORS}](?=[0-9])", " "))
        for letters, plain in ((_APOSTROPHE, "'"), (_HYPHEN, "-")):
            steps.append(_replace(f"(?<=[{_WORD}{_MARK}])[{letters}](?=[{_WORD}])", plain))
    if case == "lower":
        steps.append({"type": "Lowercase"})
    vocabulary = {word: i for i, word in enumerate([*words, _UNKNOWN])}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [],  # text that holds "[UNK]" is text
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _splits(how)},
        "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": _UNKNOWN},
    }  # fmt: skip


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _splits(how: Splitting) -> list[dict[str, Any]]:
    """Return the steps that split text, each what the one before it left."""
    if how == Splitting.WHITESPACE:
        return [_split(f"[{_SPACE}]+", "Removed")]
    steps = [_split(_TOKEN, "Removed", invert=True)]
    if how in ENDINGS:
        steps.append(_split(f"(?<=.)(?i:{'|'.join(ENDINGS[how])})$", "Isolated"))
    if how == Splitting.WORDS_ELISION:
        steps.append(_split(f"^(?i:{'|'.join(UNSPLIT_ELISIONS)})$|'", "MergedWithPrevious"))
    return steps


def _split(pattern: str, behavior: str, invert: bool = False) -> dict[str, Any]:
    rest = {"behavior": behavior, "invert": invert}
    return {"type": "Split", "pattern": {"Regex": pattern}, **rest}
