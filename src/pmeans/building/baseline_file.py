"""Build files of baselines: a kind and its settings, in place of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmeans import config, models
from pmeans.building.build_file import Build
from pmeans.building.card import render_baseline
from pmeans.building.graph import Graph, one_thread
from pmeans.files import sizes, write_checksums
from pmeans.outputs import check_output
from pmeans.training import read_baseline
from pmeans.training.trainer import BaselineTrainer, within
from pmeans.types import Progress


@dataclass(frozen=True)
class BaselineBuild:
    """What a baseline is made of."""

    trainer: BaselineTrainer

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.trainer.name

    def make(
        self, folder: str | Path, *, progress: Progress, graph: Graph | None = None
    ) -> dict[str, int]:
        """Train the baseline and write it as a folder, as `Build.make` does.

        A training that was interrupted goes on: its state lies beside the folder.
        """
        folder = Path(folder).absolute()  # so that it has a name, also as "."
        with models.replacing(folder) as new, one_thread():
            state = folder.with_name(f".{folder.name}.training")
            graph = graph or Graph()
            plan, spaces = graph.resolved(self.trainer)
            check_output(folder, graph.inputs)
            graph.make(spaces, progress=within(progress, 0, 2))
            baseline = plan.train(progress=within(progress, 1, 2), checkpoint=state)
            models.write_baseline(baseline, new)
            card = render_baseline(baseline, sizes(new))
            (new / models.CARD).write_text(card, encoding="utf-8")
            write_checksums(new)
            files = sizes(new)
        state.unlink(missing_ok=True)
        progress(1.0, "done")
        return files


def read_build(path: str | Path, data: str | Path | None = None) -> Build | BaselineBuild:
    """Read a build file: of a baseline if it names a kind, else of power means."""
    if "kind" in config.read_toml(path):
        return BaselineBuild(read_baseline(path, data))
    return Build.from_toml(path, data)
