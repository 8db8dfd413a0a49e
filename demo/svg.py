"""Two figures as inline SVG: scores with their intervals, and a map of sentences.

They carry no colours of their own: ``report.css`` gives them, for light and dark pages. A mark's
title says in words what it is, so that nothing rests on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pmeans.types import Array, Floats

SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",  # a disc
    "M0 -5.5L5.3 4H-5.3z",  # a triangle
    "M-4.2 -4.2H4.2V4.2H-4.2z",  # a square
)


@dataclass(frozen=True)
class Bar:
    """A score between 0 and 1 with its interval, what it is called, and its CSS class."""

    label: str
    value: float
    low: float
    high: float
    kind: str


def intervals(bars: Sequence[Bar], chance: float) -> str:
    """Draw scores as dots on a line from 0 to 100 %, with whiskers and a mark for chance."""
    left, right, top, step = 250, 680, 26, 30
    bottom = top + step * len(bars)

    def x(share: float) -> str:
        return f"{left + share * (right - left):.1f}"

    drawn = []
    for tick in range(0, 101, 20):
        at = x(tick / 100)
        drawn.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>')
        drawn.append(f'<text class="tick" x="{at}" y="{bottom + 18}">{tick} %</text>')
    at = x(chance)
    drawn.append(f'<line class="chance" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>')
    drawn.append(f'<text class="tick" x="{at}" y="{top - 8}">guessing</text>')
    for i, bar in enumerate(bars):
        y = top + step * (i + 0.5)
        says = f"{bar.label}: {bar.value:.0%}, interval {bar.low:.0%} to {bar.high:.0%}"
        shape = SHAPES[0 if bar.kind == "transferred" else 2]
        drawn.append(
            f'<g class="{bar.kind}"><title>{escape(says)}</title>'
            f'<text class="name" x="{left - 14}" y="{y + 5}">{escape(bar.label)}</text>'
            f'<line class="whisker" x1="{x(bar.low)}" x2="{x(bar.high)}" y1="{y}" y2="{y}"/>'
            f'<path transform="translate({x(bar.value)} {y}) scale(1.4)" d="{shape}"/></g>'
        )
    return _figure(700, bottom + 26, "Accuracy with 95 % intervals", drawn)


def scatter(
    points: Floats, hues: Array, shapes: Array, titles: Sequence[str], names: Sequence[str]
) -> str:
    """Draw points on a square, both axes to one scale, and in the middle of each hue its name.

    Args:
        points: Places, (n, 2).
        hues: Number of each point's colour, (n,), from 0 on.
        shapes: Number of each point's shape, (n,).
        titles: What each point is.
        names: Of the hues; none are drawn if there are none.
    """
    size, margin = 480, 14
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (size - 2 * margin) / max(float((high - low).max()), 1e-9)
    placed = (points - (low + high) / 2) * scale + size / 2
    drawn = [
        f'<path class="hue-{hue}" transform="translate({x:.1f} {y:.1f})" d="{SHAPES[shape]}">'
        f"<title>{escape(title)}</title></path>"
        for (x, y), hue, shape, title in zip(placed, hues, shapes, titles, strict=True)
    ]
    middles = [placed[hues == hue].mean(axis=0).tolist() for hue in range(len(names))]
    free = 0.0  # where the next name may stand without touching the one above
    for (x, y), hue in sorted(zip(middles, range(len(names)), strict=True), key=lambda m: m[0][1]):
        y = max(y, free)
        free = y + 24
        drawn.append(f'<text class="hue-{hue}" x="{x:.1f}" y="{y:.1f}">{escape(names[hue])}</text>')
    return _figure(size, size, "Map of sentences", drawn)


def mark(shape: int, hue: int | None = None) -> str:
    """Draw one shape, for a legend, in a hue or in the colour of the text."""
    colour = "" if hue is None else f' class="hue-{hue}"'
    return f'<svg class="mark" viewBox="-6 -6 12 12"><path{colour} d="{SHAPES[shape]}"/></svg>'


def _figure(width: float, height: float, title: str, drawn: Sequence[str]) -> str:
    inside = "\n".join(drawn)
    return (
        f'<svg class="figure" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">\n{inside}\n</svg>'
    )
