"""A word space: one matrix of word vectors, and the words of each language in it.

Rows lie language by language. The matrix is float32, or float16, int8 or int4 to save memory, and
is usually a view of a mapped file (`pmeans.spaces.store`), so that a space of gigabytes opens at
once and is shared between processes.
"""

from __future__ import annotations

import mmap
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.choices import Case, Precision
from pmeans.errors import InputError, LanguageError, StorageError, shown
from pmeans.identity import identity
from pmeans.kernels import coded, index
from pmeans.kernels.folding import written_out
from pmeans.kernels.index import alias_rows
from pmeans.languages.codes import match, near, tidy_code
from pmeans.mapped import MappedFields, file_of
from pmeans.tensors import decoded, precision_of
from pmeans.types import Array, Floats, Ints, TokenBatch, WordTable

Mask = npt.NDArray[np.bool_]
_NO_VECTORS: Floats = np.empty((0, 0), dtype=np.float32)
_NO_WORDS: Mask = np.empty(0, dtype=np.bool_)
_SAMPLE = 65536  # words that say which scripts a language is written in
ANY_LANGUAGE = "mul"
"""Language code (ISO 639) of a space whose words are not told apart by language."""


@dataclass(frozen=True)
class Subwords(MappedFields):
    """Vectors of character n-grams, from which unknown words are composed.

    A word is the mean of its n-grams, as in fastText. If n-grams are folded, it is the sum of those
    of the folded word and of its skeleton (`pmeans.kernels.folding`), divided by the root of their
    number, and an alias of a known word (`index.alias_rows`) has the vector of that word.

    Attributes:
        ngrams: One row a hash bucket, (n_buckets, dim) float32, float16 or int8, or int4 in bytes.
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
        scale: What an int8 or int4 row is multiplied by, (n_buckets,) float32.
        own: Languages that have buckets of their own, and how many. Theirs are the last ones, in
            this order; all others share the first.
        folded: Whether the n-grams are those of folded words and of skeletons.
    """

    ngrams: Array
    minn: int
    maxn: int
    scale: Floats | None = None
    own: Mapping[str, int] = field(default_factory=dict)
    folded: bool = False

    @cached_property
    def vectors(self) -> Floats:
        """The rows as float32, (n_buckets, dim): decoded once, when first needed, and kept."""
        return decoded(self.ngrams, self.scale)

    def of(self, lang: str) -> Floats:
        """Return the rows that words of a language are composed from."""
        end = len(self.ngrams) - sum(self.own.values())
        owner = match(lang, self.own)
        if owner is None:
            return self.vectors[:end]
        for code, count in self.own.items():
            if code == owner:
                break
            end += count
        return self.vectors[end : end + count]


