"""What word vectors are taught with: which material is refused, entries, the largest axes."""

import numpy as np
import pytest

from pmeans.errors import ConfigError, InputError
from pmeans.training.bags import BagReader
from pmeans.training.corpus import PairFile
from pmeans.training.start_vectors import (
    DictionaryFile,
    add_pairs,
    check_material,
    largest_axes,
    listed_entries,
    read_lexica,
    written,
)

SPOKEN = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)


def pairs(folder, lines):
    (folder / "de.tsv").write_text("".join(f"{line}\n" for line in lines))
    return PairFile(str(folder / "de.tsv"), "en", "de")


def test_pairs_whose_first_language_is_not_the_teachers_are_refused():
    with pytest.raises(ConfigError, match="language is 'de', which must be the first one"):
        check_material("taught 't'", [PairFile("de.tsv", "en", "de")], [], "de")


def test_a_dictionary_of_a_language_without_pairs_is_refused():
    files = [PairFile("de.tsv", "en", "de")]
    with pytest.raises(ConfigError, match=r"es\.tsv is a dictionary of 'es', of which there"):
        check_material("taught 't'", files, [DictionaryFile("es.tsv", "es")], "en")


def test_pairs_in_the_wrong_order_are_seen_by_a_dictionary(tmp_path):
    file = pairs(tmp_path, [f"der hund {i}\tthe dog {i}" for i in range(60)])
    with pytest.raises(InputError, match=r"de\.tsv: the second sentences have more words of 'en'"):
        add_pairs(file, BagReader("en"), {"the", "dog"}, 0)


def test_a_text_without_words_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"de\.tsv: no pair has words on both sides"):
        add_pairs(pairs(tmp_path, [" \t"] * 60), BagReader("en"), (), 0)


def test_a_teacher_of_fewer_columns_than_wanted_is_refused():
    with pytest.raises(InputError, match="said has vectors of 4 columns, and dim = 5"):
        largest_axes(SPOKEN, 5, "said", "en")


def test_a_teacher_of_few_of_the_sentences_is_refused():
    with pytest.raises(InputError, match=r"said has vectors of 3 of the sentences \(en\)"):
        largest_axes(SPOKEN[:3], 3, "said", "en")


def test_dictionaries_give_phrases_of_both_languages(tmp_path):
    (tmp_path / "d.tsv").write_text("not bad\tPas mal\nhealth insurance\tassurance\nof it\td'en\n")
    files = [DictionaryFile(str(tmp_path / "d.tsv"), "fr")]
    entries = listed_entries(read_lexica(files, 3), "en")
    assert list(entries["fr"]) == ["pas mal", "assurance", "d' en"]
    assert list(entries["en"]) == ["not bad", "health insurance", "of it"]
    assert list(listed_entries(read_lexica(files), "en")["fr"]) == ["assurance"]


@pytest.mark.parametrize(
    ("entry", "natural"),
    [
        ("do n't like", "don't like"),
        ("it 's", "it's"),
        ("l' homme", "l'homme"),
        ("not bad", "not bad"),
        ("n't", "n't"),
    ],
)
def test_a_teacher_is_asked_for_what_people_write(entry, natural):
    assert written(entry) == natural
