"""What is read of an input: which columns, what a row must be, and how blocks of rows come out."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pmeans.errors import FormatError, LanguageError, did_you_mean, shown
from pmeans.languages.codes import language_code

OnError = Literal["fail", "skip"]


class _Absent:
    def __str__(self) -> str:
        return ""


ABSENT = _Absent()
"""In place of a cell: this row (of JSON lines) does not have the column. Written as nothing."""


@dataclass(frozen=True)
class Place:
    """How far an input is read.

    Attributes:
        rows: Rows before it.
        line: Lines before it; of Parquet, rows.
        offset: Bytes before it, unpacked; of Parquet, rows.
        checksum: CRC-32 of these bytes.
    """

    rows: int = 0
    line: int = 0
    offset: int = 0
    checksum: int = 0


BEGINNING = Place()
BLOCK = 8192
"""Rows of a block."""


class Block(NamedTuple):
    """Rows that are read and worked on together; the lists have an entry for each.

    Attributes:
        texts: The sentences; None for a row that could not be read.
        langs: Their languages, if a column tells.
        labels: What the label column holds, if one was asked for.
        names: The columns of ``cells``.
        cells: All columns, if they were asked for.
        lines: Number of the line each row ends with; of Parquet, of the row.
        place: Where the input stands after the block.
    """

    texts: list[str | None]
    langs: list[str | None] | None
    labels: list[object] | None
    names: Sequence[str]
    cells: Sequence[Sequence[object]]
    lines: Sequence[int]
    place: Place


class Source(abc.ABC):
    """An input that can be read from its beginning, or on from a place.

    Attributes:
        path: Where it is; None is standard input.
        fields: What is read of it.
        name: For messages.
        unit: What rows are counted by in messages: ``"line"`` or ``"row"``.
        files: The files it is read from; none if it is a stream.
        size: What `Place.offset` rises to, if that is known.
    """

    unit = "line"

    def __init__(self, path: Path | None, fields: Fields) -> None:
        self.path, self.fields = path, fields
        self.name = str(path) if path else "standard input"
        self.files: tuple[str, ...] = ()
        self.size: int | None = None
        if path and path.is_file():  # a named pipe, or /dev/stdin, is a file by its name only
            self.files, self.size = (str(path),), path.stat().st_size

    def identity(self) -> dict[str, Any]:
        """Return what must not change between the start of a job and its resumption."""
        which: dict[str, Any] = {"input": "a stream"}
        if self.path and self.files:
            stat = self.path.stat()
            which = {
                "input": str(self.path.resolve()),
                "input size": stat.st_size,
                "input modified (ns)": stat.st_mtime_ns,
            }
        return {**which, "text": self.fields.text, "lang_column": self.fields.lang_column}

    @abc.abstractmethod
    def blocks(self, start: Place = BEGINNING, n_rows: int = BLOCK) -> Iterator[Block]:
        """Yield blocks of up to ``n_rows`` rows, from a place on that a block came with."""


def texts_of(source: Source) -> Iterator[str | None]:
    """Yield the texts of a source, one by one."""
    for block in source.blocks():
        yield from block.texts


@dataclass(frozen=True)
class Fields:
    """Where a record holds its text, language and label, and what to do if it does not.

    Attributes:
        text: Name of the column (or key) with the sentence.
        lang_column: Name of the column with its language, if there is one.
        label: Name of the column with the label, if there must be one.
        languages: The codes accepted in the language's column; empty accepts any.
        on_error: ``"fail"`` stops at a bad row, ``"skip"`` makes it a row without text.
        whole: Whether rows are to come with all their columns. Then a row must have as many as
            the header, and a text that is missing (null) is an empty one.
    """

    text: str = "text"
    lang_column: str | None = None
    label: str | None = None
    languages: tuple[str, ...] = ()
    on_error: OnError = "fail"
    whole: bool = False
    _codes: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def named(self) -> dict[str, str]:
        """The columns that must be there, by the argument that names each; the text first."""
        wanted = {"text": self.text, "lang_column": self.lang_column, "label": self.label}
        return {argument: name for argument, name in wanted.items() if name is not None}

    def positions(self, header: Sequence[str], where: str) -> dict[str, int]:
        """Return where the columns asked for stand in a header, by argument."""
        if self.whole and len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise FormatError(f"{where}: two columns are called {shown(twice)}: rename one.")
        for argument, name in self.named.items():
            if name not in header:
                raise FormatError(
                    f"{where}: no column {shown(name)}.{did_you_mean(name, header)} The columns "
                    f"are {', '.join(map(shown, header))}; {argument}= names another."
                )
        return {argument: header.index(name) for argument, name in self.named.items()}

    def _text(self, value: object) -> str:
        """Return a text if it can be embedded, else raise what is wrong with its row."""
        if isinstance(value, Exception):
            raise value
        if self.whole and (value is None or (isinstance(value, float) and math.isnan(value))):
            return ""
        if isinstance(value, bytes):
            raise ValueError("not valid UTF-8")
        if not isinstance(value, str):
            raise ValueError(
                f"the text is {type(value).__name__}, not a string: {shown(value, 40)}"
            )
        return value

    def _code(self, value: object) -> str:
        """Return the code of a language, each looked up once."""
        if not isinstance(value, str):
            raise ValueError(
                f"the language is {type(value).__name__}, not a string: {shown(value, 40)}"
            )
        if value not in self._codes:
            try:
                self._codes[value] = language_code(value, self.languages)
            except LanguageError as error:
                raise ValueError(str(error).rstrip(".")) from None
        return self._codes[value]

    def _usual(self, texts: list[Any], langs: list[Any]) -> list[str] | None:
        """Return the codes of languages; None if some row needs a look of its own, as few do."""
        if {*map(type, texts)} != {str} or not {*map(type, langs)} <= {str}:
            return None
        try:
            codes = {lang: self._code(lang) for lang in {*langs}}
        except ValueError:
            return None
        return [codes[lang] for lang in langs]

    def unreadable(self, error: Exception, where: str) -> None:
        """Stop at a row that cannot be read, unless such rows are passed over."""
        if self.on_error == "skip":
            return
        message = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FormatError(
            f'{where}: {message}. Mend it, or pass over such rows with on_error="skip".'
        ) from error

    def values(
        self, records: Iterable[Any], picked: Callable[[Any], Iterable[Any]]
    ) -> dict[str, Sequence[Any]]:
        """Return columns by argument, of what ``picked`` finds in records in the order of `named`.

        Where it raises an error, that stands in place of the text.
        """

        def tried(record: Any) -> Iterable[Any]:
            try:
                return picked(record)
            except (ValueError, RecursionError) as error:
                return error, *[None] * (len(self.named) - 1)

        return dict(zip(self.named, zip(*map(tried, records), strict=True), strict=True))

    def block(
        self,
        values: Mapping[str, Sequence[Any]],
        names: Sequence[str],
        cells: Sequence[Sequence[object]],
        lines: Sequence[int],
        place: Place,
        where: str,
    ) -> Block:
        """Make a block of `values` and of the rest that it has, each row of it checked.

        ``where`` begins a message, before the number of a line.
        """
        texts, langs = list(values["text"]), list(values.get("lang_column", ()))
        codes = self._usual(texts, langs)
        if codes is not None:
            langs = codes
        else:
            for i, text in enumerate(texts):
                try:
                    texts[i] = self._text(text)
                    if langs:
                        langs[i] = self._code(langs[i])
                except (ValueError, RecursionError) as error:
                    self.unreadable(error, f"{where} {getattr(error, 'line', lines[i]):,}")
                    texts[i] = None
                    if langs:
                        langs[i] = None
        labels = list(values["label"]) if self.label else None
        tongues = langs if self.lang_column else None
        return Block(texts, tongues, labels, names, cells if self.whole else (), lines, place)
