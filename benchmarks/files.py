"""Files through the command's own code, disk to disk, against `encode` of the same lines.

Reading a file, encoding it, and writing what comes out should cost little more than the encoding.
All take turns within one run, so that a busy machine slows them alike; ratios are of medians.

Run ``python benchmarks/files.py LINES.txt --lang de``; the lines are repeated or cut to ``--rows``.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pmeans
from pmeans import TransferClassifier, jobs, tables

BAR = 0.75
"""Of `encode`'s own speed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=Path, help="text, a sentence per line")
    parser.add_argument("--lang", default="de")
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    lines = list(itertools.islice(itertools.cycle(tables.read_lines(given.lines)), given.rows))
    with tempfile.TemporaryDirectory() as folder:
        _compare(lines, given.lang, Path(folder), given.repeats)


def _compare(lines: list[str], lang: str, folder: Path, repeats: int) -> None:
    text, table = folder / "lines.txt", folder / "lines.csv"
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    quoted = (line.replace('"', '""') for line in lines)
    table.write_text(
        "".join(["id,text\n", *(f'{i},"{t}"\n' for i, t in enumerate(quoted))]), "utf-8"
    )
    encoder = pmeans.load()
    some = lines[:2000]
    topics = [str(len(line) % 4) for line in some]
    classifier = TransferClassifier(encoder).fit(some, topics, lang=lang)

    def embed() -> None:
        jobs.embed_to_file(encoder, text, folder / "out.npy", lang=lang)

    def predict() -> None:
        jobs.predict_to_file(classifier, table, folder / "out.csv", lang=lang)

    def read() -> None:
        for _ in tables.open_source(table).blocks():
            pass

    contestants: dict[str, Callable[[], object]] = {
        "encode, of a list": lambda: encoder.encode(lines, lang=lang),
        "embed, text to npy": embed,
        "classify, of a list": lambda: classifier.classify(lines, lang=lang),
        "predict, CSV to CSV": predict,
        "read the CSV alone": read,
    }
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for name, run in itertools.islice(itertools.cycle(contestants.items()), repeats * len(speeds)):
        start = time.perf_counter()
        run()
        speeds[name].append(len(lines) / (time.perf_counter() - start))
    base = statistics.median(speeds["encode, of a list"])
    print(f"{len(lines):,} rows, {repeats} turns; sentences/s: median (range), ratio to encode")
    for name, found in speeds.items():
        median = statistics.median(found)
        met = "" if name.startswith(("read", "encode", "classify")) else f"  bar {BAR}"
        print(
            f"{name:22}{median:>12,.0f}  ({min(found):,.0f} to {max(found):,.0f})"
            f"{median / base:>8.2f}{met}"
        )


if __name__ == "__main__":
    main()
