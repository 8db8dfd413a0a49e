"""The recipes of InferSent: each is of the paper's task, in its size."""

from pathlib import Path

import pytest

from pmeans.training import read_baseline
from pmeans_lab.baselines.infersent.trainer import TrainInferSent

RECIPES = Path(__file__).parents[3] / "recipes" / "baselines"
SNLI = 549_367


@pytest.mark.parametrize("task", ["NLI", "MT", "TD", "MT+TD"])
def test_each_task_of_the_paper_has_a_recipe_with_the_authors_settings(task, tmp_path):
    name = f"infersent-{task.lower().replace('+', '-')}"
    read = read_baseline(RECIPES / f"{name}.toml", tmp_path)
    assert isinstance(read, TrainInferSent)
    assert (read.name, read.task) == (name, task)
    assert (read.hidden, read.layer, read.batch, read.rate, read.epochs) == (2048, 512, 64, 0.1, 20)
    if read.pairs:
        limits = [2 * (file.limit or 0) for file in read.pairs]
        assert SNLI - 4 < sum(limits) <= SNLI
