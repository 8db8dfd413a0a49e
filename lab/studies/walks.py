"""Count the files and functions that a call walks through, of pmeans and of the laboratory.

``python lab/studies/walks.py`` prints the walks of ``docs/architecture.md``: a sentence to its row,
the rows of a CSV file through fit and predict (the model is open already), an experiment to its
table. Functions are those of the two packages that run, each counted once; imports and lengths are
not steps.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pmeans
import pmeans_lab
from pmeans.jobs import predict_to_file
from pmeans.tables import Fields, open_source
from pmeans.transfer.labelled import read_labelled

LABELLED = Fields(label="label", whole=True)
ROOT = Path(__file__).parents[2]
PACKAGES = [Path(each.__file__).parent for each in (pmeans, pmeans_lab)]


def walked(*calls: Callable[[], object]) -> dict[str, list[str]]:
    """Return the functions of the packages that calls run, by file, in order of appearance."""
    found: dict[str, dict[str, None]] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"
        if event != "call" or not is_function or code.co_name.startswith("__"):
            return
        if frame.f_back and frame.f_back.f_code.co_name == "<module>":
            return  # of an import
        path = Path(code.co_filename)
        for package in PACKAGES:
            if package in path.parents:
                file = path.relative_to(package.parent).as_posix()
                found.setdefault(file, {})[code.co_qualname] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for call in calls:
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
        classifier = pmeans.TransferClassifier(encoder)

        def fit() -> None:
            rows = read_labelled(open_source(sample / "train.en.csv", LABELLED), encoder, "en")
            classifier.fit(rows.texts, rows.labels, lang=rows.lang)

        def predict() -> None:
            source = open_source(sample / "test.de.csv", Fields(whole=True))
            predict_to_file(classifier, source, f"{folder}/labels.csv", lang="de")

        show("the rows of a CSV file, learned from and predicted", walked(fit, predict))
        (Path(folder) / "own.toml").write_text(OWN.format(sample=sample), encoding="utf-8")
        experiment = Path(folder) / "walk.toml"
        experiment.write_text(EXPERIMENT, encoding="utf-8")
        results = ["--results", f"{folder}/results"]
        show(
            "an experiment, to its table",
            walked(
                lambda: command("eval", "run", experiment, *results),
                lambda: command("eval", "table", experiment, *results),
            ),
        )


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
    parts = Counter(file.rpartition("/")[0] for file in files)
    listed = ", ".join(f"{part} {n}" for part, n in parts.most_common())
    print(f"{what}: {steps} functions in {len(files)} files ({listed})")
    for file, names in files.items():
        print(f"  {file}: {', '.join(names)}")


if __name__ == "__main__":
    main()
