"""Run an experiment: everything is looked at first, then cell after cell is evaluated and kept.

Before the first classifier is fitted, every dataset has been loaded and checked and every encoder
opened: a mistake shows in seconds, not after hours. A cell that has nothing to be computed from
is not a mistake; its reason is kept for the table. What is finished is in the store: an interrupted
run loses the cells that it was at, and the next one goes on from there. A cell that another
experiment has computed is finished here, too.
"""

from __future__ import annotations

import contextlib
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
from pmeans.models import power_means
from pmeans.types import Progress
from pmeans_lab.evaluation import cells, protocols, tasks
from pmeans_lab.evaluation.cells import Cell, encode_classes
from pmeans_lab.evaluation.dataset import Dataset, Score
from pmeans_lab.evaluation.features import Features
from pmeans_lab.evaluation.protocol import Protocol
from pmeans_lab.experiments.encoders import Opened, Shelf
from pmeans_lab.experiments.plan import EncoderRow, Experiment, Place, places
from pmeans_lab.experiments.results import Key, Reasons, note


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
class Work:
    """Cells that share their classifiers, and differ in the test language alone.

    Attributes:
        cells: Test language of each cell, by its id.
    """

    row: EncoderRow
    opened: Opened
    dataset: Dataset
    protocol: Protocol
    train_lang: str
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def amount(self) -> float:
        """About how long it takes, in no particular unit."""
        parts = self.dataset.rows[self.train_lang]
        rows = len(parts.get("all") or parts.get("train") or next(iter(parts.values())))
        return float(rows * self.opened.dim * self.protocol.fits(self.dataset, self.train_lang))


def run(
    experiment: Experiment,
    *,
    root: Path,
    results: Path,
    progress: Progress | None = None,
    n_threads: int | None = None,
    device: str = "cpu",
) -> Outcome:
    """Evaluate all cells that are not finished.

    Several runs may work on the same results at once: none evaluates what another one is at.

    Args:
        experiment: What to run.
        root: The folder with the tasks' data.
        results: The folder of all results, where they are added.
        progress: Told how far the whole run is.
        n_threads: Threads that train; all available ones if None.
        device: ``cpu``, or a torch device.
    """
    works, named, reasons = prepare(experiment, root)
    note(results, experiment, named, reasons)
    wanted = set(named.values())
    before = wanted & cells.read(results).keys()
    waiting = [work for work in works if not work.cells.keys() <= before]
    total, spent, now = sum(work.amount for work in waiting), 0.0, 0

    def tell(share: float, text: str) -> None:
        if progress:
            done = min((spent + share * work.amount) / total, 1.0)
            progress(done, f"{work.row.name} on {work.dataset.task}: {text}")

    # A second time around, for what another run was at the first time.
    for _ in range(2):
        done = cells.read(results).keys()
        for work in [work for work in waiting if not work.cells.keys() <= done]:
            now += _evaluate(work, results, tell, n_threads, device)
            spent += work.amount
    left = wanted - cells.read(results).keys()
    return Outcome(len(before), now, len(left), reasons)


