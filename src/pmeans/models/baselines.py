"""Baselines: encoders other than power means, taken apart into settings and arrays, and stored.

Other packages have them, each a `Baseline` that a `pmeans.training.trainer.BaselineTrainer` makes.
::

    my-baseline/
        baseline.toml            kind, format, name, and the settings
        baseline.safetensors     all that was learned
        encoder/                 the power means that it is built on, if it is, as a folder
        MODEL.md, SHA256SUMS     its card, if it was built, and checksums of all files

`write` and `read` are for the first two, and `pmeans.models` for the folder.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pmeans import config, kernels, plugins
from pmeans.encoder.coverage import Coverage
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.sentence_encoder import CHUNK, SentenceEncoder, chunks, sized
from pmeans.errors import FormatError, InputError, did_you_mean
from pmeans.identity import SHORT, identity
from pmeans.languages.resolution import Doubts
from pmeans.mapped import refer, resolve
from pmeans.spaces.space import WordSpace
from pmeans.tensors import map_tensors, write_tensors
from pmeans.types import Array, Floats, Tokenizer

Settings = Mapping[str, Any]
"""Numbers, strings and lists of them by name, as TOML has them."""
GROUP = "pmeans.baselines"
"""Of `pmeans.plugins`: the class of each kind."""
SETTINGS, ARRAYS = "baseline.toml", "baseline.safetensors"


class Parts(NamedTuple):
    """What a baseline is taken apart into, and stored as: `Baseline` has a method for each."""

    settings: Settings
    arrays: Mapping[str, Array]
    inner: PowerMeanEncoder | None

    def setting(self, name: str, kind: type) -> Any:
        """Return a setting of a type; one that is missing or of another type is an error."""
        value = self.settings.get(name)
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise FormatError(
                f"the setting {name!r} is {value!r}, where a {kind.__name__} belongs."
            )
        try:
            return kind(value)
        except OverflowError:
            raise FormatError(f"the setting {name!r} is too large for a number.") from None

    def encoder(self) -> PowerMeanEncoder:
        """Return the inner encoder; one that is missing is an error."""
        if self.inner is None:
            raise FormatError("the inner encoder is missing: no folder 'encoder'.")
        return self.inner


class Baseline(SentenceEncoder):
    """An encoder other than plain power means.

    Attributes:
        kind: What its files call it; its name among the entry points of `pmeans.models.baselines`.
        format: Of its settings and arrays; to be raised when they change their meaning.
        folder: Where it was loaded from, if it was.
    """

    kind: ClassVar[str]
    format: ClassVar[int] = 1
    name: str = ""
    languages: tuple[str, ...] = ()
    folder: Path | None = None

    def settings(self) -> Settings:
        """Return what it is made by, but for what was learned."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Return all that was learned, by name, but for the words of the inner encoder."""
        return {}

    def inner(self) -> PowerMeanEncoder | None:
        """Return the encoder that it is built on, which is stored beside it."""
        return None

    @classmethod
    @abc.abstractmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Make the encoder whose parts these are.

        Parts that do not fit are a `FormatError`, or the `InputError` of the class itself.
        """

    @property
    def needs_fit(self) -> bool:
        """Whether it must be fitted on text before it encodes: see `fit`."""
        return False

    def fit(self, sentences: Iterable[str], *, lang: str | None = None) -> Self:
        """Return an encoder of the same settings, fitted on sentences of the training language.

        Which sentences these are is the caller's choice and promise.
        """
        raise InputError(f"{self.name!r} ({self.kind}) has nothing to be fitted on sentences.")

    def tokenized(self, tokenizer: Tokenizer) -> Self:
        """Return the same encoder of text that is split in another way, where it splits text."""
        inner = self.inner()
        if inner is None:
            return self
        inner = inner.replace(recipe=dataclasses.replace(inner.recipe, tokenizer=tokenizer))
        return self.restored(self.name, Parts(self.settings(), self.arrays(), inner))

    @abc.abstractmethod
    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings of one language, which is covered, into rows, (n, dim) float32."""

    def encode_rows(
        self,
        sentences: Iterable[str],
        *,
        lang: str | Iterable[str] | None = None,
        out: Floats | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """Turn sentences into rows, (n, dim) float32, as `SentenceEncoder` says."""
        listed = sized(sentences)
        shape = (len(listed), self.dim)
        rows = np.empty(shape, dtype=np.float32) if out is None else out
        if rows.shape != shape:
            raise InputError(f"out is {rows.shape}, expected {shape}.")
        done, doubts = 0, Doubts()
        for texts, langs in chunks(listed, lang, CHUNK):
            kernels.checked_strings(texts, done)
            for code, which in self.by_language(texts, langs, n_threads, doubts):
                if len(which) == len(texts):  # the usual case, and the quickest
                    rows[done : done + len(texts)] = self.encode_list(texts, code, n_threads)
                    continue
                some = [texts[i] for i in which]
                rows[done + which] = self.encode_list(some, code, n_threads)
            done += len(texts)
        doubts.warn(stacklevel=3)
        return rows

    def coverage(
        self, sentences: Iterable[str], *, lang: str | Iterable[str] | None = None
    ) -> Coverage:
        """Return what the word spaces below it know; without any, a coverage of no spaces."""
        inner = self.inner()
        if inner is not None:
            return inner.coverage(sentences, lang=lang)
        return Coverage.empty((), sum(len(texts) for texts, _ in chunks(sentences, lang, CHUNK)))

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it reads from: its own folder, and its word spaces."""
        inner = self.inner()
        return (*([str(self.folder)] if self.folder else []), *(inner.files if inner else ()))

    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits over everything that reaches a row, and no name."""
        inner = self.inner()
        settings = (self.kind, self.format), sorted(self.settings().items())
        below = inner.fingerprint() if inner else ""
        return identity(*settings, *_content(self.arrays()), below, digits=SHORT)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.settings(), refer(self.arrays()), self.inner()
        return _restored, (type(self), self.name, *parts, self.folder)

    def __repr__(self) -> str:
        languages = ", ".join(self.languages) or "any language"
        return f"{type(self).__name__}({self.name!r}, {self.dim} d, {languages})"


class MeanBaseline(Baseline):
    """A baseline that is built on the plain mean of one word space.

    Attributes:
        encoder: That mean, which is its inner encoder.
        space: The word space.
    """

    def __init__(self, name: str, encoder: PowerMeanEncoder) -> None:
        """Take a name, and what `plain_mean` or `word_mean` makes of a space."""
        powers = [part.powers for part in encoder.recipe.parts]
        if powers != [(1,)] or encoder.znorm or encoder.alignment:
            raise InputError(
                f"{self.kind} is built on the plain mean of one word space, without z-norm and "
                f"alignment, and {encoder.name!r} is not one: see plain_mean in "
                "pmeans.models.baselines."
            )
        (self.space,) = encoder.spaces.values()
        self.name, self.encoder = name, encoder
        self.dim, self.languages = encoder.dim, encoder.languages

    def inner(self) -> PowerMeanEncoder:
        """Return the plain mean."""
        return self.encoder


def _restored(
    cls: type[Baseline],
    name: str,
    settings: Settings,
    arrays: Mapping[str, Any],
    inner: PowerMeanEncoder | None,
    folder: Path | None,
) -> Baseline:
    """Make a pickled baseline of its parts, as of a folder."""
    baseline = cls.restored(name, Parts(settings, resolve(arrays), inner))
    baseline.folder = folder
    return baseline


def plain_mean(space: WordSpace, name: str, tokenizer: Tokenizer) -> PowerMeanEncoder:
    """Return the mean of a space's vectors, also of phrases and of words that it composes."""
    return PowerMeanEncoder(Recipe((Part(space.name, (1,)),), name, tokenizer), {space.name: space})


def word_mean(space: WordSpace, name: str, tokenizer: Tokenizer = "words") -> PowerMeanEncoder:
    """Return the mean of a space's own words: no phrases, and nothing composed of n-grams."""
    recipe = Recipe((Part(space.name, (1,), phrases=False),), name, tokenizer)
    return PowerMeanEncoder(recipe, {space.name: dataclasses.replace(space, subwords=None)})


def array(
    arrays: Mapping[str, Array], name: str, shape: tuple[int | None, ...], kinds: str = "f"
) -> Array:
    """Return an array of finite numbers; None in the shape stands for any length.

    One that is missing, of another shape, not finite, or of a type that is none of NumPy's
    ``kinds``, is an error.
    """
    stored = arrays.get(name)
    if stored is None:
        raise FormatError(f"the array {name!r} is missing.")
    fits = len(stored.shape) == len(shape) and all(
        wanted in (None, n) for n, wanted in zip(stored.shape, shape, strict=True)
    )
    if not fits:
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise FormatError(f"the array {name!r} is {stored.shape}, expected ({expected}).")
    if stored.dtype.kind not in kinds:
        raise FormatError(f"the array {name!r} is of {stored.dtype}, which it cannot be.")
    if stored.dtype.kind == "f" and not np.isfinite(stored).all():
        raise FormatError(f"the array {name!r} holds NaN or infinity.")
    return stored


def checksum(arrays: Mapping[str, Array]) -> str:
    """Return sixty-four hexadecimal digits over arrays, in the order of their names."""
    return identity(*_content(arrays))


def _content(arrays: Mapping[str, Array]) -> Iterator[object]:
    for name, each in sorted(arrays.items()):
        yield name, each.dtype.str, each.shape
        yield each


def of_kind(kind: object) -> type[Baseline]:
    """Return the class of a kind."""
    known = plugins.added(GROUP)
    if not isinstance(kind, str) or kind not in known:
        near = did_you_mean(kind, known) if isinstance(kind, str) else ""
        raise FormatError(
            f"an encoder of the kind {kind!r}, which no installed package knows.{near} "
            f"Known are {', '.join(known) or 'none'}."
        )
    baseline: type[Baseline] = plugins.load(known[kind])
    return baseline


def write(baseline: Baseline, folder: Path) -> None:
    """Write settings and arrays into a folder that is there; the inner encoder is not written."""
    head = {"kind": baseline.kind, "format": baseline.format, "name": baseline.name}
    lines = [f"{key} = {_toml(value)}" for key, value in head.items()]
    lines += ["", "[settings]"]
    lines += [f"{key} = {_toml(value)}" for key, value in baseline.settings().items()]
    (folder / SETTINGS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_tensors(folder / ARRAYS, baseline.arrays(), {"format": f"pmeans-{baseline.kind}"})


def read(folder: Path, inner: PowerMeanEncoder | None) -> Baseline:
    """Read what `write` wrote, and join it with its inner encoder."""
    path = folder / SETTINGS
    head = config.read_toml(path)
    try:
        cls = of_kind(head.get("kind"))
        if head.get("format") != cls.format:
            raise FormatError(
                f"format {head.get('format')!r} of the kind {cls.kind!r}; this version of pmeans "
                f"reads format {cls.format}. Build it again."
            )
        name, settings = head.get("name"), head.get("settings", {})
        if not isinstance(name, str) or not isinstance(settings, dict):
            raise FormatError("it needs a name and a table [settings].")
        arrays, metadata = map_tensors(folder / ARRAYS)
        if metadata.get("format") != f"pmeans-{cls.kind}":
            raise FormatError(f"{ARRAYS} is not of the kind {cls.kind!r}.")
        baseline = cls.restored(name, Parts(settings, arrays, inner))
    except (FormatError, InputError) as error:
        if str(error).startswith(str(folder)):
            raise
        raise FormatError(f"{path}: {error}") from error
    baseline.folder = folder
    return baseline


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return config.toml_string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # inf and nan, as TOML spells them
    return repr(value)
