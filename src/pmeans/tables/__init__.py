"""Text in and rows out, for every command: formats, encodings, delimiters, columns, writers.

`open_source` opens what has texts, `fields` says what is read of it, `writers` write, and `partial`
keeps on disk what is done of a job. Nothing here knows an encoder, or a command line.
"""

from pmeans.tables.fields import Fields, Source, texts_of
from pmeans.tables.lines import GuessedEncodingWarning, read_lines, valid_text
from pmeans.tables.sources import open_source

__all__ = [
    "Fields", "GuessedEncodingWarning", "Source", "open_source", "read_lines", "texts_of",
    "valid_text",
]  # fmt: skip
