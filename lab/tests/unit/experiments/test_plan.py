"""Experiments as TOML: what is refused, and which cells an experiment has."""

from dataclasses import replace
from pathlib import Path

import pytest

from pmeans.errors import ConfigError, InputError
from pmeans_lab.experiments import published
from pmeans_lab.experiments.plan import Experiment, places

FILES = sorted((Path(__file__).parents[3] / "experiments").glob("*.toml"))
TOML = """
name = "toy"
title = "Toy"
layout = "transfer"
tasks = ["AC", "MR"]
test = ["de", "fr"]
in_language = true

[[encoders]]
name = "mean"
parts = [{ space = "toy-{lang}", powers = [1] }]

[[encoders]]
name = "other"
set = "paper"
absent = "nobody has it"
"""
SETTINGS = 'settings = { adapt = "rows" }\nparts = [{ space = "y" }]'


COLUMNS = """layout = "groups"

[[columns]]
task = "AC"
test = ["en", "de"]
protocol = "transfer"

[[columns]]
task = "NTREX"
test = ["de"]

[[columns]]
task = "NTREX"
train = "de"
test = ["en"]

"""
GROUPS = TOML[: TOML.index("layout")] + COLUMNS + TOML[TOML.index("[[encoders") :]


@pytest.fixture
def read(tmp_path):
    def reading(old="", new="", toml=TOML):
        assert old in toml
        path = tmp_path / "toy.toml"
        path.write_text(toml.replace(old, new), encoding="utf-8")
        return Experiment.from_toml(path)

    return reading


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_is_valid_and_named_after_its_file(path):
    assert Experiment.from_toml(path).name == path.stem


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.stem.startswith("paper-table")], ids=lambda path: path.stem
)
def test_every_published_row_is_in_its_experiment_under_the_papers_name(path):
    experiment = Experiment.from_toml(path)
    rows = {row.name for row in experiment.encoders if row.set == "paper"}
    assert set(published.load(experiment.published).models) == rows


def test_the_papers_tables_and_figure_are_all_there():
    names = [f"table{i}" for i in range(2, 7)] + ["figure1", "translations"]
    assert {f"paper-{name}" for name in names} <= {path.stem for path in FILES}


def test_places_are_encoders_times_tasks_times_languages(read):
    got = [(c.row.name, c.task, c.protocol, c.train_lang, c.test_lang) for c in places(read())]
    assert got == [
        ("mean", task, protocol, *pair)
        for task, protocol in (("AC", "ukp-subsample"), ("MR", "senteval-2018"))
        for pair in (("en", "de"), ("en", "fr"), ("de", "de"), ("fr", "fr"))
    ]


def test_without_in_language_only_transfer_is_run(read):
    pairs = {(c.train_lang, c.test_lang) for c in places(read("in_language = true", ""))}
    assert pairs == {("en", "de"), ("en", "fr")}


def test_a_monolingual_cell_is_there_once_although_it_is_in_language(read):
    german = replace(read(), layout="tasks", train="de", test=("de",))
    assert len(places(german)) == 2


def test_one_protocol_for_all_takes_the_place_of_each_tasks_own(read):
    found = places(read('title = "Toy"', 'title = "Toy"\nprotocol = "modern"'))
    assert {cell.protocol for cell in found} == {"modern"}


