"""Run an experiment: everything is looked at first, then cell after cell is evaluated and kept.

Before the first classifier is fitted, every dataset has been loaded and checked and every encoder
opened: a mistake shows in seconds, not after hours. A cell that has nothing to be computed from
is no mistake; its reason is kept for the table. What is finished is on disk: an interrupted run
loses the group of cells that it was at, and the next one goes on from there.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pmeans import kernels
from pmeans._version import __version__
from pmeans.errors import LanguageError, StorageError
from pmeans.evaluation import protocols, tasks
from pmeans.evaluation.features import Features
from pmeans.evaluation.types import Dataset, Progress, Score
from pmeans.experiments.encoders import Opened, Shelf
from pmeans.experiments.files import Key, Reasons, note_reasons
from pmeans.experiments.plan import Cell, EncoderRow, Experiment, cells
from pmeans.experiments.results import Result, append, claim, encode_classes, finished


@dataclass(frozen=True)
class Outcome:
    """What a run came to, in cells.

    Attributes:
        before: Finished when it began.
        now: Evaluated by this run.
        elsewhere: Still being evaluated by another run.
        reasons: Why others cannot be computed. Rows that the experiment itself calls absent have
            no cells.
    """

    before: int
    now: int
    elsewhere: int
    reasons: Reasons


@dataclass(frozen=True)
class Group:
    """Cells that share their classifiers, and differ in the test language alone.

    Attributes:
        row: Their encoder, as the experiment has it.
        opened: The same, ready to encode.
        dataset: Their task.
        protocol: How it is evaluated.
        train_lang: Language of the training rows.
        cells: Test language of each cell, by the digits that name it in the results.
    """

    row: EncoderRow
    opened: Opened
    dataset: Dataset
    protocol: str
    train_lang: str
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def work(self) -> float:
        """About how long it takes, in no particular unit."""
        parts = self.dataset.rows[self.train_lang]
        rows = len(parts["all" if "all" in parts else "train"])
        return float(rows * self.opened.dim * _fits(self.protocol, set(parts)))


def run(
    experiment: Experiment,
    *,
    root: Path,
    results_path: Path,
    progress: Progress | None = None,
    n_threads: int | None = None,
    device: str = "cpu",
) -> Outcome:
    """Evaluate all cells that are not finished.

    Several runs may work on the same results at once: none evaluates what another one is at.

    Args:
        experiment: What to run.
        root: The folder with the tasks' data.
        results_path: Where results are, and are added.
        progress: Told how far the whole run is.
        n_threads: Threads that train; all available ones if None.
        device: ``cpu``, or a torch device.
    """
    groups, reasons = prepare(experiment, root)
    looked_at = {(cell.encoder.name, cell.task, cell.test_lang) for cell in cells(experiment)}
    note_reasons(results_path, looked_at, reasons)
    wanted = {cell for group in groups for cell in group.cells}
    before = wanted & finished(results_path)
    waiting = [group for group in groups if not group.cells.keys() <= before]
    total, spent, now = sum(group.work for group in waiting), 0.0, 0

    def tell(share: float, text: str) -> None:
        if progress:
            done = min((spent + share * group.work) / total, 1.0)
            progress(done, f"{group.row.name} on {group.dataset.task}: {text}")

    # A second time around, for what another run was at the first time.
    for _ in range(2):
        done = finished(results_path)
        for group in [group for group in waiting if not group.cells.keys() <= done]:
            now += _evaluate(group, results_path, tell, n_threads, device)
            spent += group.work
    left = wanted - finished(results_path)
    return Outcome(len(before), now, len(left), reasons)


def prepare(experiment: Experiment, root: Path) -> tuple[list[Group], Reasons]:
    """Open and check all that the cells need.

    Returns:
        The cells that can be evaluated, in groups, and why the others cannot.
    """
    langs = list(dict.fromkeys((experiment.train, *experiment.test)))
    loaded: dict[str, tuple[Dataset | None, dict[str, str]]] = {}
    shelf = Shelf()
    groups: dict[tuple[str, ...], Group] = {}
    reasons: dict[Key, str] = {}
    for cell in cells(experiment):
        name = (cell.encoder.name, cell.task, cell.test_lang)
        pair = (cell.train_lang, cell.test_lang)
        try:
            opened = shelf.open(cell.encoder, *pair)
        except (StorageError, LanguageError) as error:
            reasons.setdefault(name, str(error))
            continue
        if cell.task not in loaded:
            loaded[cell.task] = _load(experiment.task(cell.task), root, langs)
        dataset, missing = loaded[cell.task]
        lacking = [missing[lang] for lang in pair if lang in missing]
        if dataset is None or lacking:
            reasons.setdefault(name, lacking[0])
            continue
        made = Group(cell.encoder, opened, dataset, cell.protocol, cell.train_lang)
        key = (cell.encoder.name, opened.id, cell.task, cell.train_lang)
        groups.setdefault(key, made).cells[_cell_id(cell, opened, dataset)] = cell.test_lang
    for group in groups.values():
        langs_tested = list(group.cells.values())
        protocols.check(group.dataset, group.protocol, group.train_lang, langs_tested)
        # What is fitted on text asks nothing of the task.
        if not group.row.text and not group.row.model:
            Features(group.opened.encoder, group.dataset).check(langs_tested)
    return list(groups.values()), reasons


def _load(
    task: tasks.Task, root: Path, langs: Sequence[str]
) -> tuple[Dataset | None, dict[str, str]]:
    """Load the languages that there are files of; say for each other one what is missing."""
    with contextlib.suppress(StorageError):
        return tasks.load(task, root, langs), {}
    there, missing = found(task, root, langs)
    return tasks.load(task, root, there) if there else None, missing


def found(task: tasks.Task, root: Path, langs: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the languages whose files are there, and what is missing of the others."""
    there: list[str] = []
    missing: dict[str, str] = {}
    for lang in langs:
        try:
            # Beside the training language, as another one may have test rows alone.
            tasks.load(task, root, [*there[:1], lang])
            there.append(lang)
        except StorageError as error:
            # The reason will stand under tables, and be read where the data lies elsewhere.
            missing[lang] = str(error).replace(f"{root}/", "")
    return there, missing


