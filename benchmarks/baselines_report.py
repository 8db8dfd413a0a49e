"""Page and picture of what baselines cost, from the raw numbers and the store of scores.

Beside each baseline stand the power means whose number of columns is nearest to its own. An
encoder's score is the average of the paper's nine English tasks. It is found by the encoder's
digits, whichever experiment computed it and by whatever name.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from arena import ratios, shown
from pmeans_lab.evaluation import cells, tasks
from pmeans_lab.experiments import plots
from pmeans_lab.experiments.plan import EncoderRow
from pmeans_lab.experiments.results import Over, Scores
from pmeans_lab.experiments.statistics import Interval
from report import table

TASKS = ("AM", "AC", "CLS", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC")
BESIDE = ("mean", "power means")
"""Groups of what baselines are compared with."""
Systems = dict[str, dict[str, Any]]


def scores(systems: Systems, results: Path) -> dict[str, Interval]:
    """Return the average score of every system that has all tasks."""
    found = {}
    for cell in cells.read(results).values():
        own = cell.task in TASKS and cell.protocol == tasks.find(cell.task).protocol
        if own and not cell.settings and cell.train_lang == cell.test_lang == "en":
            found[cell.encoder, cell.task, "en", "en"] = cell
    known, over = Scores(found), Over.each(TASKS, "en", ("en",))
    by_name = {name: known.interval(EncoderRow(each["id"]), over) for name, each in systems.items()}
    return {name: score for name, score in by_name.items() if score}


def draw(raw: dict[str, Any], results: Path, path: Path) -> None:
    """Draw the score of every system against its sentences per second on one core."""
    systems = raw["systems"]
    points = [
        plots.Point(name, systems[name]["group"], rate(systems[name], "1"), s.mean, s.low, s.high)
        for name, s in scores(systems, results).items()
    ]
    points.sort(key=lambda point: point.x)
    low, high = (math.floor(math.log10(points[i].x)) for i in (0, -1))
    ticks = [10**i for i in range(low, high + 1)]
    plots.scatter("cost", points, path, "sentences per second on one core", ticks, "lower left")


def rendered(raw: dict[str, Any], results: Path) -> str:
    """Return the page."""
    systems, about, many, few = raw["systems"], raw["machine"], *raw["texts"].values()
    times = next(iter(systems.values()))["seconds"]
    n, rounds = max(times, key=int), len(times["1"])
    beside = {name: nearest(systems, name) for name in systems if not compared_with(systems, name)}
    scored = scores(systems, results)
    used = ("torch", "sentence-transformers", "onnxruntime")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in used)
    lines = [
        "# Baselines beside power means of the same size", "",
        *findings(systems, beside), "",
        "![Average score against sentences per second](../lab/results/baselines/cost.svg)", "",
        f"`{about['command']}` on {about['date']}: {about['processor']}, {about['cores']} cores, "
        f"load {about['load_at_start']:.1f} before the start; {about['system']}, Python "
        f"{about['python']}, {about['kernels']} kernels, {versions}. "
        f"{many['sentences']:,} English sentences of MR, CLS and SST, {many['words']:.1f} "
        f"words and {many['characters']:.0f} characters "
        f"long on average; for InferSent and the teachers {few['sentences']:,} of "
        f"{few['words']:.1f} words. Rounds in turn: {rounds}, after one that does not count. "
        "Ratios are taken within a round. On a busy machine trust those "
        "of processor time. Shown are medians and, in brackets, the smallest and "
        "the largest.", "",
        "## Beside power means", "",
        *table(
            ["baseline", "columns", "sentences/s, 1 core", "power means", "columns",
             "sentences/s, 1 core", "its time / theirs, 1 core", "of the processor", f"{n} cores"],
            [beside_row(systems, name, other, n) for name, other in beside.items()],
        ), "",
        "## All systems", "",
        *table(
            ["system", "columns", "score", "sentences/s, 1 core", f"sentences/s, {n} cores",
             "seconds to train", "MB on disk"],
            [system_row(name, each, n, scored.get(name)) for name, each in systems.items()],
        ), "",
        "- The score is the average of the nine English tasks, with half of its 95 % interval.",
        "- Seconds to train marked with * are of an NVIDIA H200 "
        "([which runs](../lab/results/baselines/README.md)); the others were taken here, on the "
        f"{many['sentences']:,} sentences. Word vectors are taken as given.",
        "- The teachers were trained by others, and power means are not trained.",
        "- MB are those of the files that a system reads, with all its languages and words.",
        "- GV is GloVe (6B, 100 d), GN a subset of GoogleNews, AR the projected Attract-Repel "
        "space, SC the vectors of Siamese-CBOW.",
    ]  # fmt: skip
    if unscored := [name for name in systems if name not in scored]:
        lines.append(
            "- Without a score on all nine tasks, and so not in the picture: "
            f"{', '.join(unscored)}."
        )
    lines += [f"- Not measured: {name}: {why.rstrip('.')}." for name, why in raw["missing"].items()]
    return "\n".join(lines) + "\n"


def findings(systems: Systems, beside: dict[str, str]) -> list[str]:
    """Say how much longer baselines take: each that takes ten times as long, and the others."""
    slower = {
        name: ratios(systems[name]["seconds"]["1"], systems[other]["seconds"]["1"])
        for name, other in beside.items()
    }
    middle = {name: statistics.median(each) for name, each in slower.items()}
    lines = [
        f"- {name} ({systems[name]['dim']:,} columns) takes {middle[name]:,.0f} times as long per "
        f"sentence as power means of {systems[other]['dim']:,} columns, on one core."
        for name, other in beside.items()
        if middle[name] >= 10
    ]
    near = {name: each for name, each in middle.items() if each < 10}
    least, most = min(near, key=near.__getitem__), max(near, key=near.__getitem__)
    return [
        *lines,
        f"- The other baselines take {near[least]:.1f} ({least}) to {near[most]:.1f} ({most}) "
        "times as long as power means of about as many columns.",
    ]


def compared_with(systems: Systems, name: str) -> bool:
    """Tell whether these are power means, which baselines are compared with."""
    return systems[name]["group"] in (*BESIDE, "z-normed")


def nearest(systems: Systems, name: str) -> str:
    """Return the power means of the nearest number of columns; of several, the last."""
    wanted = systems[name]["dim"]
    others = [other for other, each in systems.items() if each["group"] in BESIDE]
    return min(reversed(others), key=lambda other: abs(systems[other]["dim"] - wanted))


def rate(system: dict[str, Any], cores: str) -> float:
    """Return sentences per second."""
    return 1 / statistics.median(system["seconds"][cores])


def rates(system: dict[str, Any], cores: str) -> str:
    return shown([1 / seconds for seconds in system["seconds"][cores]], "{:,.0f}")


def beside_row(systems: Systems, name: str, other: str, n: str) -> list[str]:
    its, theirs = systems[name], systems[other]
    clocks = (("seconds", "1"), ("cpu", "1"), ("seconds", n))
    slower = [ratios(its[clock][c], theirs[clock][c]) for clock, c in clocks]
    left, right = ([f"{each['dim']:,}", rates(each, "1")] for each in (its, theirs))
    return [name, *left, other, *right, *(shown(each, "{:,.1f}") for each in slower)]


def system_row(name: str, system: dict[str, Any], n: str, score: Interval | None) -> list[str]:
    seconds, here = system["training"], system["trained_here"]
    taken = "–" if seconds is None else f"{seconds:,.1f}" if here else f"{seconds:,.0f} *"
    return [
        name,
        f"{system['dim']:,}",
        f"{score.mean:.1f} ±{(score.high - score.low) / 2:.1f}" if score else "–",
        rates(system, "1"),
        rates(system, n),
        taken if seconds != 0 else "0",
        f"{system['bytes'] / 1e6:,.1f}",
    ]