def test_own_tasks_lie_beside_the_experiment(read, tmp_path):
    (tmp_path / "own.toml").write_text(
        '[[tasks]]\nname = "tickets"\nlanguages = ["en", "de", "fr"]\nprotocol = "ukp-subsample"\n'
        'files = [{ path = "tickets.csv" }]\n'
    )
    experiment = read('tasks = ["AC", "MR"]', 'own_tasks = "own.toml"\ntasks = ["tickets"]')
    assert {(c.task, c.protocol) for c in places(experiment)} == {("tickets", "ukp-subsample")}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "toy"', 'name = "../toy"', "cannot be that of a folder"),
        ('"AC", "MR"', '"AC", "RM"', "no task named 'RM'"),
        ('"AC", "MR"', '"AC", "AC"', "2 times the task 'AC'"),
        ('"AC", "MR"', "", "it has no task"),
        ('"de", "fr"', '"de", "de"', "2 times the test 'de'"),
        ('"de", "fr"', '"de", "en"', "leave 'en' out of test"),
        ('"transfer"', '"tasks"', "layout 'tasks' shows one test language, not 2"),
        ('name = "other"', 'name = "mean"', "2 times the encoder 'mean'"),
        ('absent = "nobody has it"', "", "encoder 'other' has no parts"),
        ('absent = "nobody has it"', 'model = "m"\nznorm = "all"', "'other' is a model, which has"),
        ('absent = "nobody has it"', 'adapt = "test"\nparts = [{ space = "y" }]', "adapt needs"),
        ('absent = "nobody has it"', 'align = {}\nparts = [{ space = "y" }]', "align needs a text"),
        ('absent = "nobody has it"', 'absent = "x"\nparts = [{ space = "y" }]', "leave one out"),
        ('absent = "nobody has it"', 'baseline = "sif"', "sif needs one part, with powers"),
        ('absent = "nobody has it"', 'baseline = "siff"', "Did you mean 'sif'"),
        ('absent = "nobody', 'baseline = "tfidf"\nabsent = "nobody', "leave out model, absent"),
        ('set = "paper"', "project = 0", "cannot project to 0 columns"),
        ('title = "Toy"', 'title = "Toy"\npublished = "table7"', "no published table 'table7'"),
        ('set = "paper"', 'published = "BV"', "no published row 'BV'"),
        ('title = "Toy"', 'title = "Toy"\nprotocol = "moden"', "no protocol 'moden'"),
        ('absent = "nobody has it"', SETTINGS, "'ukp-subsample' has no setting 'adapt'"),
        ('title = "Toy"', 'titel = "Toy"', "Did you mean 'title'"),
    ],
)
def test_a_mistake_is_refused_with_the_files_name(read, old, new, message):
    with pytest.raises(ConfigError, match=rf"toy\.toml: .*{message}"):
        read(old, new)


def test_a_part_of_an_experiment_has_the_wanted_rows_and_tasks(read):
    part = read().only("available", ["mean"], ["MR"])
    assert ([row.name for row in part.encoders], part.tasks) == (["mean"], ("MR",))
    assert read().only() == read()


def test_a_part_that_is_not_there_is_refused_with_the_names(read):
    with pytest.raises(InputError, match=r"no encoder 'meen' .* Did you mean 'mean'"):
        read().only(encoders=["meen"])
    with pytest.raises(InputError, match=r"no task 'SST' in this experiment\. It has: AC, MR"):
        read().only(tasks=["SST"])


def test_a_task_without_classes_keeps_its_own_protocol(read):
    found = places(read('title = "Toy"', 'title = "Toy"\nprotocol = "modern"'))
    assert {place.protocol for place in found} == {"modern"}
    measured = read('"AC", "MR"', '"AC", "NTREX", "STS"')
    measured = replace(measured, protocol="transfer", in_language=False)
    assert [place.protocol for place in places(measured)[::2]] == ["transfer", "retrieval", "sts"]


def test_columns_name_task_protocol_and_languages(read):
    found = places(read(toml=GROUPS))
    assert [(p.task, p.protocol, p.train_lang, p.test_lang) for p in found] == [
        ("AC", "transfer", "en", "en"),
        ("AC", "transfer", "en", "de"),
        ("NTREX", "retrieval", "en", "de"),
        ("NTREX", "retrieval", "de", "en"),
    ]


def test_a_part_of_an_experiment_has_the_columns_of_its_tasks(read):
    part = read(toml=GROUPS).only(tasks=["NTREX"])
    assert {place.task for place in places(part)} == {"NTREX"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"groups"', '"tasks"', "the layout 'groups' shows columns"),
        ('["en", "de"]', "[]", "the columns of 'AC' have no test language"),
        ('["en", "de"]', '["de", "de"]', "2 times the column 'AC en-de'"),
        ('"NTREX"\ntrain', '"AC"\ntrain', "'AC' is there by two protocols"),
        ('"transfer"', '"transfr"', "no protocol 'transfr'"),
        ('"NTREX"', '"NTRX"', "no task named 'NTRX'"),
        ("test = [", "tests = [", "Did you mean 'test'"),
    ],
)
def test_a_mistake_in_columns_is_refused(read, old, new, message):
    with pytest.raises(ConfigError, match=rf"toy\.toml: .*{message}"):
        read(old, new, GROUPS)
