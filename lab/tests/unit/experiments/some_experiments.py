"""A small experiment with results made up, for tests of tables and figures."""

from some_results import fixed, noisy

from pmeans.encoder.recipe import Part
from pmeans_lab.experiments.plan import EncoderRow, Experiment

MEAN = (Part("googlenews", (1.0,)),)
POWERS = (Part("googlenews"),)
GOLD = "012" * 100

ROWS = (
    EncoderRow("GN [-inf, 1, inf]", "paper", POWERS, absent="its vectors cannot be had"),
    EncoderRow("mean", "available", MEAN, published="GoogleNews (GN)"),
    EncoderRow("power & means_1 <50%", "available", POWERS, published="GN [-inf, 1, inf]"),
    EncoderRow("same size", "available", MEAN, project=900),
)


def experiment(layout="tasks", **changes):
    values = {"tasks": ("AM", "MR", "TREC"), "encoders": ROWS, "published": "table2_monolingual"}
    return Experiment("some", "Some scores", layout, **values | changes)


def at(name, *cells):
    """Put cells in the places of a row."""
    return {(name, cell.task, cell.train_lang, cell.test_lang): cell for cell in cells}


def scored(name, level, *, dim=300, tasks=("AM", "MR", "TREC"), train="en", test="en", seed=0):
    """Cells of an encoder whose scores lie about a level; equal seeds differ by level alone."""
    both = {"dim": dim, "train_lang": train, "test_lang": test}
    found = {}
    for task in tasks:
        key = (name, task, train, test)
        both |= {"task": task, "id": " ".join(key)}
        if task == "TREC":
            right = round(3 * level)
            found[key] = fixed(GOLD, GOLD[:right] + "3" * (300 - right), **both)
        elif task.startswith("A"):
            kind = {"protocol": "ukp-subsample", "measure": "macro-f1", "n_test": 20, "n_train": 60}
            found[key] = noisy(level - 20, seed, n=50, **both, **kind)
        else:
            found[key] = noisy(level, seed, **both)
    return found


def results():
    return {
        **scored("mean", 75, seed=1),
        **scored("power & means_1 <50%", 79.04, dim=900, seed=2),
        **scored("same size", 76, dim=900, seed=3, tasks=("AM", "MR")),
    }


REASONS = {("same size", "TREC", "en"): "its test set is not there"}
