"""The runner: looks before it works, keeps what is finished, shares with others."""

import contextlib
import threading
from dataclasses import replace

import numpy as np
import pytest
import toy_run

from pmeans.errors import InputError, LanguageError
from pmeans.spaces.library import path_of
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import save_space
from pmeans_lab.evaluation import cells, protocols, tasks
from pmeans_lab.evaluation.protocol import Settings
from pmeans_lab.experiments.plan import Experiment
from pmeans_lab.experiments.results import read_index, scored
from pmeans_lab.experiments.run import prepare, run

ALL = [
    (encoder, task, train, "de")
    for encoder in ("mean", "min max")
    for task in ("AC", "MR")
    for train in ("en", "de")
]


@pytest.fixture
def fakes(monkeypatch, tmp_path, toy):
    return toy_run.install(monkeypatch, tmp_path, toy)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def go(fakes, tmp_path, path):
    experiment = Experiment.from_toml(tmp_path / "toy.toml")

    def going(experiment=experiment, **options):
        return run(experiment, root=tmp_path / "data", results=path, **options)

    going.experiment = experiment
    return going


def test_every_cell_is_evaluated_and_kept(go, fakes, path):
    outcome = go()
    assert fakes.evaluated == ALL
    found, _ = scored(path, go.experiment)
    assert list(found) == ALL
    assert list(cells.read(path).values()) == list(found.values())
    assert (outcome.before, outcome.now, outcome.elsewhere) == (0, 8, 0)


def test_a_result_has_all_that_its_score_depends_on(go, path):
    go()
    cell = next(iter(cells.read(path).values()))
    assert (cell.values, cell.seeds, cell.measure) == ((50.0, 51.0), (7, 7), "macro-f1")
    assert (cell.dim, cell.protocol, cell.version) == (3, "ukp-subsample", 1)
    assert (cell.dev, cell.chosen) == ((60.0, 60.0), {"l2": (0.1, 0.1)})
    assert cell.coverage == {"toy": 0.75}  # German: die, katze, die; not hund
    assert {"pmeans", "python", "numpy", "kernels", "device"} <= cell.versions.keys()
    assert (cell.gold, cell.predicted) == (("01", "01"), ("01", "01"))


def test_finished_cells_are_not_run_again(go, fakes):
    go()
    fakes.evaluated.clear()
    outcome = go()
    assert fakes.evaluated == []
    assert (outcome.before, outcome.now) == (8, 0)


def test_an_interrupted_run_loses_one_group_and_goes_on_from_there(go, fakes):
    def interrupt():
        if len(fakes.evaluated) == 3:
            raise KeyboardInterrupt

    fakes.on_evaluate = interrupt
    with pytest.raises(KeyboardInterrupt):
        go()
    fakes.evaluated.clear()
    fakes.on_evaluate = lambda: None
    outcome = go()
    assert fakes.evaluated == ALL[2:]
    assert (outcome.before, outcome.now) == (2, 6)


def test_test_languages_share_one_training(go, monkeypatch):
    calls = []
    evaluate = protocols.evaluate
    monkeypatch.setattr(
        protocols, "evaluate", lambda *a, **k: calls.append(k["test_langs"]) or evaluate(*a, **k)
    )
    monkeypatch.setitem(toy_run.SENTENCES, "fr", ("le chat", "le chien"))
    words = {"en": ["the"], "de": ["die"], "fr": ["le"]}
    save_space(WordSpace.from_words("toy", words, np.eye(3, dtype=np.float32)), path_of("toy"))
    go(replace(go.experiment.only(tasks=["MR"]), test=("de", "fr"), in_language=False))
    assert calls == [["de", "fr"], ["de", "fr"]]


