"""Tasks without classes: lines of translations, and graded pairs."""

import numpy as np
import pytest

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import FormatError, InputError
from pmeans.training.corpus import Pair, PairFile
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.layouts.task import File, Task
from pmeans_lab.evaluation.layouts.unclassed import select
from pmeans_lab.evaluation.measures.retrieval import retrieved
from pmeans_lab.evaluation.protocols import check, evaluate

LINES = Task(
    "lines",
    (File("en.txt", "en"), File("de.txt", "de")),
    ("en", "de"),
    layout="lines",
    protocol="retrieval",
    parallel=True,
)
PAIRS = Task(
    "pairs",
    (File("en.tsv", "en"), File("de.tsv", "de")),
    ("en", "de"),
    layout="graded-pairs",
    measure="spearman",
    protocol="sts",
    parallel=True,
)
HELD_OUT = Task(
    "held-out",
    (File("pairs.tsv", source="talk"),),
    ("en", "de"),
    layout="held-out-pairs",
    protocol="retrieval",
    parallel=True,
)
HEADER = "score\tfirst\tsecond\n"


def write(folder, **files):
    for name, text in files.items():
        lang, kind = name.split("_")
        (folder / f"{lang}.{kind}").write_text(text, encoding="utf-8")


@pytest.fixture
def encoder(toy):
    return PowerMeanEncoder(Recipe((Part("toy", (1.0,)),)), {"toy": toy})


def test_lines_are_tokenised_and_have_one_part(tmp_path):
    write(tmp_path, en_txt="The cat, sat.\ncat\n", de_txt="Die Katze.\nkatze\n")
    dataset = tasks.load(LINES, tmp_path, ["en", "de"])
    assert dataset.rows["en"]["test"].sentences == ("The cat , sat .", "cat")
    assert (dataset.classes, list(dataset.rows["de"])) == ((), ["test"])


def test_lines_that_are_not_as_many_are_refused(tmp_path):
    write(tmp_path, en_txt="the\ncat\n", de_txt="die\n")
    with pytest.raises(InputError, match="2 rows in 'en' and 1 in 'de'"):
        tasks.load(LINES, tmp_path, ["en", "de"])


def test_the_sides_of_graded_pairs_are_two_parts(tmp_path):
    write(tmp_path, en_tsv=f"{HEADER}4.75\tthe cat\tthe sat\n0\tcat\tsat\n")
    rows = tasks.load(PAIRS, tmp_path, ["en"]).rows["en"]
    assert rows["first"].sentences == ("the cat", "cat")
    assert rows["second"].sentences == ("the sat", "sat")
    np.testing.assert_array_equal(rows["second"].labels, [4.75, 0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("grade\tfirst\tsecond\n", "expected the columns"),
        (f"{HEADER}4.75\tthe cat\n", "line 2: not a grade and two sentences"),
        (f"{HEADER}high\tthe cat\tthe sat\n", "line 2: not a grade and two sentences"),
    ],
)
def test_malformed_pairs_are_named_by_their_line(tmp_path, text, said):
    write(tmp_path, en_tsv=text)
    with pytest.raises(FormatError, match=said):
        tasks.load(PAIRS, tmp_path, ["en"])


def test_grades_that_differ_between_languages_are_refused(tmp_path):
    write(tmp_path, en_tsv=f"{HEADER}1\tcat\tsat\n", de_tsv=f"{HEADER}2\tkatze\tdie\n")
    with pytest.raises(InputError, match="is parallel"):
        tasks.load(PAIRS, tmp_path, ["en", "de"])


def test_grades_are_part_of_the_fingerprint(tmp_path):
    write(tmp_path, en_tsv=f"{HEADER}1.25\tcat\tsat\n")
    before = tasks.load(PAIRS, tmp_path, ["en"]).fingerprint("en")
    write(tmp_path, en_tsv=f"{HEADER}1.5\tcat\tsat\n")
    assert tasks.load(PAIRS, tmp_path, ["en"]).fingerprint("en") != before


