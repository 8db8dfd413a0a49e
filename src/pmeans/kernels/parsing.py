r"""Lines of a vector file in plain Python: the specification of ``native/parse_text.hpp``.

- Lines end at ``\n`` alone; one ``\r`` and then spaces and tabs are stripped from their end.
- Fields end at space and tab alone. Words hold U+00A0, U+2028 and ``\x85``, at which
  `bytes.split` or `str.splitlines` would cut them.
- The last ``dim`` fields are the values, and everything before them is the word, byte for byte:
  GloVe 840B has ``. . .``. If the last piece of a word with spaces is a decimal number
  (``0.5``, ``1e3``; ``66`` is not), it is taken for one value too many.
- A value is the float32 nearest to the decimal text. That is not the float32 nearest to its
  double: rounding twice goes wrong where the double lies in the middle between two floats.
"""

from __future__ import annotations

import enum
import re
from decimal import Decimal

import numpy as np

from pmeans.kernels.index import joined
from pmeans.types import Bytes, Floats, Ints

Parsed = tuple[Bytes, Ints, Floats, Bytes]


class LineStatus(enum.IntEnum):
    """The verdict on a line; the numbers are shared with the native core."""

    OK = 0
    BLANK = 1
    MALFORMED = 2
    NONFINITE = 3
    BAD_UTF8 = 4


_FIELD = re.compile(rb"[^ \t]+")
_NUMBER = rb"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))"
NUMBER = re.compile(_NUMBER)
_NUMBERS = re.compile(rb"(?:%s\n)+" % _NUMBER)


def parse_lines(data: Bytes, dim: int, n_threads: int) -> Parsed:
    """See `pmeans.kernels.parse_lines`."""
    lines = data.tobytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    words: list[bytes] = []
    rows: list[Floats] = []
    status = np.zeros(len(lines), dtype=np.uint8)
    for i, line in enumerate(lines):
        status[i], word, row = parse_line(line, dim)
        if row is not None:
            words.append(word)
            rows.append(row)
    return *joined(words), np.array(rows, dtype=np.float32).reshape(len(rows), dim), status


def parse_line(line: bytes, dim: int) -> tuple[LineStatus, bytes, Floats | None]:
    """Return the verdict on one line without its end, its word, and its values, (dim,), if OK."""
    line = line.removesuffix(b"\r").rstrip(b" \t")
    if not line:
        return LineStatus.BLANK, b"", None
    pieces = list(_FIELD.finditer(line))
    n = len(pieces) - dim
    if line[:1] in b" \t" or n < 1 or (n > 1 and _is_decimal(pieces[n - 1][0])):
        return LineStatus.MALFORMED, b"", None
    values = [piece[0] for piece in pieces[n:]]
    if not _NUMBERS.fullmatch(b"\n".join(values) + b"\n"):
        return LineStatus.MALFORMED, b"", None
    row = _nearest(values)
    if not np.isfinite(row).all():
        return LineStatus.NONFINITE, b"", None
    word = line[: pieces[n - 1].end()]
    try:
        word.decode("utf-8")
    except UnicodeDecodeError:
        return LineStatus.BAD_UTF8, b"", None
    return LineStatus.OK, word, row


def _is_decimal(piece: bytes) -> bool:
    return bool(re.search(rb"[.eE]", piece) and NUMBER.fullmatch(piece))


def _nearest(values: list[bytes]) -> Floats:
    """Return the float32 nearest to each decimal text."""
    doubles = np.array([float(value) for value in values])
    with np.errstate(over="ignore", under="ignore"):
        below = np.nextafter(doubles, -np.inf).astype(np.float32)
        above = np.nextafter(doubles, np.inf).astype(np.float32)
        row = doubles.astype(np.float32)
    for i in np.flatnonzero(np.isfinite(doubles) & (below != above)):
        text, double = Decimal(values[i].decode("ascii")), Decimal(float(doubles[i]))
        if text != double:
            row[i] = below[i] if text < double else above[i]
    return row
