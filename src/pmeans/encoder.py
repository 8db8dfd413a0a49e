"""The encoder: sentences in any covered language become rows of one shared space.

`PowerMeanEncoder.encode` has sentence-transformers' signature. The way of a chunk of sentences
is short: `kernels.lookup` splits it once and finds the words in every space, and for each part
`kernels.power_means` writes that part's columns of the result, z-normalised on the way. Where
parallel text has been fitted, `align` then maps whole rows into the pivot language's space.
Each row depends on its own sentence alone: batch size, thread count and order change no bit.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pmeans import kernels
from pmeans.align import Alignment
from pmeans.align_fit import Fit, Method
from pmeans.batching import CHUNK, LONG_CHUNK, by_language, chunks
from pmeans.coverage import Coverage, count_words
from pmeans.errors import InputError, LanguageError, NotFittedError
from pmeans.output import Precision, normalise_rows, quantise_rows, to_tensor, unit_rows
from pmeans.recipe import Recipe
from pmeans.spaces.space import ANY_LANGUAGE, WordSpace
from pmeans.text import splitting
from pmeans.types import Array, Floats, TokenBatch
from pmeans.znorm import SHARED, Moments, Statistics, ZNorm, side_by_side


class PowerMeanEncoder:
    """A recipe, its word spaces, and what has been fitted: a z-norm, an alignment."""

    def __init__(
        self,
        recipe: Recipe,
        spaces: Mapping[str, WordSpace],
        znorm: ZNorm | None = None,
        alignment: Alignment | None = None,
    ) -> None:
        """Join a recipe with its spaces.

        Args:
            recipe: Which power means to take.
            spaces: A space for each name in the recipe's parts.
            znorm: Statistics fitted earlier; `fit_znorm` makes them.
            alignment: Maps fitted earlier, of z-normalised rows; `fit_alignment` makes them.
        """
        missing = [part.space for part in recipe.parts if part.space not in spaces]
        if missing:
            raise InputError(f"recipe {recipe.name!r} needs the space {missing[0]!r}.")
        self.recipe = recipe
        self.spaces = {part.space: spaces[part.space] for part in recipe.parts}
        self.znorm = znorm
        self.alignment = alignment
        named = [space.languages for space in self.spaces.values()]
        specific = {lang for langs in named for lang in langs if lang != ANY_LANGUAGE}
        covered = [lang for lang in specific if all(s.covers(lang) for s in self.spaces.values())]
        self.languages: tuple[str, ...] = tuple(sorted(covered))
        """Languages that every part covers; empty if the spaces do not tell languages apart."""
        if specific and not covered:
            raise LanguageError(
                f"the spaces of recipe {recipe.name!r} share no language: "
                + "; ".join(f"{s.name} has {', '.join(s.languages)}" for s in self.spaces.values())
            )
        widths = [self.spaces[part.space].dim * len(part.powers) for part in recipe.parts]
        ends = np.cumsum(widths).tolist()
        self._columns = [slice(end - width, end) for width, end in zip(widths, ends, strict=True)]
        self._width: int = ends[-1]
        self.dim: int = alignment.dim if alignment else self._width
        """Number of columns of a row: the alignment's, else the sum of powers times dimensions."""

    @property
    def name(self) -> str:
        """The recipe's name."""
        return self.recipe.name

    def __repr__(self) -> str:
        languages = ", ".join(self.languages) or "any language"
        return f"PowerMeanEncoder({self.name!r}, {self.dim} d, {languages})"

    def encode(
        self,
        inputs: str | Iterable[str] | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: str | None = "sentence_embedding",
        precision: Precision = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: None = None,
        chunk_size: int | None = None,
        *,
        sentences: str | Iterable[str] | None = None,
        lang: str | Iterable[str] | None = None,
        out: Floats | None = None,
        n_threads: int | None = None,
    ) -> Any:
        """Turn sentences into rows.

        Args:
            inputs: One sentence, or any iterable of sentences.
            prompt_name: Not supported: this encoder has no prompts.
            prompt: Text put before every sentence.
            batch_size: Accepted for compatibility; the work is divided by itself, and no
                division changes a bit of the result.
            show_progress_bar: True counts sentences on standard error.
            output_value: Only ``"sentence_embedding"``.
            precision: ``"float32"``, or ``"int8"``, ``"uint8"``, ``"binary"``, ``"ubinary"``.
            convert_to_numpy: False gives a list of rows.
            convert_to_tensor: True gives a torch tensor (needs torch).
            device: Where the torch tensor goes.
            normalize_embeddings: Scale every row to length 1; zero rows stay zero.
            truncate_dim: Keep the first columns only.
            pool: Not supported: threads do the work, see ``n_threads``.
            chunk_size: Accepted for compatibility.
            sentences: The older name of ``inputs``.
            lang: Language of all sentences, or one a sentence. May be left out where the encoder
                covers a single language.
            out: Where to write, (n, dim) float32; ``inputs`` must then have a length.
            n_threads: Threads to use; all available ones if None.

        Returns:
            (dim,) float32 for a `str`, (n, dim) for anything else. A sentence without a known
            word is a zero row; no value is ever NaN.
        """
        given = inputs if inputs is not None else sentences
        if given is None:
            raise InputError("encode needs sentences: a str or an iterable of str.")
        if output_value != "sentence_embedding":
            raise InputError(
                f"output_value {output_value!r} is not supported, only 'sentence_embedding'."
            )
        if prompt_name is not None:
            raise InputError(f"no prompt named {prompt_name!r}: this encoder has no prompts.")
        if pool is not None:
            raise InputError("pool is not supported: encode uses threads, see n_threads.")
        single = isinstance(given, str)
        texts: Iterable[str] = [given] if isinstance(given, str) else given
        if prompt:
            texts = (prompt + text for text in texts)
        rows = self._rows(texts, lang, out, n_threads, bool(show_progress_bar))
        if truncate_dim is not None:
            if not 1 <= truncate_dim <= self.dim:
                raise InputError(f"truncate_dim {truncate_dim} is not within 1 and {self.dim}.")
            rows = rows[:, :truncate_dim]
        if normalize_embeddings:
            normalise_rows(rows)
        finished = quantise_rows(rows, precision)
        if convert_to_tensor:
            return to_tensor(finished[0] if single else finished, device)
        if single:
            return finished[0]
        return finished if convert_to_numpy else list(finished)

    encode_query = encode
    encode_document = encode

    def encode_batches(
        self,
        sentences: Iterable[str],
        *,
        lang: str | Iterable[str] | None = None,
        batch_size: int = CHUNK,
        n_threads: int | None = None,
    ) -> Iterator[Floats]:
        """Turn an endless stream of sentences into blocks of rows, (<= batch_size, dim) each."""
        for texts, langs in chunks(sentences, lang, batch_size):
            rows = np.empty((len(texts), self.dim), dtype=np.float32)
            self._encode_chunk(texts, langs, rows, n_threads)
            yield rows

    def similarity(self, a: Array, b: Array) -> Floats:
        """Return the cosine of every row of a with every row of b, (n_a, n_b)."""
        return unit_rows(a) @ unit_rows(b).T

    def similarity_pairwise(self, a: Array, b: Array) -> Floats:
        """Return the cosine of each row of a with the same row of b, (n,)."""
        return np.einsum("ij,ij->i", unit_rows(a), unit_rows(b))

    def get_embedding_dimension(self) -> int:
        """Return `dim`."""
        return self.dim

    get_sentence_embedding_dimension = get_embedding_dimension

    def coverage(
        self, sentences: Iterable[str], *, lang: str | Iterable[str] | None = None
    ) -> Coverage:
        """Return how many words of each sentence each space knows, and the unknown ones."""
        known: list[Array] = []
        tokens: list[Array] = []
        unknown_words: dict[str, Counter[str]] = {name: Counter() for name in self.spaces}
        for texts, langs in chunks(sentences, lang, CHUNK):
            known.append(np.zeros((len(self.spaces), len(texts)), dtype=np.int64))
            tokens.append(np.zeros(len(texts), dtype=np.int64))
            for code, which in by_language(texts, langs, self._checked_language):
                found = self._lookup([texts[i] for i in which], code, None, number_unknown=True)
                for s, (name, batch) in enumerate(found.items()):
                    known[-1][s, which], missing = count_words(batch, self.spaces[name])
                    tokens[-1][which] = batch.known
                    unknown_words[name].update(missing)
        return Coverage(
            tuple(self.spaces),
            np.concatenate([np.zeros((len(self.spaces), 0), np.int64), *known], axis=1),
            np.concatenate([np.zeros(0, np.int64), *tokens]),
            unknown_words,
        )

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
        moments: dict[str, list[Moments]] = {}
        for texts, langs in chunks(sentences, lang, CHUNK):
            for code, which in by_language(texts, langs, self._checked_language):
                key = code if scope == "per_language" else SHARED
                parts = moments.setdefault(key, [Moments(c.stop - c.start) for c in self._columns])
                rows = np.empty((len(which), self._width), dtype=np.float32)
                batches = self._encode_language([texts[i] for i in which], code, None, rows, None)
                for part, columns, batch in zip(parts, self._columns, batches, strict=True):
                    part.add(rows[batch.known > 0, columns])
        if not moments:
            raise InputError("z-norm needs at least one sentence to be fitted on.")
        fitted = {key: side_by_side(parts) for key, parts in moments.items()}
        if self.alignment and not keep_alignment:
            self.alignment.check_untouched(fitted)
        kept = self.znorm.statistics if self.znorm and scope == "per_language" else {}
        znorm = ZNorm(scope, {**kept, **fitted})
        return PowerMeanEncoder(self.recipe, self.spaces, znorm, self.alignment)

    def fit_alignment(
        self,
        pairs: Mapping[str, Iterable[tuple[str, str]]],
        *,
        pivot: str,
        method: Method = "canonical",
        penalty: float = 3000.0,
        rank: int | None = None,
    ) -> PowerMeanEncoder:
        """Fit maps of several languages' rows into one space, and return an encoder that has them.

        Maps of other languages are kept: a later call adds a language to the same space.

        Args:
            pairs: For each language its pairs, a sentence of the pivot and one of the language
                that mean the same; those with an unknown side are left out.
            pivot: The language that all are paired with.
            method: ``"canonical"``, ``"ridge"``, ``"cca"`` or ``"procrustes"``.
            penalty: As in `pmeans.align_fit.Fit`.
            rank: As there; with ``"canonical"`` the number of columns.
        """
        if self.recipe.znorm != "per_language":
            raise InputError(
                f"alignment maps z-scores of each language, and recipe {self.name!r} has znorm = "
                f"{self.recipe.znorm!r}: set it to 'per_language' and fit it first."
            )
        plain = PowerMeanEncoder(self.recipe, self.spaces, self.znorm)
        old = self.alignment or Alignment(pivot, {})
        alignment = old.extended(plain, pairs, pivot, Fit(method, penalty, rank))
        return PowerMeanEncoder(self.recipe, self.spaces, self.znorm, alignment)

    def _rows(
        self,
        texts: Iterable[str],
        lang: str | Iterable[str] | None,
        out: Floats | None,
        n_threads: int | None,
        progress: bool,
    ) -> Floats:
        blocks: list[Floats] = []
        size = len(texts) if isinstance(texts, Sequence) else None
        if out is not None and size is None:
            raise InputError("out needs sentences with a length; make a list of them.")
        if out is not None and out.shape != (size, self.dim):
            raise InputError(f"out is {out.shape}, expected {(size, self.dim)}.")
        if out is None and size is not None:
            out = np.empty((size, self.dim), dtype=np.float32)
        done = 0
        one = lang is None or isinstance(lang, str)
        straight = out is not None and one and self.alignment is None
        for chunk, langs in chunks(texts, lang, LONG_CHUNK if straight else CHUNK):
            rows = (
                np.empty((len(chunk), self.dim), dtype=np.float32)
                if out is None
                else out[done : done + len(chunk)]
            )
            self._encode_chunk(chunk, langs, rows, n_threads)
            if out is None:
                blocks.append(rows)
            done += len(chunk)
            if progress:
                print(f"\r{done:,} sentences", end="", file=sys.stderr, flush=True)
        if progress:
            print(file=sys.stderr)
        if out is not None:
            return out
        return np.concatenate(blocks) if blocks else np.empty((0, self.dim), dtype=np.float32)

    def _encode_chunk(
        self,
        texts: list[str],
        langs: str | list[str] | None,
        out: Floats,
        n_threads: int | None,
    ) -> None:
        if self.recipe.znorm != "none" and self.znorm is None:
            raise NotFittedError(
                f"recipe {self.name!r} asks for z-norm ({self.recipe.znorm!r}), which has not been "
                "fitted: encoder = encoder.fit_znorm(sentences, lang=...)."
            )
        for code, which in by_language(texts, langs, self._checked_language):
            statistics = self.znorm.for_language(code) if self.znorm else None
            whole = len(which) == len(texts)
            straight = whole and self.alignment is None
            rows = out if straight else np.empty((len(which), self._width), dtype=np.float32)
            chosen = texts if whole else [texts[i] for i in which]
            self._encode_language(chosen, code, statistics, rows, n_threads)
            if self.alignment:
                rows = self.alignment.apply(rows, code, out=out if whole else None)
            if not whole:
                out[which] = rows

    def _encode_language(
        self,
        texts: list[str],
        lang: str,
        statistics: Statistics | None,
        out: Floats,
        n_threads: int | None,
    ) -> list[TokenBatch]:
        """Write the rows of one language's sentences; return the batch of each part."""
        n_threads = n_threads or kernels.available_threads()
        found = self._lookup(texts, lang, n_threads)
        composed = {name: self.spaces[name].compose(batch) for name, batch in found.items()}
        shift = statistics.mean if statistics else None
        factor = statistics.factor if statistics else None
        for part, columns in zip(self.recipe.parts, self._columns, strict=True):
            space = self.spaces[part.space]
            batch, vectors = composed[part.space]
            kernels.power_means(
                space.matrix,
                batch,
                part.powers,
                root=self.recipe.root,
                scale=space.scale,
                composed=vectors if len(vectors) else None,
                shift=None if shift is None else shift[columns],
                factor=None if factor is None else factor[columns],
                out=out[:, columns],
                n_threads=n_threads,
            )
        return [composed[part.space][0] for part in self.recipe.parts]

    def _lookup(
        self, texts: list[str], lang: str, n_threads: int | None, number_unknown: bool = False
    ) -> dict[str, TokenBatch]:
        tables = [
            (space.table(lang), space.case, len(space) if number_unknown else space.first_composed)
            for space in self.spaces.values()
        ]
        way = splitting(self.recipe.tokenizer, lang)
        return dict(zip(self.spaces, kernels.lookup(texts, tables, way, n_threads), strict=True))

    def _checked_language(self, lang: str | None) -> str:
        if lang is None and len(self.languages) <= 1:
            return self.languages[0] if self.languages else ANY_LANGUAGE
        if lang is None:
            raise LanguageError(
                f"which language? This encoder covers {', '.join(self.languages)}: pass lang=."
            )
        if self.languages and lang not in self.languages:
            raise LanguageError(
                f"no language {lang!r}: this encoder covers {', '.join(self.languages)}."
            )
        return lang
