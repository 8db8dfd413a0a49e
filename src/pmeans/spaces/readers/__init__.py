"""Readers of foreign vector formats, one file each, and the choice between them.

All readers make a space of ``tally.path``, with one contract
(``tests/contracts/test_reader_contract.py``): numbers and words are taken as they stand, never
normalised or lower-cased, and what cannot be used is refused or counted, as the
`pmeans.spaces.readers.entries.Policy` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pmeans.choices import Case
from pmeans.errors import FormatError, InputError, did_you_mean, shown
from pmeans.spaces.edit import with_phrases
from pmeans.spaces.readers.entries import NO_LIMIT, STRICT, Policy, ReadReport, Tally
from pmeans.spaces.readers.fasttext_binary import MAGIC, read_fasttext_binary
from pmeans.spaces.readers.model2vec_folder import read_model2vec
from pmeans.spaces.readers.npy_words import read_npy_words
from pmeans.spaces.readers.text import HEADER, SUFFIX, layout_of, read_mapped, read_text
from pmeans.spaces.readers.word2vec_binary import read_word2vec_binary
from pmeans.spaces.space import WordSpace
from pmeans.streams import open_stream

__all__ = ["FORMATS", "detect_format", "read_space"]

Reader = Callable[[Tally, str, str, int], WordSpace]
"""Of the file, its name as a space, the language, and how many words to keep at most."""

FORMATS: dict[str, Reader] = {
    "text": read_text,
    "mapped": read_mapped,
    "word2vec-binary": read_word2vec_binary,
    "fasttext-binary": read_fasttext_binary,
    "model2vec": read_model2vec,
    "npy": read_npy_words,
}
_UNITS = {"text": "line", "mapped": "line", "model2vec": "token"}
_HEAD = 1 << 20
_ENDINGS = (".gz", ".bz2", ".xz", ".zip", ".txt", ".vec", ".bin", ".npy", ".f16", ".f32")


def read_space(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    name: str | None = None,
    lang: str = "en",
    case: Case | None = None,
    policy: Policy = STRICT,
    limit: int | None = None,
    phrases: str | None = None,
) -> tuple[WordSpace, ReadReport]:
    """Read word vectors of any known format.

    Args:
        path: A file, which may be compressed, or a folder of model2vec.
        format: One of `FORMATS`; found out from the content if None.
        name: What recipes will call the space; the file's name without endings if None.
        lang: Language of the words; ``"mul"`` if they are of several. A mapped file says itself.
        case: How words are looked up. If None, ``"lower"`` where of 1000 words (the first
            100,000 are looked at) less than one has an upper-case letter, else ``"cased"``.
        policy: What to do about entries that cannot be used.
        limit: Keep the first so many words.
        phrases: What joins the words of a phrase in the file, as ``"_"`` in *New_York*; if None,
            entries stay as they are, and text is looked up word by word.

    Returns:
        The space, and the report on what was kept and left out.
    """
    path = Path(path)
    if format is None:
        format = detect_format(path)  # noqa: A001
    if format not in FORMATS:
        raise InputError(
            f"no vector format {shown(format)}.{did_you_mean(format, FORMATS)} "
            f"There are {', '.join(FORMATS)}."
        )
    if limit is not None and limit < 1:
        raise InputError(f"limit must be at least 1 word, not {limit}.")
    tally = Tally(path, policy, _UNITS.get(format, "word"))
    space = FORMATS[format](tally, name or name_of(path), lang, limit or NO_LIMIT)
    if phrases is not None:
        n, space = len(space), with_phrases(space, phrases)
        tally.counts["duplicates"] += n - len(space)
    return (space if case is None else replace(space, case=case)), tally.report(len(space))


def detect_format(path: str | Path) -> str:
    """Return the name of a file's or folder's format, by its content."""
    path = Path(path)
    if path.is_dir():
        return "model2vec"
    if path.suffix == ".safetensors":
        raise FormatError(
            f"{path}: a safetensors file. A word space of pmeans is opened, not read; "
            "of a model2vec model, name the folder."
        )
    with open_stream(path) as stream:
        head = stream.read(_HEAD)
        if len(head) == _HEAD:
            head = head[: head.rfind(b"\n") + 1] or head
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(MAGIC):
        return "fasttext-binary"
    lines = head.split(b"\n")
    header = HEADER.fullmatch(lines[0])
    if header and not _has_text_vectors(lines[1:], int(header[2])) and _has_control_bytes(head):
        return "word2vec-binary"
    return "mapped" if _has_suffixes(lines[1:] if header else lines) else "text"


def _has_text_vectors(lines: list[bytes], dim: int) -> bool:
    layout = layout_of(lines)
    return layout is not None and layout.dim == dim


def _has_control_bytes(head: bytes) -> bool:
    return bool(head.translate(None, bytes(range(9, 14)) + bytes(range(32, 256))))


def _has_suffixes(lines: list[bytes]) -> bool:
    """Whether nine of ten words carry a language."""
    words = [line.split(b" ", 1)[0].split(b"\t", 1)[0] for line in lines[:1000] if line.strip()]
    n_with = sum(bool(SUFFIX.fullmatch(word)) for word in words)
    return 0 < 9 * len(words) <= 10 * n_with


def name_of(path: Path) -> str:
    """Return what a space is called after its file: the name without its endings."""
    stem = path.name
    while stem.endswith(_ENDINGS):
        stem = stem[: stem.rindex(".")]
    return stem or path.name
