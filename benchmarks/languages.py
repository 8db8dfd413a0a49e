"""How fast the language of a text is found, beside py3langid and lingua.

    pip install py3langid==0.4.0 lingua-language-detector==2.1.1
    python benchmarks/languages.py DATA

Texts are sentences of Tatoeba and of NTREX in eleven languages, shuffled. All programs choose among
these languages, and take turns. lingua has its models loaded, and is given all texts at once, which
it spreads over all cores; py3langid uses one. Processor time is that of all threads together: on a
busy machine it says more than the time by the clock.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import py3langid
from lingua import IsoCode639_1, Language, LanguageDetectorBuilder

import pmeans
from pmeans import kernels
from pmeans.tables import read_lines

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "ru", "sv", "cs")
MANY, FEW, ROUNDS = 50_000, 1_000, 3


def tatoeba(data: Path) -> list[str]:
    """Return sentences of everyday language, both sides of each file of pairs."""
    found = []
    for lang in LANGUAGES[1:]:
        path = data / f"parallel/en-{lang}.tsv.{'gz' if lang in ('de', 'fr') else 'xz'}"
        rows = (line.split("\t") for line in read_lines(path))
        found += [text for row in rows if row[0] == "tatoeba" for text in row[1:]]
    return found


def ntrex(data: Path) -> list[str]:
    """Return sentences of news."""
    files = (data / f"tasks/ntrex/{lang}.txt.gz" for lang in LANGUAGES)
    return [text for file in files for text in read_lines(file)]


def measured(runs: dict[str, tuple[Callable[[], object], int]]) -> None:
    """Print texts per second of each program, by the clock and by processor time."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (run, _) in runs.items():
            clock, processor = time.perf_counter(), time.process_time()
            run()
            times[name].append((time.perf_counter() - clock, time.process_time() - processor))
    for name, (_, n) in runs.items():
        clock, processor = (statistics.median(column) for column in zip(*times[name], strict=True))
        best = min(taken for taken, _ in times[name])
        print(f"| {name} | {n / clock:,.0f} | {n / best:,.0f} | {n / processor:,.0f} |", flush=True)


def one_by_one(texts: list[str]) -> None:
    """Print what finding the language adds to a single sentence of the model in the package."""
    encoder = pmeans.load()
    some = [text for text in texts[:20_000] if encoder.detect([text])[0].lang == "de"][:500]
    some = [t for t in some if encoder.detect([t])[0].probability > 0.9]
    runs: dict[str, Callable[[str], object]] = {
        "found": encoder.encode,
        'lang="de"': lambda text: encoder.encode(text, lang="de"),
        'for_language("de")': encoder.for_language("de").encode,
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(2 * ROUNDS):
        for name, run in runs.items():
            begin = time.process_time()
            for text in some:
                run(text)
            times[name].append(1e6 * (time.process_time() - begin) / len(some))
    print("\n| one German sentence, encoded alone | microseconds, least | median |\n|:--|--:|--:|")
    for name, taken in times.items():
        print(f"| {name} | {min(taken):.1f} | {statistics.median(taken):.1f} |")


def main(data: Path) -> None:
    """Print the tables."""
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} before; core {kernels.backend()}.\n")
    identifier = pmeans.load().identifier
    py3langid.set_languages(list(LANGUAGES))
    codes = [getattr(IsoCode639_1, lang.upper()) for lang in LANGUAGES]
    chosen = map(Language.from_iso_code_639_1, codes)
    lingua = (
        LanguageDetectorBuilder.from_languages(*chosen).with_preloaded_language_models().build()
    )
    rng = np.random.default_rng(0)
    for name, texts in (("Tatoeba", tatoeba(data)), ("NTREX", ntrex(data))):
        many = [texts[i] for i in rng.integers(len(texts), size=MANY).tolist()]
        few = many[:FEW]
        length = statistics.mean(map(len, many))
        print(f"| {name}, {length:.0f} characters | texts per second | at best | per processor |")
        print("|:--|--:|--:|--:|")
        measured(
            {
                "pmeans, all cores": (lambda m=many: identifier.find(m, LANGUAGES), MANY),
                "pmeans, one core": (lambda m=many: identifier.find(m, LANGUAGES, 1), MANY),
                "py3langid": (lambda f=few: [py3langid.classify(t) for t in f], FEW),
                "lingua": (lambda f=few: lingua.detect_languages_in_parallel_of(f), FEW),
            }
        )
        print()
        if name == "Tatoeba":
            everyday = many
    one_by_one(everyday)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
