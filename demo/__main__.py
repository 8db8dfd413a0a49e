"""Run the demo: print the scores and write ``demo/report.html``."""

from pathlib import Path

import pmeans
from demo.findings import LANGUAGES, Findings, Score, find, per_cent
from demo.report import render
from pmeans import PowerMeanEncoder
from pmeans.files import replacing
from pmeans.models import packs

HERE = Path(__file__).parent


def summary(found: Findings) -> str:
    """Return the scores as a small table, a line for each language."""
    english, rows = found.transferred["en"].n_train, found.transferred["en"].evaluation.rows
    lines = [f"Right of {rows} sentences (95 % interval), trained on {english} English sentences:"]
    for lang, name in LANGUAGES.items():
        line = f"  {name:<8} {_score(found.transferred[lang])}"
        own = found.in_language.get(lang)
        if own:
            line += f"   trained on {own.n_train} {name} ones: {_score(own)}"
        lines.append(line)
    if found.further:
        hits = sum(each.label == each.gold for each in found.further)
        lines.append(
            f"  in eight more languages, by the model wide: {hits} of {len(found.further)}"
        )
    return "\n".join(lines)


def _wide() -> PowerMeanEncoder | None:
    """Return the model of eleven languages, if its package is installed."""
    return pmeans.load("wide") if "wide" in packs.installed() else None


def _score(score: Score) -> str:
    low, high = score.interval
    accuracy = f"{per_cent(score.evaluation.accuracy)} ({100 * low:.0f} to {100 * high:.0f})"
    return f"{accuracy}, macro-F1 {100 * score.evaluation.macro_f1:.0f}"


def main() -> None:
    """Find out, report, and say where the report is."""
    found = find(pmeans.load(), HERE / "sample", _wide())
    with replacing(HERE / "report.html") as file:
        file.write(render(found).encode("utf-8"))
    print(summary(found))
    print(f"Why, and where it errs: open {HERE / 'report.html'}")


if __name__ == "__main__":
    main()
