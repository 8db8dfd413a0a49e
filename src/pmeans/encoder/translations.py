"""Sentences of one language with their translations, which a model carries as text.

A classifier that is trained in one language learns from them how far its decisions move in the
others (`pmeans.transfer.cross_lingual_calibration`). They reach no row. The file is UTF-8, a line
per pair, with tabs between three columns::

    lang    en                    translation
    de      Where is the dog?     Wo ist der Hund?

The name of the second column is the code of the language that all are translations of, the pivot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pmeans.errors import FormatError
from pmeans.files import check_regular, reading, replacing

_LANG, _TRANSLATION = "lang", "translation"


@dataclass(frozen=True)
class Translations:
    """For each language its pairs: a sentence of the pivot, and one that means the same."""

    pivot: str
    pairs: Mapping[str, Sequence[tuple[str, str]]]

    def save(self, path: str | Path) -> None:
        """Write all pairs; a sentence has no tabs and no line ends."""
        lines = [(_LANG, self.pivot, _TRANSLATION)]
        lines += [(lang, *pair) for lang, pairs in self.pairs.items() for pair in pairs]
        with replacing(path) as file:
            file.write("".join("\t".join(line) + "\n" for line in lines).encode("utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Translations:
        """Read what `save` wrote."""
        check_regular(path)
        try:
            with reading(path):
                text = Path(path).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: damaged: not valid UTF-8, at byte {error.start}.") from None
        rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
        for number, row in enumerate(rows, 1):
            if len(row) != 3:
                raise FormatError(f"{path}, line {number:,}: {len(row)} columns, expected 3.")
        (first, pivot, last), *rest = rows
        if (first, last) != (_LANG, _TRANSLATION):
            raise FormatError(f"{path}: damaged: its first line is not the header of translations.")
        pairs: dict[str, list[tuple[str, str]]] = {}
        for lang, original, translation in rest:
            pairs.setdefault(lang, []).append((original, translation))
        return cls(pivot, pairs)
