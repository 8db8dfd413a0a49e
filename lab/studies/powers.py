"""Do learned powers beat [-inf, 1, inf] at the same number of columns?

    PMEANS_HOME=HOME python studies/powers.py DATA OUT [TASK ...]

HOME has the word spaces glove-6b-100d and googlenews-subset (`pmeans train` of
recipes/spaces/vectors.toml), DATA the tasks. OUT, results/powers here, gets the scores of every
split (`cells.jsonl`, `gold.jsonl`), the recipe of the first split of each task (`recipes/`) and
`table.md`. Cells that are there already are kept, so that a run can be interrupted. TASK is AM … or
AM-transfer …; all of them if none is named. As many tasks as there are cores are at work at a time.

English: nine tasks by the protocols of the paper, each encoder z-normed on the training rows of the
split. Transfer: English to German and French with the two cross-lingual spaces of the model in the
package, z-normed per language on rows that are not tested. Powers are learned anew for every split,
from its English training rows alone; development and test rows are not looked at.
"""

import multiprocessing
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.files import optional
from pmeans.kernels import available_threads
from pmeans.spaces.library import find_space
from pmeans.types import Array, Power
from pmeans_lab.evaluation import cells, protocols, tasks
from pmeans_lab.evaluation.cells import Cell, encode_classes
from pmeans_lab.evaluation.dataset import Dataset, TaskPart
from pmeans_lab.evaluation.features import Features, View
from pmeans_lab.evaluation.protocol import Job
from pmeans_lab.experiments.comparison import compare
from pmeans_lab.experiments.render import render
from pmeans_lab.experiments.statistics import average, interval
from pmeans_lab.training.powers import PowerLearner

INF = np.inf
ENGLISH = ("MR", "SUBJ", "MPQA", "SST", "CR", "CLS", "AM", "AC", "TREC")  # the longest first
TRANSFER = ("CLS", "AM", "AC")
THREE, ONE = "[-inf, 1, inf]", "mean"
LEARNER = PowerLearner(rows=1500, epochs=9)  # 342 splits for each way: seconds count


@dataclass(frozen=True)
class Way:
    """How the powers of an encoder come about: as they stand, or learned for each split."""

    powers: tuple[Power, ...] = (-INF, 1.0, INF)
    learner: PowerLearner | None = None
    against: str | None = None


WAYS = {
    THREE: Way(),
    "learned per dimension": Way(learner=LEARNER, against=THREE),
    "learned per space": Way(learner=replace(LEARNER, each="space"), against=THREE),
    "[-4, 1, 4], not learned": Way((-4.0, 1.0, 4.0), against=THREE),
    ONE: Way((1.0,)),
    "one per dimension, learned": Way((1.0,), replace(LEARNER, powers=1), against=ONE),
}


class LearnedFeatures(Features):
    """A dataset under an encoder whose powers are learned on the training rows of each split."""

    lasting = False

    def __init__(self, encoder: PowerMeanEncoder, dataset: Dataset, learner: PowerLearner) -> None:
        super().__init__(encoder, dataset)
        self.learner = learner
        self.recipes: list[Recipe] = []

    def view(self, train_lang: str, part: TaskPart, seen: Mapping[str, Array]) -> View:
        """Learn powers on the rows that are seen of the training language, then fit the z-norm."""
        rows = self._dataset.rows[train_lang][part]
        recipe = self.learner.learn(
            self._encoder,
            [rows.sentences[i] for i in seen[train_lang]],
            rows.labels[seen[train_lang]],
            lang=train_lang,
        )
        self.recipes.append(recipe)
        learned = Features(self._encoder.replace(recipe=recipe), self._dataset)
        return learned.view(train_lang, part, seen)


def encoder_of(group: str, way: Way) -> PowerMeanEncoder:
    """Return an encoder of the English spaces, or of those of several languages."""
    if group == "English":
        spaces = {name: find_space(name) for name in ("glove-6b-100d", "googlenews-subset")}
    else:
        shipped = pmeans.load("default").spaces
        spaces = {name: shipped[name] for name in ("bivcd", "attracted")}
    parts = tuple(Part(name, way.powers) for name in spaces)
    scope = "train" if group == "English" else "per_language"
    return PowerMeanEncoder(Recipe(parts, root="shifted", znorm=scope), spaces)


