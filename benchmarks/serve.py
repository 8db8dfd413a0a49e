"""How fast the server answers, beside FastAPI with a static model, and what overload does to it.

    make bench-serve      (about ten minutes; needs wrk and the data, uses nginx if installed)

Client and servers share the cores of one machine and its loopback. Both servers get the same
requests, German sentences of Tatoeba, and take turns; ratios are taken within a round. FastAPI
gets what makes it fastest: uvloop, httptools, an answer that pydantic writes. Its model is a
StaticEmbedding of 30,000 word pieces that makes rows as long as ours. Its values are random:
speed does not depend on them. Nothing but our server finds the language of each text.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import contestants
import corpus
import report
from serve_load import (
    CONNECTIONS,
    HERE,
    Measured,
    Server,
    body_of,
    fastapi,
    flood,
    pmeans,
    write_script,
    wrk,
)
from serve_pressure import behind_nginx, health, stops, unread

CASES = [(n, encoding) for n in (1, 64) for encoding in ("float", "base64")]
KILLED = "## A worker killed with -9"
KEPT = "## Malformed requests"
"""From here on the page is not written by this program."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=100_000, help="of the overload")
    parser.add_argument("--pressure", action="store_true", help="measure only that")
    options = parser.parse_args()
    about = report.machine()
    data = Path(os.environ.get("PMEANS_DATA", HERE.parents[1] / "shared" / "data"))
    with tempfile.TemporaryDirectory() as folder:
        german = corpus.german(Path(folder) / "german", data, 40_000)
        texts = random.Random(0).sample(german.sentences(), 4096)
        page = HERE / "serve.md"
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        kept = "".join(before.partition(KEPT)[1:])
        if options.pressure:
            lines = [before.partition(KILLED)[0].rstrip(), *pressure(texts, about), ""]
            page.write_text("\n".join(lines) + "\n" + kept, "utf-8")
            return
        model = Path(folder) / "static"
        save_static(german, model)
        scripts = {case: write_requests(Path(folder), texts, *case) for case in CASES}
        lines = [*speed(scripts, model, options.rounds), *overload(texts, options.requests)]
        lines += pressure(texts, about)
    page.write_text("\n".join([beginning(about), *lines, ""]) + "\n" + kept, "utf-8")


def pressure(texts: list[str], about: dict) -> Iterator[str]:
    """Yield what the server does where it is killed, stopped, busy, or not listened to."""
    yield f"\n{KILLED}\n"
    yield f"From here on by `benchmarks/serve.py --pressure`, on {about['date']}.\n"
    for section in (kill, health, stops, behind_nginx, unread):
        yield from section(texts)


def beginning(about: dict) -> str:
    return f"""\
# The server under load

`make bench-serve` on {about["date"]}: {about["processor"]}, {about["cores"]} cores, load
{about["load_at_start"]:.1f} before the start; {about["system"]}, Python {about["python"]},
{about["kernels"]} kernels. `benchmarks/serve.py` says at its top what is measured. Shown are
medians of the rounds and, in brackets, the smallest and the largest. On a busy machine trust the
processor time per request, of all threads of the server.
"""


