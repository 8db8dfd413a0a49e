"""How good an added language gets: quality against the number of pairs, with a dictionary or not.

    python studies/new_language.py DATA LANG [MODEL] [N ...] [own|shared]

DATA has ``lexicon``, ``parallel`` and ``tasks``. MODEL (the package's own if none is named) lacks
LANG and gets it from N pairs, by default 0 to 100,000. Printed is a table of per cents, a row for
each N: translations found among the 1,961 sentences of NTREX from and to English, STS across and
within (Spearman), the genre of a sentence by a classifier that was trained in English (chance is
10), the words of NTREX that have a vector of their own in the first part, and seconds of processor
time. Without pairs the z-norm is fitted on 5,000 sentences of LANG. ``own`` and ``shared`` say
which n-grams answer for unknown words, whatever the script.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pmeans
from pmeans import PowerMeanEncoder, TransferClassifier
from pmeans.building.new_language import NewLanguage
from pmeans.encoder.postprocess import unit_rows
from pmeans.training import new_words
from pmeans.training.corpus import PairFile
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.measures.retrieval import retrieved
from pmeans_lab.evaluation.measures.similarity import spearman

PAIRS = (0, 1_000, 3_000, 10_000, 30_000, 100_000)
COLUMNS = (
    "pairs", "dictionary", "NTREX en-{0}", "NTREX {0}-en", "STS en-{0}", "STS {0}", "genre en-{0}",
    "words known", "CPU s",
)  # fmt: skip


def main() -> None:
    """Print the table."""
    data, lang, *rest = sys.argv[1:]
    if rest and rest[-1] in ("own", "shared"):
        own = rest.pop() == "own"
        new_words._new_script = lambda space, words: own
    model = rest.pop(0) if rest and not rest[0].isdigit() else None
    counts = [int(n) for n in rest] or PAIRS
    data = Path(data)
    old = whitespace(pmeans.load(model))
    files = sorted((data / "parallel").glob(f"en-{lang}.tsv.*"))
    dictionary = sorted((data / "lexicon").glob(f"en-{lang}.translations.wiktionary.tsv.gz"))
    sets = {
        task.name: tasks.load(task, data, ["en", lang]).rows
        for task in map(tasks.find, ("NTREX", "STS", "XNLI-genre"))
        if lang in task.languages
    }
    classifier = None
    if "XNLI-genre" in sets:
        genre = sets["XNLI-genre"]["en"]["train"]
        classifier = TransferClassifier(old).fit(
            genre.sentences, list(map(str, genre.labels)), lang="en"
        )
    print("| " + " | ".join(COLUMNS).format(lang) + " |\n|" + "---|" * len(COLUMNS))
    for n in counts:
        for listed in ((), tuple(map(str, dictionary))):
            if n == 0 and not listed:
                continue
            start = time.process_time()
            grown = added(old, lang, listed, files[0], n)
            spent = time.process_time() - start
            scores = measured(grown, lang, sets, classifier)
            shown = [f"{n:,}", "yes" if listed else "no", *scores, f"{spent:.0f}"]
            print("| " + " | ".join(shown) + " |", flush=True)


def whitespace(encoder: PowerMeanEncoder) -> PowerMeanEncoder:
    """Return the encoder for text that is split already, as tasks are."""
    return encoder.replace(recipe=replace(encoder.recipe, tokenizer="whitespace"))


def added(
    encoder: PowerMeanEncoder, lang: str, dictionaries: tuple[str, ...], file: Path, n: int
) -> PowerMeanEncoder:
    """Return the encoder with the language, learned from some pairs of a file."""
    raw = encoder.replace(recipe=replace(encoder.recipe, tokenizer="words"))
    pairs = PairFile(str(file), "en", lang, limit=n or 5_000)
    if n:
        new = NewLanguage(lang, dictionaries, pairs)
        return whitespace(new.add_to(raw, progress=lambda share, words: None))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as text:
        text.writelines(f"{pair.second}\n" for pair in pairs.read()["train"])
        text.flush()
        new = NewLanguage(lang, dictionaries, text=text.name)
        return whitespace(new.add_to(raw, progress=lambda share, words: None))


def measured(
    encoder: PowerMeanEncoder, lang: str, sets: dict, classifier: TransferClassifier | None
) -> Sequence[str]:
    """Return the scores of a row of the table, as they are printed."""
    news = [sets["NTREX"][code]["test"].sentences for code in ("en", lang)]
    rows = [encoder.encode(news[0], lang="en"), encoder.encode(news[1], lang=lang)]
    found = [
        retrieved(*rows, *news)[0].mean(),
        retrieved(*rows[::-1], *news[::-1])[0].mean(),
    ]
    for first in ("en", lang) if "STS" in sets else ():
        sides = ((first, "first"), (lang, "second"))
        units = [
            unit_rows(encoder.encode(sets["STS"][code][part].sentences, lang=code))
            for code, part in sides
        ]
        found.append(
            spearman((units[0] * units[1]).sum(axis=1), sets["STS"][lang]["second"].labels)
        )
    shown = [f"{100 * score:.1f}" for score in found] + ["–"] * (4 - len(found))
    if classifier:
        classifier._encoder = encoder  # rows of English are the same, to the bit
        test = sets["XNLI-genre"][lang]["test"]
        with warnings.catch_warnings(action="ignore"):  # about unknown words: they are reported
            right = classifier.predict(test.sentences, lang=lang) == test.labels.astype(str)
        shown.append(f"{100 * right.mean():.1f}")
    else:
        shown.append("–")
    space = next(iter(encoder.spaces.values()))
    words = [word for sentence in news[1] for word in sentence.split()]
    return [*shown, f"{100 * (space.find(words, lang) >= 0).mean():.0f}"]


if __name__ == "__main__":
    main()
