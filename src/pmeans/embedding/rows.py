"""One sentence of an input, and what is asked of every one, whatever file it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from pmeans.errors import FormatError, did_you_mean

OnError = Literal["fail", "skip"]


class Row(NamedTuple):
    """A sentence, and where the input stands behind it.

    Attributes:
        text: The sentence; None if it could not be read and is to become a zero row.
        lang: Its language, if a column tells.
        line: Lines (or records) read so far.
        offset: Bytes read so far.
        record: All its columns by name, if they were asked for.
    """

    text: str | None
    lang: str | None
    line: int
    offset: int
    record: Mapping[str, object] = MappingProxyType({})


class Source(Protocol):
    """An input that can be read from its beginning, and perhaps from further on.

    Attributes:
        seekable: Whether `rows` can start behind the beginning without reading up to there.
        has_languages: Whether each row says its language.
        size: What `Row.offset` rises to, if that is known.
    """

    seekable: bool
    has_languages: bool
    size: int | None

    def identity(self) -> dict[str, Any]:
        """Return what must not change between the start of a job and its resumption."""

    def rows(self, row: int, line: int, offset: int) -> Iterator[Row]:
        """Yield the rows from ``row`` on; the three numbers are 0, or what a `Row` said."""


@dataclass(frozen=True)
class Fields:
    """Where a record holds its text and its language, and what to do if it does not.

    Attributes:
        text: Name of the column (or key) with the sentence.
        lang: Name of the column with its language, if there is one.
        languages: The codes accepted there; empty accepts any.
        on_error: ``"fail"`` stops at a bad row, ``"skip"`` makes it a row without text.
        whole: Whether rows are to come with all their columns. Then a row must have as many as
            the header, and a text that is missing (null) is an empty one.
        label: Name of the column with the label, if there must be one.
        text_option: How the command calls the text's column.
    """

    text: str = "text"
    lang: str | None = None
    languages: tuple[str, ...] = ()
    on_error: OnError = "fail"
    whole: bool = False
    label: str | None = None
    text_option: str = "--text-column"

    @property
    def named(self) -> list[tuple[str, str]]:
        """The columns that must be there, text and language first, and their options."""
        wanted = (
            (self.text, self.text_option),
            (self.lang, "--lang-column"),
            (self.label, "--label"),
        )
        return [(name, option) for name, option in wanted if name is not None]

    def identity(self) -> dict[str, Any]:
        """Return what a resumed job must find unchanged, by the names a user knows."""
        return {
            "--text-column": self.text,
            "--lang-column": self.lang,
            "--on-error": self.on_error,
        }

    def checked(self, text: object, lang: object) -> tuple[str, str | None]:
        """Return a row's text and language if they can be embedded, else raise ValueError."""
        if self.whole and (text is None or (isinstance(text, float) and math.isnan(text))):
            text = ""
        if not isinstance(text, str):
            raise ValueError(f"the text is {type(text).__name__}, not a string: {text!r:.40}")
        if self.lang is None:
            return text, None
        if not isinstance(lang, str):
            raise ValueError(f"the language is {type(lang).__name__}, not a string: {lang!r:.40}")
        if self.languages and lang not in self.languages:
            raise ValueError(f"language {lang!r} is none of {', '.join(self.languages)}")
        return text, lang

    def unreadable(self, error: Exception, where: str) -> tuple[None, None]:
        """Stop at a row that cannot be read, or return what stands for it."""
        if self.on_error == "skip":
            return None, None
        message = str(error)
        if isinstance(error, UnicodeError):
            message = "not valid UTF-8"
        elif isinstance(error, RecursionError):
            message = "nested too deeply"
        raise FormatError(
            f"{where}: {message}. Mend it, or pass over such rows with --on-error skip."
        ) from error

    def from_mapping(self, record: Mapping[str, object]) -> tuple[object, object]:
        """Return the text and the language of a record with named values."""
        if not isinstance(record, Mapping):
            raise ValueError(f"expected an object with the key {self.text!r}, got {record!r:.40}")
        for name, option in self.named:
            if name not in record:
                keys = ", ".join(map(repr, list(record)[:8]))
                raise ValueError(f"no key {name!r} among {keys}; {option} names another")
        return record[self.text], record[self.lang] if self.lang else None

    def columns(self, header: list[str], where: str) -> list[int]:
        """Return where the text and, if asked for, language and label stand in a header."""
        if self.whole and len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise FormatError(f"{where}: two columns are called {twice!r}: rename one.")
        found = []
        for name, option in self.named:
            if name not in header:
                raise FormatError(
                    f"{where}: no column {name!r}.{did_you_mean(name, header)} "
                    f"Choose one of {', '.join(map(repr, header))} with {option}."
                )
            found.append(header.index(name))
        return found


def file_identity(path: Path) -> dict[str, Any]:
    """Return what tells whether a file is still the same, without reading it."""
    stat = path.stat()
    return {
        "input": str(path.resolve()),
        "input size": stat.st_size,
        "input modified (ns)": stat.st_mtime_ns,
    }
