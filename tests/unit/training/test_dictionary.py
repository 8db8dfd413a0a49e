"""A language made of translations, with vectors one can average in the head."""

import gzip

import numpy as np
import pytest

from pmeans import save_space
from pmeans.errors import InputError, StorageError
from pmeans.spaces.space import WordSpace
from pmeans.training import from_toml
from pmeans.training.corpus import PairFile
from pmeans.training.lexicon import Dictionary


def quiet(share, words):
    assert 0 <= share <= 1


@pytest.fixture
def folder(tmp_path):
    words = ["dog", "house", "home", "hound"]
    vectors = np.array([[4, 0], [0, 4], [8, 8], [0, 0]], dtype=np.float32)
    save_space(WordSpace.from_words("en", {"en": words}, vectors), tmp_path / "en.safetensors")
    (tmp_path / "en-de.tsv").write_text("dog\thund\nhouse\thaus\nhome\thaus\nunknown\tunbekannt\n")
    (tmp_path / "text.tsv").write_text("house\thaus\n" * 3 + "hound\thaus\n" * 9 + "dog\tbello\n")
    return tmp_path


def trainer(folder, files=("en-de.tsv",), **rest):
    return Dictionary("made", "en.safetensors", "de", tuple(files), **rest).beside(folder)


def test_a_word_is_the_mean_of_its_translations(folder):
    space = trainer(folder).train(progress=quiet)
    assert space.vector("hund", "de").tolist() == [4, 0]
    assert space.vector("haus", "de").tolist() == [4, 6]


def test_the_pivot_keeps_its_words_and_vectors(folder):
    space = trainer(folder).train(progress=quiet)
    assert list(space.words("en")) == ["dog", "house", "home", "hound"]
    assert space.vector("home", "en").tolist() == [8, 8]


def test_a_word_without_a_known_translation_has_no_vector(folder):
    assert list(trainer(folder).train(progress=quiet).words("de")) == ["hund", "haus"]


def test_a_frequent_translation_counts_more(folder):
    space = trainer(folder, weights="frequency").train(progress=quiet)
    # Ranks 2 and 3: 1/2 and 1/3, that is 3/5 of house and 2/5 of home.
    np.testing.assert_allclose(space.vector("haus", "de"), [3.2, 5.6], rtol=1e-6)


def test_a_pair_in_two_dictionaries_counts_once(folder):
    with gzip.open(folder / "more.tsv.gz", "wt") as file:
        file.write("house\thaus\n")
    space = trainer(folder, ("en-de.tsv", "more.tsv.gz")).train(progress=quiet)
    assert space.vector("haus", "de").tolist() == [4, 6]


def test_text_and_dictionaries_have_equal_say(folder):
    space = trainer(folder, text=PairFile("text.tsv", "en", "de"), weights="alignment").train(
        progress=quiet
    )
    # Dictionary: house 1/2, home 1/2. Text: house 3/12, hound 9/12, and hound is zero.
    np.testing.assert_allclose(space.vector("haus", "de"), [2, 3.5], rtol=1e-6)


def test_a_pair_linked_once_is_not_trusted(folder):
    space = trainer(folder, (), text=PairFile("text.tsv", "en", "de")).train(progress=quiet)
    assert list(space.words("de")) == ["haus"]


def test_several_words_in_one_entry_are_passed_over(folder):
    (folder / "en-de.tsv").write_text("dog\tguter_hund\ndog\thund\n")
    assert list(trainer(folder).train(progress=quiet).words("de")) == ["hund"]


def test_a_toml_file_makes_the_trainer(folder):
    path = folder / "dictionary.toml"
    path.write_text(
        'kind = "dictionary"\nname = "made"\nspace = "en.safetensors"\nlang = "de"\n'
        'files = ["en-de.tsv"]\n'
    )
    assert from_toml(path) == trainer(folder.resolve())


def test_the_state_of_another_text_is_refused(folder):
    given = trainer(folder, (), text=PairFile("text.tsv", "en", "de"))
    given.train(progress=quiet, checkpoint=folder / "state")
    (folder / "text.tsv").write_text("dog\thund\n" * 2)
    with pytest.raises(StorageError, match="state of another training"):
        given.train(progress=quiet, checkpoint=folder / "state")


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "dictionary is empty"), ("hund\tdog\n", "none of the 1 .* the other way round")],
)
def test_a_useless_dictionary_is_refused(folder, content, message):
    (folder / "en-de.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        trainer(folder).train(progress=quiet)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"files": ()}, "name 'files' or a 'text'"),
        ({"weights": "alignment"}, "need a 'text'"),
        ({"pivot": "fr"}, "has no language 'fr'"),
    ],
)
def test_what_is_missing_is_named(folder, rest, message):
    with pytest.raises((InputError, LookupError), match=message):
        trainer(folder, **rest).train(progress=quiet)


def test_a_language_that_is_there_already_is_refused(folder):
    taken = Dictionary("made", "en.safetensors", "en", ("en-de.tsv",)).beside(folder)
    with pytest.raises(InputError, match="has 'en' already"):
        taken.train(progress=quiet)


def test_text_without_repeated_links_is_refused(folder):
    (folder / "text.tsv").write_text("dog\thund\n")
    with pytest.raises(InputError, match="more text is needed"):
        trainer(folder, (), text=PairFile("text.tsv", "en", "de")).train(progress=quiet)


def test_a_capital_in_a_dictionary_is_no_hindrance_in_a_lower_case_space(folder):
    (folder / "en-de.tsv").write_text("Dog\tHund\nhouse\thund\n")
    space = trainer(folder).train(progress=quiet)
    assert space.vector("Hund", "de").tolist() == [2, 2]
