"""The encoder: sentences in any covered language become rows of one shared space.

`PowerMeanEncoder.encode_rows` is the core; `SentenceEncoder.encode` puts sentence-transformers'
signature on it. The way of a chunk of sentences is short: `kernels.lookup` splits it once and
finds the words in every space, and `kernels.join_means` writes the means of all parts side by side,
z-normalised on the way. Where parallel text has been fitted, it multiplies whole rows by the map
into the space that the languages share, before they leave the cache.
Each row depends on its own sentence alone: batch size, thread count and order change no bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pmeans import kernels
from pmeans.encoder.alignment import Alignment
from pmeans.encoder.alignment_fit import Fit, Method
from pmeans.encoder.coverage import Coverage
from pmeans.encoder.recipe import Recipe
from pmeans.encoder.sentence_encoder import (
    CHUNK,
    LONG_CHUNK,
    SentenceEncoder,
    chunks,
    length_of,
)
from pmeans.encoder.translations import Translations
from pmeans.encoder.znorm import SHARED, PartMoments, Statistics, ZNorm, side_by_side
from pmeans.errors import InputError, LanguageError, NotFittedError
from pmeans.identity import SHORT, identity
from pmeans.languages.identifier import Identifier
from pmeans.languages.resolution import Doubts, Languages, TextLanguages, groups
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.space import ANY_LANGUAGE, WordSpace
from pmeans.types import Array, Floats, TokenBatch


class PowerMeanEncoder(SentenceEncoder):
    """A recipe, its word spaces, and what has been fitted: a z-norm, an alignment."""

    def __init__(
        self,
        recipe: Recipe,
        spaces: Mapping[str, WordSpace],
        znorm: ZNorm | None = None,
        alignment: Alignment | None = None,
        translations: Translations | None = None,
        identifier: Identifier | None = None,
        languages: Sequence[str] | None = None,
    ) -> None:
        """Join a recipe with its spaces.

        Args:
            recipe: Which power means to take.
            spaces: A space for each name in the recipe's parts.
            znorm: Statistics fitted earlier; `fit_znorm` makes them.
            alignment: Maps fitted earlier, of z-normalised rows; `fit_alignment` makes them.
            translations: Text for classifiers to be calibrated by. It reaches no row.
            identifier: Finds the language of sentences that come without one.
            languages: Those to cover, of all that the spaces share; None covers all.
        """
        missing = [part.space for part in recipe.parts if part.space not in spaces]
        if missing:
            raise InputError(f"recipe {recipe.name!r} needs the space {missing[0]!r}.")
        for part in recipe.parts:
            try:
                kernels.check_lengths(part.powers, spaces[part.space].dim)
            except InputError as error:
                raise InputError(
                    f"part {part.space!r} of recipe {recipe.name!r}: {error}"
                ) from None
        self.recipe = recipe
        self.spaces = {part.space: spaces[part.space] for part in recipe.parts}
        self._wordwise = {part.space for part in recipe.parts if not part.phrases}
        self.znorm = znorm
        self.alignment = alignment
        self.translations = translations
        self.identifier = identifier
        named = [space.languages for space in self.spaces.values()]
        specific = {lang for langs in named for lang in langs if lang != ANY_LANGUAGE}
        covered = [lang for lang in specific if all(s.covers(lang) for s in self.spaces.values())]
        # Two codes of one language are told apart only by a space that does so: 'fr' and 'fr-CA'.
        apart: dict[tuple[str | None, ...], str] = {}
        for lang in sorted(covered, key=lambda code: (len(code), code)):
            apart.setdefault(tuple(space.code(lang) for space in self.spaces.values()), lang)
        self.languages = tuple(sorted(apart.values()))  # that every part covers
        if specific and not covered:
            raise LanguageError(
                f"the spaces of recipe {recipe.name!r} share no language: "
                + "; ".join(f"{s.name} has {', '.join(s.languages)}" for s in self.spaces.values())
            )
        self._only = languages
        if languages is not None:
            self.languages = tuple(dict.fromkeys(map(self.language, languages)))
        self._widths = [self.spaces[part.space].dim * len(part.powers) for part in recipe.parts]
        ends = np.cumsum(self._widths).tolist()
        self._columns = [slice(e - w, e) for w, e in zip(self._widths, ends, strict=True)]
        self._width: int = ends[-1]
        self._kept_means: dict[str, list[kernels.SpaceMeans]] = {}
        self.dim: int = alignment.dim if alignment else self._width
        """Number of columns of a row: the alignment's, else the sum of powers times dimensions."""

    @property
    def name(self) -> str:
        """The recipe's name."""
        return self.recipe.name

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of its word spaces, but for those in memory."""
        return tuple(str(space.path) for space in self.spaces.values() if space.path)

    def __repr__(self) -> str:
        languages = ", ".join(self.languages) or "any language"
        return f"PowerMeanEncoder({self.name!r}, {self.dim} d, {languages})"

    def __reduce__(self) -> tuple[Any, ...]:
        pieces = self.recipe, self.spaces, self.znorm, self.alignment, self.translations
        return PowerMeanEncoder, (*pieces, self.identifier, self._only)

    def __sklearn_clone__(self) -> PowerMeanEncoder:
        return self  # scikit-learn copies parameters for each fit; nothing changes an encoder

    def replace(self, **changes: Any) -> PowerMeanEncoder:
        """Return an encoder that differs in what it is made of, by the names of `__init__`."""
        names = ("recipe", "spaces", "znorm", "alignment", "translations", "identifier")
        own = {name: getattr(self, name) for name in names} | {"languages": self._only}
        return PowerMeanEncoder(**{**own, **changes})

    def for_language(self, lang: str) -> PowerMeanEncoder:
        """Return the same encoder for one language alone, which need not be named any more."""
        return self.replace(languages=(lang,))

    def to_sentence_transformer(self) -> Any:
        """Return a `SentenceTransformer` with the same rows (extra ``sentence-transformers``)."""
        from pmeans.integrations.sentence_transformers import to_sentence_transformer

        return to_sentence_transformer(self)

    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits over everything that reaches a row, and no name."""
        content: list[object] = [self.recipe.id, [s.digest() for s in self.spaces.values()], None]
        if self.znorm or self.alignment:
            content.append(self.fitted_digest())
        return identity(tuple(content), digits=SHORT)

    def fitted_digest(self) -> str:
        """Return sixty-four hexadecimal digits over the z-norm and the alignment."""
        content: list[object] = []
        for lang, statistics in sorted(self.znorm.statistics.items()) if self.znorm else ():
            content += [lang, statistics.mean, statistics.std]
        if self.alignment:
            content += self.alignment.content()
        return identity(*content)

    def encode_rows(
        self,
        sentences: Iterable[str],
        *,
        lang: str | Iterable[str] | None = None,
        out: Floats | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """Turn sentences into rows, (n, dim) float32, as `SentenceEncoder` says."""
        length = length_of(sentences)
        if out is not None and length is None:
            raise InputError("out needs sentences with a length; make a list of them.")
        if length is not None:
            shape = (length, self.dim)
            if out is None:
                out = kernels.empty_rows(*shape)
            if out.shape != shape:
                raise InputError(f"out is {out.shape}, expected {shape}.")
        blocks: list[Floats] = []
        done = 0
        straight = out is not None and (lang is None or isinstance(lang, str))
        doubts = Doubts()
        for texts, langs in chunks(sentences, lang, LONG_CHUNK if straight else CHUNK):
            n = len(texts)
            rows = np.empty((n, self.dim), np.float32) if out is None else out[done : done + n]
            self._encode_chunk(texts, langs, rows, n_threads, doubts)
            blocks.append(rows)
            done += n
        doubts.warn(stacklevel=3)
        if out is not None:
            return out
        return np.concatenate([np.empty((0, self.dim), dtype=np.float32), *blocks])

    def encode_covered(
        self,
        sentences: Sequence[str],
        *,
        lang: str | Iterable[str] | None = None,
        n_threads: int | None = None,
    ) -> tuple[Floats, Coverage]:
        """Return rows, (n, dim) float32, and what is known of their sentences, in one pass."""
        rows = np.empty((len(sentences), self.dim), dtype=np.float32)
        coverage = Coverage.empty(tuple(self.spaces), len(sentences))
        done = 0
        for texts, langs in chunks(sentences, lang, LONG_CHUNK):
            chunk = slice(done, done + len(texts))
            self._encode_chunk(texts, langs, rows[chunk], n_threads, coverage.at(chunk))
            done += len(texts)
        return rows, coverage

    def coverage(
        self, sentences: Iterable[str], *, lang: str | Iterable[str] | None = None
    ) -> Coverage:
        """Return how many words of each sentence each space knows, and the unknown ones."""
        parts = [Coverage.empty(tuple(self.spaces))]
        for texts, langs in chunks(sentences, lang, CHUNK):
            parts.append(Coverage.empty(tuple(self.spaces), len(texts)))
            for code, which in self.by_language(texts, langs, None, parts[-1]):
                self._find([texts[i] for i in which], code, None, (parts[-1], which))
        return Coverage.joined(parts)

    def identify(self, texts: Sequence[str], n_threads: int | None = None) -> TextLanguages:
        """Find the languages of some texts among those of this encoder."""
        languages = super().identify(texts, n_threads)
        if languages.none.any():
            languages.take_words(texts, self._ranks)
        return languages

    def _ranks(self, word: str) -> dict[str, int]:
        """Return where each language has a word in the list of the first space, or below 0."""
        space = self.spaces[self.recipe.parts[0].space]
        covered = [lang for lang in self.languages if space.covers(lang)]
        return {lang: space.row(word, lang) - space.table(lang).start for lang in covered}

    def fit_znorm(
        self,
        sentences: Iterable[str],
        *,
        lang: str | Iterable[str] | None = None,
        keep_alignment: bool = False,
    ) -> PowerMeanEncoder:
        """Fit the recipe's z-norm, and return an encoder that has it.

        With scope ``"per_language"`` the languages seen are fitted and others are kept, so calls
        may follow each other; with ``"train"`` and ``"all"`` a call replaces the statistics.
        Which rows these are is the caller's choice and promise.

        An alignment was fitted on z-scores of the statistics there were, so that changing them is
        refused; with ``keep_alignment`` it is applied to the new z-scores all the same.
        """
        scope = self.recipe.znorm
        if scope == "none":
            raise InputError(f"recipe {self.name!r} has no z-norm: set znorm to a scope first.")
        moments: dict[str, list[PartMoments]] = {}
        for texts, langs in chunks(sentences, lang, CHUNK):
            for code, which in groups(langs, len(texts), self.language):
                key = code if scope == "per_language" else SHARED
                parts = moments.setdefault(key, list(map(PartMoments, self._widths)))
                rows = np.empty((len(which), self._width), dtype=np.float32)
                words = self._find([texts[i] for i in which], code, None)
                self._write(words, self._space_means(None), None, rows, None)
                for moment, columns, part in zip(
                    parts, self._columns, self.recipe.parts, strict=True
                ):
                    moment.add(rows[:, columns], words[part.space][0].known)
        if not moments:
            raise InputError("z-norm needs at least one sentence to be fitted on.")
        fitted = {key: side_by_side(parts) for key, parts in moments.items()}
        if self.alignment and not keep_alignment:
            self.alignment.check_untouched(fitted)
        others = self.znorm if self.znorm and scope == "per_language" else ZNorm(scope, {})
        return self.replace(znorm=others.joined(fitted))

    def fit_alignment(
        self,
        pairs: Mapping[str, Iterable[tuple[str, str]]],
        *,
        pivot: str,
        method: Method = "canonical",
        penalty: float = 3000.0,
        rank: int | None = None,
        keep: int = 0,
    ) -> PowerMeanEncoder:
        """Fit maps of several languages' rows into one space, and return an encoder that has them.

        Maps of other languages are kept: a later call adds a language to the same space.

        Args:
            pairs: For each language its pairs, a sentence of the pivot and one of the language
                that mean the same; those with an unknown side are left out.
            pivot: The language that all are paired with.
            method: ``"canonical"``, ``"ridge"``, ``"cca"`` or ``"procrustes"``.
            penalty: As in `pmeans.encoder.alignment_fit.Fit`.
            rank: As in `pmeans.encoder.alignment_fit.Fit`; with ``"canonical"`` the number of
                columns.
            keep: How many of the first parts are not mapped, because their space is common to all
                languages already. The mapped columns of the other parts follow them. A language
                that is added later is mapped in the same way.
        """
        if self.recipe.znorm != "per_language":
            raise InputError(
                f"alignment maps z-scores of each language, and recipe {self.name!r} has znorm = "
                f"{self.recipe.znorm!r}: set it to 'per_language' and fit it first."
            )
        pivot = self.language(pivot)
        pairs = {self.language(lang): listed for lang, listed in pairs.items()}
        old = self.alignment or Alignment(pivot, {})
        # The penalty is one of z-scores, whatever rows are divided by.
        znorm = self.znorm and self.znorm.shortened(1 / self.znorm.length)
        plain = self.replace(alignment=None, znorm=znorm)
        if not 0 <= keep < len(self._columns):
            raise InputError(f"keep = {keep} of {len(self._columns)} parts leaves none to map.")
        if not old.maps:
            old = replace(old, kept=self._columns[keep].start)
        fitted = old.extended(plain, pairs, pivot, Fit(method, penalty, rank))
        return self.replace(alignment=fitted)

    def _encode_chunk(
        self,
        texts: list[str],
        lang: Languages,
        out: Floats,
        n_threads: int | None,
        counted: Doubts | Coverage,
    ) -> None:
        coverage = counted if isinstance(counted, Coverage) else None
        for code, which in self.by_language(texts, lang, n_threads, counted):
            whole = len(which) == len(texts)
            chosen = texts if whole else [texts[i] for i in which]
            words = self._find(chosen, code, n_threads, (coverage, which) if coverage else None)
            rows = out if whole else np.empty((len(which), self.dim), dtype=np.float32)
            self._write(words, self._means(code), code, rows, n_threads)
            if not whole:
                out[which] = rows

    def _find(
        self,
        texts: list[str],
        lang: str,
        n_threads: int | None,
        counted: tuple[Coverage, Array] | None = None,
    ) -> dict[str, tuple[TokenBatch, Floats]]:
        """Return for each space the rows of the sentences' words, and composed vectors.

        ``counted`` is the coverage that known and unknown words are entered in, and the places of
        the sentences there, (n_texts,).
        """
        tables = []
        for name, space in self.spaces.items():
            space.check_whole()
            numbered = len(space) if counted else space.first_composed
            table = space.table(lang)
            if name in self._wordwise:
                table = replace(table, phrases=None)
            tables.append((table, space.case, numbered))
        batches = kernels.lookup(texts, tables, splitting(self.recipe.tokenizer, lang), n_threads)
        words = {}
        for (name, space), batch in zip(self.spaces.items(), batches, strict=True):
            known, vectors, composed = space.compose(batch, lang)
            words[name] = known, vectors
            if counted:
                coverage, which = counted
                coverage.enter(name, which, batch, known, composed, len(space))
        return words

    def _means(self, lang: str) -> list[kernels.SpaceMeans]:
        """Return what to take of each part for sentences of a language, z-normed if need be."""
        if self.recipe.znorm != "none" and self.znorm is None:
            raise NotFittedError(
                f"recipe {self.name!r} asks for z-norm ({self.recipe.znorm!r}), which has not been "
                "fitted: encoder = encoder.fit_znorm(sentences, lang=...)."
            )
        if lang not in self._kept_means:
            fitted = self.znorm.for_language(lang) if self.znorm else None
            self._kept_means[lang] = self._space_means(fitted)
        return self._kept_means[lang]

    def _space_means(self, fitted: Statistics | None) -> list[kernels.SpaceMeans]:
        means = []
        for part, c in zip(self.recipe.parts, self._columns, strict=True):
            space = self.spaces[part.space]
            normed = (fitted.mean[c], fitted.factor[c]) if fitted else ()
            rest = self.recipe.root, space.scale, *normed
            means.append(kernels.SpaceMeans(space.matrix, part.powers, *rest))
        return means

    def _write(
        self,
        words: Mapping[str, tuple[TokenBatch, Floats]],
        means: list[kernels.SpaceMeans],
        mapped: str | None,
        out: Floats,
        n_threads: int | None,
    ) -> None:
        """Write the means of all parts, (n, n_columns), mapped if a language says how."""
        parts = (words[part.space] for part in self.recipe.parts)
        batches = [(batch, vectors if len(vectors) else None) for batch, vectors in parts]
        maps, kept = self.alignment.matrices(mapped) if self.alignment and mapped else ((), 0)
        kernels.join_means(means, batches, maps, out, kept=kept, n_threads=n_threads)
