"""Text to train on: pairs of sentences that mean the same, and running text.

Pairs are a TSV file, ``source, sentence, sentence`` or just the two sentences; running text is one
sentence or paragraph a line. Both may be compressed (.gz, .bz2, .xz). Words are split as raw text
is (tokenizer ``words``) and lower-cased, which is how the trained spaces are looked up.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pmeans.errors import FormatError, InputError, StorageError
from pmeans.text import tokenize

_OPENERS: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Pair:
    """One sentence in two languages.

    Attributes:
        source: Where it comes from, such as ``"tatoeba"``; empty if the file does not say.
        first: Raw text in the first language.
        second: Raw text in the second.
    """

    source: str
    first: str
    second: str


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a text file without their ends."""
    opener = _OPENERS.get(Path(path).suffix, open)
    try:
        with opener(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except FileNotFoundError:
        raise StorageError(f"no file {str(path)!r}.") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8: {error}.") from error
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise StorageError(f"cannot read {str(path)!r}: {error}.") from error


def read_pairs(path: str | Path) -> list[Pair]:
    """Read pairs of sentences; a line that has no two or three columns is an error."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            raise FormatError(f"{path}, line {number:,}: {len(columns)} columns, expected 2 or 3.")
        source, first, second = columns if len(columns) == 3 else ("", *columns)
        pairs.append(Pair(source, first, second))
    if not pairs:
        raise InputError(f"{path}: no pairs of sentences.")
    return pairs


def words(text: str, lang: str) -> list[str]:
    """Return the lower-cased words of raw text."""
    return tokenize(text.lower(), "words", lang)
