"""Phrases: what an entry of several words is to each part of the package."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.errors import ConfigError, FormatError, InputError
from pmeans.kernels import Splitting, index
from pmeans.spaces import edit
from pmeans.spaces.export import to_text, to_word2vec_binary
from pmeans.spaces.neighbours import neighbours
from pmeans.spaces.readers import read_space
from pmeans.spaces.space import Subwords
from pmeans.spaces.store import open_space, problems, save_space
from pmeans.transfer.explain import explain

WORDS = ["not", "good", "film", "not good", "not good at", "not bad", "at", "no"]


@pytest.fixture
def space() -> WordSpace:
    """Each word has a column of its own, so that a mean tells its words."""
    return WordSpace.from_words("s", {"en": WORDS}, np.eye(len(WORDS)))


def encoder(space, **options) -> PowerMeanEncoder:
    part = Part("s", (1,), **options)
    return PowerMeanEncoder(Recipe((part,), tokenizer="words"), {"s": space})


def entries(space, sentence, **options) -> list[str]:
    """The entries that a sentence is the mean of, in the order of their rows."""
    row = encoder(space, **options).encode(sentence)
    return [WORDS[i] for i in np.flatnonzero(row)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("a not good film", ["film", "not good"]),
        ("NOT Good", ["not good"]),
        ("not so good", ["not", "good"]),
        ("not, good", ["not", "good"]),
        ("not\ngood", ["not good"]),
        ("not good at", ["not good at"]),
        ("not good at not bad", ["not good at", "not bad"]),
        ("not not good", ["not", "not good"]),
        ("good not", ["not", "good"]),
    ],
)
def test_the_longest_entry_at_each_place_stands_for_its_words(space, sentence, expected):
    assert entries(space, sentence) == expected


@pytest.mark.parametrize("sentence", ["für dich", "fuer dich", "FUER dich", "fur dich"])
def test_a_phrase_is_met_in_every_spelling(sentence):
    words = ["für", "fuer", "fur", "dich", "für dich"]
    space = WordSpace.from_words("s", {"de": words}, np.eye(len(words)))
    np.testing.assert_array_equal(encoder(space).encode(sentence), np.eye(5)[4])
    assert space.joined(sentence.split(), "de") == [sentence]


def test_a_spelling_that_is_a_phrase_itself_is_that_phrase():
    words = ["für dich", "fuer dich", "là bas", "lá bas"]
    space = WordSpace.from_words("s", {"de": words}, np.eye(len(words)))
    rows = encoder(space).encode(["fuer dich", "fur dich", "la bas"])
    np.testing.assert_array_equal(rows, np.eye(4)[[1, 0, 2]])


def test_a_file_of_before_that_has_one_spelling_of_a_phrase_is_sound(tmp_path):
    space = WordSpace.from_words("s", {"de": ["für dich"]}, np.eye(1))
    table = space.table("de")
    older = index.table_of(table.words, table.offsets, phrases=True, spellings=False)
    assert len(older.phrases.slots) <= len(table.phrases.slots)
    before = replace(space, tables={"de": older})
    assert before.digest() != space.digest()  # since they make other rows of a text
    save_space(before, tmp_path / "s.safetensors")
    assert not list(problems(open_space(tmp_path / "s.safetensors")))


def test_the_mean_is_over_entries_and_not_over_words(space):
    assert encoder(space).encode("not good film").max() == 0.5


def test_a_recipe_can_look_words_up_one_by_one(space):
    assert entries(space, "a not good film", phrases=False) == ["not", "good", "film"]


def test_a_recipe_that_switches_phrases_off_is_another_one(space):
    on, off = encoder(space), encoder(space, phrases=False)
    assert on.recipe.id != off.recipe.id
    assert on.fingerprint() != off.fingerprint()
    assert "phrases" not in on.recipe.to_toml()


def test_a_recipe_with_phrases_off_survives_the_way_through_toml(space, tmp_path):
    recipe = encoder(space, phrases=False).recipe
    (tmp_path / "r.toml").write_text(recipe.to_toml())
    assert Recipe.from_toml(tmp_path / "r.toml") == recipe


def test_parts_of_one_space_agree_on_phrases():
    with pytest.raises(ConfigError, match="one part of 's' has phrases, another has not"):
        Recipe((Part("s", (1,)), Part("s", (2,), phrases=False)))


def test_coverage_counts_the_words_of_a_phrase(space):
    found = encoder(space).coverage(["a not good film", "not bad", "so not"])
    assert found.known.tolist() == [[3, 2, 1]]
    assert found.tokens.tolist() == [4, 2, 2]
    assert found.unknown_words["s"] == {"a": 1, "so": 1}


def test_words_without_a_vector_beside_a_phrase_are_counted(space):
    subwords = Subwords(np.ones((3, len(WORDS)), np.float32), 3, 4)
    found = encoder(replace(space, subwords=subwords)).coverage(["Ж not good films Ж"])
    assert (found.known.tolist(), found.tokens.tolist()) == ([[3]], [5])


def test_a_phrase_gives_each_of_its_words_an_equal_share(space):
    weights = np.array([[2.0 * (word == "not good") for word in WORDS], [0.0] * len(WORDS)])
    found = explain(encoder(space), weights, np.zeros(2), ("a", "b"), "not  good film", lang="en")
    assert [token.contribution for token in found.tokens] == [0.5, 0.5, 0]
    assert [token.text for token in found.tokens] == ["not", "good", "film"]


def test_a_phrase_switched_off_explains_nothing(space):
    weights = np.array([[2.0 * (word == "not good") for word in WORDS], [0.0] * len(WORDS)])
    off = encoder(space, phrases=False)
    found = explain(off, weights, np.zeros(2), ("a", "b"), "not good", lang="en")
    assert [token.contribution for token in found.tokens] == [0, 0]


def test_a_phrase_is_found_as_one_word(space):
    assert space.find(["not good", "Not Good", "good not", "not  good"], "en").tolist() == [
        3, 3, -1, -1,
    ]  # fmt: skip
    assert neighbours(space, "not good", "en", k=1)[0][2] == 0


@pytest.mark.parametrize("entry", ["not good at all", " not", "not ", "not  good", " "])
def test_entries_that_are_not_two_or_three_words_are_kept_and_never_met(entry):
    space = WordSpace.from_words("s", {"en": [entry, "not"]}, [[1.0], [2.0]])
    assert space.table("en").phrases is None
    assert space.row(entry, "en") == 0
    assert encoder(space).encode("not good at all").tolist() == [2.0]


def test_a_stored_space_has_its_phrases(space, tmp_path):
    save_space(space, tmp_path / "s.safetensors")
    back = open_space(tmp_path / "s.safetensors")
    assert entries(back, "a not good film") == ["film", "not good"]
    assert back.digest() == space.digest()
    assert list(problems(back)) == []


def test_marks_that_do_not_fit_the_words_are_a_problem(space):
    table = space.table("en")
    marks = np.zeros_like(table.phrases.marks)
    hurt = replace(table, phrases=replace(table.phrases, marks=marks))
    found = list(problems(replace(space, tables={"en": hurt})))
    assert found == ["the words of 'en' are damaged: their table of phrases does not fit them"]


def test_a_space_knows_by_its_digest_whether_it_has_phrases(space):
    table = replace(space.table("en"), phrases=None)
    assert replace(space, tables={"en": table}).digest() != space.digest()


@pytest.mark.parametrize(
    "edited",
    [
        lambda s: edit.limit(s, 4),
        lambda s: edit.prune(s, {"en": ["film", "not good"]}),
        lambda s: edit.merge([s, WordSpace.from_words("t", {"en": ["x"]}, np.ones((1, 8)))], "u"),
        lambda s: edit.quantise(s, "int8"),
        lambda s: edit.rename(s, "other"),
    ],
    ids=["limit", "prune", "merge", "quantise", "rename"],
)
def test_an_edited_space_has_its_phrases(space, edited):
    new = edited(space)
    (row,) = np.flatnonzero(encoder(new).encode("not good"))
    assert WORDS[row] == "not good"


def test_a_corpus_counts_a_phrase_and_not_its_words(space):
    counted = edit.count_words(space, ["not good film", "good"], "en", Splitting.WORDS)
    assert counted == {"good": 1, "film": 1, "not good": 1}


def test_a_file_is_read_word_by_word_unless_told(tmp_path):
    (tmp_path / "v.txt").write_text("New_York 1 2\nnew 3 4\n. . . 5 6\n")
    space, _ = read_space(tmp_path / "v.txt")
    assert list(space.words("en")) == ["New_York", "new", ". . ."]
    assert space.table("en").phrases is None


def test_a_file_says_by_which_character_its_phrases_are_joined(tmp_path):
    (tmp_path / "v.txt").write_text("New_York 1 2\nnew 3 4\n_ 5 6\na_b_c_d 7 8\n__x 9 1\n")
    space, report = read_space(tmp_path / "v.txt", phrases="_")
    assert list(space.words("en")) == ["New York", "new", "_", "a_b_c_d", "__x"]
    assert report.kept == 5
    assert encoder(replace(space, name="s")).encode("in New York").tolist() == [1, 2]


def test_a_phrase_that_a_file_has_in_both_spellings_is_counted_as_a_duplicate(tmp_path):
    (tmp_path / "v.txt").write_text("new york 1 2\nnew_york 3 4\n")
    space, report = read_space(tmp_path / "v.txt", phrases="_")
    assert space.vector("new york", "en").tolist() == [1, 2]
    assert (report.seen, report.kept, report.duplicates) == (2, 1, 1)


@pytest.mark.parametrize("joiner", ["", "__", "é"])
def test_phrases_are_joined_by_one_character(space, joiner):
    with pytest.raises(InputError, match="cannot join the words of a phrase; '_' and ' '"):
        edit.with_phrases(space, joiner)


@pytest.mark.parametrize("write", [to_text, to_word2vec_binary])
def test_phrases_are_exported_with_underscores_and_come_back(space, write, tmp_path):
    write(space, tmp_path / "v.bin")
    assert b"not_good_at " in (tmp_path / "v.bin").read_bytes()
    back, _ = read_space(tmp_path / "v.bin", phrases="_")
    assert list(back.words("en")) == WORDS
    np.testing.assert_array_equal(back.matrix, space.matrix)


def test_an_export_that_would_have_a_word_twice_is_refused(tmp_path):
    space = WordSpace.from_words("s", {"en": ["new_york", "new york"]}, [[1.0], [2.0]])
    with pytest.raises(FormatError, match="both 'new york' and"):
        to_text(space, tmp_path / "v.txt")
