"""The language of rows: named for all of them, told by a column, or looked for."""

from __future__ import annotations

from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError, LanguageError
from pmeans.languages.codes import language_code
from pmeans.languages.identifier import AUTO


def language_of_rows(
    encoder: SentenceEncoder, lang: str | None, lang_column: str | None = None
) -> str | None:
    """Return the code of the language of all rows, `AUTO`, or None if there is nothing to find."""
    if lang and lang_column:
        raise InputError("lang= and lang_column= exclude each other: leave one out.")
    if lang is not None and lang != AUTO:
        return language_code(lang, encoder.languages)
    if lang_column or len(encoder.languages) < 2:
        return None
    if encoder.identifier is None:
        raise LanguageError(
            f"which language? {encoder.name!r} covers {', '.join(encoder.languages)}: "
            "give lang= or lang_column=."
        )
    encoder.identified([])  # raises an error if one of them cannot be found
    return AUTO
