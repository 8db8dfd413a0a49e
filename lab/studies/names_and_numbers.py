"""Measure whether names and figures meet across languages, each in its own writing.

    python studies/names_and_numbers.py [MODEL ...]    # measure, and write results/languages
    python studies/names_and_numbers.py --render       # write the page again

MODEL is a folder; the model in the package and `wide` are always measured. `names.tsv` has 100
people and places, `figures.tsv` 100 sentences with a figure, a date or an amount: 20 sentences with
five figures each, so that only the figure tells five of them apart. A column is a language. The
language of every text is named, and English is what the others are compared with.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from peers import our_models, write
from peers_page import NAMES, OTHERS

import pmeans
from pmeans.encoder.postprocess import unit_rows
from pmeans.tables import read_lines
from pmeans.types import Encoder
from pmeans_lab.evaluation.measures.retrieval import retrieved
from pmeans_lab.experiments.render import Column, Field, Row, Section, Table, render

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "languages"
SETS = {"names": "Names", "figures": "Figures, dates and amounts"}
ALIKE = 0.6
MEASURES = {
    "cosine": "mean cosine with English, × 100",
    "alike": f"pairs with a cosine of at least {ALIKE}, %",
    "found": "found from English among the 100, %",
}
Texts = Mapping[str, Sequence[str]]
Measured = dict[str, dict[str, dict[str, dict[str, float]]]]
"""Per cent by model, set, language and measure."""

PAGE = """\
# Names and numbers across languages

{finding}

    python studies/names_and_numbers.py{models}

A cosine is that of a text and its English counterpart, with the language of both named. *Found* are
the English texts whose nearest text of the language is their counterpart. “–” is a language that
the model lacks. `names.json` has the figures unrounded.

{tables}
## What the texts are

- `studies/names.tsv` has 50 people and 50 places, such as *Charlemagne*, *Karl der Große*,
  *Карл Великий*. Those that are written as in English are easy: the last row of the first table
  counts them.
- `studies/figures.tsv` has 20 sentences with five figures each, such as *The city has 1,240
  inhabitants.* and *Die Stadt hat 1.240 Einwohner.* Separators, dates, times and amounts are
  written as each language does. A model that ignores the figures finds at most 20 %.
- Both lists were made for this page, and nothing was fitted on them. Many of the names are in the
  texts and dictionaries that models learn from. The lists are small: 5 points are 5 texts.
"""


def read_texts(name: str) -> dict[str, list[str]]:
    """Return the texts of a set, by language; text i means the same in all."""
    header, *lines = read_lines(HERE / f"{name}.tsv")
    columns = zip(*(line.split("\t") for line in lines), strict=True)
    return dict(zip(header.split("\t"), map(list, columns), strict=True))


def score(encoder: Encoder, texts: Texts, lang: str) -> dict[str, float]:
    """Return the measures of a language, in per cent."""
    english, others = (unit_rows(encoder.encode(texts[code], lang=code)) for code in ("en", lang))
    cosines = np.einsum("ij,ij->i", english, others, dtype=np.float64)
    right, _ = retrieved(english, others, texts["en"], texts[lang])
    values = (cosines.mean(), (cosines >= ALIKE).mean(), right.mean())
    return {name: 100 * float(value) for name, value in zip(MEASURES, values, strict=True)}


def measure(models: Mapping[str, Path]) -> Measured:
    """Return the measures of all models."""
    encoders = {name: pmeans.load(folder) for name, folder in models.items()}
    texts = {name: read_texts(name) for name in SETS}
    return {
        name: {
            key: {
                lang: score(encoder, texts[key], lang)
                for lang in OTHERS
                if lang in encoder.languages
            }
            for key in SETS
        }
        for name, encoder in encoders.items()
    }


def page(measured: Measured) -> str:
    """Return the page as Markdown."""
    tables = (render(set_table(measured, name), "markdown") for name in SETS)
    return PAGE.format(
        finding="\n".join(finding(name, sets) for name, sets in measured.items()),
        models="".join(f" {name.upper()}" for name in list(measured)[2:]),
        tables="\n".join("#" + table for table in tables),
    )


def set_table(measured: Measured, name: str) -> Table:
    """Return a table of languages, with a part for each measure."""
    sections = []
    for key, title in MEASURES.items():
        rows = []
        for model, sets in measured.items():
            values = [sets[name].get(lang, {}).get(key) for lang in OTHERS]
            average = None if None in values else mean(values)
            rows.append(Row(model, tuple(map(Field, (*values, average)))))
        sections.append(Section(title, tuple(rows)))
    if name == "names":
        texts = read_texts(name)
        same = [float(sum(map(str.__eq__, texts["en"], texts[lang]))) for lang in OTHERS]
        fields = [Field(text=f"{number:.0f}") for number in (*same, mean(same))]
        sections.append(Section("written as in English", (Row("of the 100", tuple(fields)),)))
    columns = tuple(map(Column, (*OTHERS, "mean")))
    return Table(SETS[name], "model", columns, tuple(sections))


def finding(name: str, sets: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Say how many names and figures a model finds, and where it finds the fewest."""
    parts = []
    for key, langs in sets.items():
        average = mean(values["found"] for values in langs.values())
        worst = min(langs, key=lambda lang: langs[lang]["found"])
        lowest = f"{langs[worst]['found']:.0f} % in {NAMES[worst]}"
        parts.append(f"{average:.0f} % of the {key} (fewest: {lowest})")
    return f"From English, `{name}` finds {' and '.join(parts)}, on average of its languages."


def main(arguments: Sequence[str]) -> None:
    """Measure, unless told to render alone, and write the page."""
    store = RESULTS / "names.json"
    if arguments != ["--render"]:
        write(store, json.dumps(measure(our_models(arguments)), indent=1) + "\n")
    measured: dict[str, Any] = json.loads(store.read_text(encoding="utf-8"))
    write(RESULTS / "names.md", page(measured))


if __name__ == "__main__":
    main(sys.argv[1:])
