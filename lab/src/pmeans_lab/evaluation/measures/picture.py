"""A picture of translation pairs: a point a word, in two dimensions, a line between translations.

Short lines all over the picture say that the languages share a space; two clouds with long
parallel lines between them, that a shift is missing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import InputError
from pmeans.files import optional, replacing
from pmeans.spaces.space import WordSpace
from pmeans.types import Array
from pmeans_lab.evaluation.measures.bilingual import Translations

PAIRS = 40
# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00")


def draw(space: WordSpace, translations: Translations, langs: tuple[str, str], path: Path) -> int:
    """Draw the first pairs that the space has, by the two largest principal components.

    Args:
        space: Of both languages.
        translations: Which words belong together; the first translation counts.
        langs: Of the words and of their translations.
        path: An ``.svg`` file; the same space gives the same bytes.

    Returns:
        How many pairs were drawn, `PAIRS` or fewer.
    """
    if path.suffix.lower() != ".svg":
        raise InputError(f"{str(path)!r} must end in .svg.")
    words: list[str] = []
    rows: list[int] = []
    for word, answers in translations.items():
        pair = space.row(word, langs[0]), space.row(answers[0], langs[1])
        if min(pair) >= 0 and len(words) < 2 * PAIRS:
            words += [word, answers[0]]
            rows += pair
    n_pairs = len(words) // 2
    if n_pairs < 2:
        raise InputError(f"{space.name!r} has {n_pairs} of the pairs {'-'.join(langs)}, not 2.")
    _save(plane(space.rows(np.array(rows))), words, langs, space.name, path)
    return n_pairs


def plane(rows: Array) -> Array:
    """Return the two largest principal components of unit rows, (n, 2) or fewer columns' zeros."""
    centred = unit_rows(rows).astype(np.float64)
    centred -= centred.mean(axis=0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(rows), 2))
    points[:, : min(2, len(scale))] = (left * scale)[:, :2]
    # A component's sign is arbitrary: its largest number is made positive.
    largest = points[np.abs(points).argmax(axis=0), [0, 1]]
    return points * np.where(largest < 0, -1, 1)


def _save(points: Array, labels: list[str], langs: tuple[str, str], name: str, path: Path) -> None:
    matplotlib = optional("matplotlib.figure", "plots", "a picture")
    # Without a salt, matplotlib would draw random ids.
    style = {"svg.hashsalt": name, "svg.fonttype": "path", "font.size": 8}
    with matplotlib.rc_context(style):
        figure = matplotlib.figure.Figure(figsize=(9, 7), layout="constrained")
        axes = figure.add_subplot()
        for first, second in zip(points[::2], points[1::2], strict=True):
            axes.plot(*zip(first, second, strict=True), color="#bbbbbb", linewidth=0.7, zorder=1)
        for i, (lang, colour) in enumerate(zip(langs, _COLOURS, strict=True)):
            axes.scatter(*points[i::2].T, s=12, color=colour, label=lang, zorder=2)
        for i, (label, point) in enumerate(zip(labels, points, strict=True)):
            # A dollar sign would begin a formula.
            shown = label.replace("$", r"\$")
            # Above the point and below it: both can be read where the points are one.
            place = [(3, 2), (3, -8)][i % 2]
            axes.annotate(shown, point, place, textcoords="offset points", color=_COLOURS[i % 2])
        axes.set_title(name.replace("$", r"\$"))
        axes.set_xticks([])
        axes.set_yticks([])
        axes.legend(frameon=False)
        with replacing(path) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})
