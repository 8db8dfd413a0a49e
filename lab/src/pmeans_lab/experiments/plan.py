"""An experiment is a TOML file: which encoders, on which tasks, shown in which table.

::

    name = "paper-table2"
    title = "Monolingual scores"
    layout = "tasks"
    published = "table2_monolingual"
    tasks = ["AM", "MR", "TREC"]

    [[encoders]]
    name = "GN [-inf, 1, inf]"
    set = "paper"
    parts = [{ space = "googlenews", powers = [-inf, 1, inf] }]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pmeans import config
from pmeans.encoder.alignment_fit import Fit
from pmeans.encoder.recipe import Part
from pmeans.errors import ConfigError, InputError, did_you_mean
from pmeans.training.corpus import PairFile
from pmeans.types import Root, Scope, Tokenizer
from pmeans_lab.evaluation.features import Adapt
from pmeans_lab.evaluation.protocol import UNCHANGED, Settings
from pmeans_lab.evaluation.protocols import CLASSIFYING, of_name
from pmeans_lab.evaluation.tasks import Task, find, from_toml, known
from pmeans_lab.experiments import published

TableForm = Literal[
    "tasks", "transfer", "languages", "averages", "dimensions", "translations", "groups"
]
Set = Literal["paper", "available"]


@dataclass(frozen=True)
class EncoderRow:
    """One encoder of an experiment, a row of its table.

    Attributes:
        name: For people: unique within the experiment.
        set: ``paper`` for the paper's own word spaces, ``available`` for those that can be had.
        parts: Word spaces and powers. ``{lang}`` in a space's name stands for the test language.
        published: The row of the published table to show beside it; its own name if None.
        tokenizer: As in a recipe.
        root: As in a recipe.
        znorm: As in a recipe.
        project: If given, the vectors go through a random matrix to this many columns: a control
            that has the size of a larger encoder and the information of a smaller one.
        text: Pairs of sentences that the z-norm per language is fitted on, in place of the task's
            rows; ``{lang}`` stands for the test language in its path and as its second language,
            and for the training language where the test language is its first.
        align: How the text's two languages are mapped into one space; None for no map.
        model: In place of parts, text and align: ``"default"``, the model in the package, or the
            folder or name of another, also of a baseline, but for its tokenizer. ``{lang}`` stands
            for the test language.
        baseline: Fitted on the training rows of each split: ``sif`` or ``usif`` over the mean of
            the one part, with wordfreq's frequencies; or ``tfidf``, of 3600 words, without parts.
        adapt: Fit the z-norm anew on the task: ``rows`` on each language's rows outside the test
            set, ``test`` on the test rows of the test language.
        settings: What is chosen about the protocol, where it has the choice.
        absent: Why this row cannot be computed; only its published values are shown then.
    """

    name: str
    set: Set = "available"
    parts: tuple[Part, ...] = ()
    published: str | None = None
    tokenizer: Tokenizer = "whitespace"
    root: Root = "principal"
    znorm: Scope = "none"
    project: int | None = None
    text: PairFile | None = None
    align: Fit | None = None
    model: str | None = None
    baseline: Literal["sif", "usif", "tfidf"] | None = None
    adapt: Adapt | None = None
    settings: Settings = UNCHANGED
    absent: str | None = None


@dataclass(frozen=True)
class Columns:
    """Columns of a table: a task by a protocol, trained in one language and tested in some.

    Attributes:
        task: Name of the task.
        test: Languages of the test rows; for ``retrieval``, those to find translations in.
        train: Language of the training rows; for ``retrieval``, the one that asks.
        protocol: ``paper`` for the task's own, or another, if the task has classes.
        group: Heading of the columns that are averaged with these; the task's name if None.
    """

    task: str
    test: tuple[str, ...]
    train: str = "en"
    protocol: str = "paper"
    group: str | None = None


@dataclass(frozen=True)
class Experiment:
    """Encoders x tasks x languages, and how their scores are shown.

    Attributes:
        name: File name of its results.
        title: Heading of its table.
        layout: ``tasks`` a column per task (Table 2); ``transfer`` the same averaged over the test
            languages, with in-language minus cross-lingual in parentheses (Table 3);
            ``languages`` a column per task and language (Table 6); ``averages`` the cross-lingual
            and the in-language average (Tables 4 and 5); ``dimensions`` the average against the
            number of columns (the figure); ``translations`` correlations between scores on
            human and on machine translations; ``groups`` the mean of each group of ``columns``
            and of all groups, then every column.
        tasks: Names of tasks; those of ``columns`` where they are given.
        encoders: The rows.
        protocol: ``paper`` for each task's own, or one for all that have classes.
        train: Language of the training rows.
        test: Languages of the test rows.
        in_language: Whether each test language is also trained on itself.
        published: Name of the published table to show beside ours.
        own_tasks: A file of tasks beside this one, for those of ``tasks`` that are not known.
        columns: In place of tasks, protocol and test, where columns differ in more than the task.
    """

    name: str
    title: str
    layout: TableForm
    encoders: tuple[EncoderRow, ...]
    tasks: tuple[str, ...] = ()
    protocol: str = "paper"
    train: str = "en"
    test: tuple[str, ...] = ("en",)
    in_language: bool = False
    published: str | None = None
    own_tasks: str | None = None
    columns: tuple[Columns, ...] = ()

    @classmethod
    def from_toml(cls, path: str | Path) -> Experiment:
        """Read an experiment, refusing what it does not know and what cannot be run."""
        experiment = config.build(cls, config.read_toml(path), str(path))
        folder = Path(path).parent
        rows = (
            replace(row, text=row.text and row.text.beside(folder)) for row in experiment.encoders
        )
        experiment = replace(experiment, encoders=tuple(rows))
        if experiment.columns and not experiment.tasks:
            tasks = dict.fromkeys(column.task for column in experiment.columns)
            experiment = replace(experiment, tasks=tuple(tasks))
        if experiment.own_tasks:
            experiment = replace(experiment, own_tasks=str(folder / experiment.own_tasks))
        try:
            for mistake in _mistakes(experiment):
                raise ConfigError(mistake)
        except (ConfigError, InputError) as error:
            raise ConfigError(f"{path}: {error}") from error
        return experiment

    def task(self, name: str) -> Task:
        """Return one of the experiment's tasks."""
        own = from_toml(self.own_tasks) if self.own_tasks else []
        return next((task for task in own if task.name == name), None) or find(name)

    @property
    def measured(self) -> tuple[Columns, ...]:
        """What the rows are measured by: its columns, or each of its tasks in its languages."""
        if self.columns:
            return tuple(column for column in self.columns if column.task in self.tasks)
        own = self.test if self.in_language else ()
        return tuple(
            Columns(task, test, train, self.protocol)
            for task in self.tasks
            for train, test in dict.fromkeys(
                [(self.train, self.test), *((lang, (lang,)) for lang in own)]
            )
        )

    @property
    def needs_data(self) -> bool:
        """Whether it has published tasks; a user's own say themselves where they lie."""
        return bool(known().keys() & self.tasks)

    def only(
        self, which: Set | None = None, encoders: Sequence[str] = (), tasks: Sequence[str] = ()
    ) -> Experiment:
        """Return a part of the experiment; nothing given leaves it whole."""
        _check_known("encoder", encoders, [row.name for row in self.encoders])
        _check_known("task", tasks, self.tasks)
        return replace(
            self,
            encoders=tuple(
                row
                for row in self.encoders
                if which in (None, row.set) and (not encoders or row.name in encoders)
            ),
            tasks=tuple(name for name in self.tasks if not tasks or name in tasks),
        )


