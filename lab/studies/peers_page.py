"""The page of `peers.py`: what was measured here beside what is published, as Markdown."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from pmeans.errors import count
from pmeans_lab.experiments.render import Column, Field, Row, Section, Table, render

PEERS = ("static-similarity-mrl-multilingual-v1", "potion-multilingual-128M")
CEILING = ("LaBSE", "paraphrase-multilingual-MiniLM-L12-v2", "multilingual-e5-small")
NTREX, STS = "NTREXBitextMining", "STSBenchmarkMultilingualSTS"
NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
    "nl": "Dutch", "pt": "Portuguese", "pl": "Polish", "ru": "Russian", "sv": "Swedish",
    "cs": "Czech",
}  # fmt: skip
OTHERS = tuple(NAMES)[1:]
FROM = tuple((NTREX, "en", lang) for lang in OTHERS)
INTO = tuple((NTREX, lang, "en") for lang in OTHERS)
WITHIN = tuple((STS, lang, lang) for lang in NAMES if lang not in ("sv", "cs"))
Key = tuple[str, str, str]
"""A task, and the languages of the first sentences and of the second."""
Scores = Mapping[str, Mapping[Key, float]]
"""Per cent, by model."""

STATIC, TRANSFORMERS = "static encoders", "the ceiling: transformers"
PAGE = """\
# Beside today's encoders

{finding}

    pip install 'pmeans[mteb]'
    python studies/peers.py DATA{models}

Bold is the best static encoder of a column, even if its lead is no more than chance. “–” was not
published, or is a language that the model lacks.

{tables}
## Where the figures come from

- **Ours** are measured by mteb {mteb}, on local copies of the texts that it scores: all 1,997
  lines of NTREX, and the 1,500 pairs of the development part of STS in each language. The language
  of every text is named. `measured.json` has the figures unrounded.
- **The others** are published by mteb, and are not measured again here. `published.csv` has them,
  with the version of mteb that computed each. Their size is four bytes for each of the parameters
  that mteb counts.
- **Our own measures agree with mteb's.** On the same texts, the accuracy on NTREX differs by
  {accuracy:.4f} points at most, and the correlation on STS by {correlation:.4f}: the last digits
  of cosines are rounded in another way.
- **NTREX is higher in [languages](../languages/table.md).** There it is accuracy. F1, as here, also
  counts it against a line if it is found for others. And the lines there are 1,961, with other
  translations into Spanish and Portuguese. STS within a language is the same in both.
- **Speed and memory** are those of {sentences:,} English sentences of STS, {words:.0f} words on
  average, on {threads} threads of an {processor}, on {date}. The models took turns, {runs} runs of
  each. Shown are the median of the speed with the slowest and the fastest run, and the median of
  the processor time, of all threads together. The load of the machine was {load:.1f} at the start.
  Where other programs run as well, processor time says more than the clock. Memory is the most that
  a process held which loads the model and encodes. Pages of mapped files count.
