import itertools
import math
import sys

import pytest
from some_experiments import REASONS, ROWS, experiment, results, scored

from pmeans.encoder.recipe import Part
from pmeans.errors import InputError
from pmeans_lab.experiments import plots
from pmeans_lab.experiments.plan import Columns, EncoderRow
from pmeans_lab.experiments.results import Scores

NINE = ("AM", "AC", "CLS", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC")


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_the_same_results_give_the_same_bytes(tmp_path, suffix, magic):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for path in (first, second):
        plots.draw(experiment(), results(), path)
    assert first.read_bytes().startswith(magic)
    assert first.read_bytes() == second.read_bytes()


def test_no_date_is_in_a_figure(tmp_path):
    plots.draw(experiment(), results(), tmp_path / "a.svg")
    assert "dc:date" not in (tmp_path / "a.svg").read_text()


def test_an_encoder_without_an_average_is_left_out_and_named(tmp_path):
    caption = plots.draw(experiment(), results(), tmp_path / "a.svg", REASONS)
    assert "same size (an average of all 3 tasks, without TREC)" in caption
    points, _ = plots._points(experiment(), Scores(results()))
    assert [point.name for point in points] == ["mean", "power & means_1 <50%"]


def test_points_stand_at_their_dimensions_with_their_intervals():
    points, _ = plots._points(experiment(), Scores(results()))
    assert [point.x for point in points] == [300, 900]
    assert all(point.low < point.score < point.high for point in points)


def test_published_averages_of_the_same_tasks_are_points_too(tmp_path):
    nine = experiment(tasks=NINE)
    points, _ = plots._points(nine, Scores({}))
    assert [(p.name, p.x, p.score, p.published) for p in points] == [
        ("GN [-inf, 1, inf]", 900, 77.9, True)
    ]
    assert "Hollow" in plots.draw(nine, {}, tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("row", "group"),
    [
        (ROWS[1], "mean"),
        (ROWS[2], "power means"),
        (ROWS[3], "control of the same size"),
        (EncoderRow("z", parts=(Part("gn"),), znorm="train"), "z-normed"),
        (EncoderRow("GloVe + SIF", "paper", absent="no"), "other methods"),
        (EncoderRow("GN + SIF", parts=(Part("gn", (1,)),), baseline="sif"), "other methods"),
    ],
)
def test_encoders_are_grouped_by_what_they_do(row, group):
    assert plots.group_of(row) == group


def test_labels_of_near_points_do_not_cover_each_other():
    rows = tuple(EncoderRow(f"e{i}") for i in range(4))
    found = {key: each for row in rows for key, each in scored(row.name, 75).items()}
    many = experiment(encoders=rows)
    points, _ = plots._points(many, Scores(found))
    heights = [y for _, _, y in plots._labels(points)]
    assert all(b - a >= 0.039 for a, b in itertools.pairwise(heights))


def test_a_label_stays_at_its_point_where_it_covers_no_other():
    places = ((100, 75.0), (101, 60.0), (102, 60.0), (10_000, 60.0))
    points = [plots.Point("e", "mean", x, y, math.nan, math.nan) for x, y in places]
    heights = [y for _, _, y in plots._labels(points)]
    assert heights == [75.0, 60.0, pytest.approx(60.6), 60.0]


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.svg"):
        plots.draw(experiment(), results(), tmp_path / "a.gif")


def test_a_figure_without_points_is_refused(tmp_path):
    with pytest.raises(InputError, match="no average to draw"):
        plots.draw(experiment(), {}, tmp_path / "a.svg")


def test_a_missing_matplotlib_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'pmeans\[plots\]'"):
        plots.draw(experiment(), results(), tmp_path / "a.svg")


def test_directions_are_drawn_from_training_to_test_language(tmp_path):
    langs = ("en", "de", "fr")
    columns = tuple(Columns("MR", langs, train) for train in langs)
    square = experiment("groups", tasks=("MR",), encoders=ROWS[1:2], columns=columns)
    found = {
        key: cell
        for i, train in enumerate(langs)
        for test in langs[: 3 - i]
        for key, cell in scored("mean", 70 + i, tasks=("MR",), train=train, test=test).items()
    }
    caption = plots.draw(square, found, tmp_path / "a.svg")
    assert caption == "Some scores: the score of each direction."
    plots.draw(square, found, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_without_several_training_languages_there_are_no_directions(tmp_path):
    columns = (Columns("MR", ("en",)),)
    one = experiment("groups", tasks=("MR",), encoders=ROWS[1:2], columns=columns)
    with pytest.raises(InputError, match="no task with scores from several languages"):
        plots.draw(one, scored("mean", 70, tasks=("MR",)), tmp_path / "a.svg")