def prepare(experiment: Experiment, root: Path) -> tuple[list[Work], dict[Key, str], Reasons]:
    """Open and check all that the cells need.

    Returns:
        What can be evaluated, the id of each of its cells, and why other cells cannot.
    """
    langs: dict[str, dict[str, None]] = {}  # of each task, those that train first
    for column in experiment.measured:
        langs.setdefault(column.task, {}).update(dict.fromkeys((column.train, *column.test)))
    loaded: dict[str, tuple[Dataset | None, dict[str, str]]] = {}
    shelf = Shelf()
    works: dict[tuple[object, ...], Work] = {}
    named: dict[Key, str] = {}
    reasons: dict[tuple[str, str, str], str] = {}
    for place in places(experiment):
        key = (place.row.name, place.task, place.test_lang)
        pair = (place.train_lang, place.test_lang)
        try:
            opened = shelf.open(place.row, *pair)
        except (StorageError, LanguageError) as error:
            reasons.setdefault(key, str(error))
            continue
        if place.task not in loaded:
            loaded[place.task] = _load(experiment.task(place.task), root, [*langs[place.task]])
        dataset, missing = loaded[place.task]
        lacking = [missing[lang] for lang in pair if lang in missing]
        if dataset is None or lacking:
            reasons.setdefault(key, lacking[0])
            continue
        made = Work(place.row, opened, dataset, protocols.of_name(place.protocol), place.train_lang)
        named[place.key] = _cell_id(place, made)
        # Rows of the same encoder under two names are one work.
        same = (opened.id, place.row.settings, place.task, place.train_lang)
        works.setdefault(same, made).cells[named[place.key]] = place.test_lang
    for work in works.values():
        tested = list(work.cells.values())
        protocols.check(work.dataset, work.protocol.name, work.train_lang, tested)
        # What is fitted on text asks nothing of the task, and takes a while to make.
        if not work.row.text:
            if work.protocol.name == "transfer":
                power_means(work.opened.encoder, "the protocol 'transfer'")
            features = Features(work.opened.encoder, work.dataset, work.row.adapt)
            features.check(work.train_lang, tested)
    return list(works.values()), named, reasons


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


def _cell_id(place: Place, work: Work) -> str:
    """Return the name of a cell: digits over all that determines its scores."""
    content: list[object] = [
        work.opened.id,
        place.task,
        work.dataset.fingerprint(place.train_lang, place.test_lang),
        (work.dataset.measure, work.dataset.parallel),
        (work.protocol.name, work.protocol.version),
        (place.train_lang, place.test_lang),
    ]
    if place.row.settings.chosen:
        content.append(place.row.settings.chosen)
    return cells.name(content)


def _evaluate(
    work: Work, results: Path, progress: Progress, n_threads: int | None, device: str
) -> int:
    """Evaluate what nobody else is at, and keep it; return how many cells that were."""
    with contextlib.ExitStack() as claims:
        free = [cell for cell in work.cells if claims.enter_context(cells.claim(results, cell))]
        done = cells.read(results) if free else {}
        todo = {cell: work.cells[cell] for cell in free if cell not in done}
        if not todo:
            return 0
        started = time.perf_counter()
        scores = protocols.evaluate(
            work.opened.encoder,
            work.dataset,
            work.protocol.name,
            train_lang=work.train_lang,
            test_langs=list(todo.values()),
            progress=progress,
            n_threads=n_threads,
            device=device,
            adapt=work.row.adapt,
            settings=work.row.settings,
        )
        # The classifiers served all languages: each takes its share of the time.
        seconds = (time.perf_counter() - started) / len(todo)
        for cell, lang in todo.items():
            of_cell = [score for score in scores if score.test_lang == lang]
            cells.append(results, _cell(work, cell, of_cell, seconds, _versions(device)))
    return len(todo)


def _cell(
    work: Work, cell: str, scores: Sequence[Score], seconds: float, versions: dict[str, str]
) -> Cell:
    encoder, lang = work.opened.encoder, scores[0].test_lang
    parts = work.dataset.rows[lang].values()
    sentences = [sentence for rows in parts for sentence in rows.sentences]
    dev = [score.dev for score in scores if score.dev is not None]
    return Cell(
        id=cell,
        encoder=work.opened.id,
        dim=encoder.dim,
        task=work.dataset.task,
        data=work.dataset.fingerprint(work.train_lang, lang),
        protocol=work.protocol.name,
        version=work.protocol.version,
        settings=work.row.settings.chosen,
        train_lang=work.train_lang,
        test_lang=lang,
        measure=work.dataset.measure,
        coverage=encoder.coverage(sentences, lang=lang).by_space,
        seconds=seconds,
        versions=versions,
        seeds=tuple(score.seed for score in scores),
        values=tuple(score.value for score in scores),
        dev=tuple(dev) or None,
        chosen={key: tuple(s.chosen[key] for s in scores) for key in scores[0].chosen},
        n_train=tuple(score.n_train for score in scores),
        n_test=tuple(score.n_test for score in scores),
        gold=encode_classes([score.gold for score in scores]),
        predicted=encode_classes([score.predicted for score in scores]),
    )


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
