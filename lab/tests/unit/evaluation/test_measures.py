"""Measures of a word space: similarity, dictionary, retrieval, the picture and the command."""

import gzip

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pmeans
from pmeans.cli.main import app
from pmeans.errors import FormatError, InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import Pair
from pmeans_lab.evaluation.measures import bilingual, picture, retrieval, space_report
from pmeans_lab.evaluation.measures.similarity import (
    Rated,
    overlap,
    read_rated,
    similarity,
    spearman,
)

WORDS = {"en": ["house", "dog", "cat"], "de": ["haus", "hund", "katze"]}
ROWS = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.1, 0], [0, 1, 0.1], [0.2, 0, 1]]


@pytest.fixture
def space():
    """Three words, and their translations beside them."""
    return WordSpace.from_words("both", WORDS, ROWS)


@pytest.fixture
def data(tmp_path):
    """A folder of every kind of data, for `space`."""
    for folder in ("similarity", "lexicon", "parallel"):
        (tmp_path / folder).mkdir()
    rated = "word 1\tword 2\tscore\rhouse\tdog\t1\rdog\tcat\t2\rhouse\thouse\t3"
    (tmp_path / "similarity" / "simlex-english.txt").write_bytes(rated.encode())
    (tmp_path / "lexicon" / "en-de.bli.test.tsv").write_text("house\tHaus\ndog\tHund\ncow\tKuh\n")
    with gzip.open(tmp_path / "parallel" / "en-de.tsv.gz", "wt") as file:
        file.write(50 * "a\tthe dog\tder hund\n" + 50 * "b\ta cat\teine katze\n")
    return tmp_path


# Few distinct numbers, so that many are equal.
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_spearman_is_scipys_also_where_ranks_are_shared(pairs):
    first, second = zip(*pairs, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert spearman(first, second) is None
    else:
        expected = scipy.stats.spearmanr(first, second).statistic
        assert spearman(first, second) == pytest.approx(expected, abs=1e-12)


def test_spearman_of_nothing_is_none():
    assert spearman([], []) is None


def test_similarity_correlates_cosines_and_counts_what_it_could(space):
    rated = [Rated("house", "dog", 1), Rated("HOUSE", "house", 9), Rated("dog", "horse", 5)]
    measured = similarity(space, rated, "en")
    assert (measured.value, measured.covered, measured.total) == (pytest.approx(1), 2, 3)


def test_similarity_without_known_pairs_has_no_value(space):
    assert similarity(space, [Rated("x", "y", 1)], "en").value is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rated_pairs_are_read_whatever_ends_a_line(end, tmp_path):
    lines = ["word1\tword2\tPOS\tSimLex999\tSD", "old\tnew\tA\t1.58\t0.4", ""]
    (tmp_path / "pairs.txt").write_bytes(end.join(lines).encode())
    assert read_rated(tmp_path / "pairs.txt") == [("old", "new", 1.58)]


@pytest.mark.parametrize("text", ["a\tb\tc\n", "a\tb\tscore\nold\tnew\tx\n", "a\tb\tscore\nold\n"])
def test_a_file_that_is_no_rated_pairs_is_refused(text, tmp_path):
    (tmp_path / "pairs.txt").write_text(text)
    with pytest.raises(FormatError, match=r"pairs\.txt"):
        read_rated(tmp_path / "pairs.txt")


def test_overlap_counts_pairs_once_in_either_order_and_any_case():
    assert overlap([("old", "new"), ("new", "Old"), ("a", "b")], [("New", "old"), ("c", "d")]) == 1


def test_any_of_several_translations_is_right(space):
    answers = {"house": ["hund", "haus"], "dog": ["katze"], "cow": ["kuh"], "cat": ["kater"]}
    at_1, at_3 = bilingual.precision(space, answers, ("en", "de"), ks=(1, 3))
    assert (at_1.what, at_1.value, at_1.covered, at_1.total) == ("P@1", 0.5, 2, 4)
    assert at_3.value == 1


def test_a_rare_translation_is_among_the_answers(space):
    (measured,) = bilingual.precision(space, {"cat": ["katze"]}, ("en", "de"), ks=(1,), commonest=1)
    assert measured.value == 1


def test_a_dictionary_that_the_space_does_not_know_has_no_value(space):
    assert bilingual.precision(space, {"x": ["y"]}, ("en", "de"))[0].value is None


def test_retrieval_is_measured_on_held_out_pairs_by_source(tmp_path):
    lines = [f"{source}\t{i}\t{i}" for source in "ab" for i in range(100)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines), encoding="utf-8")
    kept = retrieval.held_out(tmp_path / "pairs.tsv")
    assert {name: [p.first for p in some] for name, some in kept.items()} == {
        "a": ["98", "99"],
        "b": ["98", "99"],
    }


