"""What every encoder offers its users: sentence-transformers' methods over one plain core.

An encoder implements `SentenceEncoder.encode_rows`; all that is about formats, prompts, progress
and similarity is here, once. Arguments that mean nothing to us are accepted where ignoring them
changes nothing, and refused where it would.

Sentences come as a stream, and are worked on in chunks. Chunks change no bit of a result, only how
much memory is at work and how often threads start.
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

import numpy as np

from pmeans import kernels
from pmeans.encoder.coverage import Coverage
from pmeans.encoder.postprocess import RowType, normalise_rows, quantise_rows, to_tensor, unit_rows
from pmeans.errors import InputError, LanguageError, shown
from pmeans.languages.codes import language_code
from pmeans.languages.identifier import Identifier
from pmeans.languages.resolution import (
    AUTO,
    Doubts,
    Languages,
    TextLanguages,
    check_languages,
    groups,
)
from pmeans.spaces.space import ANY_LANGUAGE
from pmeans.types import Array, Floats

CHUNK = 4096
"""Sentences of a chunk."""

LONG_CHUNK = 32768
"""The same where rows go straight to their place: fewer threads to start, warmer caches."""

LONGEST_CHUNK = 1 << 24
"""Characters of a chunk, beyond which it is halved: whole books need no more memory than tweets."""


Comparable = Array | Sequence[str] | str
"""Rows, or texts that stand for theirs."""


class SentenceEncoder(abc.ABC):
    """An encoder with sentence-transformers' interface.

    Attributes:
        dim: Number of columns of a row.
        languages: Those that it covers; empty if it does not tell languages apart.
        identifier: Finds the language of sentences that come without one.
    """

    dim: int
    languages: tuple[str, ...]
    identifier: Identifier | None = None

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """A name for people."""

    @abc.abstractmethod
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits over everything that reaches a row, and no name."""

    @abc.abstractmethod
    def coverage(
        self, sentences: Iterable[str], *, lang: str | Iterable[str] | None = None
    ) -> Coverage:
        """Return how many words of each sentence each space knows, and the unknown ones."""

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it reads from while it encodes."""
        return ()

    @abc.abstractmethod
    def encode_rows(
        self,
        sentences: Iterable[str],
        *,
        lang: str | Iterable[str] | None = None,
        out: Floats | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """Turn sentences into rows, (n, dim) float32.

        Args:
            sentences: Any iterable of sentences.
            lang: Language of all sentences, or one for each; None or ``"auto"`` finds it, sentence
                by sentence.
            out: Where to write, (n, dim) float32; ``sentences`` must then have a length.
            n_threads: Threads to use; all available ones if None.
        """

    def encode(
        self,
        inputs: str | Iterable[str] | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: str | None = "sentence_embedding",
        precision: RowType = "float32",
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
            precision: ``"float32"``, or ``"int8"``, ``"uint8"``, ``"binary"``, ``"ubinary"``;
                `pmeans.encoder.postprocess.quantise_rows` says what they are.
            convert_to_numpy: False gives a list of rows.
            convert_to_tensor: True gives a torch tensor (needs torch).
            device: Where the torch tensor goes.
            normalize_embeddings: Scale every row to length 1; zero rows stay zero.
            truncate_dim: Keep the first columns only.
            pool: Not supported: threads do the work, see ``n_threads``.
            chunk_size: Accepted for compatibility.
            sentences: The older name of ``inputs``.
            lang: Language of all sentences, or one for each. If it is left out, or ``"auto"``, the
                encoder finds it, sentence by sentence, and warns where it is in doubt.
            out: Where to write, (n, dim) float32; ``inputs`` must then have a length.
            n_threads: Threads to use; all available ones if None.

        Returns:
            (dim,) float32 for a `str`, (n, dim) for anything else. A sentence without a known
            word is a zero row; no value is ever NaN.
        """
        one_or_many = inputs if inputs is not None else sentences
        if one_or_many is None:
            raise InputError("encode needs sentences: a str or an iterable of str.")
        if output_value != "sentence_embedding":
            raise InputError(
                f"output_value {shown(output_value)} is not supported, only 'sentence_embedding'."
            )
        if prompt_name is not None:
            raise InputError(f"no prompt named {shown(prompt_name)}: this encoder has no prompts.")
        if pool is not None:
            raise InputError("pool is not supported: encode uses threads, see n_threads.")
        if truncate_dim is not None and not 1 <= truncate_dim <= self.dim:
            raise InputError(f"truncate_dim {truncate_dim} is not within 1 and {self.dim}.")
        single = isinstance(one_or_many, str)
        texts: Iterable[str] = [one_or_many] if isinstance(one_or_many, str) else one_or_many
        check_sentences(texts)
        if prompt is not None and not isinstance(prompt, str):
            raise InputError(
                f"prompt must be a str, not {type(prompt).__name__}: {shown(prompt, 40)}."
            )
        if prompt:
            texts = [prompt + text for text in kernels.checked_strings(texts)]
        encode = self._encode_counting if show_progress_bar else self.encode_rows
        rows = encode(texts, lang=lang, out=out, n_threads=n_threads)
        if truncate_dim is not None:
            rows = rows[:, :truncate_dim]
        if normalize_embeddings:
            normalise_rows(rows)
        finished = rows if precision == "float32" else quantise_rows(rows, precision)
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
            yield self.encode_rows(texts, lang=langs, n_threads=n_threads)

    def detect(self, texts: str | Iterable[str]) -> Any:
        """Return the `Detection` of one `str`, or a list with one for each text."""
        if isinstance(texts, str):
            return self.identify([texts]).detections()[0]
        blocks = (self.identify(some) for some, _ in chunks(texts, None, LONG_CHUNK))
        return [each for block in blocks for each in block.detections()]

    def identify(self, texts: Sequence[str], n_threads: int | None = None) -> TextLanguages:
        """Find the languages of some texts among those of this encoder."""
        if self.identifier is None:
            raise LanguageError(
                f"which language? This encoder covers {', '.join(self.languages)}, and has nothing "
                "to tell them apart by: pass lang=."
            )
        return self.identifier.find(texts, self.languages, n_threads)

    def language(self, lang: str | None) -> str:
        """Return the code that sentences are encoded by, or say which languages there are."""
        if lang is None or lang == AUTO:
            if len(self.languages) <= 1:
                return self.languages[0] if self.languages else ANY_LANGUAGE
            raise LanguageError(
                f"which language? This encoder covers {', '.join(self.languages)}: pass lang=."
            )
        return language_code(lang, self.languages)

    def languages_of(
        self,
        texts: Sequence[str],
        lang: Languages,
        n_threads: int | None = None,
        doubts: Doubts | Coverage | None = None,
    ) -> Languages:
        """Return languages as they were named; else look for them, and count doubts."""
        if not (lang is None or lang == AUTO) or len(self.languages) < 2:
            return lang
        languages = self.identify(texts, n_threads)
        if doubts is not None:
            doubts.add(languages)
        return languages

    def by_language(
        self,
        texts: Sequence[str],
        lang: Languages,
        n_threads: int | None = None,
        doubts: Doubts | Coverage | None = None,
    ) -> Iterator[tuple[str, Array]]:
        """Group texts by language: the codes of this encoder, and the places of texts, (n,)."""
        languages = self.languages_of(texts, lang, n_threads, doubts)
        return groups(languages, len(texts), self.language)

    def similarity(self, a: Comparable, b: Comparable) -> Any:
        """Return the cosine of every row of a with every row of b, (n_a, n_b).

        Texts stand for their rows. Of two `str` it is one number.
        """
        cosines = self._unit(a) @ self._unit(b).T
        return float(cosines[0, 0]) if isinstance(a, str) and isinstance(b, str) else cosines

    def similarity_pairwise(self, a: Comparable, b: Comparable) -> Floats:
        """Return the cosine of each row or text of a with the same one of b, (n,)."""
        return np.einsum("ij,ij->i", self._unit(a), self._unit(b))

    def _unit(self, compared: Comparable) -> Floats:
        texts = [compared] if isinstance(compared, str) else compared
        if isinstance(texts, list | tuple) and {*map(type, texts)} == {str}:
            return unit_rows(self.encode_rows(texts))
        return unit_rows(cast("Array", texts))

    def get_embedding_dimension(self) -> int:
        """Return `dim`."""
        return self.dim

    get_sentence_embedding_dimension = get_embedding_dimension

    def _encode_counting(
        self,
        texts: Iterable[str],
        *,
        lang: str | Iterable[str] | None,
        out: Floats | None,
        n_threads: int | None,
    ) -> Floats:
        """Do as `encode_rows` does, and count on standard error meanwhile."""
        listed = sized(texts)
        rows = np.empty((len(listed), self.dim), dtype=np.float32) if out is None else out
        done = 0
        for chunk, langs in chunks(listed, lang, CHUNK):
            end = done + len(chunk)
            self.encode_rows(chunk, lang=langs, out=rows[done:end], n_threads=n_threads)
            done = end
            print(f"\r{done:,} sentences", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return rows


def chunks(
    sentences: Iterable[str], lang: str | Iterable[str] | None, size: int
) -> Iterator[tuple[list[str], str | list[str] | None]]:
    """Cut the stream into lists of sentences, with one language or one for each.

    Results are laid out by the length of the sentences. So another number of them is an error, even
    where all that came was fine.
    """
    check_sentences(sentences)
    if size < 1:
        raise InputError(f"batch_size must be at least 1, not {size}.")
    length, count = length_of(sentences), 0
    texts = iter(sentences)
    check_languages(lang)
    langs = None if lang is None or isinstance(lang, str) else iter(lang)
    while chunk := list(islice(texts, size)):
        count += len(chunk)
        if length is not None and count > length:
            break
        codes: str | list[str] | None = lang if isinstance(lang, str) else None
        if langs is not None:
            codes = list(islice(langs, len(chunk)))
            if len(codes) < len(chunk):
                raise InputError("lang has fewer entries than there are sentences.")
        yield from _halved(chunk, codes)
    if length is not None and count != length:
        raise InputError(
            f"the sentences have a length of {length}, but {'more' if count > length else count} "
            f"came: pass list(sentences), or mend the __len__ of {type(sentences).__name__}."
        )
    if langs is not None and any(True for _ in langs):
        raise InputError("lang has more entries than there are sentences.")


def length_of(sentences: object) -> int | None:
    """Return how many sentences there should be; None if they have no length."""
    try:
        return len(sentences)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a stream, or one that has __len__ and does not know
        return None


def sized(sentences: Iterable[str]) -> Collection[str]:
    """Return the sentences, in a list if they have no length."""
    if length_of(sentences) is None:
        return [text for texts, _ in chunks(sentences, None, CHUNK) for text in texts]
    return cast("Collection[str]", sentences)


def check_sentences(sentences: object) -> None:
    """Refuse what can be iterated over, but not for sentences."""
    if isinstance(sentences, str | bytes):
        kind = type(sentences).__name__
        raise InputError(f"expected an iterable of sentences, got one {kind}: put it into a list.")
    if getattr(sentences, "ndim", 1) == 0:
        kind = type(sentences).__name__
        raise InputError(
            f"expected an iterable of sentences, got a single value in a {kind}: put it into a "
            "list."
        )
    if isinstance(sentences, Mapping):
        raise InputError(
            "expected an iterable of sentences, got a mapping, which would give its keys: pass "
            "list(mapping.values())."
        )
    if hasattr(sentences, "columns"):  # pandas, polars, pyarrow
        raise InputError(
            f"expected an iterable of sentences, got a {type(sentences).__name__}, which would "
            "give its columns: pass the one with the sentences, as in frame['text']."
        )
    if not isinstance(sentences, Iterable):
        raise InputError(
            f"expected a str or an iterable of str, got {type(sentences).__name__}: "
            f"{shown(sentences, 40)}."
        )


def _halved(
    texts: list[str], langs: str | list[str] | None
) -> Iterator[tuple[list[str], str | list[str] | None]]:
    """Cut a chunk into halves until none is longer than `LONGEST_CHUNK`, or is one sentence."""
    try:
        long = len(texts) > 1 and sum(map(len, texts)) > LONGEST_CHUNK
    except TypeError:  # no string: the look-up will say which
        long = False
    if not long:
        yield texts, langs
        return
    half = len(texts) // 2
    for part in (slice(half), slice(half, None)):
        yield from _halved(texts[part], langs[part] if isinstance(langs, list) else langs)
