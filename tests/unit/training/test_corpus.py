"""Pairs of sentences: which are trained on or held out, how some are chosen; and running text."""

from collections import Counter

import pytest

from pmeans.errors import InputError
from pmeans.training.corpus import Pair, PairFile, TextFile, split


@pytest.fixture
def file(tmp_path):
    """Sixty pairs of talks, and three hundred of news behind them."""
    lines = [f"{'talks' if i < 60 else 'news'}\t{i}\tx{i}" for i in range(360)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines), encoding="utf-8")
    return str(tmp_path / "pairs.tsv")


def test_the_last_pairs_of_each_source_are_held_out(file):
    parts = PairFile(file, "en", "de").read()
    assert [pair.first for pair in parts["dev"]] == ["58", *map(str, range(348, 354))]
    assert [pair.first for pair in parts["test"]] == ["59", *map(str, range(354, 360))]
    assert len(parts["train"]) == 360 - 14


def test_a_source_of_few_pairs_is_trained_on_whole():
    pairs = [Pair("", str(i), str(i)) for i in range(49)]
    assert split(pairs) == {"train": pairs, "dev": [], "test": []}


def test_a_limit_draws_from_all_sources_and_leaves_the_held_out_pairs_whole(file):
    parts = PairFile(file, "en", "de", limit=100).read()
    drawn = Counter(pair.source for pair in parts["train"])
    assert drawn.total() == 100
    assert drawn["talks"] > 5
    assert drawn["news"] > 60
    assert len(parts["test"]) == 7
    places = [int(pair.first) for pair in parts["train"]]
    assert places == sorted(places)


def test_another_seed_draws_other_pairs(file):
    some = PairFile(file, "en", "de", limit=100)
    assert some.read(1)["train"] == some.read(1)["train"] != some.read(2)["train"]


def test_sources_can_be_chosen(file):
    parts = PairFile(file, "en", "de", sources=("talks",)).read()
    assert {pair.source for pair in parts["train"]} == {"talks"}


def test_an_unknown_source_is_refused_with_those_there_are(file):
    with pytest.raises(InputError, match=r"no pairs of 'talk'\. Did you mean.*'talks', 'news'"):
        PairFile(file, "en", "de", sources=("talk",)).read()


@pytest.mark.parametrize(
    ("change", "message"),
    [({"second": "en"}, "both sides are 'en'"), ({"limit": 0}, "at least 1, not 0")],
)
def test_files_that_give_nothing_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        PairFile(**{"path": "x", "first": "en", "second": "de"} | change)


def sentences(folder, text, longest=256, limit=None, **rest):
    (folder / "text.txt").write_text(text)
    return list(TextFile("text.txt", **rest).beside(folder).sentences("en", longest, limit))


def test_a_line_of_running_text_is_a_sentence_whatever_its_length(tmp_path):
    found = sentences(tmp_path, "It was a dark\n\nand stormy night\n", longest=2)
    assert found == [["it", "was", "a", "dark"], ["and", "stormy", "night"]]


def test_wrapped_lines_are_read_as_one_text(tmp_path):
    text = "it was a\ndark and\n\nstormy night\n"
    whole = [["it", "was", "a", "dark", "and", "stormy", "night"]]
    assert sentences(tmp_path, text, wrapped=True, longest=7) == whole
    pieces = sentences(tmp_path, text, wrapped=True, longest=5)
    assert pieces == [whole[0][:5], whole[0][5:]]


def test_only_the_last_column_is_text(tmp_path):
    found = sentences(tmp_path, "108_0\tgood film\n109_0\tbad film\n")
    assert found == [["good", "film"], ["bad", "film"]]


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_limit_takes_the_first_lines_of_running_text(tmp_path, wrapped):
    assert sentences(tmp_path, "one\ntwo\nthree", limit=1, wrapped=wrapped) == [["one"]]


def test_running_text_without_words_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"text\.txt: no words"):
        sentences(tmp_path, "\n\n")