def test_retrieval_counts_translations_that_are_nearest(space):
    pairs = [Pair("", "a house", "haus"), Pair("", "dog", "katze"), Pair("", "cat", "hund")]
    measured = retrieval.accuracy(retrieval.sentence_means(space), pairs, ("en", "de"))
    assert measured.value == pytest.approx(1 / 3)


def test_retrieval_accepts_every_translation_of_a_repeated_sentence(space):
    pairs = [Pair("", "house", "hund"), Pair("", "house", "haus")]
    assert retrieval.accuracy(retrieval.sentence_means(space), pairs, ("en", "de")).value == 1


def test_a_sentence_without_known_words_is_wrong_and_not_covered(space):
    measured = retrieval.accuracy(
        retrieval.sentence_means(space), [Pair("", "xyz", "haus")], ("en", "de")
    )
    assert (measured.value, measured.covered) == (0, 0)


def test_the_plane_keeps_the_largest_component_first():
    points = picture.plane(np.array([[1, 0.1, 0], [1, -0.1, 0], [-1, 0.1, 0], [-1, -0.1, 0]]))
    spread = points.std(axis=0)
    assert spread[0] > spread[1] > 0


def test_the_same_space_gives_the_same_picture(space, tmp_path):
    answers = {"house": ["haus"], "dog": ["hund"], "cow": ["kuh"]}
    for name in ("a.svg", "b.svg"):
        assert picture.draw(space, answers, ("en", "de"), tmp_path / name) == 2
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_of_too_few_pairs_is_refused(space, tmp_path):
    with pytest.raises(InputError, match="has 1 of the pairs en-de, not 2"):
        picture.draw(space, {"house": ["haus"]}, ("en", "de"), tmp_path / "a.svg")


def test_neighbours_stand_side_by_side(space):
    rows = space_report.side_by_side(space, "hund", k=2)
    assert [[cell.split()[0] for cell in row] for row in rows] == [
        ["dog", "haus"],
        ["cat", "katze"],
    ]


def test_a_folder_without_data_is_refused(space, tmp_path):
    with pytest.raises(InputError, match="has nothing to measure 'both'"):
        list(space_report.measures(space, tmp_path, lambda share, text: None))


def test_the_command_prints_everything_there_is_data_for(space, data):
    pmeans.save_space(space, data / "both.safetensors")
    args = ["eval", "space", data / "both.safetensors", "--data", data, "--word", "dog"]
    result = CliRunner().invoke(app, [*map(str, args), "--picture", str(data / "pairs.svg")])
    assert result.exit_code == 0, result.output
    measured, near = result.stdout.split("\n\n")
    assert [line.split("\t") for line in measured.split("\n")] == [
        ["MEASURE", "LANGUAGE", "ON", "VALUE", "COVERED"],
        ["Spearman", "en", "simlex-english", "0.866", "3 of 3"],
        ["P@1", "en-de", "dictionary", "1.000", "2 of 3"],
        ["P@5", "en-de", "dictionary", "1.000", "2 of 3"],
        ["retrieval", "en-de", "a", "1.000", "1 of 1"],
        ["retrieval", "en-de", "b", "1.000", "1 of 1"],
    ]
    assert near.startswith("WORD\tEN\tDE\ndog\thouse 0.00\thund 1.00\n")
    assert "2 translation pairs en-de" in result.stderr


@pytest.mark.data
def test_the_real_googlenews_has_its_published_correlation(data_dir):
    news, _ = pmeans.read_space(
        data_dir / "vectors" / "googlenews-w2v-300d.en.f16.npy", case="cased-then-lower"
    )
    measured = similarity(news, read_rated(data_dir / "similarity" / "SimLex-999.txt"), "en")
    assert (round(measured.value, 3), measured.covered) == (0.445, 983)
