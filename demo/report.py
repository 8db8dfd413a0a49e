"""The findings as one HTML page that needs no other file, no script and no network.

Scores come first, then where it errs, why, and what it does not know. Each section says how its
figure is to be read. Blue is right and orange is wrong throughout, a pair that all common kinds of
colour vision tell apart, and never the only sign. Texts are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from demo import svg
from demo.findings import LANGUAGES, NEAREST, Example, Findings, Map, Score, per_cent
from pmeans.transfer.explain_html import KEY, STYLE, sentence_html

CSS = Path(__file__).with_name("report.css")
STRONGEST = 0.75
"""Opacity of the fullest cell of a confusion matrix: more would hide its number."""


def render(found: Findings) -> str:
    """Return the whole page."""
    sections = (
        _headline, _scores, _confusions, _examples, _telling, _maps, _coverage, _further, _notes
    )  # fmt: skip
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>Trained in English, applied in German and French</title>\n"
        f"<style>\n{CSS.read_text(encoding='utf-8')}{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(section(found) for section in sections)
        + "\n</body>\n</html>\n"
    )


def _headline(found: Findings) -> str:
    cards = []
    for lang, score in found.transferred.items():
        seen = "the language it was trained in" if lang == "en" else "never trained on"
        cards.append(
            f'<div class="card"><span class="of">{LANGUAGES[lang]}</span>'
            f"<b>{per_cent(score.evaluation.accuracy)}</b>"
            f"<span>{seen}</span><span>95 % interval: {_interval(score)}</span></div>"
        )
    english = found.transferred["en"]
    return (
        "<header>\n<h1>Trained in English, applied in German and French</h1>\n"
        f'<p class="lead">A classifier learned {len(found.classes)} topics '
        f"({escape(', '.join(found.classes))}) from {english.n_train} English sentences, without "
        "one labelled sentence of another language. The share of "
        f"{english.evaluation.rows} new sentences of each language that it gets right:"
        f'</p>\n<div class="cards">{"".join(cards)}</div>\n'
        f'<p class="quiet">Guessing would be right in {per_cent(1 / len(found.classes))} of all '
        "cases. The sample is small, clean and balanced: the scores show that the method works, "
        "not how well it will do on your text.</p>\n</header>"
    )


def _scores(found: Findings) -> str:
    bars, rows = [], []
    for lang, name in LANGUAGES.items():
        scores = [("transferred", "English", found.transferred[lang])]
        if lang in found.in_language:
            scores.append(("in-language", name, found.in_language[lang]))
        for i, (kind, trained, score) in enumerate(scores):
            result, (low, high) = score.evaluation, score.interval
            label = f"{name}, trained on {score.n_train} {trained}"
            bars.append(svg.Bar(label, result.accuracy, low, high, kind))
            rows.append(
                f'<tr class="{"" if i else "first"}"><th scope="row">{name}</th>'
                f"<td>{score.n_train} {trained} sentences</td>"
                f'<td class="number">{per_cent(result.accuracy)}</td>'
                f'<td class="number">{_interval(score)}</td>'
                f'<td class="number">{100 * result.macro_f1:.0f}</td></tr>'
            )
    return _section(
        "Scores, beside classifiers of the same language",
        "Would it be better to label German and French sentences? Blue discs are the classifier "
        "that was trained in English. Orange squares are classifiers trained in the language they "
        "are tested in, on fewer sentences, because labels are what one lacks. Lines are 95 % "
        "intervals (Wilson): where two of them overlap much, the difference may be chance.",
        f"<figure>{svg.intervals(bars, 1 / len(found.classes))}</figure>\n"
        '<div class="wide"><table class="list"><thead><tr><th>tested on</th><th>trained on</th>'
        '<th class="number">accuracy</th><th class="number">95 % interval</th>'
        f'<th class="number">macro-F1</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        '\n<p class="quiet">Accuracy is the share of sentences that are right. Macro-F1, from 0 to '
        "100, lets each topic count the same and punishes a topic that is predicted too often or "
        "too rarely.</p>",
    )


def _confusions(found: Findings) -> str:
    matrices = "\n".join(
        f"<figure>{_matrix(LANGUAGES[lang], score)}</figure>"
        for lang, score in found.transferred.items()
    )
    return _section(
        "Where it errs",
        "A row has the sentences of one topic, a column those that were put under it. What is "
        "right stands on the diagonal, bold on blue; everything else, on orange, was taken for "
        "another topic.",
        f'<div class="matrices">\n{matrices}\n</div>',
    )


def _matrix(name: str, score: Score) -> str:
    result = score.evaluation
    assert result.confusion is not None
    # The last column counts rows that the classifier is unsure of; this one always decides.
    counts, columns = result.confusion[:, :-1], result.confusion_columns[:-1]
    head = "".join(f'<th scope="col"><span>{escape(column)}</span></th>' for column in columns)
    body = []
    for i, (label, row) in enumerate(zip(result.confusion_rows, counts.tolist(), strict=True)):
        cells = "".join(
            f'<td class="{"none" if not n else "right" if i == j else "wrong"}" '
            f'style="--share: {STRONGEST * n / max(sum(row), 1):.2f}">{n}</td>'
            for j, n in enumerate(row)
        )
        body.append(f'<tr><th scope="row">{escape(label)}</th>{cells}</tr>')
    return (
        f'<table class="matrix"><caption>{name}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _examples(found: Findings) -> str:
    shown = "".join(
        f"<h3>{LANGUAGES[lang]}</h3>\n" + "\n".join(map(_example, of_language))
        for lang, of_language in found.examples.items()
    )
    return _section(
        "Why it decided so",
        "The decision is a sum over words, so it can be taken apart. Colours say which words push "
        "towards the chosen topic and which towards the runner-up, relative to the strongest word "
        "of the sentence; point at a word to see by how much. The sentences are chosen by rule: of "
        "each language the surest hit, the least sure one, and the surest miss. How sure it is was "
        "calibrated on English: elsewhere, expect it to be too sure.",
        KEY + shown,
    )


def _example(example: Example) -> str:
    found = example.explanation
    right = found.label == example.gold
    sure = "over 99 %" if example.probability > 0.99 else per_cent(example.probability)
    truth = "and is right" if right else f"but it is <b>{escape(example.gold)}</b>"
    return (
        f'<div class="example {"hit" if right else "miss"}"><p class="verdict">'
        f"{example.rule[0].upper()}{example.rule[1:]}: says <b>{escape(found.label)}</b> "
        f"({sure} sure), {truth}; runner-up: {escape(found.against)}</p>\n"
        f"{sentence_html(found)}</div>"
    )


def _telling(found: Findings) -> str:
    head = "".join(f"<th>{name}</th>" for name in LANGUAGES.values())
    rows = []
    for topic in found.classes:
        cells = "".join(
            f'<td lang="{lang}">{escape(", ".join(word for word, _ in words[topic])) or "–"}</td>'
            for lang, words in found.telling.items()
        )
        rows.append(f'<tr><th scope="row">{escape(topic)}</th>{cells}</tr>')
    return _section(
        "The most telling words",
        "Words that by themselves push most towards a topic, strongest first. No German or French "
        "word was trained on: they tell because their vectors lie near those of English words. Odd "
        "ones are worth a look, they show what the classifier mistakes for the topic.",
        f'<div class="wide"><table class="list"><thead><tr><th>topic</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>",
    )


def _maps(found: Findings) -> str:
    topics = "".join(
        f"<span>{svg.mark(0, hue)} {escape(name)}</span>" for hue, name in enumerate(found.classes)
    )
    shapes = "".join(
        f"<span>{svg.mark(shape)} {name}</span>" for shape, name in enumerate(LANGUAGES.values())
    )
    encoder, classifier = found.maps
    return _section(
        "Two maps of the sentences",
        "Each test sentence is a point: its colour is the topic, its shape the language. Point at "
        "one to read it. In a shared space shapes mix, and where topics are told apart colours "
        f"keep together. Chance would be {per_cent(1 / len(found.classes))} neighbours of the same "
        f"topic and {per_cent(1 / len(LANGUAGES))} of the same language.",
        f'<p class="legend">{topics}</p><p class="legend">{shapes}</p>\n<div class="maps">'
        + _map(
            found,
            encoder,
            f"As the encoder places them, knowing nothing of topics: the two main axes (PCA) of "
            f"{found.dim:,} columns. They show what differs most between sentences, which need "
            "not be the topic.",
            (),
        )
        + _map(
            found,
            classifier,
            "As the classifier sees them: the two main axes of its decisions. It learned the "
            "topics from English sentences, none of which is shown.",
            found.classes,
        )
        + "</div>",
    )


def _map(found: Findings, plane: Map, caption: str, names: Sequence[str]) -> str:
    rows = [
        (shape, found.classes.index(label), f"{LANGUAGES[lang]}, {label}: {text}")
        for shape, (lang, test) in enumerate(found.tests.items())
        for text, label in zip(test.texts, test.labels, strict=True)
    ]
    shapes, hues, titles = zip(*rows, strict=True)
    drawn = svg.scatter(plane.points, np.array(hues), np.array(shapes), titles, names)
    return (
        f'<figure class="map">{drawn}<figcaption>{caption} This plane shows '
        f"{per_cent(plane.variance)} of the variance. Of the {NEAREST} nearest neighbours on it, "
        f"{per_cent(plane.same_topic)} have the same topic, {per_cent(plane.same_language)} the "
        "same language.</figcaption></figure>"
    )


def _coverage(found: Findings) -> str:
    rows = []
    for lang, score in found.transferred.items():
        words = score.evaluation.words.languages[lang]
        commonest = ", ".join(word for word, _ in words.unknown.most_common(10)) or "–"
        rows.append(
            f'<tr><th scope="row">{LANGUAGES[lang]}</th><td class="number">'
            f"{per_cent(words.known)}</td><td>"
            f'<span class="meter"><i style="width: {100 * words.known:.0f}%"></i></span></td>'
            f'<td class="number">{score.evaluation.empty * score.evaluation.rows:.0f}</td>'
            f'<td lang="{lang}">{escape(commonest)}</td></tr>'
        )
    return _section(
        "What it does not know",
        "The model joins several word spaces. Here is the share of the words of the test sentences "
        "that they know, on average, and which words they miss most often. A sentence without any "
        "known word can only be guessed.",
        '<div class="wide"><table class="list"><thead><tr><th>language</th><th class="number">known'
        '</th><th></th><th class="number">sentences without a known word</th>'
        "<th>unknown to a space, commonest first</th>"
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>",
    )


def _further(found: Findings) -> str:
    if not found.further:
        return _section(
            "Eight more languages",
            "Spanish, Italian, Dutch, Portuguese, Polish, Russian, Swedish and Czech are in the "
            "model <b>wide</b>, a package of its own, which is not installed here.",
            "<pre>make packs demo</pre>",
        )
    rows = []
    for each in found.further:
        right = each.label == each.gold
        rows.append(
            f'<tr><th scope="row">{each.lang}</th><td>{each.taken_for or "none"}</td>'
            f'<td lang="{each.lang}">{escape(each.text)}</td><td>{escape(each.gold)}</td>'
            f"<td>{'' if right else '✗ '}{escape(each.label)}</td></tr>"
        )
    hits = sum(each.label == each.gold for each in found.further)
    taken = sum(each.lang == each.taken_for for each in found.further)
    return _section(
        "Eight more languages, which nobody named",
        "The model <b>wide</b> has eleven languages. A classifier over it learned the same English "
        f"sentences. Of {len(found.further)} sentences in languages that it was never trained on, "
        f"{hits} have the right topic. Their languages were not given: {taken} were found. These "
        "sentences are plainer than those above.",
        '<div class="wide"><table class="list"><thead><tr><th>language</th><th>taken for</th>'
        "<th>sentence</th><th>topic</th><th>decision</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>",
    )


def _notes(found: Findings) -> str:
    tested = found.transferred["en"].evaluation.rows
    return _section(
        "What this is worth",
        f"With {tested} test sentences a language, one sentence is one point, and a difference of "
        "about a dozen points may be chance. The sentences were written for this project by a "
        "language model: they are clean, each has one topic, and all topics are equally frequent. "
        "Expect lower scores on real text, above all where word order or negation matters: this "
        "kind of model does not see them.",
        f"<p>The encoder is <b>{escape(found.model)}</b>, {found.dim:,} columns. All choices in "
        "training were made by cross-validation on training sentences. On your own labelled text, "
        "with columns named text and label:</p>\n"
        "<pre>pmeans fit train.csv --lang en --out my-classifier\n"
        "pmeans evaluate my-classifier test.csv --lang de\n"
        "pmeans predict my-classifier new.csv --lang de --out labels.csv</pre>",
    )


def _section(title: str, how_to_read: str, body: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n<p>{how_to_read}</p>\n{body}\n</section>"


def _interval(score: Score) -> str:
    low, high = score.interval
    return f"{100 * low:.0f} to {100 * high:.0f}"