@dataclass(frozen=True, eq=False)
class WordSpace(MappedFields):
    """Word vectors keyed by (language, word).

    Attributes:
        name: What recipes call the space.
        matrix: (n_words, dim) float32, float16 or int8, or int4 as (n_words, dim / 2) uint8, see
            `pmeans.kernels.coded`.
        tables: The words of each language, in row order.
        case: ``"lower"`` looks up the lower-cased word, ``"cased"`` the word as it stands,
            ``"cased-then-lower"`` tries both.
        scale: What an int8 or int4 row is multiplied by, (n_words,) float32.
        subwords: How unknown words get a vector, if they do.
        source: Where the vectors come from.
        licence: Under which terms.
    """

    name: str
    matrix: Array
    tables: Mapping[str, WordTable]
    case: Case = "lower"
    scale: Floats | None = None
    subwords: Subwords | None = None
    source: str = ""
    licence: str = ""
    path: str = field(default="", compare=False)

    @classmethod
    def from_words(
        cls, name: str, words: Mapping[str, Sequence[str]], matrix: npt.ArrayLike, **rest: object
    ) -> WordSpace:
        """Make a space from lists of words.

        Args:
            name: What recipes call the space.
            words: The distinct words of each language, in row order. A language may be written
                as `pmeans.languages.codes` has it, and is put in order. Entries of two or three
                words, with a space between them, are phrases: text is searched for them.
            matrix: (n_words, dim), the languages' rows one below the other; what is not float16
                or int8 becomes float32. With a ``scale``, uint8 is int4.
            rest: Further attributes of `WordSpace`.
        """
        tables: dict[str, WordTable] = {}
        start = 0
        for language, listed in words.items():
            code = tidy_code(language)
            if code in tables:
                raise InputError(
                    f"the space {shown(name)} has two lists of words of {code!r}: join them."
                )
            tables[code] = index.word_table(list(listed), start, phrases=True)
            start += len(tables[code])
        vectors = np.ascontiguousarray(matrix)
        four_bits = vectors.dtype == np.uint8 and rest.get("scale") is not None
        if vectors.dtype not in (np.float16, np.int8) and not four_bits:
            vectors = vectors.astype(np.float32, copy=False)
        if vectors.ndim != 2 or start != len(vectors):
            raise InputError(f"{start} words for vectors {vectors.shape} in space {shown(name)}.")
        if not np.isfinite(vectors).all():
            raise InputError(f"the vectors of space {shown(name)} hold NaN or infinity.")
        return cls(name, vectors, tables, **rest)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """Return the number of words, over all languages."""
        return len(self.matrix)

    def __repr__(self) -> str:
        languages = ", ".join(f"{lang} {len(table):,}" for lang, table in self.tables.items())
        return f"WordSpace({self.name!r}, {self.dim} d {self.precision}, words: {languages})"

    @property
    def dim(self) -> int:
        """Number of columns of a word vector."""
        return coded.n_columns(self.matrix)

    @property
    def precision(self) -> Precision:
        """How the word vectors are stored."""
        return precision_of(self.matrix)

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages, in row order."""
        return tuple(self.tables)

    def covers(self, lang: str) -> bool:
        """Return whether words of this language can be looked up."""
        return self.code(lang) is not None

    def code(self, lang: str) -> str | None:
        """Return the code under which words of a language are looked up, None if there is none."""
        any_language = ANY_LANGUAGE if ANY_LANGUAGE in self.tables else None
        return match(lang, self.tables) or any_language

    def table(self, lang: str) -> WordTable:
        """Return the words of a language, or those of no particular one."""
        code = self.code(lang)
        if code is None:
            raise LanguageError(
                f"the space {self.name!r} has no language {shown(lang)}; "
                f"it has {', '.join(map(repr, self.tables))}.{near(lang, self.tables)}"
            )
        return self.tables[code]

    def words(self, lang: str) -> Iterator[str]:
        """Iterate over a language's words in row order."""
        table = self.table(lang)
        return (table[i] for i in range(len(table)))

    def word(self, row: int) -> tuple[str, str]:
        """Return the language and the word of a row of the matrix."""
        for lang, table in self.tables.items():
            if table.start <= row < table.start + len(table):
                return lang, table[row - table.start]
        raise InputError(f"the space {self.name!r} has no row {row}, only {len(self):,}.")

    def find(self, words: Sequence[str], lang: str) -> Ints:
        """Return each word's row in the matrix, or -1, (n,), with the space's treatment of case."""
        return index.find_rows(self.table(lang), words, self.case)

    def joined(self, tokens: Sequence[str], lang: str) -> list[str]:
        """Return the tokens of a sentence with those of a phrase together, a space between them."""
        _, lengths = index.find_phrases(self.table(lang), [tokens], self.case)
        begins = np.flatnonzero(lengths).tolist()
        return [" ".join(tokens[i : i + lengths[i]]) for i in begins]

    def row(self, word: str, lang: str) -> int:
        """Return one word's row in the matrix, or -1."""
        return int(self.find([word], lang)[0])

    def vectors(self, words: Sequence[str], lang: str) -> tuple[Floats, Mask]:
        """Return the vectors of words, (n, dim) float32, and which words have one, (n,).

        Unknown words are composed from subwords, if the space has them; the rows of words without
        a vector are zero.
        """
        words = list(words)
        rows = self.find(words, lang)
        known = rows >= 0
        vectors = np.zeros((len(words), self.dim), dtype=np.float32)
        vectors[known] = self.rows(rows[known])
        unknown = np.flatnonzero(~known)
        if self.subwords and len(unknown):
            spelled = [words[i] for i in unknown.tolist()]
            if self.case == "lower":
                spelled = [word.lower() for word in spelled]
            composed, has_vector = self.composed(spelled, lang)
            vectors[unknown[has_vector]], known[unknown[has_vector]] = composed[has_vector], True
        return vectors, known

    def vector(self, word: str, lang: str) -> Floats | None:
        """Return a word's vector, (dim,) float32, composed from subwords if need be, or None."""
        vectors, known = self.vectors([word], lang)
        return vectors[0] if known[0] else None

    def rows(self, which: slice | Array) -> Floats:
        """Return rows of the matrix as float32, (n, dim)."""
        return decoded(self.matrix, self.scale, which)

    @property
    def first_composed(self) -> int:
        """Id of the first composed row in a batch, or -1 if unknown words are dropped."""
        return len(self) if self.subwords else -1

    def compose(self, batch: TokenBatch, lang: str) -> tuple[TokenBatch, Floats, Mask]:
        """Make vectors for the unknown words that a batch numbers, and drop those that get none.

        A word gets a vector from its n-grams, unless it is too short to have one, is not written
        in a script of the language, or overflows. Where n-grams are folded, an alias of a known
        word gets that word's.

        Returns:
            The batch, with dropped words counted as unknown; the vectors, (n_unknown_words, dim),
            or (0, 0) if there are none; and which unknown words got one, (n_unknown_words,).
        """
        if not batch.unknown_words:
            return batch, _NO_VECTORS, _NO_WORDS
        vectors, composed = self.composed(batch.unknown_words, lang)
        if composed.all():
            return batch, vectors, composed
        dropped = np.zeros(len(batch.ids), dtype=np.bool_)
        unknown = batch.ids >= len(self)
        dropped[unknown] = ~composed[batch.ids[unknown] - len(self)]
        lost = np.concatenate([[0], np.cumsum(dropped)])[batch.offsets]
        known = TokenBatch(
            batch.ids[~dropped],
            batch.offsets - lost,
            batch.unknown + np.diff(lost).astype(np.int32),
            batch.unknown_words,
            batch.joined,
        )
        return known, vectors, composed

    def composed(self, words: Sequence[str], lang: str) -> tuple[Floats, Mask]:
        """Return vectors of unknown words, (n, dim), and which of them are of use, (n,)."""
        if self.subwords is None:
            return _NO_VECTORS, np.zeros(len(words), dtype=np.bool_)
        sub, (scripts, letters) = self.subwords, self.scripts(lang)
        vectors, counts = kernels.compose(
            words, sub.of(lang), sub.minn, sub.maxn, folded=sub.folded
        )
        # Every n-gram has a bucket: without this, those of any script on earth would say something.
        written = [
            not letters.isdisjoint(word) or not scripts.isdisjoint(map(script, word))
            for word in words
        ]
        has_vector = np.array(written) & (counts > 0)
        if sub.folded:
            rows = self._alias_rows(words, lang)
            vectors[rows >= 0] = self.rows(rows[rows >= 0])
            has_vector |= rows >= 0
        return vectors, has_vector & np.isfinite(vectors).all(axis=1)

    def _alias_rows(self, words: Sequence[str], lang: str) -> Ints:
        """Return the row of the word that each word is a spelling of, or -1, (n,)."""
        if lang not in self._known_aliases:
            self._known_aliases[lang] = alias_rows(self.table(lang))
        aliases = self._known_aliases[lang]
        if self.case == "cased-then-lower":
            numbers = (aliases.get(word, aliases.get(word.lower(), -1)) for word in words)
        else:
            numbers = (aliases.get(word, -1) for word in words)
        rows = np.fromiter(numbers, dtype=np.int64, count=len(words))
        # The other way round: *счёт*, where *счет* is known.
        others = {i: written_out(words[i]) for i in np.flatnonzero(rows < 0).tolist()}
        others = {i: other for i, other in others.items() if other != words[i]}
        if others:
            rows[list(others)] = self.find(list(others.values()), lang)
        return rows

    @cached_property
    def _known_aliases(self) -> dict[str, dict[str, int]]:
        return {}

    def scripts(self, lang: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return digits and the scripts of one in a hundred letters of a language, and letters.

        The letters are those of its words that are in these scripts: most words have one of them.
        """
        if lang not in self._known_scripts:
            table = self.table(lang)
            end = table.offsets[min(len(table), _SAMPLE)]
            letters = Counter(bytes(table.words[:end]).decode("utf-8", "replace"))
            counts: Counter[str] = Counter()
            for letter, count in letters.items():
                counts[script(letter)] += count
            del counts[""]
            common = {name for name, count in counts.items() if 100 * count >= counts.total()}
            scripts = frozenset(common | {DIGITS})
            known = frozenset(letter for letter in letters if script(letter) in scripts)
            self._known_scripts[lang] = scripts, known
        return self._known_scripts[lang]

    @cached_property
    def _known_scripts(self) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
        return {}

    def check_whole(self) -> None:
        """Raise an error if the mapped file has been cut short since it was opened.

        To read past its new end would kill the process (SIGBUS). Between this check and the
        reading it can still happen: replace files by renaming, as pmeans does, and never write
        into them.
        """
        file = self._file
        if file is not None and file.size() < len(file):
            raise StorageError(
                f"{self.path}: the file has shrunk from {len(file):,} to {file.size():,} bytes "
                "while it was open. Open it again when it is whole."
            )

    @cached_property
    def _file(self) -> mmap.mmap | None:
        return file_of(self.matrix)

    def digest(self) -> str:
        """Return sixty-four hexadecimal digits over everything that reaches a vector."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        content: list[object] = [(self.case, self.matrix.dtype.str, self.matrix.shape)]
        for lang, table in self.tables.items():
            content += [(lang, table.start, len(table)), table.words, table.offsets]
            if table.phrases is not None:
                content += ["phrases", "spellings" * index.has_spellings(table.phrases)]
        content += [self.matrix, "" if self.scale is None else self.scale]
        if (subwords := self.subwords) is not None:
            content.append((subwords.minn, subwords.maxn))
            if subwords.own:
                content.append(list(subwords.own.items()))
            content += ["folded" * subwords.folded, subwords.ngrams]
            content.append("" if subwords.scale is None else subwords.scale)
        return identity(*content)


DIGITS = "DIGIT"


@lru_cache(maxsize=65536)
def script(character: str) -> str:
    """Return the script of a letter, as ``"LATIN"``, `DIGITS` of a digit, nothing of others."""
    if character.isalpha():
        return unicodedata.name(character, "").partition(" ")[0]
    return DIGITS if character.isdigit() else ""
