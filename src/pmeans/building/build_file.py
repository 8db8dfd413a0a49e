"""Build files: from word spaces and text to a finished encoder, small enough to ship.

A build file is a recipe, how each of its spaces is packed (``words``, ``precision``), and what is
fitted: ``[[texts]]`` to fit on, an ``[align]`` table, ``[[translations]]`` that classifiers are
calibrated by, which the model carries as text, an ``[identify]`` table of what languages are told
apart by, and ``[[materials]]`` for the model card. What it does not say is that of its ``base``,
another build file beside it, which may leave out what those say that are based on it.
``recipes/default.toml`` is one.

The z-norm of every language and the maps to the pivot are fitted on the packed spaces, because
these are what they will be used with. Parts that are not mapped are normed halfway, and rows are
divided by one number that makes their median length 1 (`pmeans.encoder.znorm`). A part's space may
be a trainer file, whose space is made first. The same files give the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from pmeans import config, models
from pmeans.building.card import Material, render
from pmeans.building.graph import Graph, one_thread
from pmeans.building.identifier_fit import LanguageTexts
from pmeans.choices import Precision, RowPrecision
from pmeans.config import Count, Range, check
from pmeans.encoder.alignment_fit import Fit
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.translations import Translations
from pmeans.errors import ConfigError, StorageError, naming, shown
from pmeans.files import optional, sizes, write_checksums
from pmeans.languages.tokenizers import splitting
from pmeans.outputs import check_output
from pmeans.spaces import edit
from pmeans.spaces.library import data_home, find_space
from pmeans.spaces.space import WordSpace
from pmeans.training import filled
from pmeans.training.corpus import Pair, PairFile, drawn
from pmeans.training.trainer import FilePath, FromFiles, SpaceRef, within
from pmeans.types import Array, Progress, Root, Tokenizer

TRANSLATIONS = 1000
"""Pairs of a file that a model carries, unless the file says how many."""
MEASURED = 2000
"""Pairs of a file that the length of rows is measured on."""
HEAVIEST = 100
"""What mapped columns may count at most beside the others."""
_SHORTEST, _LONGEST = 4, 40


@dataclass(frozen=True)
class PackedPart(Part, FromFiles):
    """A part of a recipe, and how its space is packed.

    Attributes:
        words: Keep so many words of each language, the commonest, or those that would lose most if
            they were composed of n-grams; None keeps all.
        precision: How the vectors are stored; None as they are.
    """

    space: SpaceRef
    words: Count | None = None
    precision: Precision | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self)


@dataclass(frozen=True)
class StoredFit(Fit):
    """How maps are fitted, and as which numbers they are stored.

    Attributes:
        keep: So many of the first parts stay as they are.
        weight: What mapped columns are multiplied by, beside those that stay as they are.
        precision: How the maps are stored.
    """

    keep: int = 0
    weight: Annotated[float, Range(above=0, high=HEAVIEST)] = 1.0
    precision: RowPrecision = "float32"

    def __post_init__(self) -> None:
        check(self)
        if self.weight != 1 and self.method != "canonical":
            raise ConfigError(
                f"align: weight = {self.weight:g} needs method = 'canonical', not {self.method!r}, "
                "which leaves the rows of the pivot as they are."
            )


@dataclass(frozen=True)
class Build(FromFiles):
    """What an encoder is made of.

    Attributes:
        parts: Spaces, powers and packing, in output order.
        texts: Pairs of sentences that the z-norm of each language and the maps are fitted on, and
            words are counted in. All have the same first language, the pivot. The model has the
            languages of these, and no others that its spaces may have.
        name: Of the recipe.
        tokenizer: As in a recipe.
        root: As in a recipe.
        align: How the languages are mapped into one space; None for no maps.
        common: What says how common a word is: the texts, or, as much as these, the frequencies
            of the package wordfreq, which are those of news, subtitles and the web.
        translations: Pairs of which the model carries some, see `carried`.
        identify: What the identifier of languages is fitted on; None for no identifier.
        card: A file with the hand-written part of the model card.
        materials: What all this was made from, for the model card.
    """

    parts: tuple[PackedPart, ...]
    texts: tuple[PairFile, ...]
    name: str
    tokenizer: Tokenizer = "words"
    root: Root = "signed"
    align: StoredFit | None = None
    common: Literal["texts", "texts+wordfreq"] = "texts"
    translations: tuple[PairFile, ...] = ()
    identify: LanguageTexts | None = None
    card: FilePath | None = None
    materials: tuple[Material, ...] = ()

    def __post_init__(self) -> None:
        if not self.texts:
            raise ConfigError(f"build {self.name!r} has no texts to fit the z-norm on.")

    @classmethod
    def from_toml(cls, path: str | Path, data: str | Path | None = None) -> Build:
        """Read a build file; its paths are relative to it, and its name is that of the file.

        `data` is what ``{data}`` stands for in it; `data_home` if None.
        """
        mapping = filled(_with_base(Path(path)), {"data": str(data_home(data))}, str(path))
        with naming(str(path)):
            read = config.build(cls, mapping, str(path))
        return read.beside(Path(path).resolve().parent)

    def encoder(self, progress: Progress) -> PowerMeanEncoder:
        """Pack the spaces and fit the rest."""
        # Those of every language that words are counted in.
        sentences: dict[str, list[str]] = defaultdict(list)
        for file in self.texts if any(part.words for part in self.parts) else ():
            for pair in file.read()["train"]:
                sentences[file.first].append(pair.first)
                sentences[file.second].append(pair.second)
        spaces: dict[str, WordSpace] = {}
        packings: dict[str, PackedPart] = {}
        parts = []
        for i, part in enumerate(self.parts):
            space = find_space(part.space)
            progress(i / (len(self.parts) + 1), f"packing {space.name}")
            packing = replace(part, powers=(1,))
            if packings.setdefault(space.name, packing) != packing:
                raise ConfigError(
                    f"two parts of {self.name!r} use a space named {space.name!r}, but not the "
                    "same words and precision of the same file."
                )
            if space.name not in spaces:
                spaces[space.name] = self._packed(space, part, sentences)
            parts.append(Part(space.name, part.powers, phrases=part.phrases))
        recipe = Recipe(tuple(parts), self.name, self.tokenizer, self.root, "per_language")
        progress(len(self.parts) / (len(self.parts) + 1), "fitting")
        encoder = fit_on_pairs(
            PowerMeanEncoder(recipe, spaces),
            self.texts,
            self.align,
            keep=self.align.keep if self.align else 0,
        )
        if self.align is not None and encoder.alignment is not None:
            # Parts that are not mapped have the axes of all languages for columns.
            assert encoder.znorm is not None
            weighted = encoder.alignment.weighted(self.align.weight)
            encoder = encoder.replace(
                znorm=encoder.znorm.normed(encoder.alignment.kept),
                alignment=weighted.stored_as(self.align.precision),
            )
        return typical_length(encoder, self.texts).replace(
            translations=carried(self.translations),
            identifier=self.identify.fit() if self.identify else None,
        )

    def make(
        self, folder: str | Path, *, progress: Progress, graph: Graph | None = None
    ) -> dict[str, int]:
        """Build the encoder and write it as a folder, with its card and its checksums.

        The graph makes the spaces that parts name by their trainer files. Returns the number of
        bytes of each file, by its path within the folder.
        """
        written = _read(self.card) if self.card else ""
        # The folder comes first: one that cannot be written should not cost minutes of fitting.
        with models.replacing(folder) as new, one_thread():
            graph = graph or Graph()
            plan, spaces = graph.resolved(self)
            check_output(folder, graph.inputs)
            graph.make(spaces, progress=within(progress, 0, 2))
            encoder = plan.encoder(within(progress, 1, 2))
            models.write(encoder, new)
            rendered = render(encoder, written, self.materials, sizes(new))
            (new / models.CARD).write_text(rendered, encoding="utf-8")
            write_checksums(new)
            files = sizes(new)
        progress(1.0, "done")
        return files

    def _packed(
        self, space: WordSpace, part: PackedPart, sentences: Mapping[str, list[str]]
    ) -> WordSpace:
        space = edit.only(
            space, {lang for file in self.texts for lang in (file.first, file.second)}
        )
        if part.words is not None:
            spaces = {}
            for lang in space.tables:
                # A space made by dictionary stands in the dictionary's order. Of words that are
                # equally common the first stay, which in most spaces are the commoner ones of a
                # larger text.
                words = list(space.words(lang))
                shares = self._shares(space, lang, words, sentences.get(lang, ()))
                order = np.argsort(-shares * _lost(space, lang, words), kind="stable")
                spaces[lang] = [words[i] for i in order[: part.words].tolist()]
            space = edit.prune(space, spaces)
        return edit.quantise(space, part.precision) if part.precision else space

    def _shares(
        self, space: WordSpace, lang: str, words: Sequence[str], sentences: Sequence[str]
    ) -> Array:
        """Return the share of running text that each word is, (n_words,)."""
        counted = edit.count_words(space, sentences, lang, splitting(self.tokenizer, lang))
        shares = np.array([counted.get(word, 0) for word in words]) / max(1, sum(counted.values()))
        if self.common == "texts":
            return shares
        wordfreq = optional("wordfreq", "train", "common = 'texts+wordfreq'")
        try:
            general = wordfreq.get_frequency_dict(lang)
        except LookupError as error:
            raise ConfigError(f"wordfreq has no list of {lang!r}: common = 'texts'.") from error
        return shares + np.array([general.get(word, 0) for word in words])


def _lost(space: WordSpace, lang: str, words: Sequence[str]) -> Array:
    """Return how far each word is from what its n-grams make of it, squared, (n_words,).

    Where nothing composes a word, all of it would be lost; without n-grams all words count alike.
    """
    if space.subwords is None:
        return np.ones(len(words))
    first = space.table(lang).start
    composed, _ = space.composed(words, lang)
    apart = space.rows(slice(first, first + len(words))) - composed
    return np.einsum("ij,ij->i", apart, apart)


def _with_base(path: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read a build file, and of the file that it is based on the keys that it lacks.

    Its name is its own in any case. ``above`` are the files that are based on it.
    """
    mapping: dict[str, Any] = {"name": path.stem, **config.read_toml(path)}
    base = mapping.pop("base", None)
    if base is None:
        return mapping
    if not isinstance(base, str) or Path(base).name != base or not base.endswith(".toml"):
        message = f"base must be the name of a TOML file beside it, not {shown(base)}."
        raise ConfigError(f"{path}: {message}")
    other = path.parent / base
    if other in (path, *above):
        raise ConfigError(f"{path}: a build file cannot be based on itself, as {base!r} would be.")
    return {**_with_base(other, (path, *above)), **mapping}


