"""Measure how well languages are told apart, beside py3langid and lingua.

    pip install py3langid==0.4.0 lingua-language-detector==2.1.1
    pip install --no-deps django==5.2.19
    python studies/identifier.py DATA [MODEL] > results/languages/identifier.md

MODEL is a folder, or `default`, the model in the package; its identifier is asked about eleven
languages, whichever of them the model has. All three programs are told to choose among the same.
Texts are the first 3, 5 or 10 words of NTREX, which nothing was fitted on, and of the held-out
sentences of Tatoeba, less those that are in the training part as well. A figure is the mean over
the languages. Texts of other languages are translations of Django's messages, of 3 words or more.
"""

import gettext
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import py3langid
from lingua import IsoCode639_1, Language, LanguageDetectorBuilder

import pmeans
from pmeans.languages.resolution import TextLanguages
from pmeans.tables import read_lines
from pmeans.training.corpus import PairFile

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "ru", "sv", "cs")
THREE = LANGUAGES[:3]
AT_MOST = 4000  # texts of a language
Texts = Mapping[str, list[str]]


def ntrex(data: Path) -> Texts:
    """Return the news sentences of each language."""
    return {lang: list(read_lines(data / f"tasks/ntrex/{lang}.txt.gz")) for lang in LANGUAGES}


def tatoeba(data: Path) -> Texts:
    """Return held-out sentences of each language that do not occur in the training part."""
    held: dict[str, list[str]] = {lang: [] for lang in LANGUAGES}
    seen: dict[str, set[str]] = {lang: set() for lang in LANGUAGES}
    for lang in LANGUAGES[1:]:
        ending = "gz" if lang in THREE else "xz"
        path = data / f"parallel/en-{lang}.tsv.{ending}"
        for portion, pairs in PairFile(str(path), "en", lang, ("tatoeba",)).read().items():
            for pair in pairs:
                for code, text in (("en", pair.first), (lang, pair.second)):
                    seen[code].add(text) if portion == "train" else held[code].append(text)
    kept = {lang: sorted(set(held[lang]) - seen[lang]) for lang in LANGUAGES}
    rng = np.random.default_rng(0)
    return {lang: rng.permutation(texts)[:AT_MOST].tolist() for lang, texts in kept.items()}


def django() -> Texts:
    """Return the translated messages of each language, without what is put into them."""
    (root,) = importlib.util.find_spec("django").submodule_search_locations
    found: dict[str, set[str]] = {}
    for path in Path(root).glob("**/locale/*/LC_MESSAGES/django.mo"):
        with open(path, "rb") as file:
            catalogue = gettext.GNUTranslations(file)._catalog
        if "_" in path.parts[-3]:  # a country's way to write
            continue
        for original, text in catalogue.items():
            plain = re.sub(r"%(\(\w*\))?\w|<[^>]*>|{[^}]*}", "", text).strip()
            if original and text != original and len(plain.split()) >= 3:
                found.setdefault(path.parts[-3], set()).add(plain)
    return {lang: sorted(texts) for lang, texts in found.items() if len(texts) >= 100}


def beginnings(texts: Iterable[str], n: int) -> list[str]:
    """Return the first n words of the texts that have so many."""
    split = (text.split() for text in texts)
    return [" ".join(words[:n]) for words in split if len(words) >= n]


def rivals() -> dict[str, Callable[[str], str]]:
    """Return the other programs."""
    py3langid.set_languages(list(LANGUAGES))
    codes = [getattr(IsoCode639_1, lang.upper()) for lang in LANGUAGES]
    chosen = map(Language.from_iso_code_639_1, codes)
    lingua = LanguageDetectorBuilder.from_languages(*chosen).build()

    def by_lingua(text: str) -> str:
        found = lingua.detect_language_of(text)
        return found.iso_code_639_1.name.lower() if found else ""

    return {"py3langid": lambda text: py3langid.classify(text)[0], "lingua": by_lingua}


