"""Count the files and functions of the package that a call walks through.

``python studies/walks.py`` prints the walks of ``docs/architecture.md``: a sentence to its row, the
rows of a CSV file through fit and predict, an experiment to its table. Functions are those of the
package that run, each counted once; imports, properties and what a library does are not steps.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pmeans

ROOT = Path(__file__).parents[1]
PACKAGE = Path(pmeans.__file__).parent


def walked(call: Callable[[], object]) -> dict[str, list[str]]:
    """Return the functions of the package that a call runs, by file, in order of appearance."""
    found: dict[str, dict[str, None]] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"
        if event != "call" or not is_function or code.co_name.startswith("__"):
            return
        if PACKAGE in (path := Path(code.co_filename)).parents:
            found.setdefault(path.relative_to(PACKAGE).as_posix(), {})[code.co_qualname] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {file: list(names) for file, names in found.items()}


def main() -> None:
    """Print the three walks."""
    encoder = pmeans.load()
    encoder.encode("Ein Hund.", lang="de")
    show("a sentence", walked(lambda: encoder.encode("Der Hund rennt.", lang="de")))
    sample = ROOT / "demo" / "sample"
    with tempfile.TemporaryDirectory() as folder:
        fit = ["fit", sample / "train.en.csv", "--lang", "en", "--out", f"{folder}/topics"]
        predict = ["predict", f"{folder}/topics", sample / "test.de.csv", "--lang", "de"]
        predict += ["--out", f"{folder}/labels.csv"]
        show("rows of a CSV file, fit", walked(lambda: command("transfer", *fit)))
        show("rows of a CSV file, predict", walked(lambda: command("transfer", *predict)))
        (Path(folder) / "own.toml").write_text(OWN.format(sample=sample), encoding="utf-8")
        experiment = Path(folder) / "walk.toml"
        experiment.write_text(EXPERIMENT, encoding="utf-8")
        results = ["--results", f"{folder}/results"]
        both = walked(
            lambda: (
                command("eval", "run", experiment, *results),
                command("eval", "table", experiment, *results, "--output", f"{folder}/table.md"),
            )
        )
        show("an experiment, to its table", both)


OWN = """
[[tasks]]
name = "topics"
languages = ["en", "de"]
files = [
  {{ path = "{sample}/train.en.csv", lang = "en", part = "train" }},
  {{ path = "{sample}/test.en.csv", lang = "en", part = "test" }},
  {{ path = "{sample}/test.de.csv", lang = "de", part = "test" }},
]
"""
EXPERIMENT = """
name = "walk"
title = "A walk"
layout = "transfer"
tasks = ["topics"]
own_tasks = "own.toml"
protocol = "transfer"
test = ["de"]

[[encoders]]
name = "default"
model = "default"
"""


def command(*words: object) -> None:
    """Run a command of the program, in this process."""
    from typer.testing import CliRunner

    from pmeans.cli.main import app

    done = CliRunner().invoke(app, list(map(str, words)))
    if done.exit_code:
        raise SystemExit(f"{words}: {done.output}")


def show(what: str, files: dict[str, list[str]]) -> None:
    """Print a walk."""
    steps = sum(map(len, files.values()))
    print(f"{what}: {steps} functions in {len(files)} files")
    for file, names in files.items():
        print(f"  {file}: {', '.join(names)}")


if __name__ == "__main__":
    main()
