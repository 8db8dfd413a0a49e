"""Add a language to a finished model, from dictionaries, from pairs of sentences, or from both.

In every space of the model the words of the new language become means of their translations'
vectors (`pmeans.training.lexicon`); numbers and punctuation are taken as they are. Its z-norm
is fitted on its own text. Its map is fitted on the pairs; without pairs it takes the pivot's own,
since its words are made of the pivot's vectors. Pairs that were held out of all this are carried
along, as text, to calibrate classifiers by. What the model has of other languages stays as it
is, to the bit, so that vectors and classifiers made with it stay valid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans import models
from pmeans.align import Alignment, LanguageMap
from pmeans.building.build_file import carried
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError, LanguageError
from pmeans.rows import read_lines
from pmeans.spaces import edit
from pmeans.spaces.space import WordSpace
from pmeans.text import splitting
from pmeans.training.corpus import Pair, PairFile, drawn
from pmeans.training.lexicon import AlignerState, WordPairs, aligned_words, project, translations
from pmeans.translations import Translations
from pmeans.types import Progress

LINKS = 8_000_000
"""Of words that may translate each other, at most, in the pairs that are aligned: what takes time
and memory. Of more, the shortest pairs are taken, in which there is least to confuse."""
MAPPED = 100_000
"""Pairs that the map is fitted on. Of more, so many are drawn at random, always the same ones."""


@dataclass(frozen=True)
class NewLanguage:
    """A language that a model is to learn, and what from.

    Attributes:
        lang: Its code.
        dictionaries: Files of two columns: a word of the pivot, a word of the language.
        pairs: Sentences of the pivot and of the language. As in all training, the last 4 % of
            each source are not used, so that one can measure by them.
        text: A file with text of the language, a sentence a line.
        pivot: A language that the model has; the one of its alignment, where it has one.
    """

    lang: str
    dictionaries: tuple[str, ...] = ()
    pairs: PairFile | None = None
    text: str | None = None
    pivot: str = "en"

    def make(
        self, model: str | Path | None, folder: str | Path, *, progress: Progress
    ) -> PowerMeanEncoder:
        """Open a model, add the language, and write the whole as another folder.

        A model card is taken along, with a section on what was added.
        """
        old = models.load(model)
        # The folder comes first: one that cannot be written should not cost minutes of fitting.
        with models.replacing(folder) as new:
            encoder = self.add_to(old, progress=progress)
            models.write(encoder, new)
            card = (models.card_of(old) or f"# {old.name}\n") + self._described(encoder)
            (new / models.CARD).write_text(card, encoding="utf-8")
        progress(1.0, "done")
        return encoder

    def add_to(self, encoder: PowerMeanEncoder, *, progress: Progress) -> PowerMeanEncoder:
        """Return an encoder that has the language as well; the one given stays as it is."""
        self._check(encoder)
        paired = self.pairs.read()["train"] if self.pairs else []
        sentences = [pair.second for pair in paired]
        if self.text is not None:
            sentences += [line for line in read_lines(self.text) if line.strip()]
        words = self._translations(paired, progress)
        progress(0.8, "averaging translations")
        spaces = {name: self._with_words(space, words) for name, space in encoder.spaces.items()}
        grown = encoder.replace(spaces=spaces, translations=self._translated(encoder))
        progress(0.9, "fitting")
        if encoder.recipe.znorm == "per_language":
            self._check_text(grown, sentences)
            grown = grown.fit_znorm(sentences, lang=self.lang)
        if encoder.alignment is None:
            return grown
        if not paired:
            return grown.replace(alignment=self._as_pivot(encoder.alignment))
        sides = {self.lang: ((pair.first, pair.second) for pair in drawn(paired, MAPPED))}
        of_pivot = self.pivot in encoder.alignment.maps
        return grown.fit_alignment(
            sides, pivot=self.pivot, method="canonical" if of_pivot else "cca"
        )

    def _check(self, encoder: PowerMeanEncoder) -> None:
        languages = ", ".join(encoder.languages) or "no language by name"
        if self.lang in encoder.languages:
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
            if all(map(_is_sign, edit.count_words(space, sentences, self.lang, way))):
                raise InputError(
                    f"none of the words learned for {self.lang!r} in {space.name!r} occurs in the "
                    f"{len(sentences):,} sentences to fit its z-norm on. Is their language the "
                    "one of the translations?"
                )

    def _translations(self, paired: list[Pair], progress: Progress) -> WordPairs:
        if self.pairs is None:
            return translations(self.dictionaries, None, shared=False)
        aligned = aligned_words(
            self.pairs, (self.pivot, self.lang), AlignerState(None, self, []),
            lambda share, text: progress(0.8 * share, text), shortest(paired, LINKS),
        )  # fmt: skip
        return translations(self.dictionaries, aligned, shared=True)

    def _translated(self, encoder: PowerMeanEncoder) -> Translations | None:
        """Return the translations of the encoder, with those of the new language."""
        old, new = encoder.translations, carried([self.pairs] if self.pairs else [])
        if old is None or new is None or old.pivot != new.pivot:
            return old or new
        return replace(old, pairs={**old.pairs, **new.pairs})

    def _with_words(self, space: WordSpace, pairs: WordPairs) -> WordSpace:
        # A space that does not tell languages apart, or has this one already, is complete.
        if space.covers(self.lang):
            return space
        words, vectors = project(space, self.pivot, pairs)
        seen = set(words)
        signs = [word for word in filter(_is_sign, space.words(self.pivot)) if word not in seen]
        same = space.rows(space.find(signs, self.pivot))
        added = WordSpace.from_words(
            space.name, {self.lang: [*words, *signs]}, np.concatenate([vectors, same]),
            case=space.case, subwords=space.subwords,
            source=f"{self.lang} from {self.pivot} by {', '.join(self._files())}",
        )  # fmt: skip
        precision = space.matrix.dtype.name
        return edit.merge([space, edit.quantise(added, precision)], space.name)  # type: ignore[arg-type]

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
        means = f"means of the vectors of their translations in {self.pivot}"
        lines = [
            f"- Words: {', '.join(words)}; {means}.",
            f"- Made from: {', '.join(files)}. The terms of these hold for the model, too.",
        ]
        if encoder.znorm and encoder.recipe.znorm == "per_language":
            count = encoder.znorm.for_language(self.lang).count
            lines.append(f"- Z-norm: fitted on {count:,} sentences.")
        if self.pairs and encoder.translations:
            count = len(encoder.translations.pairs.get(self.lang, ()))
            lines.append(f"- Pairs that the model carries as text: {count:,}.")
        if encoder.alignment:
            lines.append(f"- Map: {encoder.alignment.maps[self.lang].origin}.")
        title = f"\n## Added: {self.lang}\n\nWhat is said above is about the model before.\n\n"
        return title + "\n".join(lines) + "\n"


def shortest(pairs: list[Pair], links: int) -> list[Pair]:
    """Return the shortest pairs, as many as have so many links of words, in their order."""
    counts = [(1 + p.first.count(" ")) * (1 + p.second.count(" ")) for p in pairs]
    n_links = np.array(counts, dtype=np.int64)
    order = np.argsort(n_links, kind="stable")
    kept = order[np.cumsum(n_links[order]) <= links]
    return [pairs[i] for i in np.sort(kept).tolist()]


def _is_sign(word: str) -> bool:
    """Whether a word has no letter, as commas and numbers, which dictionaries lack."""
    return not any(map(str.isalpha, word))
