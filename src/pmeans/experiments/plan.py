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

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pmeans import config
from pmeans.recipe import Part
from pmeans.types import Root, Scope, Tokenizer

Layout = Literal["tasks", "transfer", "languages", "averages", "dimensions", "translations"]


@dataclass(frozen=True)
class EncoderRow:
    """One encoder of an experiment, a row of its table.

    Attributes:
        name: For people; unique within a set.
        set: ``paper`` for the paper's own word spaces, ``available`` for those that can be had.
        parts: Word spaces and powers. ``{lang}`` in a space's name stands for the test language.
        published: The row of the published table to show beside it; its own name if None.
        tokenizer: As in a recipe.
        root: As in a recipe.
        znorm: As in a recipe.
        project: If given, the vectors go through a random matrix to this many columns: a control
            that has the size of a larger encoder and the information of a smaller one.
        absent: Why this row cannot be computed; only its published values are shown then.
    """

    name: str
    set: Literal["paper", "available"] = "available"
    parts: tuple[Part, ...] = ()
    published: str | None = None
    tokenizer: Tokenizer = "whitespace"
    root: Root = "principal"
    znorm: Scope = "none"
    project: int | None = None
    absent: str | None = None


@dataclass(frozen=True)
class Experiment:
    """Encoders x tasks x languages, and how their scores are shown.

    Attributes:
        name: File name of its results.
        title: Heading of its table.
        layout: ``tasks`` a column a task (Table 2); ``transfer`` the same averaged over the test
            languages, with in-language minus cross-lingual in parentheses (Table 3);
            ``languages`` a column a task and language (Table 6); ``averages`` the cross-lingual
            and the in-language average (Tables 4 and 5); ``dimensions`` the average against the
            number of columns (the figure); ``translations`` correlations between scores on
            human and on machine translations.
        tasks: Names of tasks.
        encoders: The rows.
        protocol: ``paper`` for each task's own, or one for all.
        train: Language of the training rows.
        test: Languages of the test rows.
        in_language: Whether each test language is also trained on itself.
        published: Name of the published table to show beside ours.
    """

    name: str
    title: str
    layout: Layout
    tasks: tuple[str, ...]
    encoders: tuple[EncoderRow, ...]
    protocol: Literal["paper", "senteval-2018", "ukp-subsample", "modern"] = "paper"
    train: str = "en"
    test: tuple[str, ...] = ("en",)
    in_language: bool = False
    published: str | None = None

    @classmethod
    def from_toml(cls, path: str | Path) -> Experiment:
        """Read an experiment, refusing what it does not know."""
        return config.build(cls, config.read_toml(path), str(path))
