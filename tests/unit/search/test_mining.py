"""Translations in unaligned text: margins, thresholds, and what the command writes."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.cli.main import app
from pmeans.encoder.translations import Translations
from pmeans.errors import PmeansError
from pmeans.search.margins import NEIGHBOURS, HeldOut, Proposals, one_to_one, proposals
from pmeans.search.stored import StoredRows
from pmeans.training.corpus import read_pairs

ENGLISH = [
    "I like fresh bread.", "The train leaves at noon.", "She is reading a book about birds.",
    "My brother works in a hospital.", "The lamp on the desk is broken.",
    "We climbed the highest mountain.", "Nobody answered the question.",
    "The king lost his crown in the war.",
]  # fmt: skip
GERMAN = [
    "Der Zug fährt mittags ab.", "Ich mag frisches Brot.", "Die Suppe ist kalt geworden.",
    "Mein Bruder arbeitet in einem Krankenhaus.", "Sie liest ein Buch über Vögel.",
    "Wir bestiegen den höchsten Berg.", "Der Computer ist zu langsam.",
    "Niemand hat die Frage beantwortet.",
]  # fmt: skip
PAIRS = {(0, 1), (1, 0), (2, 4), (3, 3), (5, 5), (6, 7)}


@pytest.fixture(scope="module")
def toy():
    words = {"en": [f"e{i}" for i in range(60)], "de": [f"d{i}" for i in range(60)]}
    rows = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    space = WordSpace.from_words("s", words, np.concatenate([rows, rows]))
    encoder = PowerMeanEncoder(Recipe((Part("s", (1.0,)),), tokenizer="whitespace"), {"s": space})
    return encoder.replace(
        translations=Translations("en", {"de": [(f"e{i}", f"d{i}") for i in range(60)]})
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(GERMAN) + "\n", encoding="utf-8")
    return lambda line: CliRunner().invoke(app, ["mine", *line.split()])


def stored(rows):
    store = StoredRows(rows.shape[1])
    store.append(rows)
    return store


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12))
def test_margins_are_those_of_the_formula(seed, n_first, n_second):
    rng = np.random.default_rng(seed)
    sides = [rng.normal(size=(n, 3)).astype(np.float32) for n in (n_first, n_second)]
    units = [side / np.linalg.norm(side.astype(np.float64), axis=1)[:, None] for side in sides]
    cosines = units[0] @ units[1].T
    k = min(NEIGHBOURS, n_first, n_second)
    forward = np.maximum(-np.sort(-cosines, axis=1)[:, :k], 0).mean(axis=1)
    backward = np.maximum(-np.sort(-cosines, axis=0)[:k], 0).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        margins = np.where(cosines > 0, 2 * cosines / (forward[:, None] + backward), 0)
    found = proposals(stored(sides[0]), stored(sides[1]))
    # rtol, atol: rows are rounded to float32 when they are stored.
    np.testing.assert_allclose(
        found.scores, margins[found.first, found.second], rtol=1e-5, atol=1e-6
    )
    # The best neighbour by margin is among the k best by cosine, as a larger k would not change.
    among = np.argsort(-cosines, axis=1)[:, :k]
    best = np.take_along_axis(margins, among, axis=1).max(axis=1)
    reached = dict.fromkeys(range(n_first), 0.0)
    for i, score in zip(found.first.tolist(), found.scores.tolist(), strict=True):
        reached[i] = max(reached[i], score)
    assert all(reached[i] >= best[i] * (1 - 1e-5) - 1e-6 for i in range(n_first))


def test_each_row_is_in_one_pair_the_best_ones_first():
    found = Proposals(
        np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]),
        np.array([1.2, 1.5, 1.4, 1.1, 1.4], dtype=np.float32), np.zeros(5, dtype=np.float32),
    )  # fmt: skip
    pairs = one_to_one(found)
    assert list(zip(pairs.first, pairs.second, strict=True)) == [(0, 1), (1, 0)]


def test_translations_are_found_best_first_and_with_a_threshold_of_their_own():
    found = pmeans.mine(ENGLISH, GERMAN)
    assert {(pair.first, pair.second) for pair in found.pairs} == PAIRS
    scores = [pair.score for pair in found.pairs]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] >= found.threshold > 1
    assert pmeans.mine(GERMAN, ENGLISH, langs=("de", "en")).threshold == pytest.approx(
        found.threshold, rel=0.05
    )


def test_one_mixed_list_is_told_apart_and_keeps_its_numbers():
    mixed = [*GERMAN, "", "Le roi a perdu sa couronne.", *ENGLISH]
    found = pmeans.mine(mixed, langs=("en", "de"))
    assert {(pair.first - 10, pair.second) for pair in found.pairs} == PAIRS


def test_lines_that_are_there_twice_count_once(toy):
    first, second = [f"e{i}" for i in range(30)], [f"d{i}" for i in range(30)]
    once = pmeans.mine(first, second, langs=("en", "de"), model=toy, threshold=0)
    twice = pmeans.mine(
        [*first, *(x.upper() + " " for x in first)], second * 2, langs=("en", "de"), model=toy,
        threshold=0,
    )  # fmt: skip
    assert once == twice
    assert {(pair.first, pair.second) for pair in once.pairs} >= {(i, i) for i in range(30)}


def test_a_graph_finds_the_same_among_few(toy):
    first, second = [f"e{i}" for i in range(60)], [f"d{i}" for i in range(60)]
    exact = pmeans.mine(first, second, langs=("en", "de"), model=toy, threshold=1.2)
    found = pmeans.mine(
        first, second, langs=("en", "de"), model=toy, threshold=1.2, approximate=True
    )
    assert found.pairs == exact.pairs


def test_half_of_the_held_out_texts_have_a_partner_and_none_is_among_the_texts(toy):
    held = HeldOut.of(toy, ("de", "en"), {"e3", "d8"}.__contains__)
    assert not {"e3", "e8", "d3", "d8"} & {*held.texts[0], *held.texts[1]}
    partners = {*held.numbers[0]} & {*held.numbers[1]}
    assert (len(partners), len({*held.numbers[0]} | {*held.numbers[1]})) == (30, 58)
    named = dict(zip(held.numbers[1], held.texts[1], strict=True))
    for number, text in zip(held.numbers[0], held.texts[0], strict=True):
        assert named.get(number, text.replace("d", "e")) == text.replace("d", "e")


def test_between_languages_without_translations_the_higher_threshold_is_taken():
    french = ["J'aime le pain frais.", "Le train part à midi.", "La soupe est froide."]
    found = pmeans.mine(GERMAN, french, langs=("de", "fr"))
    assert {(pair.first, pair.second) for pair in found.pairs} <= {(0, 1), (1, 0), (2, 2)}
    with_english = [
        pmeans.mine(["zz"], ["zz"], langs=("en", lang)).threshold for lang in ("de", "fr")
    ]
    assert found.threshold == pytest.approx(max(with_english), rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first": "one text"}, "got one str"),
        ({"first": ["a", None]}, "sentence 1 is NoneType, not str"),
        ({"second": None, "langs": None}, "which languages are mixed"),
        ({"langs": ("en", "en")}, "both sides are in 'en'"),
        ({"langs": ("en", "xx")}, "'xx'"),
        ({"langs": "en"}, "langs= are two languages"),
        ({"langs": ("en",)}, "langs= are two languages"),
        ({"first": []}, "no text in 'en': nothing to mine"),
        ({"second": [" ", ""]}, "no text in 'de': nothing to mine"),
        ({"threshold": -1}, "threshold= is the least margin of a pair, from 0, not -1"),
        ({"threshold": float("nan")}, "from 0, not nan"),
    ],
)
def test_what_cannot_be_mined_is_refused(toy, arguments, message):
    given = {"first": ["e1"], "second": ["d1"], "langs": ("en", "de"), **arguments}
    with pytest.raises(PmeansError, match=message):
        pmeans.mine(**given, model=toy)


def test_a_model_without_enough_translations_needs_a_threshold(toy):
    some = {"langs": ("en", "de"), "model": toy.replace(translations=None)}
    with pytest.raises(PmeansError, match=r"to choose a threshold by: give threshold="):
        pmeans.mine(["e1"], ["d1"], **some)
    with pytest.raises(PmeansError, match="carries 48 translations between 'en' and 'de'"):
        pmeans.mine([f"e{i}" for i in range(12)], ["d1"], langs=("en", "de"), model=toy)
    assert len(pmeans.mine(["e1"], ["d1"], **some, threshold=0).pairs) == 1


def test_the_command_writes_pairs_that_extend_reads_and_a_table(run, tmp_path):
    done = run("a.txt b.txt --out pairs.tsv --report scored.csv")
    assert done.exit_code == 0, done.output
    assert "6 pairs in pairs.tsv, with scores from 1." in done.stderr
    pairs = [(pair.source, pair.first, pair.second) for pair in read_pairs(tmp_path / "pairs.tsv")]
    assert pairs == [("", ENGLISH[i], GERMAN[j]) for i, j in sorted(PAIRS)]
    with open(tmp_path / "scored.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(int(row["first_row"]), int(row["second_row"])) for row in rows} == PAIRS
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.txt", "b.txt", "pairs.tsv", "scored.csv",
    ]  # fmt: skip


def test_pairs_of_a_mixed_file_are_printed_without_tabs_and_line_breaks(run, tmp_path):
    with open(tmp_path / "in.csv", "w", encoding="utf-8", newline="") as file:
        broken = [GERMAN[0].replace(" ", "\n", 1), GERMAN[1].replace(" ", "\t", 1)]
        csv.writer(file).writerows([["text"], *([x] for x in [*ENGLISH, *broken])])
    done = run("in.csv --langs en,de")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{ENGLISH[0]}\t{GERMAN[1]}\n{ENGLISH[1]}\t{GERMAN[0]}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.txt", "which languages are mixed? Name two: --langs"),
        ("a.txt missing.txt", "no file 'missing.txt'"),
        ("a.txt a.txt", "both sides are in 'en': name two languages, --langs"),
        ("a.txt b.txt --langs en", "two languages with a comma between them, not 'en'"),
        ("a.txt b.txt --langs en,xx", "'xx'"),
        ("a.txt empty.txt --langs en,de", "no text in 'de'"),
        ("a.txt empty.txt", "no text"),
        ("a.txt b.txt --out a.txt", "would overwrite 'a.txt'"),
        ("a.txt b.txt --report b.txt", "would overwrite 'b.txt'"),
        ("a.txt b.txt --report r.docx", "cannot tell the output's format"),
        ("a.txt b.txt --out x.csv --report x.csv", "both outputs are 'x.csv'"),
    ],
)
def test_what_the_command_cannot_do_is_said_in_one_line(run, tmp_path, line, message):
    (tmp_path / "empty.txt").write_text("\n")
    before = sorted(tmp_path.iterdir())
    done = run(line)
    assert done.exit_code == 1, done.output
    assert message in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert sorted(tmp_path.iterdir()) == before
