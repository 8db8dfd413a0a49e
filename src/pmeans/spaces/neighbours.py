"""The words nearest to a word, by cosine: exact, and in little memory.

Rows are decoded a block at a time, so a mapped space of gigabytes is read once from end to end
and never held. No index is built: a search over two million words takes a few seconds, which is
what looking at a space by hand needs.
"""

from __future__ import annotations

import difflib

import numpy as np

from pmeans.errors import InputError, shown
from pmeans.spaces.space import WordSpace

_ROWS = 16384  # decoded at a time: 40 MB at 300 columns
_COMMONEST = 50_000


def neighbours(
    space: WordSpace, word: str, lang: str, k: int = 10, into: str | None = None
) -> list[tuple[str, str, float]]:
    """Return the ``k`` words with the largest cosine to a word, which is not among them.

    The word may be one that the space composes from subwords. ``into`` is the only language to look
    in, all of them if None.

    Returns:
        (language, word, cosine), nearest first, the earlier row first where cosines are equal.
        Words whose vector is zero have no cosine and never appear.
    """
    if k < 1:
        raise InputError(f"cannot return {k} neighbours; ask for at least 1.")
    vector = space.vector(word, lang)
    if vector is None:
        raise InputError(
            f"{space.name!r} has no word {shown(word)} ({lang}).{_near(space, word, lang)}"
        )
    query = vector.astype(np.float64)  # float32 would overflow when large numbers are squared
    length = np.linalg.norm(query)
    if length == 0:
        raise InputError(f"the vector of {shown(word)} ({lang}) is zero; it has no neighbours.")
    own = space.row(word, lang)
    searched = space.tables if into is None else {into: space.table(into)}
    rows, cosines = np.empty(0, dtype=np.int64), np.empty(0)
    for table in searched.values():
        end = table.start + len(table)
        for low in range(table.start, end, _ROWS):
            block = space.rows(slice(low, min(low + _ROWS, end))).astype(np.float64)
            norms = np.linalg.norm(block, axis=1)
            ids = np.flatnonzero(norms)
            ids = ids[low + ids != own]
            rows = np.concatenate([rows, low + ids])
            cosines = np.concatenate([cosines, (block[ids] @ query) / (norms[ids] * length)])
            best = np.argsort(-cosines, kind="stable")[:k]
            rows, cosines = rows[best], cosines[best]
    return [
        (*space.word(row), cosine)
        for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
    ]


def _near(space: WordSpace, word: str, lang: str) -> str:
    """Return a sentence with close spellings and a leading space, or nothing.

    Comparing with millions of words would take a minute: only the commonest that begin with the
    same byte and are about as long are tried.
    """
    table = space.table(lang)
    spelled = word.lower() if space.case == "lower" else word
    wanted = spelled.encode("utf-8", "surrogatepass")
    starts = table.offsets[: _COMMONEST + 1]
    lengths = np.diff(starts)
    alike = np.flatnonzero((lengths > 0) & (np.abs(lengths - len(wanted)) <= 2))
    alike = alike[table.words[starts[alike]] == wanted[0]] if wanted else alike[:0]
    close = difflib.get_close_matches(spelled, [table[i] for i in alike.tolist()])
    return f" Close spellings: {', '.join(map(shown, close))}." if close else ""