def fit_on_pairs(
    encoder: PowerMeanEncoder,
    files: Sequence[PairFile],
    align: Fit | None = None,
    *,
    keep: int = 0,
) -> PowerMeanEncoder:
    """Fit the z-norm of every language, and the maps into one space.

    Both are of languages and not of tasks, so text of any kind will do.

    Args:
        encoder: With a z-norm per language that is not fitted yet.
        files: Their training pairs are used. All have the same first language, the pivot.
        align: How the languages are mapped; None leaves them as they are.
        keep: So many of the first parts are not mapped.
    """
    pivot = _pivot(files)
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for file in files:
        pairs[file.second] += file.read()["train"]
    firsts = [pair.first for listed in pairs.values() for pair in listed]
    encoder = encoder.fit_znorm(firsts, lang=pivot)
    for lang, listed in pairs.items():
        encoder = encoder.fit_znorm([pair.second for pair in listed], lang=lang)
    if align is None:
        return encoder
    sides = {lang: ((pair.first, pair.second) for pair in listed) for lang, listed in pairs.items()}
    return encoder.fit_alignment(
        sides,
        pivot=pivot,
        method=align.method,
        penalty=align.penalty,
        rank=align.rank,
        keep=keep,
    )


def typical_length(encoder: PowerMeanEncoder, files: Sequence[PairFile]) -> PowerMeanEncoder:
    """Return the encoder with its rows divided by their median length on some of the texts."""
    lengths = []
    for file in files:
        some = drawn(file.read()["train"], MEASURED)
        for lang, texts in (
            (file.first, [pair.first for pair in some]),
            (file.second, [pair.second for pair in some]),
        ):
            lengths.append(np.linalg.norm(encoder.encode(texts, lang=lang), axis=1))
    measured = np.concatenate(lengths)
    assert encoder.znorm is not None
    typical = float(np.median(measured[measured > 0])) if measured.any() else 1.0
    return encoder.replace(znorm=encoder.znorm.shortened(typical))


def carried(files: Sequence[PairFile]) -> Translations | None:
    """Draw the pairs that a model carries, or None if there are no files.

    They are of the pairs that are held out for development: spaces and maps have not seen them,
    and do with them as with any text.
    """
    if not files:
        return None
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for file in files:
        pairs[file.second] += drawn_sentences(file.read()["dev"], file.limit or TRANSLATIONS)
    return Translations(_pivot(files), pairs)


def drawn_sentences(pairs: Sequence[Pair], limit: int) -> list[tuple[str, str]]:
    """Draw at most so many pairs of which both sides have 4 to 40 words."""
    some = drawn(list(filter(_is_sentence, pairs)), limit)
    return [(pair.first, pair.second) for pair in some]


def _is_sentence(pair: Pair) -> bool:
    lengths = (len(side.split()) for side in (pair.first, pair.second))
    return all(_SHORTEST <= length <= _LONGEST for length in lengths)


def _pivot(files: Sequence[PairFile]) -> str:
    pivot = files[0].first
    if any(file.first != pivot for file in files):
        raise ConfigError(
            f"all files of pairs must have the same first language: {files[0].path} has {pivot!r}."
        )
    return pivot


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot read {path!r}: {error.strerror}.") from error
