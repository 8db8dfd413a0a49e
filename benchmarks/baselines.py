"""What baselines cost beside power means of the same size: `make bench-baselines`.

Every system encodes English sentences of MR, CLS and SST, in two processes of its own: one that may
use one core, and one that may use all. They take turns, round after round; `arena.py` says why.
InferSent and the teachers get fewer sentences than the others, of the same lengths.

Systems are rows of experiments. Word spaces and trained models are those of $PMEANS_HOME, which
`lab/results/baselines/README.md` and `lab/recipes/baselines` tell how to make. SIF, uSIF, TF-IDF
and z-norms are fitted here, on the sentences that are encoded, and timed. What is missing is named.

    python benchmarks/baselines.py            measures (six minutes), and writes all that follows
    python benchmarks/baselines.py --quick    the same with little, into build/bench
    python benchmarks/baselines.py --render   baselines.md and results/baselines/cost.svg again

`baselines.json` has the raw numbers. Scores are looked up in `results` when page and picture are
made, by the digits that name an encoder there: what is scored later comes in with --render.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import baselines_report
import report
from contestants import HERE
from pmeans.encoder.recipe import Part
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import PmeansError
from pmeans.models.baselines import Baseline
from pmeans_lab.evaluation import tasks
from pmeans_lab.experiments.encoders import Shelf
from pmeans_lab.experiments.plan import EncoderRow
from pmeans_lab.experiments.plots import group_of
from worker import pass_over

DATA = Path(os.environ.get("PMEANS_DATA", HERE.parents[1] / "shared" / "data"))
MEAN, THREE, FOUR = (1,), (-math.inf, 1, math.inf), (-math.inf, 1, 3, math.inf)
# GloVe, GoogleNews, Attract-Repel and Siamese-CBOW.
GV, GN, AR, SC = "glove-6b-100d", "googlenews-subset", "attract-repel-projection", "siamese-cbow"


def row(name: str, powers: dict[str, Sequence[float]], **more: Any) -> EncoderRow:
    """Return power means of some spaces, as an experiment has them."""
    parts = tuple(Part(space, tuple(given)) for space, given in powers.items())
    return EncoderRow(name, parts=parts, **more)


POWER_MEANS = (
    row("GV mean", {GV: MEAN}),
    row("GN mean", {GN: MEAN}),
    row("GV + GN mean", {GV: MEAN, GN: MEAN}),
    row("GV [-inf, 1, inf]", {GV: THREE}),
    row("GV [-inf, 1, 3, inf]", {GV: FOUR}),
    row("GN [-inf, 1, inf]", {GN: THREE}),
    row("GN [-inf, 1, 3, inf]", {GN: FOUR}),
    row("GV [-inf, 1, 3, inf] + GN mean", {GV: FOUR, GN: MEAN}),
    row("GV mean + GN [-inf, 1, inf]", {GV: MEAN, GN: THREE}),
    row("GV + GN [-inf, 1, inf]", {GV: THREE, GN: THREE}),
    row("GV + GN [-inf, 1, inf] z-norm", {GV: THREE, GN: THREE}, znorm="train"),
    row("GV + GN [-inf, 1, 3, inf]", {GV: FOUR, GN: FOUR}),
    row("GN + AR + SC [-inf, 1, 3, inf]", {GN: FOUR, AR: FOUR, SC: FOUR}),
    row("GV + GN + AR + SC [-inf, 1, 3, inf]", {GV: FOUR, GN: FOUR, AR: FOUR, SC: FOUR}),
)
"""Means first: of the same number of columns, the last one stands beside a baseline."""
CONTROLS = (
    row("random GN [-inf, 1, inf]", {"googlenews-random": THREE}),
    row("GN mean projected to 900 (BOREP)", {GN: MEAN}, project=900),
)
OTHERS = (
    row("GV + SIF", {GV: MEAN}, baseline="sif"),
    row("GV + uSIF", {GV: MEAN}, baseline="usif"),
    row("GN + SIF", {GN: MEAN}, baseline="sif"),
    row("GN + uSIF", {GN: MEAN}, baseline="usif"),
    row("TF-IDF of 3600 words", {}, baseline="tfidf"),
    row("Siamese-CBOW", {SC: MEAN}),
    row("Sent2Vec", {}, model="sent2vec"),
    row("CVM-add", {}, model="cvm-add"),
)
SLOW = (
    row("InferSent TD", {}, model="infersent-td"),
    row("all-MiniLM-L6-v2", {}, model="all-minilm-l6-v2"),
    row("bge-small-en", {}, model="bge-small-en"),
)
SYSTEMS = {each.name: each for each in (*POWER_MEANS, *CONTROLS, *OTHERS, *SLOW)}
TRAINED = {"Siamese-CBOW": 94, "Sent2Vec": 226, "CVM-add": 157, "InferSent TD": 438}
"""Seconds on an NVIDIA H200, of the runs in `results/baselines/README.md`."""
PUBLISHED = ("all-MiniLM-L6-v2", "bge-small-en")
"""Trained by others: nobody here knows how long."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure baselines beside power means.")
    parser.add_argument("--quick", action="store_true", help="little of all, under two minutes")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.quick:
        folder, picture = HERE.parent / "build" / "bench", HERE.parent / "build" / "bench"
        folder.mkdir(parents=True, exist_ok=True)
    else:
        folder, picture = HERE, HERE.parent / "lab" / "results" / "baselines"
    path = folder / "baselines.json"
    if not options.render:
        raw = measured(2000, 32, 1) if options.quick else measured(10_000, 256, 5)
        path.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    raw = json.loads(path.read_text(encoding="utf-8"))
    results = HERE.parent / "lab" / "results"
    baselines_report.draw(raw, results, picture / "cost.svg")
    page = baselines_report.rendered(raw, results)
    path.with_suffix(".md").write_text(page, encoding="utf-8")
    print(page)