def _cell_id(cell: Cell, opened: Opened, dataset: Dataset) -> str:
    """Return twelve hexadecimal digits over all that determines the scores, and their names."""
    content = (
        cell.encoder.name,
        opened.id,
        cell.task,
        dataset.fingerprint(cell.train_lang, cell.test_lang),
        (dataset.measure, dataset.parallel),
        (cell.protocol, protocols.PROTOCOLS[cell.protocol].VERSION),
        (cell.train_lang, cell.test_lang),
    )
    return hashlib.sha256(repr(content).encode()).hexdigest()[:12]


def _evaluate(
    group: Group, path: Path, progress: Progress, n_threads: int | None, device: str
) -> int:
    """Evaluate what nobody else is at, and keep it; return how many cells that were."""
    with contextlib.ExitStack() as claims:
        free = [cell for cell in group.cells if claims.enter_context(claim(path, cell))]
        done = finished(path) if free else set()
        todo = {cell: group.cells[cell] for cell in free if cell not in done}
        if not todo:
            return 0
        started = time.perf_counter()
        scores = protocols.evaluate(
            group.opened.encoder,
            group.dataset,
            group.protocol,
            train_lang=group.train_lang,
            test_langs=list(todo.values()),
            progress=progress,
            n_threads=n_threads,
            device=device,
            adapt=group.row.adapt,
        )
        # The classifiers served all languages: each takes its share of the time.
        seconds = (time.perf_counter() - started) / len(todo)
        for cell, lang in todo.items():
            of_cell = [score for score in scores if score.test_lang == lang]
            append(path, _results(group, cell, of_cell, seconds, _versions(device)))
    return len(todo)


def _results(
    group: Group, cell: str, scores: Sequence[Score], seconds: float, versions: dict[str, str]
) -> list[Result]:
    encoder, lang = group.opened.encoder, scores[0].test_lang
    parts = group.dataset.rows[lang].values()
    sentences = [sentence for rows in parts for sentence in rows.sentences]
    coverage = encoder.coverage(sentences, lang=lang).by_space
    return [
        Result(
            cell=cell,
            encoder=group.row.name,
            encoder_id=group.opened.id,
            dim=encoder.dim,
            znorm=group.row.znorm,
            task=group.dataset.task,
            protocol=group.protocol,
            train_lang=group.train_lang,
            test_lang=lang,
            split=score.split,
            seed=score.seed,
            measure=group.dataset.measure,
            value=score.value,
            dev=score.dev,
            chosen=score.chosen,
            n_train=score.n_train,
            n_test=score.n_test,
            coverage=coverage,
            seconds=seconds,
            versions=versions,
            gold=encode_classes(score.gold),
            predicted=encode_classes(score.predicted),
        )
        for score in scores
    ]


def _versions(device: str) -> dict[str, str]:
    versions = {
        "pmeans": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "kernels": kernels.backend(),
        "device": device,
    }
    # Both are imported by what uses them alone.
    for name in ("torch", "sklearn"):
        if name in sys.modules:
            versions[name] = sys.modules[name].__version__
    return versions


def _fits(protocol: str, parts: set[str]) -> int:
    """Return about how many classifiers a protocol fits, for the time that is left."""
    if protocol == "ukp-subsample":
        return 250
    # Nested folds; folds of the training part; one choice on the development part.
    return 410 if "all" in parts else 5 if "dev" in parts else 41