def test_two_runs_at_once_evaluate_every_cell_once(go, fakes, path):
    # Both are held at their first cell until the other one is there, too.
    both = threading.Barrier(2, timeout=20)
    first = threading.local()

    def meet():
        if not hasattr(first, "met"):
            first.met = True
            both.wait()

    fakes.on_evaluate = meet
    outcomes = []
    threads = [threading.Thread(target=lambda: outcomes.append(go())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(fakes.evaluated) == sorted(ALL)
    assert sum(outcome.now for outcome in outcomes) == 8
    assert len(cells.read(path)) == 8


def test_what_another_run_holds_is_left_to_it_and_said(go, fakes):
    inner = []

    def run_another():
        fakes.on_evaluate = lambda: None
        inner.append(go())

    fakes.on_evaluate = run_another
    assert go().now == 1
    assert (inner[0].now, inner[0].elsewhere) == (7, 1)


def test_what_another_run_gave_up_is_done_in_the_end(go, fakes, path, tmp_path):
    works, *_ = prepare(go.experiment, tmp_path / "data")
    with contextlib.ExitStack() as other:
        assert other.enter_context(cells.claim(path, next(iter(works[0].cells))))
        fakes.on_evaluate = other.close
        assert go().now == 8
    assert fakes.evaluated == [*ALL[1:], ALL[0]]


def test_a_cell_without_a_space_has_a_reason_and_stops_nothing(go):
    outcome = go()
    assert outcome.reasons["elsewhere", "AC", "de"] == "no word space named 'far-away'"
    assert outcome.now == 8


def test_a_cell_without_data_has_a_reason_without_the_folder(go, fakes):
    fakes.missing.add(("MR", "de"))
    outcome = go()
    assert outcome.reasons["mean", "MR", "de"] == "no file 'MR.de'."
    assert {task for _, task, _, _ in fakes.evaluated} == {"AC"}


def test_a_language_with_data_is_run_although_training_data_is_missing(go, fakes):
    fakes.missing.add(("MR", "en"))
    go()
    assert [e for e in fakes.evaluated if e[1] == "MR"] == [
        ("mean", "MR", "de", "de"),
        ("min max", "MR", "de", "de"),
    ]


def test_a_mistake_in_the_last_task_shows_before_the_first_fit(go, fakes):
    fakes.mistake = InputError("labels do not match")
    with pytest.raises(InputError, match="labels do not match"):
        go()
    assert fakes.evaluated == []


def test_a_language_that_the_task_does_not_have_is_a_mistake(go, fakes, monkeypatch):
    def load(task, root, languages):
        raise LanguageError("task AC has no language 'de'")

    monkeypatch.setattr(tasks, "load", load)
    with pytest.raises(LanguageError, match="has no language 'de'"):
        go()


def test_a_language_that_the_spaces_do_not_have_is_a_reason(go):
    outcome = go(replace(go.experiment.only("available"), train="fr", in_language=False))
    assert set(outcome.reasons.values()) == {"its word spaces know de, en, not fr"}


def test_reasons_are_kept_for_the_table(go, path):
    go()
    assert read_index(path, "toy").absent == {
        ("elsewhere", task, "de"): "no word space named 'far-away'" for task in ("AC", "MR")
    }


def test_a_partial_run_keeps_the_other_cells_reasons(go, fakes, path):
    fakes.missing.add(("MR", "de"))
    go()
    fakes.missing.clear()
    go(go.experiment.only(encoders=["mean"]))
    reasons = read_index(path, "toy").absent
    assert ("mean", "MR", "de") not in reasons
    assert reasons["min max", "MR", "de"] == "no file 'MR.de'."


@pytest.mark.parametrize("change", ["space", "sentences", "version"])
def test_a_cell_is_run_again_when_what_it_is_made_of_changes(go, fakes, toy, monkeypatch, change):
    go()
    fakes.evaluated.clear()
    if change == "space":
        save_space(replace(toy, matrix=toy.matrix + 1), path_of("toy"))
    elif change == "sentences":
        monkeypatch.setitem(toy_run.SENTENCES, "de", ("die katze", "die maus"))
    else:
        for name, protocol in protocols.PROTOCOLS.items():
            monkeypatch.setitem(protocols.PROTOCOLS, name, replace(protocol, version=1000))
    go()
    assert fakes.evaluated == ALL


def test_progress_rises_to_the_end_in_proportion_to_the_work(go):
    told = []
    go(progress=lambda share, text: told.append((share, text)))
    # Classifiers times columns: AC has 250 and MR 410, each for 3 and for 6, trained twice.
    total = 2 * (250 + 410) * (3 + 6)
    assert len(told) == 8
    assert told[0] == (pytest.approx(250 * 3 / 2 / total), "mean on AC: half")
    assert told[-1] == (pytest.approx(1 - 410 * 6 / 2 / total), "min max on MR: half")


def test_what_another_experiment_has_computed_is_not_computed_again(go, fakes, path):
    go()
    fakes.evaluated.clear()
    rows = tuple(replace(row, name=f"another {row.name}") for row in go.experiment.encoders)
    other = replace(go.experiment, name="other", encoders=rows)
    outcome = go(other)
    assert fakes.evaluated == []
    assert (outcome.before, outcome.now) == (8, 0)
    assert len(scored(path, other)[0]) == 8


def test_two_rows_of_one_encoder_are_evaluated_once(go, fakes, path):
    row = go.experiment.encoders[0]
    twice = replace(go.experiment, encoders=(row, replace(row, name="the same")))
    go(twice)
    assert len(fakes.evaluated) == 4
    assert len(scored(path, twice)[0]) == 8


def test_a_cell_keeps_its_name_where_its_space_is_not_at_hand(go, path, monkeypatch, tmp_path):
    go()
    before = scored(path, go.experiment)[0]
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "empty"))
    assert go().reasons["mean", "AC", "de"] == "no word space named 'toy'"
    assert scored(path, go.experiment)[0] == before


def test_a_finished_cell_needs_no_reason_where_its_space_is_not_at_hand(
    go, path, monkeypatch, tmp_path
):
    go(go.experiment.only(tasks=["AC"]))
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "empty"))
    go()
    noted = read_index(path, "toy").absent
    assert {(row, task) for row, task, _ in noted if row == "mean"} == {("mean", "MR")}
    assert ("elsewhere", "AC", "de") in noted


def test_settings_make_another_cell(go, fakes):
    go()
    fakes.evaluated.clear()
    row = replace(go.experiment.encoders[0], settings=Settings(adapt="rows"))
    go(replace(go.experiment, encoders=(row,)))
    assert len(fakes.evaluated) == 4


def test_results_of_another_protocol_are_not_shown(go, path):
    go()
    assert scored(path, replace(go.experiment, protocol="modern"))[0] == {}