def measured(many: int, few: int, n_rounds: int) -> dict[str, Any]:
    """Return all numbers: of the machine, of the sentences, and of every system."""
    about = report.machine()
    drawn, fewer = evenly(sentences(), many), evenly(sentences(), few)
    slow = {each.name for each in SLOW}
    cores = sorted(os.sched_getaffinity(0))
    sides: dict[tuple[str, int], ProcessPoolExecutor] = {}
    found: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for name in SYSTEMS:
        for n in sorted({1, len(cores)}):
            print(f"preparing {name}, cores: {n}", file=sys.stderr)
            side = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            with allowed(cores[:n]):  # a process inherits it, and so do all pools of threads in it
                opened = side.submit(prepare, name, fewer if name in slow else drawn)
            try:
                found[name] = opened.result() | {"group": group(SYSTEMS[name])}
                found[name] |= {"seconds": {}, "cpu": {}}
                sides[name, n] = side
            except PmeansError as error:
                missing[name] = str(error)
                side.shutdown()
                break
    if gone := [
        f"{each.name}: {missing[each.name]}" for each in POWER_MEANS if each.name in missing
    ]:
        raise SystemExit("\n".join(["these are what baselines are compared with:", *gone]))
    for i in range(n_rounds + 1):
        print(f"round {i} of {n_rounds}", file=sys.stderr)
        for (name, n), side in sides.items():
            taken = side.submit(turn).result()
            for clock, seconds in taken.items() if i else ():
                found[name][clock].setdefault(str(n), []).append(seconds)
    for side in sides.values():
        side.shutdown()
    return {
        "machine": about,
        "texts": {"many": described(drawn), "few": described(fewer)},
        "systems": found,
        "missing": missing,
    }


def group(system: EncoderRow) -> str:
    """Return what a system is drawn as."""
    if system in CONTROLS:
        return "control of the same size"
    return group_of(system) if system in POWER_MEANS else "other methods"


def sentences() -> list[str]:
    """Return whole sentences of three tasks: the training rows of SST are phrases."""
    found = []
    for name, part in (("MR", "all"), ("CLS", "all"), ("SST", "test")):
        found += tasks.load(tasks.find(name), DATA, ["en"]).rows["en"][part].sentences
    return found


def evenly(texts: Sequence[str], n: int) -> list[str]:
    """Draw so many sentences that are as long as all are, in no order."""
    by_length = sorted(texts, key=lambda text: (len(text.split()), text))
    places = (np.arange(n) + 0.5) * len(texts) / n
    return [by_length[int(i)] for i in np.random.default_rng(0).permutation(places)]


def described(texts: Sequence[str]) -> dict[str, float]:
    n = len(texts)
    words, characters = sum(len(text.split()) for text in texts), sum(map(len, texts))
    return {"sentences": n, "words": words / n, "characters": characters / n}


@contextmanager
def allowed(cores: Sequence[int]) -> Iterator[None]:
    """Let processes that are started meanwhile use these cores alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# --- In the process of a system -------------------------------------------------------------------

_encoder: SentenceEncoder
_texts: list[str]


def prepare(name: str, texts: list[str]) -> dict[str, Any]:
    """Open a system, fit it if it is to be fitted, and return what it is."""
    global _encoder, _texts
    opened = Shelf().open(SYSTEMS[name], "en", "en")
    begin = time.perf_counter()
    _encoder, fitted = fit(opened.encoder, SYSTEMS[name], texts)
    seconds = time.perf_counter() - begin if fitted else TRAINED.get(name, 0)
    _encoder.encode(texts[:8], lang="en")  # what is missing for that is to be known now
    _texts = texts
    return {
        "id": opened.id,
        "dim": _encoder.dim,
        "bytes": size(_encoder),
        "training": None if name in PUBLISHED else seconds,
        "trained_here": fitted,
        "sentences": len(texts),
    }


def fit(encoder: Any, system: EncoderRow, texts: list[str]) -> tuple[SentenceEncoder, bool]:
    """Fit a baseline or a z-norm, where it is needed; return whether it was."""
    if system.znorm != "none":
        return encoder.fit_znorm(texts, lang="en"), True
    if isinstance(encoder, Baseline) and encoder.needs_fit:
        return encoder.fit(texts, lang="en"), True
    return encoder, False


def turn() -> dict[str, float]:
    """Encode all sentences, and again until 0.3 s have passed.

    Returns seconds per sentence, by the clock and of the processor, all threads together.
    """
    taken = pass_over(lambda texts: _encoder.encode(texts, lang="en"), _texts)
    return {clock: seconds / len(_texts) for clock, seconds in taken.items()}


def size(encoder: Any) -> int:
    """Return the bytes of the files that it reads, or of what was fitted in memory."""
    folders = [Path(path) for path in getattr(encoder, "encoder", encoder).files]
    files = [file for folder in folders for file in (folder, *folder.rglob("*")) if file.is_file()]
    unique = {(info.st_dev, info.st_ino): info.st_size for info in map(os.stat, files)}
    arrays = encoder.arrays().values() if isinstance(encoder, Baseline) else ()
    in_memory = 0 if getattr(encoder, "folder", None) else sum(each.nbytes for each in arrays)
    return sum(unique.values()) + in_memory


if __name__ == "__main__":
    main()
