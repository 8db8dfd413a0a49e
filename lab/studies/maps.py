"""Measure the encoders of maps.toml themselves, and put all of their numbers into one table.

    python studies/maps.py measure DATA    # retrieval and dictionary precision
    pmeans eval run experiments/maps.toml      # transfer
    python studies/maps.py table           # both, as results/spaces/maps.md

Retrieval is that of held-out sentences, English first, averaged over the sources of the text. For
the dictionary every word is a sentence of one word, so that it goes through z-norm and map as well.
"""

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from pmeans import PowerMeanEncoder, WordSpace
from pmeans_lab.evaluation.measures import bilingual, retrieval
from pmeans_lab.experiments.encoders import Shelf
from pmeans_lab.experiments.plan import Experiment
from pmeans_lab.experiments.results import scored

HERE = Path(__file__).parent.parent
EXPERIMENT = HERE / "experiments" / "maps.toml"
RESULTS = HERE / "results"
MEASURES = RESULTS / "spaces" / "maps.jsonl"
COMMONEST = 20_000
Scores = dict[tuple[str, str], dict[str, float]]


def measure(data: Path) -> None:
    """Measure every encoder that can be opened, but for those measured already."""
    experiment = Experiment.from_toml(EXPERIMENT)
    shelf, done = Shelf(), read(MEASURES)
    for row in experiment.encoders:
        for lang in experiment.test:
            if (row.name, lang) in done:
                continue
            made = shelf.open(row, "en", lang).encoder
            recipe = replace(made.recipe, tokenizer="words")
            encoder = PowerMeanEncoder(recipe, made.spaces, made.znorm, made.alignment)
            found = {"encoder": row.name, "lang": lang, **measured(encoder, data, lang)}
            with open(MEASURES, "a", encoding="utf-8") as lines:
                print(json.dumps(found), file=lines, flush=True)


def measured(encoder: PowerMeanEncoder, data: Path, lang: str) -> dict[str, float]:
    """Return retrieval by source and on average, and the precision of the first answer."""
    pairs = retrieval.held_out(data / "parallel" / f"en-{lang}.tsv.gz")
    by_source = {
        source: retrieval.accuracy(encoder, some, ("en", lang)).value
        for source, some in pairs.items()
    }
    asked = bilingual.read_dictionary(data / "lexicon" / f"en-{lang}.bli.test.tsv")
    wanted = {"en": set(asked), lang: {word for words in asked.values() for word in words}}
    (space,) = encoder.spaces.values()
    words = {code: candidates(space, code, wanted[code]) for code in ("en", lang)}
    rows = [encoder.encode(words[code], lang=code) for code in words]
    spelled = WordSpace.from_words("words", words, np.concatenate(rows), case=space.case)
    first, *_ = bilingual.precision(spelled, asked, ("en", lang))
    return {
        "retrieval": float(np.mean(list(by_source.values()))),
        **{f"retrieval {source}": value for source, value in by_source.items()},
        "P@1": first.value,
        "words": first.covered,
    }


def candidates(space: WordSpace, lang: str, also: set[str]) -> list[str]:
    """Return the commonest words of a language, and some others that the space has."""
    listed = list(space.words(lang))
    return listed[:COMMONEST] + [word for word in listed[COMMONEST:] if word in also]


def read(path: Path) -> Scores:
    """Read what was measured, by encoder and language."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = map(json.loads, lines)
    return {(each["encoder"], each["lang"]): each for each in found}


def transferred(experiment: Experiment) -> Scores:
    """Read the mean score of each task, by encoder and language."""
    values = defaultdict(dict)
    for (row, task, _, lang), cell in scored(RESULTS, experiment)[0].items():
        values[row, lang][task] = float(np.mean(cell.values))
    return values


def table() -> str:
    """Return the table: a line an encoder, both languages side by side."""
    experiment = Experiment.from_toml(EXPERIMENT)
    measured, tasks = read(MEASURES), transferred(experiment)
    columns = [("retrieval", 100), ("P@1", 100), *((task, 1) for task in experiment.tasks)]
    titles = [f"{title} {lang}" for lang in experiment.test for title, _ in columns]
    lines = ["| | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    for row in experiment.encoders:
        cells = []
        for lang in experiment.test:
            found = measured.get((row.name, lang), {}) | tasks.get((row.name, lang), {})
            cells += [f"{found[c] * by:.1f}" if c in found else "–" for c, by in columns]
        lines.append(f"| {row.name} | " + " | ".join(cells) + " |")
    return "\n".join(["# Maps between languages", "", *lines, ""])


def main() -> None:
    """Measure, or render."""
    what, *rest = sys.argv[1:]
    if what == "measure":
        MEASURES.parent.mkdir(parents=True, exist_ok=True)
        measure(Path(*rest))
    else:
        MEASURES.with_suffix(".md").write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
