"""The committed tables are what the committed cells make of them, without data or word spaces."""

import json
from pathlib import Path

import pytest

from pmeans_lab.evaluation import cells
from pmeans_lab.experiments import render, tables
from pmeans_lab.experiments.plan import Experiment
from pmeans_lab.experiments.results import read_index, scored

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
NAMES = sorted(path.parent.name for path in RESULTS.glob("*/rows.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_what_its_cells_make_of_it(name):
    experiment = Experiment.from_toml(ROOT / "experiments" / f"{name}.toml")
    made = render.render(tables.build(experiment, *scored(RESULTS, experiment)), "markdown")
    assert made == (RESULTS / name / "table.md").read_text(encoding="utf-8")


def test_every_cell_belongs_to_an_experiment_and_is_there():
    named = {cell for name in NAMES for cell in read_index(RESULTS, name).cells.values()}
    assert named == set(cells.read(RESULTS))


def test_the_page_of_peers_is_what_its_figures_make_of_it(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "studies")
    import peers_page

    folder = RESULTS / "peers"
    measured = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
    made = peers_page.page(measured, peers_page.read_published(folder / "published.csv"))
    assert made == (folder / "README.md").read_text(encoding="utf-8")


def test_the_page_of_names_is_what_its_figures_make_of_it(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "studies")
    import names_and_numbers

    folder = RESULTS / "languages"
    measured = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    assert names_and_numbers.page(measured) == (folder / "names.md").read_text(encoding="utf-8")


def test_results_stay_small():
    assert sum(path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()) < 10e6
