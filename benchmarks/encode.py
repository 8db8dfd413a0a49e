"""From ``list[str]`` to float32 rows: sentences a second, against every peer and the floor."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Sequence

import contestants as c
from arena import Arena, Bar, Section, Times, at_least, at_most, ratios, shown
from contestants import CONTESTANTS, OURS
from corpus import Corpus

FLOORS = {c.FLOOR: OURS, c.ONE_FLOOR: c.ONE_OURS}
FOUR_SPACES = [OURS, *FLOORS, c.FRESH, c.ONE_OURS, c.ONE_FRESH, c.AUTHORS, c.NUMPY]
REAL = [OURS, c.FRESH, c.ONE_OURS, c.LEARNED, c.AUTHORS, c.NUMPY, c.FSE, c.M2V, c.STATIC, c.GENSIM]
EVERYDAY = [c.MODEL, c.ONE_MODEL, c.BEFORE, c.M2V, c.M2V_BATCH, c.STATIC]
SINGLE = [c.ONE_FRESH, c.FRESH, c.MODEL, c.M2V, c.STATIC]


def one_space(corpus: Corpus, n_rounds: int) -> list[Section]:
    """900 d: one space, three means; all peers. Then one sentence at a time."""
    with Arena(corpus, 1, [name for name in CONTESTANTS if "load()" not in name]) as arena:
        arena.check()
        times = measure(arena, n_rounds)
        bars = [
            at_least("model2vec at 900 d", 15, against(times, c.M2V)),
            at_least("model2vec without its thread pool at 900 d", 15, against(times, c.M2V_BATCH)),
            at_least("fse Average at 900 d, `train` (its README)", 8, against(times, c.FSE_TRAIN)),
            at_least("fse Average at 900 d, `infer` (faster)", 8, against(times, c.FSE)),
        ]
        title = "One space, 900 d"
        return [table(arena, corpus, times, title, bars), latency(arena, title, n_rounds)]


def four_spaces(corpus: Corpus, n_rounds: int) -> list[Section]:
    """3600 d: four spaces of different vocabularies, three means each."""
    with Arena(corpus, 4, FOUR_SPACES) as arena:
        arena.check()
        times = measure(arena, n_rounds)
        floor = share(times, c.FLOOR)
        bars = [
            at_least("authors' loop at 3600 d, 2 threads", 40, against(times, c.AUTHORS)),
            at_least("cache-weighted floor at 3600 d, 2 threads", 60, floor, "%"),
            at_most("a plain `encode` against `out=` at 3600 d", 1.3, against(times, c.FRESH), "×"),
        ]
        title = "Four spaces, 3600 d"
        return [table(arena, corpus, times, title, bars), latency(arena, title, n_rounds)]


def real_text(corpus: Corpus, n_rounds: int) -> list[Section]:
    """Real sentences of all lengths, and real but smaller spaces."""
    with Arena(corpus, 2, REAL) as arena:
        arena.check()
        times = measure(arena, n_rounds)
        title = "Real sentences (MR and SUBJ), word2vec 300 d and GloVe 100 d: 1200 d"
        learned = against(times, c.LEARNED, c.ONE_OURS)
        bars = [at_most("[-inf, 1, inf], with a power per dimension", 2, learned, "×")]
        return [table(arena, corpus, times, title, bars)]


def everyday(corpus: Corpus, n_rounds: int) -> list[Section]:
    """The model in the package as users call it: `list[str]` in, a fresh array out."""
    with Arena(corpus, 1, EVERYDAY) as arena:
        times = measure(arena, n_rounds)
        title = "As users call it: German sentences through the model in the package"
        single = latency(arena, title, n_rounds)
        micros = [1e6 * answer["seconds"] for answer in single.raw[c.MODEL]]
        bars = [
            at_least("the map as it was before", 2.5, against(times, c.BEFORE, c.MODEL)),
            at_least("one thread, on two", 1.7, against(times, c.ONE_MODEL, c.MODEL)),
            at_least("model2vec, the model in the package", 10, against(times, c.M2V, c.MODEL)),
            at_least(
                "sentence-transformers StaticEmbedding, the model in the package", 15,
                against(times, c.STATIC, c.MODEL),
            ),
            at_most("one sentence, the model in the package", 60, micros, "µs"),
        ]  # fmt: skip
        sections = [table(arena, corpus, times, title, bars, c.MODEL), single]
    return sections + disk_to_disk(corpus, n_rounds)


def disk_to_disk(corpus: Corpus, n_rounds: int) -> list[Section]:
    """Files through the commands' own code, against `encode` of the same lines; see files.py."""
    program = c.HERE / "files.py"
    if not program.exists():
        return []
    size = str(10 * len(corpus.sentences()))
    told = subprocess.run(
        [sys.executable, str(program), str(corpus.folder / "sentences.txt"), "--lang", "de",
         "--rows", size, "--repeats", str(n_rounds)],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    method, *lines = told.splitlines()
    found = [re.split(r"  +", line) for line in lines]
    bars = [
        at_least(f"`encode` of the same lines: {name}", 75, [100 * float(ratio)], "%")
        for name, _, _, ratio, *_ in found
        if name.startswith(("embed", "predict"))
    ]
    header = ["what", "sentences/s", "range", "ratio to `encode`"]
    rows = [line[:4] for line in found]
    return [
        Section("As users call it: from file to file", method, header, rows, {"told": told}, bars)
    ]


def measure(arena: Arena, n_rounds: int) -> Times:
    answers = arena.rounds("corpus", n_rounds)
    for worker in arena.present:
        worker.about["cpu"] = statistics.median(given["cpu"] for given in answers[worker.name])
    return {name: [answer["seconds"] for answer in given] for name, given in answers.items()}


def against(times: Times, name: str, ours: str = OURS) -> list[float]:
    """Return how many times as long as ours a contestant took, round by round."""
    return ratios(times[name], times[ours]) if name in times else []


def share(times: Times, floor: str) -> list[float]:
    """Return how much of the floor's speed we reach on as many threads, in per cent."""
    if floor not in times:
        return []
    return [100 * ratio for ratio in ratios(times[floor], times[FLOORS[floor]])]


def table(
    arena: Arena, corpus: Corpus, times: Times, title: str, bars: Sequence[Bar], ours: str = OURS
) -> Section:
    n = len(corpus.sentences())
    rows = []
    for worker in arena.workers:
        name = worker.name
        if worker.missing:
            rows.append([name, "–", f"not installed: {worker.missing}", "–", "–", "–"])
            continue
        columns = "–" if name in (*FLOORS, c.HASHING) else f"{worker.about['shape'][1]:,}"
        speeds = shown([n / seconds / 1000 for seconds in times[name]])
        micros = f"{statistics.median(times[name]) / n * 1e6:.2f}"
        worked = "–" if name in FLOORS else f"{worker.about['cpu'] / n * 1e6:.2f}"
        ratio = shown(against(times, name, ours), "{:.2f}")
        rows.append([name, columns, speeds, micros, worked, ratio])
    method = f"{n:,} sentences; {len(times[ours])} rounds of all contestants in turn."
    for worker in arena.present:
        if worker.name in FLOORS:
            reached = shown(share(times, worker.name), "{:.0f}")
            racer, way = FLOORS[worker.name], worker.about["note"]
            method += f" “{racer}” reaches {reached} % of “{worker.name}” ({way})."
    header = ["contestant", "columns", "1,000 sentences/s", "µs per sentence", "µs of all threads"]
    header.append(f"time / “{ours}”")
    return Section(title, method, header, rows, {"sentences": n, "seconds": times}, bars)


def latency(arena: Arena, title: str, n_rounds: int) -> Section:
    """One sentence, as a `str`, from call to vector."""
    answers = arena.rounds("single", n_rounds, SINGLE)
    rows = [
        [name, *(shown([a[key] * 1e6 for a in given]) for key in ("seconds", "p99"))]
        for name, given in answers.items()
    ]
    method = "`encode` of one `str`, 300 of them a round."
    header = ["contestant", "median, µs", "99th percentile, µs"]
    return Section(f"{title}: one sentence at a time", method, header, rows, answers)