@dataclass(frozen=True)
class Place:
    """A place for one number: a row on a task by a protocol, trained and tested in one language."""

    row: EncoderRow
    task: str
    protocol: str
    train_lang: str
    test_lang: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is called within the experiment."""
        return self.row.name, self.task, self.train_lang, self.test_lang


def places(experiment: Experiment) -> list[Place]:
    """Return all places that could be filled, in the order of the file."""
    protocols = {column: _protocol(experiment, column) for column in experiment.measured}
    return [
        Place(row, column.task, protocol, column.train, lang)
        for row in experiment.encoders
        if not row.absent
        for column, protocol in protocols.items()
        for lang in column.test
    ]


def _protocol(experiment: Experiment, column: Columns) -> str:
    """Return the protocol of columns: theirs, or the task's own if that is asked or needed."""
    own = experiment.task(column.task).protocol
    classifies = own in (each.name for each in CLASSIFYING)
    return own if column.protocol == "paper" or not classifies else column.protocol


def _mistakes(experiment: Experiment) -> Iterator[str]:
    """Say what is wrong with an experiment that has all its keys, or raise it."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", experiment.name):
        yield (
            f"name {experiment.name!r} cannot be that of a folder: take letters, digits, "
            "'.', '_' and '-'."
        )
    if bool(experiment.columns) != (experiment.layout == "groups"):
        yield "the layout 'groups' shows columns, and no other layout does."
    named = [row.name for row in experiment.encoders]
    once = {"encoder": named, "task": experiment.tasks, "test": experiment.test}
    if experiment.columns:
        once["column"] = [
            f"{c.task} {c.train}-{lang}" for c in experiment.columns for lang in c.test
        ]
    for key, values in once.items():
        if not values:
            yield f"it has no {key}."
        for value, count in Counter(values).items():
            if count > 1:
                yield f"{count} times the {key} {value!r}: each must be there once."
    for name in experiment.tasks:
        experiment.task(name)
    foreign = [lang for lang in experiment.test if lang != experiment.train]
    if experiment.layout in ("transfer", "languages", "averages", "translations"):
        if foreign != list(experiment.test):
            yield (
                f"layout {experiment.layout!r} shows transfer from {experiment.train!r} to other "
                f"languages: leave {experiment.train!r} out of test."
            )
    elif len(experiment.test) > 1 and experiment.layout != "groups":
        yield f"layout {experiment.layout!r} shows one test language, not {len(experiment.test)}."
    protocols: dict[str, str] = {}
    for column in experiment.measured:
        if column.protocol != "paper":
            of_name(column.protocol)
        protocol = _protocol(experiment, column)
        if protocols.setdefault(column.task, protocol) != protocol:
            yield f"the task {column.task!r} is there by two protocols: make it two experiments."
        if not column.test:
            yield f"the columns of {column.task!r} have no test language."
    models = published.load(experiment.published).models
    for row in experiment.encoders:
        yield from _row_mistakes(row)
        for protocol in protocols.values():
            of_name(protocol).check_settings(row.settings)
        if (row.project or row.baseline) and "transfer" in protocols.values():
            what = "projection" if row.project else "baseline"
            yield f"encoder {row.name!r}: a {what} has no columns for 'transfer' to choose."
        if row.published and row.published not in models:
            yield (
                f"encoder {row.name!r}: no published row {row.published!r}."
                f"{did_you_mean(row.published, models)}"
            )


def _row_mistakes(row: EncoderRow) -> Iterator[str]:
    if row.baseline:
        yield from _baseline_mistakes(row)
    elif not row.parts and not row.absent and not row.model:
        yield f"encoder {row.name!r} has no parts; if it cannot be had, let absent say why."
    if row.model and (row.parts or row.text or row.align or row.znorm != "none"):
        yield f"encoder {row.name!r} is a model, which has its own parts, z-norm and alignment."
    if row.adapt and not row.model and row.znorm != "per_language":
        yield f"encoder {row.name!r}: adapt needs znorm = 'per_language'."
    if row.parts and row.absent:
        yield f"encoder {row.name!r} has parts, and says that it is absent: leave one out."
    if row.text and row.znorm != "per_language":
        yield f"encoder {row.name!r} has a text to fit its z-norm on: set znorm = 'per_language'."
    if row.align and not row.text:
        yield f"encoder {row.name!r}: align needs a text to be fitted on."
    if row.project is not None and row.project < 1:
        yield f"encoder {row.name!r}: cannot project to {row.project} columns: at least 1."


def _baseline_mistakes(row: EncoderRow) -> Iterator[str]:
    powers = [part.powers for part in row.parts]
    if powers != ([] if row.baseline == "tfidf" else [(1,)]):
        needs = "no parts" if row.baseline == "tfidf" else "one part, with powers = [1]"
        yield f"encoder {row.name!r}: {row.baseline} needs {needs}."
    others = (row.model, row.absent, row.project, row.text, row.align, row.adapt)
    if any(others) or row.znorm != "none":
        yield (
            f"encoder {row.name!r} is fitted on the training rows: leave out model, absent, "
            "project, text, align, adapt and znorm."
        )


def _check_known(kind: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise InputError(
                f"no {kind} {name!r} in this experiment.{did_you_mean(name, known)} "
                f"It has: {', '.join(known)}."
            )
