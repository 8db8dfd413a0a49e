"""Near duplicates: which texts stay, and what the command writes."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.cli.main import app
from pmeans.errors import InputError, PmeansError
from pmeans.jobs import DedupeOptions
from pmeans.search.duplicates import THRESHOLD, DuplicateFinder

WORDS = [f"w{i}" for i in range(12)]
TEXTS = st.lists(
    st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=4).map(" ".join), max_size=40
)


@pytest.fixture(scope="module")
def encoder():
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32)
    recipe = Recipe((Part("s", (1.0,)),), tokenizer="whitespace")
    return PowerMeanEncoder(recipe, {"s": WordSpace.from_words("s", {"en": WORDS}, rows)})


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(app, ["dedupe", *line.split()])


def slowly(encoder, texts, threshold):
    """Compare every text with every earlier one that stays, as the definition says."""
    rows = encoder.encode(texts, lang="en").astype(np.float64)
    stays, representatives = [], []
    for i, text in enumerate(texts):
        same = next((j for j in range(i) if texts[j] == text), None)
        if same is not None:
            representatives.append(representatives[same])
            continue
        near = [
            (rows[i] @ rows[j] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[j]), -j)
            for j in stays
            if rows[i].any() and rows[j].any()
        ]
        # rounded, as two texts with the same words in another order have nearly the same row
        best = max(((round(cosine, 5), j) for cosine, j in near), default=(-2, 0))
        representatives.append(-best[1] if best[0] >= threshold else i)
        if representatives[-1] == i:
            stays.append(i)
    return representatives


@given(TEXTS, st.sampled_from([0.3, 0.9, 0.99]))
def test_duplicates_are_those_of_the_definition(encoder, texts, threshold):
    found = pmeans.dedupe(texts, model=encoder, lang="en", threshold=threshold)
    assert found.representatives.tolist() == slowly(encoder, texts, threshold)
    assert sorted(
        [row for group in found.groups.values() for row in group[1:]] + found.rows.tolist()
    ) == list(range(len(texts)))


@given(TEXTS, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_blocks_change_nothing(encoder, texts, sizes):
    whole = pmeans.dedupe(texts, model=encoder, lang="en", threshold=0.8)
    finder, start = DuplicateFinder(encoder, 0.8), 0
    while start < len(texts):
        finder.add(texts[start : start + sizes[0]], "en")
        start += sizes[0]
        sizes = [*sizes[1:], sizes[0]]
    pieces = finder.result()
    for name in ("representatives", "nearest", "cosines"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))


def test_texts_are_the_same_but_for_case_spaces_and_forms_of_letters(encoder):
    texts = ["Caf\u00e9  X", "cafe\u0301 x ", "CAFÉ\tＸ", "cafe x", "", " "]
    found = pmeans.dedupe(texts, model=encoder, lang="en")
    assert found.representatives.tolist() == [0, 0, 0, 3, 4, 4]
    assert found.groups == {0: [0, 1, 2], 4: [4, 5]}


def test_a_text_goes_to_the_nearest_that_stays_and_the_closest_that_stay_are_named(encoder):
    texts = ["w1 w2 w3", "w5", "w1 w2 w3 w3", "w6 w6 w5", "w7"]
    found = pmeans.dedupe(texts, model=encoder, lang="en", threshold=0.9)
    rows = encoder.encode(texts, lang="en")
    cosines = np.tril(encoder.similarity(rows, rows), -1)[2, :2]
    assert found.representatives[2] == found.nearest[2] == cosines.argmax()
    np.testing.assert_allclose(found.cosines[2], cosines.max(), rtol=1e-6)
    closest = found.closest(2)
    assert [pair.cosine for pair in closest] == sorted((p.cosine for p in closest), reverse=True)
    assert all(pair.cosine < 0.9 and pair.nearest < pair.row for pair in closest)
    assert len(closest) == 2
    assert found.closest(0) == []


def test_a_graph_finds_the_same_among_few(encoder):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, 3)) for _ in range(300)]
    exact = pmeans.dedupe(texts, model=encoder, lang="en")
    found = pmeans.dedupe(texts, model=encoder, lang="en", approximate=True)
    np.testing.assert_array_equal(found.rows, exact.rows)


def test_translations_go_only_if_they_are_asked_for():
    texts = ["I like fresh bread.", "The train leaves at noon.", "Ich mag frisches Brot.",
             "Der Zug fährt mittags ab.", "Wo ist der Bahnhof?"]  # fmt: skip
    langs = ["en", "en", "de", "de", "de"]
    assert pmeans.dedupe(texts, lang=langs).groups == {}
    across = pmeans.dedupe(texts, lang=langs, across=True)
    assert across.groups == {0: [0, 2], 1: [1, 3]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "one text"}, "got one str"),
        ({"texts": [None]}, "NoneType, not str"),
        ({"texts": ["a"], "threshold": 0}, "above 0 and at most 1, not 0"),
        ({"texts": ["a"], "threshold": 1.5}, "above 0 and at most 1, not 1.5"),
        ({"texts": ["a"], "threshold": float("nan")}, "above 0 and at most 1, not nan"),
        ({"texts": ["a"], "lang": "xx"}, "'xx'"),
        ({"texts": ["a", "b"], "lang": ["en"]}, "fewer entries"),
    ],
)
def test_what_cannot_be_compared_is_refused(encoder, arguments, message):
    with pytest.raises(PmeansError, match=message):
        pmeans.dedupe(model=encoder, **{"lang": "en", **arguments})


def test_without_texts_there_are_no_duplicates(encoder):
    found = pmeans.dedupe([], model=encoder, across=True)
    assert (len(found.representatives), found.groups, found.closest()) == (0, {}, [])


def test_the_threshold_of_the_command_is_that_of_the_function():
    assert DedupeOptions().threshold == THRESHOLD


def test_across_needs_translations_in_the_model(encoder):
    two = PowerMeanEncoder(
        encoder.recipe,
        {"s": WordSpace.from_words("s", {"en": ["a"], "de": ["b"]}, np.eye(2, 3, dtype="f4"))},
    )
    with pytest.raises(InputError, match="to choose a threshold by: leave out across="):
        pmeans.dedupe(["a", "b"], model=two, lang=["en", "de"], across=True)


ROWS = [
    ("1", "The train leaves at noon."), ("2", "I like fresh bread."),
    ("3", "the  train leaves at noon."), ("4", "I like the fresh bread."), ("5", ""),
]  # fmt: skip


def write(path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *ROWS])


def test_the_command_writes_the_rows_that_stay_and_a_report(run, tmp_path):
    write(tmp_path / "in.csv")
    done = run("in.csv --lang en --out out.csv --report report.jsonl")
    assert done.exit_code == 0, done.output
    assert "5 rows, 2 duplicates: 3 rows stay, in out.csv." in done.stderr
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1", "2", "5"]
    report = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert [(row["group"], row["row"], row["removed"]) for row in report] == [
        (1, 1, False), (0, 2, True), (1, 3, True),
    ]  # fmt: skip
    assert report[1]["cosine"] == 1
    assert (report[2]["text"], report[2]["nearest_text"]) == (ROWS[3][1], ROWS[1][1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv", "report.jsonl"]


def test_parquet_is_written_where_a_block_or_the_whole_report_is_empty(run, tmp_path):
    (tmp_path / "in.txt").write_text("The train leaves.\n" * 20_000)
    done = run("in.txt --lang en --out out.parquet --report report.parquet")
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [{"text": "The train leaves."}]
    assert pq.read_table(tmp_path / "report.parquet").num_rows == 19_999
    (tmp_path / "one.txt").write_text("The train leaves.\n")
    assert run("one.txt --lang en --out out.parquet --report report.parquet").exit_code == 0
    table = pq.read_table(tmp_path / "report.parquet")
    assert (table.num_rows, table.column_names[0]) == (0, "group")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("missing.csv", "no file 'missing.csv'"),
        ("-", "standard input can be read once only, and is read twice: name a file"),
        ("in.csv --text body", "no column 'body'"),
        ("empty.csv", "empty.csv: no rows"),
        ("bad.jsonl", "bad.jsonl, line 2"),
        ("in.csv --out out.txt", "cannot tell the output's format"),
        ("in.csv --out in.csv", "would overwrite 'in.csv'"),
        ("in.csv --out x.csv --report x.csv", "both outputs are 'x.csv'"),
        ("in.csv --report r.docx", "cannot tell the output's format"),
        ("in.csv --lang xx", "'xx'"),
        ("in.csv --lang en --lang-column id", "exclude each other"),
    ],
)
def test_what_the_command_cannot_do_is_said_in_one_line(run, tmp_path, line, message):
    write(tmp_path / "in.csv")
    (tmp_path / "empty.csv").write_text("id,text\n")
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"text": 3}\n')
    before = sorted(tmp_path.iterdir())
    done = run(line)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert message in done.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("value", ["0", "1.1", "half"])
def test_a_threshold_is_a_cosine(run, tmp_path, value):
    write(tmp_path / "in.csv")
    done = run(f"in.csv --threshold {value}")
    assert done.exit_code != 0
    assert "Traceback" not in done.output


def test_rows_that_cannot_be_read_stay_where_they_are_passed_over(run, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "a dog"}\n{"text": 3}\n{"text": "A dog"}\n')
    done = run("bad.jsonl --lang en --on-error skip --out out.jsonl")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "a dog"}\n{"text": 3}\n'