def save_static(german: corpus.Corpus, path: Path) -> None:
    """Write the model of the other server."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    import pmeans as ours

    module = StaticEmbedding(contestants.word_pieces(german), embedding_dim=ours.load().dim)
    SentenceTransformer(modules=[module], device="cpu").save(str(path))


def write_requests(folder: Path, texts: list[str], n: int, encoding: str) -> Path:
    given: Iterator[list[str] | str] = (
        iter(texts) if n == 1 else (texts[i : i + n] for i in range(0, len(texts), n))
    )
    bodies = [body_of(each, encoding) for each in given]
    return write_script(folder / f"{n}-{encoding}.lua", bodies)


def speed(scripts: dict, model: Path, rounds: int) -> Iterator[str]:
    """Yield the tables of requests per second."""
    yield "## Requests per second"
    yield ""
    yield f"wrk with {CONNECTIONS} connections. The bar is 5 × as many, and a lower p99."
    many, lower = [], []
    for workers in (1, 2):
        with pmeans(workers) as ours, fastapi(workers, model) as theirs:
            sides = {"pmeans": ours, "FastAPI": theirs}
            found = measure(sides, scripts, rounds)
        title = f"{workers} worker{'s' * (workers > 1)}"
        yield f"\n| {title} | server | requests/s | p50, ms | p99, ms | processor, ms | ratio |"
        yield "|:--|:--|--:|--:|--:|--:|--:|"
        for case in CASES:
            mine, other = found[case, "pmeans"], found[case, "FastAPI"]
            ratios = [a.per_second / b.per_second for a, b in zip(mine, other, strict=True)]
            many.append(statistics.median(ratios) >= 5)
            p99s = [statistics.median(each.p99 for each in side) for side in (mine, other)]
            lower.append(p99s[0] < p99s[1])
            yield row(case, "pmeans", mine, shown(ratios, "{:.1f}") + " ×")
            yield row(case, "FastAPI", other, "")
    yield f"\nMet: 5 × in {sum(many)} of {len(many)} cases, a lower p99 in {sum(lower)}."


def measure(sides: dict[str, Server], scripts: dict, rounds: int) -> dict[tuple, list[Measured]]:
    found: dict[tuple, list[Measured]] = {}
    for turn in range(rounds + 1):
        for case, script in scripts.items():
            for name, server in sides.items():
                got = wrk(server, script, 1 if turn == 0 else 3)
                if turn:  # the first round warms up
                    found.setdefault((case, name), []).append(got)
    return found


def row(case: tuple, name: str, found: list[Measured], ratio: str) -> str:
    n, encoding = case
    errors = sum(each.errors for each in found)
    columns = [
        f"{n} text{'s' * (n > 1)}, {encoding}",
        name + (f" ({errors} errors)" if errors else ""),
        shown([each.per_second for each in found], "{:,.0f}"),
        shown([each.p50 for each in found], "{:.1f}"),
        shown([each.p99 for each in found], "{:.1f}"),
        shown([each.processor for each in found], "{:.2f}"),
        ratio,
    ]
    return f"| {' | '.join(columns)} |"


def shown(values: list[float], form: str) -> str:
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{form.format(middle)} ({form.format(least)}–{form.format(most)})"


def overload(texts: list[str], n: int) -> Iterator[str]:
    """Yield what many more clients than there are places get."""
    small = body_of(texts[0], "base64", dimensions=8)
    large = body_of(texts[:200], "base64", dimensions=8)  # too many to be answered at once
    yield "\n## Overload\n"
    yield (
        "One worker, which takes 128 requests at a time and 1000 connections. Each connection "
        "sends its next request as soon as it has an answer, also after a refusal. Lost are "
        "requests without an answer. Memory is that of the process alone, without mapped files."
    )
    kinds = "200 | 429 | 503 | other | lost | counted by the server | MB before | MB after"
    yield f"\n| requests | connections | {kinds} |"
    yield "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    with pmeans(1) as server:
        run(server, small, 64, 5_000)  # buffers have their sizes after some requests
        run(server, large, 256, 5_000)
        for name, body, connections, each in (
            ("1 text", small, 512, n),
            ("200 texts", large, 512, n // 5),
            ("200 texts", large, 1280, n // 5),
            ("1 text", small, 64, n // 10),
        ):
            answered, before = server.answered(), server.memory()
            counts = run(server, body, connections, each)
            time.sleep(0.5)
            known = [counts.pop(kind, 0) for kind in (200, 429, 503)]
            lost = counts.pop("lost", 0)
            columns = [*known, counts.total(), lost, server.answered() - answered]
            numbers = " | ".join(f"{column:,}" for column in columns)
            memory = f"{before:.0f} | {server.memory():.0f}"
            yield f"| {each:,} × {name} | {connections:,} | {numbers} | {memory} |"


def run(
    server: Server, body: str, connections: int, n: int | None, seconds: float = 120
) -> Counter:
    return asyncio.run(flood(server.port, body.encode(), connections, n, seconds))


def kill(texts: list[str]) -> Iterator[str]:
    """Yield what it costs to kill a worker while both are busy."""
    connections, body = 64, body_of(texts[:32], "base64", dimensions=8).encode()
    with pmeans(2) as server:
        wait_for(lambda: len(server.workers()) == 2)
        run(server, body.decode(), 16, 500)

        async def during() -> Counter:
            load = asyncio.create_task(flood(server.port, body, connections, None, 8))
            await asyncio.sleep(3)
            os.kill(server.workers()[0], signal.SIGKILL)
            return await load

        counts = asyncio.run(during())
        wait_for(lambda: len(server.workers()) == 2)
        after = run(server, body.decode(), connections, 5_000)
        lost, total = counts["lost"], counts.total()
        others = {kind: count for kind, count in counts.items() if kind not in (200, "lost")}
        yield (
            f"Two workers under {connections} connections, with one request at a time on each. Of "
            f"{total:,} requests {lost} were lost: at most the one that each connection to the "
            f"killed worker waited for. Other answers than 200: {others or 'none'}. After it "
            f"{len(server.workers())} workers run, and of {after.total():,} further requests "
            f"{after['lost']} were lost."
        )


def wait_for(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
