"""What the paper reports, to be shown beside ours.

One CSV file per table, in ``published/``. The first lines, with ``#``, name the source, and which
tasks and languages its averages are taken over. A row is a model, named as in the paper; where a
column ``what`` is there, ``score`` and ``gap`` are two lines of a model, and the gap is in-language
minus cross-lingual. An empty field was not reported.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

from pmeans.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class Published:
    """Numbers of one table of the paper.

    Attributes:
        source: The paper and the table.
        scores: Score in per cent by (model, column).
        gaps: In-language minus cross-lingual score by (model, column).
        dims: Columns of a sentence vector by model, where the paper tells.
        tasks: What averages over tasks are taken over.
        langs: What averages over test languages are taken over.
    """

    source: str = ""
    scores: Mapping[tuple[str, str], float] = field(default_factory=dict)
    gaps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the paper's order."""
        return tuple(dict.fromkeys(model for model, _ in self.scores))


NOTHING = Published()
_FOLDER = resources.files("pmeans_lab.experiments") / "published"


def names() -> tuple[str, ...]:
    """Return the names of all published tables."""
    return tuple(sorted(file.name.removesuffix(".csv") for file in _FOLDER.iterdir()))


def load(name: str | None) -> Published:
    """Read a published table; `NOTHING` for None."""
    if name is None:
        return NOTHING
    if name not in names():
        raise ConfigError(
            f"no published table {name!r}.{did_you_mean(name, names())} "
            f"There are: {', '.join(names())}."
        )
    lines = _FOLDER.joinpath(f"{name}.csv").read_text("utf-8").splitlines()
    comments = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    scores: dict[tuple[str, str], float] = {}
    gaps: dict[tuple[str, str], float] = {}
    dims: dict[str, int] = {}
    for row in csv.DictReader(lines[len(comments) :]):
        model, what = row.pop("model"), row.pop("what", "score")
        if "dim" in row:
            dims[model] = int(row.pop("dim"))
        numbers = scores if what == "score" else gaps
        numbers |= {(model, column): float(value) for column, value in row.items() if value}
    *source, tasks, langs = comments
    averaged = (tuple(each.partition(": ")[2].split()) for each in (tasks, langs))
    return Published(" ".join(source), scores, gaps, dims, *averaged)