def evaluated(group: str, name: str, dataset: Dataset, tested: list[str], out: Path) -> None:
    """Evaluate a way on a task, unless it is done, and keep the scores."""
    way, protocol = WAYS[name], protocols.of_name(tasks.find(dataset.task).protocol)
    encoder = encoder_of(group, way)
    ids = {lang: cells.name([group, name, dataset.task, lang, repr(way)]) for lang in tested}
    if set(ids.values()) <= cells.read(out).keys():
        return
    features = Features(encoder, dataset)
    if way.learner:
        features = LearnedFeatures(encoder, dataset, way.learner)
    protocols.check(dataset, protocol.name, "en", tested)
    started = time.perf_counter()
    trainer = protocols.trainer_of(None, "cpu")
    scores = protocol.run(Job(dataset, features, "en", tested, trainer, lambda done, text: None))
    seconds = time.perf_counter() - started
    if isinstance(features, LearnedFeatures):
        (out / "recipes").mkdir(exist_ok=True)
        first = replace(features.recipes[0], name=f"{dataset.task}, {name}")
        place = out / "recipes" / f"{group}-{dataset.task}-{name.replace(' ', '-')}.toml"
        place.write_text(first.to_toml(), encoding="utf-8")
    for lang in tested:
        some = [score for score in scores if score.test_lang == lang]
        cells.append(
            out,
            Cell(
                id=ids[lang],
                encoder=cells.name([group, name]),
                dim=encoder.dim,
                task=dataset.task,
                data=dataset.fingerprint("en", lang),
                protocol=protocol.name,
                version=protocol.version,
                settings={"group": group, "way": name},
                train_lang="en",
                test_lang=lang,
                measure=dataset.measure,
                coverage={},
                seconds=seconds,
                versions={"pmeans": pmeans.__version__},
                seeds=tuple(score.seed for score in some),
                values=tuple(score.value for score in some),
                dev=tuple(score.dev or 0.0 for score in some),
                chosen={key: tuple(s.chosen[key] for s in some) for key in some[0].chosen},
                n_train=tuple(score.n_train for score in some),
                n_test=tuple(score.n_test for score in some),
                gold=encode_classes([score.gold for score in some]),
                predicted=encode_classes([score.predicted for score in some]),
            ),
        )
    mean = np.mean([score.value for score in scores])
    print(f"{group} {dataset.task}: {name} {mean:.2f}, {seconds:.0f} s", file=sys.stderr)


def table(out: Path) -> str:
    """Return all averages, and every comparison, as Markdown."""
    lines = []
    kept = list(cells.read(out).values())
    for group in ("English", "transfer"):
        found = {
            name: [c for c in kept if c.settings == {"group": group, "way": name}] for name in WAYS
        }
        full = max(map(len, found.values()))
        lines += [f"# {group}", "", "| powers | columns | average | seconds |", "|---|--:|--:|--:|"]
        for name, own in found.items():
            if own and len(own) == full:
                mean = average([interval(cell) for cell in own], independent=group == "English")
                half = (mean.high - mean.low) / 2
                seconds = sum({cell.task: cell.seconds for cell in own}.values())
                columns = f"| {name} | {own[0].dim:,} | {mean.mean:.1f} ±{half:.1f}"
                lines.append(f"{columns} | {seconds:.0f} |")
        for name, own in found.items():
            other = WAYS[name].against
            if other and own and found[other]:
                lines += ["", "#" + render(compare(name, own, other, found[other]), "markdown")]
    return "\n".join(lines)


def evaluated_task(each: str, data: Path, out: Path) -> None:
    """Evaluate all ways on a task, within English or, as in ``AM-transfer``, across languages."""
    optional("torch", "train", "learning powers").set_num_threads(1)  # its steps are small
    task = tasks.find(each.removesuffix("-transfer"))
    group = "transfer" if each.endswith("-transfer") else "English"
    tested = ["de", "fr"] if group == "transfer" else ["en"]
    dataset = tasks.load(task, data, list(dict.fromkeys(["en", *tested])))
    for name in WAYS:
        evaluated(group, name, dataset, tested, out)


def main() -> None:
    """Evaluate what is asked for, and write the tables."""
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3:] or [*ENGLISH, *(f"{task}-transfer" for task in TRANSFER)]
    spawn = multiprocessing.get_context("spawn")  # torch does not survive a fork
    with ProcessPoolExecutor(available_threads(), mp_context=spawn) as pool:
        list(pool.map(partial(evaluated_task, data=data, out=out), wanted))
    (out / "table.md").write_text(table(out), encoding="utf-8")


if __name__ == "__main__":
    main()
