"""Make a word space from others: shorter, pruned, merged, quantised, renamed.

Every function returns a new `WordSpace` and leaves its argument alone; words keep their
(language, word) keys and their order. What happens to subwords:

- `limit`, `prune`, `only` and `rename` keep them. A word that `limit` or `prune` takes away is then
  composed from its n-grams like any other unknown word. N-grams that a language has of its own go
  with it.
- `quantise` stores them as it stores the words.
- `merge` keeps them only where all spaces share the very same ones, and drops them otherwise: the
  n-grams of one space say nothing about the words of another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.choices import Precision
from pmeans.errors import InputError, shown
from pmeans.kernels import Splitting, index
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.tensors import precision_of, quantised
from pmeans.types import Array, Bytes, Ints, WordTable

Mask = npt.NDArray[np.bool_]
_SENTENCES = 8192


def rename(space: WordSpace, name: str) -> WordSpace:
    """Return the same vectors under another name."""
    if not name:
        raise InputError("a word space needs a name, and '' is none.")
    return replace(space, name=name, path="")


def limit(space: WordSpace, n: int) -> WordSpace:
    """Keep the first ``n`` words of each language, in most files the commonest."""
    if n < 1:
        raise InputError(f"cannot limit a space to {n} words; give at least 1.")
    return _subset(space, {lang: np.arange(len(t)) < n for lang, t in space.tables.items()})


def prune(space: WordSpace, words: Mapping[str, Iterable[str]]) -> WordSpace:
    """Keep the words that these words are looked up as, and no others.

    For each language that stays, these are the words that stay, in any order and however often;
    those that the space does not have are passed over. Languages not named here go.
    """
    if not words:
        raise InputError(f"no language of {space.name!r} would stay; name at least one.")
    marked = np.zeros(len(space), dtype=np.bool_)
    for lang, listed in words.items():
        spelled = list(listed)
        if space.case == "cased-then-lower":  # both spellings stay
            spelled += [word.lower() for word in spelled]
        rows = space.find(spelled, lang)
        marked[rows[rows >= 0]] = True
    named = {space.code(lang) for lang in words}
    tables = {lang: table for lang, table in space.tables.items() if lang in named}
    return _subset(space, {lang: marked[t.start : t.start + len(t)] for lang, t in tables.items()})


def only(space: WordSpace, languages: Iterable[str]) -> WordSpace:
    """Keep all words of some languages, and no others; those that it lacks are passed over."""
    codes = {space.code(lang) for lang in languages}
    tables = {lang: table for lang, table in space.tables.items() if lang in codes}
    if len(tables) in (0, len(space.tables)):
        return space
    return _subset(space, {lang: np.ones(len(table), np.bool_) for lang, table in tables.items()})


def with_phrases(space: WordSpace, joiner: str) -> WordSpace:
    """Make phrases of the entries of two or three words that a character joins.

    GoogleNews and other files of word2vec join words by ``_``: *New_York* becomes *New York*, and
    text is searched for it. Where a space has both, the first one stays.
    """
    if len(joiner.encode()) != 1:
        raise InputError(
            f"{shown(joiner)} cannot join the words of a phrase; '_' and ' ' are usual."
        )
    tables = {}
    for lang, table in space.tables.items():
        words, offsets = respelled(table, joiner.encode(), b" ")
        tables[lang] = index.table_of(words, offsets, table.start, phrases=True)
    new = {lang: ~index.repeated(table.words, table.offsets) for lang, table in tables.items()}
    return _subset(replace(space, tables=tables), new)


def respelled(table: WordTable, joiner: bytes, other: bytes) -> tuple[Bytes, Ints]:
    """Return the words of a table, those of two or three words joined by another character."""
    listed = (bytes(table.words[i:j]) for i, j in pairwise(table.offsets.tolist()))
    return index.joined([other.join(index.phrase_parts(w, joiner)) or w for w in listed])


def count_words(
    space: WordSpace, sentences: Iterable[str], lang: str, splitting: Splitting
) -> dict[str, int]:
    """Count how often the words of a space occur in a corpus, which is read as a stream.

    A word within a phrase does not occur: the phrase does.

    Returns:
        Occurrences of each word that occurs, in row order. `prune` takes it as it is.
    """
    table = space.table(lang)
    counts = np.zeros(len(table), dtype=np.int64)
    stream = iter(sentences)
    while some := list(islice(stream, _SENTENCES)):
        (batch,) = kernels.lookup(some, [(table, space.case, -1)], splitting)
        counts += np.bincount(batch.ids - table.start, minlength=len(table))
    return {table[i]: int(counts[i]) for i in np.flatnonzero(counts).tolist()}


def occurring_words(space: WordSpace, read: Callable[[], Iterable[str]]) -> dict[str, set[str]]:
    """Return the words of each language of a space that occur in a text.

    A recipe may split text at white space or into words: what either finds is kept. ``read`` opens
    the text, a sentence after the other, once for each language and tokeniser.
    """
    return {
        lang: {
            word
            for tokenizer in ("whitespace", "words")
            for word in count_words(space, read(), lang, splitting(tokenizer, lang))
        }
        for lang in space.languages
    }


def merge(spaces: Sequence[WordSpace], name: str) -> WordSpace:
    """Put several languages, or several vocabularies of one language, into one space.

    The spaces must have the same number of columns and treat case alike. Where a word of a
    language occurs in several, the first space wins; ``sum(map(len, spaces)) - len(merged)``
    words were passed over. Spaces of different precision become float32.
    """
    if not spaces:
        raise InputError("there is no space to merge; give at least one.")
    first = spaces[0]
    for other in spaces[1:]:
        if other.dim != first.dim:
            raise InputError(
                f"cannot merge {first.name!r} with {first.dim} columns and {other.name!r} with "
                f"{other.dim}; a recipe can concatenate them instead."
            )
        if other.case != first.case:
            raise InputError(
                f"cannot merge {first.name!r} with case {first.case!r} and {other.name!r} with "
                f"case {other.case!r}; convert one of them with the other's case."
            )
    subwords = first.subwords if all(s.subwords is first.subwords for s in spaces) else None
    if len({space.precision for space in spaces}) > 1:
        spaces = [quantise(space, "float32") for space in spaces]
    tables: dict[str, WordTable] = {}
    taken: list[tuple[WordSpace, Array]] = []
    start = 0
    for lang in dict.fromkeys(lang for space in spaces for lang in space.tables):
        having = [space for space in spaces if lang in space.tables]
        words, offsets = _joined([space.tables[lang] for space in having])
        new = ~index.repeated(words, offsets)
        tables[lang] = _table(words, offsets, new, start, [s.tables[lang] for s in having])
        start += len(tables[lang])
        borders = np.cumsum([len(space.tables[lang]) for space in having])[:-1]
        for space, mask in zip(having, np.split(new, borders), strict=True):
            taken.append((space, space.tables[lang].start + np.flatnonzero(mask)))
    matrix = np.empty((start, spaces[0].matrix.shape[1]), dtype=spaces[0].matrix.dtype)
    start = 0
    for space, rows in taken:
        matrix[start : start + len(rows)] = space.matrix[rows]
        start += len(rows)
    scales = [space.scale[rows] for space, rows in taken if space.scale is not None]
    return WordSpace(
        name,
        matrix,
        tables,
        first.case,
        np.concatenate(scales) if scales else None,
        subwords,
        "; ".join(dict.fromkeys(space.source for space in spaces if space.source)),
        "; ".join(dict.fromkeys(space.licence for space in spaces if space.licence)),
    )


def quantise(space: WordSpace, precision: Precision) -> WordSpace:
    """Store the vectors of words and n-grams as float32, float16, int8 or int4.

    `pmeans.tensors` has the rule.
    """
    subwords = space.subwords
    if space.precision != precision:
        of_word = partial(_word_of, space)
        matrix, scale = quantised(space.matrix, space.scale, precision, of_word)
        space = replace(space, matrix=matrix, scale=scale, path="")
    if subwords and precision_of(subwords.ngrams) != precision:
        ngrams, scale = quantised(
            subwords.ngrams, subwords.scale, precision,
            lambda row: f"the vector of n-gram bucket {row} in {space.name!r}; keep float32.",
        )  # fmt: skip
        space = replace(space, subwords=replace(subwords, ngrams=ngrams, scale=scale), path="")
    return space


def _word_of(space: WordSpace, row: int) -> str:
    lang, word = space.word(row)
    return (
        f"the vector of {shown(word)} ({lang}) in {space.name!r}; keep float32, or prune the word."
    )


def _subset(space: WordSpace, masks: Mapping[str, Mask]) -> WordSpace:
    """Keep the marked words of each language, and no others; masks follow the row order."""
    tables: dict[str, WordTable] = {}
    rows = [np.empty(0, dtype=np.int64)]
    start = 0
    for lang, mask in masks.items():
        table = space.tables[lang]
        tables[lang] = _table(table.words, table.offsets, mask, start, [table])
        start += len(tables[lang])
        rows.append(table.start + np.flatnonzero(mask))
    which = np.concatenate(rows)
    scale = None if space.scale is None else space.scale[which]
    return replace(
        space,
        matrix=space.matrix[which],
        tables=tables,
        scale=scale,
        subwords=_of_languages(space.subwords, tables),
        path="",
    )


def _of_languages(subwords: Subwords | None, languages: Collection[str]) -> Subwords | None:
    """Return the n-grams that languages share, and those of their own."""
    if subwords is None or all(lang in languages for lang in subwords.own):
        return subwords
    own = {lang: count for lang, count in subwords.own.items() if lang in languages}
    counts = np.array(list(subwords.own.values()))
    stays = np.repeat([lang in languages for lang in subwords.own], counts)
    rows = np.append(np.ones(len(subwords.ngrams) - counts.sum(), np.bool_), stays)
    scale = None if subwords.scale is None else subwords.scale[rows]
    return replace(subwords, ngrams=subwords.ngrams[rows], scale=scale, own=own)


def _table(
    words: Array, offsets: Ints, mask: Mask, start: int, made_of: Sequence[WordTable]
) -> WordTable:
    """Return the table of the marked words, whose phrases are met as in those it is made of."""
    phrases = any(table.phrases is not None for table in made_of)
    spellings = not any(map(index.in_one_spelling, made_of))
    lengths = np.diff(offsets)
    ends = np.concatenate([[0], np.cumsum(lengths[mask])]).astype(np.int64)
    return index.table_of(
        words[np.repeat(mask, lengths)], ends, start, phrases=phrases, spellings=spellings
    )


def _joined(tables: Sequence[WordTable]) -> tuple[Array, Ints]:
    lengths = [np.diff(table.offsets) for table in tables]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return np.concatenate([table.words for table in tables]), offsets
