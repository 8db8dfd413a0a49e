"""What messages say of values, and which seeds are refused."""

import json

import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.errors import InputError, PmeansError, check_seed, count, did_you_mean, shown
from pmeans.spaces import edit
from pmeans.spaces.export import to_text
from pmeans.spaces.neighbours import neighbours
from pmeans.spaces.readers import read_space
from pmeans.tables import Fields, open_source
from pmeans.training.corpus import drawn
from pmeans.transfer import TransferClassifier
from pmeans.transfer.labels import AlikeLabelsWarning

BAD_SEEDS = [-1, 2**62, 10**30, 1.5, "1", None, True, b"1", [1]]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a word", "'a word'"), (5, "5"), (None, "None"), (b"de", "b'de'"),
        ("x" * 61, "'" + "x" * 60 + "…'"), (list(range(100)), "[0, 1, 2, 3, 4, 5"),
    ],
)  # fmt: skip
def test_a_value_is_shown_and_cut(value, written):
    assert shown(value).startswith(written)
    assert len(shown(value)) <= 64


def test_a_value_of_megabytes_is_shown_in_a_few_characters():
    for value in ("x" * 3_000_000, b"x" * 3_000_000, ["x" * 3_000_000], {"x" * 3_000_000}):
        assert len(shown(value)) <= 64


def test_nothing_is_suggested_for_what_nobody_types():
    assert did_you_mean("germn", ["german"]) == " Did you mean 'german'?"
    assert did_you_mean("german" * 1000, ["german"]) == ""


@pytest.mark.parametrize("seed", BAD_SEEDS)
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(InputError, match="seed must be a whole number from 0 to 2"):
        check_seed(seed)


@pytest.mark.parametrize("seed", [0, 1, 2**62 - 1, np.int64(3), np.uint8(3)])
def test_whole_numbers_are_seeds(seed):
    check_seed(seed)


@pytest.mark.parametrize("seed", BAD_SEEDS)
def test_whatever_draws_refuses_what_is_no_seed(toy, seed):
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    texts, labels = ["the cat", "sat"] * 5, ["a", "b"] * 5
    calls = [
        lambda: TransferClassifier(encoder, seed=seed).fit(texts, labels, lang="en"),
        lambda: drawn(texts, 2, seed),
    ]
    for call in calls:
        with pytest.raises(InputError, match="seed must be"):
            call()


HUGE = "x" * 20_000


def refusals(toy, folder):
    """Yield calls that quote something of a user's, which has twenty thousand characters."""
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    texts, labels = ["the cat", "sat"] * 5, ["a", "b"] * 5
    classifier = TransferClassifier(encoder, lang="en").fit(texts, labels)
    odd = WordSpace.from_words("odd", {"en": [f"{HUGE} y", f"{HUGE}\t"]}, np.zeros((2, 1)))
    yield lambda: encoder.encode([HUGE.encode()], lang="en")
    yield lambda: encoder.encode(HUGE.encode(), lang="en")
    yield lambda: encoder.encode(["a"], lang=HUGE)
    yield lambda: encoder.encode(["a"], lang=[HUGE.encode()])
    yield lambda: encoder.encode(["a"], lang="en", prompt=HUGE.encode())
    yield lambda: encoder.encode(["a"], lang="en", prompt_name=HUGE)
    yield lambda: encoder.encode(["a"], lang="en", precision=HUGE)
    yield lambda: toy.table(HUGE)
    yield lambda: neighbours(toy, HUGE, "en")
    yield lambda: neighbours(odd, f"{HUGE} y", "en")
    yield lambda: edit.with_phrases(toy, HUGE)
    yield lambda: edit.quantise(
        WordSpace.from_words("odd", {"en": [HUGE]}, np.full((1, 1), 1e9)), "float16"
    )
    yield lambda: TransferClassifier(encoder, lang="en").fit(texts, [HUGE] * 10)
    yield lambda: TransferClassifier(encoder, lang="en").fit(texts, [HUGE, 1] * 5)
    yield lambda: TransferClassifier(encoder, lang="en").fit(texts, [[HUGE, 1]] * 10)
    yield lambda: TransferClassifier(encoder, class_weight=HUGE).fit(texts, labels)
    yield lambda: classifier.explain("the cat", label=HUGE)
    yield lambda: classifier.set_params(**{HUGE: 1})
    yield lambda: Recipe.from_mapping({"parts": [{"space": "a"}], HUGE: 1})
    yield lambda: Recipe.from_mapping({"parts": [{"space": "a"}], "root": HUGE})
    yield lambda: Recipe.from_mapping({"parts": HUGE})
    yield lambda: pmeans.load("default/" + HUGE[:200])
    (folder / "rows.csv").write_text(f"{HUGE},lang\na,{HUGE}\n")
    yield lambda: list(open_source(folder / "rows.csv", Fields("text")).blocks())
    yield lambda: list(open_source(folder / "rows.csv", Fields(HUGE, "text")).blocks())
    languages = Fields(HUGE, "lang", languages=("de", "en"))
    yield lambda: list(open_source(folder / "rows.csv", languages).blocks())
    (folder / "rows.jsonl").write_text(json.dumps({HUGE: 1}) + "\n")
    yield lambda: list(open_source(folder / "rows.jsonl", Fields("text")).blocks())
    yield lambda: list(open_source(folder / "rows.jsonl", Fields(HUGE)).blocks())
    (folder / "nan.txt").write_text(f"{HUGE} 1 nan\n")
    yield lambda: read_space(folder / "nan.txt")
    yield lambda: read_space(folder / "nan.txt", format=HUGE)
    yield lambda: to_text(odd, folder / "odd.txt")


@pytest.mark.filterwarnings("ignore::pmeans.transfer.labels.FewRowsWarning")
def test_no_message_has_a_huge_word(toy, tmp_path):
    for i, call in enumerate(refusals(toy, tmp_path)):
        with pytest.raises(PmeansError) as error:
            call()
        assert len(str(error.value)) < 1000, (i, str(error.value)[:300])


@pytest.mark.filterwarnings("ignore::pmeans.transfer.labels.FewRowsWarning")
def test_no_warning_has_a_huge_word(toy):
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    texts, labels = [f"the {HUGE}", "cat"] * 5, ["a", "b"] * 5
    with pytest.warns(UserWarning, match="unknown|not known|no vector") as warned:
        TransferClassifier(encoder, lang="en").fit(texts, labels)
    with pytest.warns(AlikeLabelsWarning) as alike:
        TransferClassifier(encoder, lang="en").fit(["the cat", "sat"] * 5, [HUGE, HUGE.upper()] * 5)
    assert all(len(str(each.message)) < 1000 for each in [*warned, *alike])


@pytest.mark.parametrize(
    ("number", "nouns", "expected"),
    [
        (0, ["row"], "0 rows"),
        (1, ["row"], "1 row"),
        (2000, ["row"], "2,000 rows"),
        (1, ["query", "queries"], "1 query"),
        (3, ["query", "queries"], "3 queries"),
    ],
)
def test_a_number_has_its_noun(number, nouns, expected):
    assert count(number, *nouns) == expected