"""


def read_published(path: Path) -> tuple[Scores, dict[str, float]]:
    """Return the published scores by model, and the size of each model in MB."""
    scores: dict[str, dict[Key, float]] = {}
    sizes: dict[str, float] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            model, value = line["model"], float(line["score"])
            if line["task"] == "parameters":
                sizes[model] = 4 * value / 1e6
            else:
                key = line["task"], line["first"], line["second"]
                scores.setdefault(model, {})[key] = value
    return scores, sizes


def page(measured: Mapping[str, Any], published: tuple[Scores, Mapping[str, float]]) -> str:
    """Return the page as Markdown."""
    models, machine = measured["models"], measured["machine"]
    ours = {
        name: {(c["task"], c["first"], c["second"]): c["score"] for c in model["scores"]}
        for name, model in models.items()
    }
    theirs, sizes = published
    scores = {**ours, **theirs}
    sizes = {name: model["size_mb"] for name, model in models.items()} | dict(sizes)
    tables = [
        score_table("NTREX: a translation found from English, F1", FROM, ours, scores),
        score_table("NTREX: English found from a translation, F1", INTO, ours, scores),
        score_table("STS: cosines and people's grades, Spearman", WITHIN, ours, scores),
        cost_table(models, sizes),
    ]
    return PAGE.format(
        finding="\n\n".join(finding(name, scores, sizes) for name in ours),
        models="".join(f" {name.upper()}" for name in list(models)[2:]),
        tables="\n".join("#" + render(table, "markdown") for table in tables),
        mteb=machine["versions"]["mteb"],
        accuracy=disagreement(models, "accuracy"),
        correlation=disagreement(models, "cosine_spearman"),
        runs=len(next(iter(models.values()))["runs"]),
        **{key: machine[key] for key in ("sentences", "words", "threads", "date", "load")},
        processor=machine["processor"],
    )


def score_table(title: str, keys: Sequence[Key], ours: Scores, scores: Scores) -> Table:
    """Return a table of languages, with the mean of a model that has all of them."""

    def values(model: str) -> list[float | None]:
        each = [scores[model].get(key) for key in keys]
        return [*each, None if None in each else mean(each)]

    static = {name: values(name) for name in (*ours, *PEERS)}
    best = [max(filled(column), default=None) for column in zip(*static.values(), strict=True)]
    rows = [
        Row(
            name,
            tuple(
                # As shown: two that look the same are both the best.
                Field(value, bold=value is not None and f"{value:.1f}" == f"{top:.1f}")
                for value, top in zip(row, best, strict=True)
            ),
        )
        for name, row in static.items()
    ]
    ceiling = [Row(name, tuple(map(Field, values(name)))) for name in CEILING]
    langs = [first if first != "en" else second for _, first, second in keys]
    columns = tuple(map(Column, (*langs, "mean")))
    sections = (Section(STATIC, tuple(rows)), Section(TRANSFORMERS, tuple(ceiling)))
    return Table(title, "encoder", columns, sections)


def filled(values: Sequence[float | None]) -> list[float]:
    """Return the values that are there."""
    return [value for value in values if value is not None]


def cost_table(models: Mapping[str, Any], sizes: Mapping[str, float]) -> Table:
    """Return sizes, and speed and memory of what was measured here."""

    def row(name: str) -> Row:
        size = Field(sizes[name])
        if name not in models:
            return Row(name, (size, Field(), Field(), Field()))
        runs = models[name]["runs"]
        speeds = [run["speed"] / 1000 for run in runs]
        text = f"{median(speeds):,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})"
        work, peak = median(run["cpu_us"] for run in runs), max(run["peak_mb"] for run in runs)
        return Row(name, (size, Field(text=text), Field(work), Field(peak)))

    columns = (
        Column("size on disk, MB", 0),
        Column("thousand sentences per second"),
        Column("processor time per sentence, µs"),
        Column("peak memory, MB", 0),
    )
    parts = {STATIC: (*models, *PEERS), TRANSFORMERS: CEILING}
    sections = tuple(Section(title, tuple(map(row, names))) for title, names in parts.items())
    return Table("Size, speed and memory", "encoder", columns, sections)


def finding(name: str, scores: Scores, sizes: Mapping[str, float]) -> str:
    """Say how far a model is from the best static encoder, and from the best transformers."""
    peer = PEERS[0]
    ntrex, sts = (gaps(name, [peer], keys, scores) for keys in (FROM, WITHIN))
    far, high = (mean(gaps(name, CEILING, keys, scores).values()) for keys in (FROM, WITHIN))
    return (
        f"`{name}` ({sizes[name]:,.0f} MB) beside `{peer}` ({sizes[peer]:,.0f} MB):\n"
        f"on NTREX from English it is {distance(ntrex)},\non STS {distance(sts)}.\n"
        f"Beside the best transformer for each language it is {signed(far)} on NTREX and "
        f"{signed(high)} on STS."
    )


def gaps(name: str, others: Sequence[str], keys: Sequence[Key], scores: Scores) -> dict[str, float]:
    """Return how much better a model is than the best of others, by language.

    The languages are those that the model and all others have.
    """
    shared = [key for key in keys if all(key in scores[model] for model in (name, *others))]
    best = {key: max(scores[model][key] for model in others) for key in shared}
    return {key[2]: scores[name][key] - best[key] for key in shared}


def distance(gap: Mapping[str, float]) -> str:
    """Say by how much a model is ahead or behind on average, and in its worst language."""
    worst = min(gap, key=lambda lang: gap[lang])
    number = (
        f"mean of {count(len(gap), 'language')}; lowest in {NAMES[worst]}, {signed(gap[worst])}"
    )
    return f"{signed(mean(gap.values()))} ({number})"


def signed(points: float) -> str:
    """Write a difference in words."""
    return f"{abs(points):.1f} points {'behind' if points < 0 else 'ahead'}"


def disagreement(models: Mapping[str, Any], measure: str) -> float:
    """Return the largest difference of our measure from mteb's, in points."""
    cells = [cell for model in models.values() for cell in model["scores"]]
    return max(abs(cell[measure] - cell["own"]) for cell in cells if cell["checked"] == measure)