def test_retrieval_is_the_share_of_sentences_that_find_their_translation(tmp_path, encoder):
    # the = (1, -1, 0) and die = (1, -1, 1); cat = (2, 4, -8) and katze = (2, 4, -6); the
    # third has no known word, and is wrong.
    write(tmp_path, en_txt="the\ncat\nnothing\n", de_txt="die\nkatze\nnichts\n")
    dataset = tasks.load(LINES, tmp_path, ["en", "de"])
    [score] = evaluate(encoder, dataset, "retrieval", train_lang="en", test_langs=["de"])
    assert score.value == pytest.approx(100 * 2 / 3)
    assert (score.n_test, score.dev, score.predicted.tolist()) == (3, None, [1, 1, 0])


def test_retrieval_in_one_language_is_refused(tmp_path):
    write(tmp_path, en_txt="the\ncat\n", de_txt="die\nkatze\n")
    dataset = tasks.load(LINES, tmp_path, ["en", "de"])
    with pytest.raises(InputError, match="would find itself"):
        check(dataset, "retrieval", "en", ["en"])


def test_each_translation_of_a_sentence_that_is_there_twice_is_right():
    x = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    right, _ = retrieved(x, x, ["a", "a", "b"], ["c", "d", "e"])
    assert right.tolist() == [True, True, True]


def test_sts_orders_pairs_across_languages(tmp_path, encoder):
    pairs = [(5, "the", "die"), (1, "the", "katze"), (4, "cat", "katze"), (2, "sat", "die")]
    english = HEADER + "".join(f"{grade}\t{one}\tthe\n" for grade, one, _ in pairs)
    german = HEADER + "".join(f"{grade}\tdie\t{other}\n" for grade, _, other in pairs)
    write(tmp_path, en_tsv=english, de_tsv=german)
    dataset = tasks.load(PAIRS, tmp_path, ["en", "de"])
    [score] = evaluate(encoder, dataset, "sts", train_lang="en", test_langs=["de"])
    # Cosines 0.82, -0.19, 0.99 and 0.80: two neighbours of four have changed places.
    assert score.value == pytest.approx(100 * (1 - 6 * 2 / (4 * 15)))


def test_an_encoder_that_knows_no_word_orders_nothing(tmp_path, encoder):
    write(tmp_path, en_tsv=f"{HEADER}1\tx\ty\n2\tz\tw\n")
    dataset = tasks.load(PAIRS, tmp_path, ["en"])
    [score] = evaluate(encoder, dataset, "sts", train_lang="en", test_langs=["en"])
    assert score.value == 0


def test_a_task_that_lacks_a_side_is_refused(tmp_path):
    write(tmp_path, en_txt="the\ncat\n", de_txt="die\nkatze\n")
    dataset = tasks.load(LINES, tmp_path, ["en", "de"])
    with pytest.raises(InputError, match="needs equally many sentences of the part 'first'"):
        check(dataset, "sts", "en", ["de"])


def test_held_out_pairs_are_those_of_a_source_that_no_trainer_takes(tmp_path):
    lines = [f"{source}\tcat {i}\tkatze {i}\n" for source in ("talk", "news") for i in range(100)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    rows = tasks.load(HELD_OUT, tmp_path, ["en", "de"]).rows
    trained = PairFile(str(tmp_path / "pairs.tsv"), "en", "de").read()["train"]
    assert rows["en"]["test"].sentences == ("cat 98", "cat 99")
    assert rows["de"]["test"].sentences == ("katze 98", "katze 99")
    assert not {"cat 98", "cat 99"} & {pair.first for pair in trained}


def test_a_source_without_pairs_to_test_is_refused(tmp_path):
    (tmp_path / "pairs.tsv").write_text("talk\tcat\tkatze\n", encoding="utf-8")
    with pytest.raises(FormatError, match="no pairs of 'talk' that are not trained on"):
        tasks.load(HELD_OUT, tmp_path, ["en", "de"])


def test_pairs_with_a_sentence_that_is_trained_on_or_there_twice_are_not_drawn():
    trained = [Pair("talk", "a", "b")]
    pairs = [Pair("talk", *texts) for texts in (("A", "x"), ("x", "B"), ("c", "d"), ("e", "D"))]
    assert select(pairs, trained) == [Pair("talk", "c", "d")]


def test_a_sample_of_pairs_is_the_same_whatever_their_order():
    pairs = [Pair("talk", f"cat {i}", f"katze {i}") for i in range(9)]
    drawn = select(pairs, [], 3)
    assert len(drawn) == 3
    assert set(drawn) == set(select(pairs[::-1], [], 3))
    assert drawn == sorted(drawn, key=pairs.index)
