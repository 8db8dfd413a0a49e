"""Add a language to a finished model, from dictionaries, from pairs of sentences, or from both.

In every space of the model the words of the new language become means of their translations'
vectors. Where the mean of words is all that is taken of a space, they are then fitted to it
(`pmeans.training.new_words`): the model is its own teacher. The z-norm is fitted on text of the
language. Its map is fitted on the pairs; without pairs it takes the pivot's own, since its words
are made of the pivot's vectors. Pairs that were held out of all this are carried along, as text,
to calibrate classifiers by. What the model has of other languages stays as it is, to the bit, so
that vectors and classifiers made with it stay valid.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans import models
from pmeans.building.build_file import TRANSLATIONS, drawn_sentences
from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.translations import Translations
from pmeans.errors import InputError, LanguageError, count
from pmeans.languages.codes import match, tidy_code
from pmeans.languages.tokenizers import splitting
from pmeans.spaces import edit
from pmeans.spaces.space import WordSpace
from pmeans.tables import read_lines
from pmeans.training.bags import BagReader
from pmeans.training.corpus import Item, Pair, PairFile, drawn
from pmeans.training.lexicon import (
    AlignerState,
    WordPairs,
    aligned_words,
    read_dictionary,
    translations,
)
from pmeans.training.new_words import as_text, is_sign, placed, with_own_ngrams
from pmeans.training.trainer import within
from pmeans.types import Progress

LINKS = 8_000_000
"""Of words that may translate each other, at most, in the pairs that are aligned: what takes time
and memory. Of more, the shortest pairs are taken, in which there is least to confuse."""
LEARNED = 100_000
"""Pairs that words and the map are fitted on. Of more, so many are drawn at random, always the same
ones."""
READ = 200_000
"""Pairs and lines of text that are looked at in all, drawn in the same way."""


class SampledWarning(UserWarning):
    """A file is longer than is of use, and a part of it is drawn."""


@dataclass(frozen=True)
class NewLanguage:
    """A language that a model is to learn, and what from.

    Attributes:
        lang: Its code.
        dictionaries: Files of two columns: a word of the pivot, a word of the language.
        pairs: Sentences of the pivot and of the language. As in all training, the last 4 % of
            each source are not used, so that one can measure by them.
        text: A file with text of the language, a sentence per line.
        pivot: A language that the model has; the one of its alignment, where it has one.
    """

    lang: str
    dictionaries: tuple[str, ...] = ()
    pairs: PairFile | None = None
    text: str | None = None
    pivot: str = "en"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lang", tidy_code(self.lang))

    def make(
        self, model: str | Path | None, folder: str | Path, *, progress: Progress
    ) -> PowerMeanEncoder:
        """Open a model, add the language, and write the whole as another folder.

        A model card is taken along, with a section on what was added.
        """
        old = models.power_means(models.load(model), "a further language")
        files = [*self.dictionaries, *([self.pairs.path] if self.pairs else ()), self.text or ""]
        # The folder comes first: one that cannot be written should not cost minutes of fitting.
        with models.replacing(folder, [*models.files_of(old), *filter(None, files)]) as new:
            encoder = self.add_to(old, progress=progress)
            models.write(encoder, new)
            card = (models.card_of(old) or f"# {old.name}\n") + self._described(encoder)
            (new / models.CARD).write_text(card, encoding="utf-8")
        progress(1.0, "done")
        return encoder

    def add_to(self, encoder: PowerMeanEncoder, *, progress: Progress) -> PowerMeanEncoder:
        """Return an encoder that has the language as well; the one given stays as it is."""
        pivot = match(self.pivot, encoder.languages)
        if pivot is not None and pivot != self.pivot:
            return replace(self, pivot=pivot).add_to(encoder, progress=progress)
        self._check(encoder)
        parts = self.pairs.read() if self.pairs else {"train": [], "dev": []}
        paired = _some(parts["train"], self.pairs.path, "pairs") if self.pairs else []
        lines: list[str] = []
        if self.text is not None:
            lines = [line for line in read_lines(self.text) if line.strip()]
            lines = _some(lines, self.text, "lines")
        words = self._translations(paired, within(progress, 0, 2))
        spaces = self._spaces(encoder, words, self._lessons(paired, lines), progress)
        grown = encoder.replace(spaces=spaces, translations=self._translated(encoder, parts["dev"]))
        progress(0.9, "fitting")
        if encoder.recipe.znorm == "per_language":
            sentences = [*(pair.second for pair in paired), *lines]
            self._check_text(grown, sentences)
            grown = grown.fit_znorm(sentences, lang=self.lang)
        if encoder.alignment is None:
            return grown
        if not paired:
            return grown.replace(alignment=self._as_pivot(encoder.alignment))
        sides = {self.lang: ((pair.first, pair.second) for pair in drawn(paired, LEARNED))}
        of_pivot = self.pivot in encoder.alignment.maps
        return grown.fit_alignment(
            sides, pivot=self.pivot, method="canonical" if of_pivot else "cca"
        )

    def _check(self, encoder: PowerMeanEncoder) -> None:
        splitting("words", self.lang)  # which refuses languages without spaces
        languages = ", ".join(encoder.languages) or "no language by name"
        if match(self.lang, encoder.languages):
            raise InputError(
                f"the model {encoder.name!r} has {self.lang!r} already; it has {languages}."
            )
        if self.pivot not in encoder.languages:
            raise LanguageError(
                f"translations from {self.pivot!r} need a model that has it; {encoder.name!r} has "
                f"{languages}. Name one of its languages as the pivot."
            )
        if encoder.alignment and encoder.alignment.pivot != self.pivot:
            raise InputError(
                f"the languages of {encoder.name!r} are aligned with "
                f"{encoder.alignment.pivot!r}: give translations from it, and not from "
                f"{self.pivot!r}, and name it as the pivot."
            )
        if not self.dictionaries and self.pairs is None:
            raise InputError(
                f"nothing to learn {self.lang!r} from: give a dictionary, or pairs of sentences."
            )
        if encoder.recipe.znorm == "per_language" and self.pairs is None and self.text is None:
            raise InputError(
                f"the z-norm of {self.lang!r} has to be fitted on text, and there is none: give a "
                "file with a few thousand sentences of the language."
            )

    def _check_text(self, encoder: PowerMeanEncoder, sentences: list[str]) -> None:
        way = splitting(encoder.recipe.tokenizer, self.lang)
        for space in encoder.spaces.values():
            if all(map(is_sign, edit.count_words(space, sentences, self.lang, way))):
                raise InputError(
                    f"none of the words learned for {self.lang!r} in {space.name!r} occurs in the "
                    f"{count(len(sentences), 'sentence')} to fit its z-norm on. Is their language "
                    "the one of the translations?"
                )

    def _translations(self, paired: list[Pair], progress: Progress) -> WordPairs:
        """Return what is known of the words of the language, spelled as text is split."""
        langs = (self.pivot, self.lang)
        listed = [as_text(read_dictionary(file), langs) for file in self.dictionaries]
        if self.pairs is None:
            return translations(listed, None, shared=False)
        aligned = aligned_words(
            self.pairs, langs, AlignerState(None, self, []), progress, shortest(paired, LINKS)
        )
        return translations(listed, aligned, shared=True)

    def _lessons(self, paired: list[Pair], lines: list[str]) -> BagReader:
        """Return the text that words are ranked by and fitted to."""
        reader = BagReader(self.pivot)
        for pair in drawn(paired, LEARNED):
            reader.add(pair.first, self.lang, pair.second)
        side = reader.sides[self.lang]
        side.texts += lines
        side.targets += [len(reader.sentences)] * len(lines)
        return reader

    def _translated(self, encoder: PowerMeanEncoder, held: list[Pair]) -> Translations | None:
        """Return the translations of the encoder, with those of the new language."""
        old = encoder.translations
        if self.pairs is None or (old and old.pivot != self.pivot):
            return old
        some = drawn_sentences(held, self.pairs.limit or TRANSLATIONS)
        return Translations(self.pivot, {**(old.pairs if old else {}), self.lang: some})

    def _spaces(
        self, encoder: PowerMeanEncoder, words: WordPairs, lessons: BagReader, progress: Progress
    ) -> dict[str, WordSpace]:
        """Return the spaces of the encoder, each with the words of the language."""
        spaces = dict(encoder.spaces)
        for i, (name, space) in enumerate(encoder.spaces.items()):
            # A space that does not tell languages apart, or has this one already, is complete.
            if not space.covers(self.lang):
                means = {part.powers for part in encoder.recipe.parts if part.space == name}
                taught = means == {(1.0,)} and space.case == "lower"
                part = within(within(progress, 1, 2), i, len(spaces))
                spaces[name] = self._with_words(space, words, lessons, part, taught=taught)
        return spaces

    def _with_words(
        self,
        space: WordSpace,
        pairs: WordPairs,
        lessons: BagReader,
        progress: Progress,
        *,
        taught: bool,
    ) -> WordSpace:
        progress(0.0, f"placing words in {space.name}")
        langs = (self.pivot, self.lang)
        words, vectors = placed(space, langs, pairs, lessons, progress, taught=taught)
        subwords = with_own_ngrams(space, self.lang, words, vectors, progress)
        added = WordSpace.from_words(
            space.name, {self.lang: words}, vectors, case=space.case, subwords=subwords,
            source=f"{self.lang} from {self.pivot} by {', '.join(self._files())}",
        )  # fmt: skip
        both = [replace(space, subwords=subwords), edit.quantise(added, space.precision)]
        return edit.merge(both, space.name)

    def _as_pivot(self, alignment: Alignment) -> Alignment:
        """Give the language the pivot's map, or the identity where the pivot has none."""
        pivot = alignment.maps.get(self.pivot)
        factors = (
            pivot.factors if pivot else (np.eye(alignment.dim - alignment.kept, dtype=np.float32),)
        )
        fitted = LanguageMap(factors, f"as {self.pivot}, whose vectors its words are made of")
        return replace(alignment, maps={**alignment.maps, self.lang: fitted})

    def _files(self) -> list[str]:
        listed = [*self.dictionaries, *([self.pairs.path] if self.pairs else [])]
        return [Path(file).name for file in listed]

    def _described(self, encoder: PowerMeanEncoder) -> str:
        """Return the card's section on the language."""
        words = [f"{len(s.table(self.lang)):,} in {s.name}" for s in encoder.spaces.values()]
        files = [*self._files(), *([Path(self.text).name] if self.text else [])]
        means = f"from the vectors of their translations in {self.pivot}"
        lines = [
            f"- Words: {', '.join(words)}; {means}.",
            f"- Made from: {', '.join(files)}. The terms of these hold for the model, too.",
        ]
        if encoder.znorm and encoder.recipe.znorm == "per_language":
            sentences = count(encoder.znorm.for_language(self.lang).count, "sentence")
            lines.append(f"- Z-norm: fitted on {sentences}.")
        if self.pairs and encoder.translations:
            n_pairs = len(encoder.translations.pairs.get(self.lang, ()))
            lines.append(f"- Pairs that the model carries as text: {n_pairs:,}.")
        if encoder.alignment:
            lines.append(f"- Map: {encoder.alignment.maps[self.lang].origin}.")
        if encoder.identifier and match(self.lang, encoder.identifier.languages):
            lines.append("- The language of a text is found, also if it is this one.")
        elif encoder.identifier:
            lines.append(
                "- The language of a text must be named from now on: the model's identifier does "
                f"not know {self.lang}."
            )
        title = f"\n## Added: {self.lang}\n\nWhat is said above is about the model before.\n\n"
        return title + "\n".join(lines) + "\n"


def shortest(pairs: list[Pair], links: int) -> list[Pair]:
    """Return the shortest pairs, as many as have so many links of words, in their order."""
    counts = [(1 + p.first.count(" ")) * (1 + p.second.count(" ")) for p in pairs]
    n_links = np.array(counts, dtype=np.int64)
    order = np.argsort(n_links, kind="stable")
    chosen = order[np.cumsum(n_links[order]) <= links]
    return [pairs[i] for i in np.sort(chosen).tolist()]


def _some(items: list[Item], path: str, what: str) -> list[Item]:
    """Draw as many as are of use, and say so if these are not all."""
    if len(items) > READ:
        warnings.warn(
            f"{path}: {len(items):,} {what}; {READ:,} of them, drawn at random, are used.",
            SampledWarning,
            stacklevel=4,
        )
    return drawn(items, READ)