def table(header: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; shares as per cent."""
    print("| " + " | ".join(header) + " |\n|" + " :-- |" + " --: |" * (len(header) - 1))
    for row in rows:
        cells = (f"{100 * cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row)
        print("| " + " | ".join(cells) + " |")
    print()


def mean(shares: Iterable[float]) -> float:
    """Return the mean over languages."""
    return float(np.mean(list(shares)))


def main(data: Path, model: str) -> None:
    """Print the page."""
    identifier = pmeans.load(model).identifier

    def find(texts: list[str], among: tuple[str, ...]) -> TextLanguages:
        return identifier.find(texts, among)

    others = rivals()
    sets = {"NTREX": ntrex(data), "Tatoeba": tatoeba(data)}
    rows, by_language = [], []
    for name, texts in sets.items():
        for n in (3, 5, 10):
            cut = {lang: beginnings(texts[lang], n) for lang in LANGUAGES}
            found = {lang: find(cut[lang], LANGUAGES) for lang in LANGUAGES}
            right = {k: np.array(list(each)) == k for k, each in found.items()}
            rows.append(
                [f"{name}, {n} words", f"{sum(map(len, cut.values())):,}"]
                + [mean(each.mean() for each in right.values())]
                + [
                    mean(np.mean([ask(t) == k for t in cut[k]]) for k in cut)
                    for ask in others.values()
                ]
                + [mean((right[k] & ~found[k].none).mean() for k in found)]
                + [mean(found[k].none.mean() for k in found)]
                + [mean(found[k].doubtful.mean() for k in found)]
            )
            by_language.append([f"{name}, {n} words", *(float(right[k].mean()) for k in LANGUAGES)])
    figures = {row[0]: [100 * share for share in row[2:]] for row in rows}
    three, five, ten = (figures[f"NTREX, {n} words"] for n in (3, 5, 10))
    print("# Which language a text is in\n")
    print(f"The language of news is found among eleven from 3 words in {three[0]:.1f} per cent of")
    print(f"cases (py3langid {three[1]:.1f}, lingua {three[2]:.1f}), from 5 words in {five[0]:.1f}")
    print(f"({five[1]:.1f}, {five[2]:.1f}), and from 10 words in {ten[0]:.1f} ({ten[1]:.1f},")
    print(f"{ten[2]:.1f}). *None of these languages* is an answer as well: it is wrongly given to")
    print(f"{three[4]:.1f} per cent of the texts of 3 words.\n")
    print("Per cent of texts; `studies/identifier.py` says at its top what is measured, and how to")
    print("make this page. The first three programs choose among eleven languages; in the further")
    print("columns, pmeans may answer that it is none of them, which is wrong here.\n")
    table(["texts", "number", "pmeans", *others, "pmeans, or none", "none", "doubtful"], rows)
    print("pmeans by language, among eleven:\n")
    table(["texts", *LANGUAGES], by_language)
    print("Texts of other languages, and of its own, by a model of eleven languages and by one of")
    print("three (en, de, fr): none of them, or doubtful, and what most of the rest is taken for.")
    print("Languages with a star are among those that the identifier was fitted on.\n")
    listed = []
    for lang, texts in sorted(django().items()):
        row: list[object] = [lang + ("\\*" if lang in identifier.languages else ""), len(texts)]
        for among in (LANGUAGES, THREE):
            found = find(texts, among)
            sure = ~(found.none | found.doubtful)
            taken = Counter(np.array(list(found))[sure].tolist()).most_common(1)
            rest = f"{taken[0][0]} {100 * taken[0][1] / len(texts):.0f}" if taken else ""
            row += [float(found.none.mean()), float(found.doubtful.mean()), rest]
        listed.append(row)
    table(["language", "texts", *2 * ["none", "doubtful", "taken for"]], listed)
    print(
        "Settings were chosen by a look at NTREX and at the texts of Django, a dozen times; nothing"
    )
    print(
        "was fitted on them. Words of the languages with a star come from lists by frequency, and"
    )
    print(
        "of the eleven from sentences as well. A relative of which there were no words (Afrikaans,"
    )
    print("Galician, Sorbian) is taken for the language that is next to it.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "default")
