"""The page of `scale.py`: its numbers in tables, and whether they are what was asked for."""

from __future__ import annotations

import statistics
from typing import Any

TOP = """# Many rows on Ray and on Spark

`python benchmarks/scale.py` measures on one machine, and says at its top what is measured. Ray and
Spark are started there, with a worker for each core. [docs/scale.md](../docs/scale.md) says what
follows for a billion sentences.
"""


def render(found: dict[str, Any]) -> str:
    """Return the page, with the sections that were measured."""
    lines = [TOP]
    if "cores" in found:
        lines += [f"{found['cores']} cores. Each section says the load before it.", ""]
    for name, section in _SECTIONS.items():
        if name in found:
            lines += [*section(found[name]), "", f"({_took(found[name])})", ""]
    return "\n".join(lines)


def _took(found: dict[str, Any]) -> str:
    return f"{found['took'] / 60:.0f} minutes; load before: {found['load']:.1f}"


def _bytes(found: dict[str, Any]) -> list[str]:
    return [
        "## The same bytes",
        "",
        f"{found['rows']:,} rows in English, German and French, in {found['files']} files of which "
        "the first has half of them, compared with `pmeans embed`, row by row:",
        "",
        "| engine | rows | different |",
        "|:--|--:|--:|",
        *(f"| {each} | {found[each][0]:,} | {found[each][1]:,} |" for each in ("ray", "spark")),
    ]


def _killed(found: dict[str, Any]) -> list[str]:
    return [
        "## Killed workers, poisoned rows",
        "",
        f"The same {found['rows']:,} rows, and three more: half a character, null, a word of 10 MB."
        " Workers were killed (`-9`) in the middle of a part. `--on-error skip`: the word can be "
        "read, and is unknown.",
        "",
        "| engine | killed | rows | different | could not be read |",
        "|:--|--:|--:|--:|--:|",
        *(
            f"| {each} | {killed} | {rows:,} | {other:,} | {skipped} |"
            for each in ("ray", "spark")
            for rows, other, killed, skipped in [found[each]]
        ),
    ]


def _cost(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Cost",
        "",
        f"{found['rows']:,} rows of one file, float16, from start to end, "
        f"{len(found['pmeans'])} times in turn: medians, and the ratio within a round. Memory is "
        "of one worker, with the pages that it shares: on average in the second quarter of the "
        "time, and in the last.",
        "",
        "| | seconds | ratio | range | rows per second | MiB, early | MiB, late | MiB, most |",
        "|:--|--:|--:|:--|--:|--:|--:|--:|",
    ]
    for name, label in (("pmeans", "`pmeans embed`"), ("ray", "Ray"), ("spark", "Spark")):
        rounds = found[name]
        seconds = statistics.median(of["seconds"] for of in rounds)
        pairs = zip(rounds, found["pmeans"], strict=True)
        ratios = [one["seconds"] / plain["seconds"] for one, plain in pairs]
        early, late = (statistics.median(of["MiB"][i] for of in rounds) for i in (0, 1))
        lines.append(
            f"| {label} | {seconds:,.0f} | {statistics.median(ratios):.2f} "
            f"| {min(ratios):.2f} to {max(ratios):.2f} | {found['rows'] / seconds:,.0f} "
            f"| {early:,.0f} | {late:,.0f} | {max(of['peak'] for of in rounds):,.0f} |"
        )
    return lines


def _core(found: dict[str, Any]) -> list[str]:
    lines = [
        "## A core",
        "",
        f"{found['rows']:,} rows of {found['words']:.1f} words on average, in one process without "
        "an engine, by one thread. Medians of its CPU time, and the size of the parts.",
        "",
        "| | core-seconds per million rows | range | bytes per row, with the text |",
        "|:--|--:|:--|--:|",
    ]
    for dtype in ("float32", "float16", "int8"):
        seconds = [taken for taken, _ in found[dtype]]
        lines.append(
            f"| {dtype} | {statistics.median(seconds):.1f} | {min(seconds):.1f} to "
            f"{max(seconds):.1f} | {found[dtype][0][1]:,.0f} |"
        )
    return lines


def _slope(found: dict[str, Any]) -> list[str]:
    small, middle, large = found["rows"]
    lines = [
        "## Slope",
        "",
        f"int8, {found['bytes']:,.0f} bytes per row with its text; the same {small:,} sentences "
        "over and over. Medians of five runs, of three, and one. Seconds per million rows "
        "between two sizes: what an engine takes to start falls out.",
        "",
        f"| engine | {small:,} | {middle:,} | {large:,} | s per million, first | second | ratio |",
        "|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for engine in ("ray", "spark"):
        a, b, c = map(statistics.median, found[engine])
        first, second = 1e6 * (b - a) / (middle - small), 1e6 * (c - b) / (large - middle)
        lines.append(
            f"| {engine} | {a:,.1f} s | {b:,.1f} s | {c:,.1f} s | {first:.1f} | {second:.1f} "
            f"| {second / first:.2f} |"
        )
    return lines


def _search(found: dict[str, Any]) -> list[str]:
    return [
        "## Search",
        "",
        f"{found['rows']:,} rows in {found['shards']} shards, int8, {found['bytes']:,.0f} bytes "
        f"per row with the graphs, built by Ray in {found['built']:,.0f} s. Of the ten best rows, "
        f"{found['recall']:.1%} were found; a row counts if its score is one of the ten best, "
        "because sentences occur more than once. The searching process has "
        f"{found['MiB']['Anon']:,.0f} MiB of its own, and {found['MiB']['File']:,.0f} mapped.",
        "",
        "| | queries per second |",
        "|:--|--:|",
        *(f"| {name} | {speed:,.1f} |" for name, speed in found["speed"].items()),
    ]


_SECTIONS = {
    "bytes": _bytes, "killed": _killed, "cost": _cost, "core": _core, "slope": _slope,
    "search": _search,
}  # fmt: skip
