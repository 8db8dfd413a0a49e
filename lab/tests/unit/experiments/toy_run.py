"""An experiment that takes no time: two tasks in two languages, over a space of five words."""

import threading

import numpy as np

from pmeans.errors import StorageError
from pmeans.spaces.library import path_of
from pmeans.spaces.store import save_space
from pmeans_lab.evaluation import protocols, tasks
from pmeans_lab.evaluation.dataset import Dataset, Examples, Score

TOML = """
name = "toy"
title = "Toy"
layout = "transfer"
tasks = ["AC", "MR"]
test = ["de"]
in_language = true

[[encoders]]
name = "mean"
parts = [{ space = "toy", powers = [1] }]

[[encoders]]
name = "min max"
parts = [{ space = "toy", powers = [-inf, inf] }]

[[encoders]]
name = "elsewhere"
set = "paper"
parts = [{ space = "far-away", powers = [1] }]

[[encoders]]
name = "nowhere"
set = "paper"
absent = "nobody has it"
"""
SENTENCES = {"en": ("the cat", "the dog sat"), "de": ("die katze", "die hund")}


class Fakes:
    """Stand for the tasks' data and the protocols, and count what is asked of them."""

    def __init__(self) -> None:
        self.evaluated = []
        self.missing = set()
        self.mistake = None
        self.on_evaluate = lambda: None
        self._lock = threading.Lock()

    def load(self, task, root, languages):
        for lang in languages:
            if (task.name, lang) in self.missing:
                raise StorageError(f"no file '{root}/{task.name}.{lang}'.")
        rows = {
            lang: {"all": Examples(SENTENCES.get(lang, ("a", "b")), np.array([0, 1]))}
            for lang in languages
        }
        return Dataset(task.name, ("a", "b"), task.measure, True, rows)

    def check(self, dataset, protocol, train_lang, test_langs):
        if self.mistake:
            raise self.mistake

    def evaluate(self, encoder, dataset, protocol, *, train_lang, test_langs, progress, **rest):
        with self._lock:
            self.evaluated += [(encoder.name, dataset.task, train_lang, x) for x in test_langs]
        self.on_evaluate()
        progress(0.5, "half")
        both = np.array([0, 1])
        chosen = {"l2": 0.1}
        return [
            Score(lang, split, 7, 50.0 + split, 60.0, chosen, 2, 2, both, both)
            for lang in test_langs
            for split in range(2)
        ]


def install(monkeypatch, folder, space):
    """Put the fakes in place, and the space into a library of its own."""
    fakes = Fakes()
    monkeypatch.setattr(tasks, "load", fakes.load)
    monkeypatch.setattr(protocols, "check", fakes.check)
    monkeypatch.setattr(protocols, "evaluate", fakes.evaluate)
    monkeypatch.setenv("PMEANS_HOME", str(folder / "home"))
    save_space(space, path_of("toy"))
    (folder / "data").mkdir()
    (folder / "toy.toml").write_text(TOML, encoding="utf-8")
    return fakes
