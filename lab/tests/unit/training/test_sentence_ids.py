"""Text and pairs as ids: what the trainers of sentence encoders see."""

import numpy as np
import pytest

from pmeans.errors import FormatError, InputError
from pmeans.tensors import write_tensors
from pmeans.training.bivcd import LanguageText
from pmeans.training.corpus import PairFile
from pmeans_lab.baselines.sentence_ids import Sentences, paired, paragraphs, running


def quiet(share, words):
    """Take no notice of progress."""


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("A dog. A cat!\nThe rare dog. A dog\n", encoding="utf-8")
    return LanguageText(str(path), lang="en")


@pytest.fixture
def pairs(tmp_path):
    for lang, dog, cat in [("de", "hund", "katze"), ("fr", "chien", "chat")]:
        lines = [
            f"a dog\t{dog}",
            f"a cat\t{cat}",
            f"a dog\t{dog} {dog}",
            f"dog cat\t{cat} {cat}",
            "x\ty",
        ]
        (tmp_path / f"{lang}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [PairFile(str(tmp_path / f"{lang}.tsv"), "en", lang) for lang in ("de", "fr")]


def spelled(sentences):
    words = [word for listed in sentences.words.values() for word in listed]
    borders = sentences.offsets
    return [
        " ".join(words[i] for i in sentences.ids[borders[n] : borders[n + 1]])
        for n in range(len(sentences))
    ]


def test_running_text_keeps_its_order_with_an_empty_sentence_between_lines(text):
    found = running([text], 100, 1, quiet)
    plain = [" ".join(w for w in s.split() if w.isalpha()) for s in spelled(found)]
    assert plain == ["a dog", "a cat", "", "the rare dog", "a dog", ""]
    assert found.words["en"][found.ids[1]] == "dog"


def test_rare_words_and_words_beyond_the_most_frequent_are_left_out(text):
    assert "rare" not in running([text], 100, 2, quiet).words["en"]
    assert len(running([text], 2, 1, quiet).words["en"]) == 2


def test_counts_are_those_of_the_ids(text):
    found = running([text], 100, 1, quiet)
    np.testing.assert_array_equal(np.bincount(found.ids), found.counts)


def test_pairs_name_each_sentence_once_and_lose_those_without_words(pairs):
    found = paired(pairs, 100, 2, 0, quiet)
    texts = spelled(found)
    assert list(found.words) == ["en", "de", "fr"]
    read = [(texts[i], texts[j]) for i, j in found.pairs]
    assert read == [
        ("a dog", "hund"), ("a cat", "katze"), ("a dog", "hund hund"), ("dog cat", "katze katze"),
        ("a dog", "chien"), ("a cat", "chat"), ("a dog", "chien chien"), ("dog cat", "chat chat"),
    ]  # fmt: skip
    assert len({i for i, _ in found.pairs}) == 3


def test_what_was_saved_is_read_again(pairs, tmp_path):
    found = paired(pairs, 100, 1, 0, quiet)
    found.save(tmp_path / "samples")
    back = Sentences.load(tmp_path / "samples")
    assert back.words == found.words
    assert back.digest() == found.digest()


def test_other_files_are_no_sentences(tmp_path):
    write_tensors(tmp_path / "x", {"ids": np.zeros(3, dtype=np.int32)}, {})
    with pytest.raises(FormatError, match="no sentences"):
        Sentences.load(tmp_path / "x")


def test_text_without_words_is_refused_by_name(tmp_path):
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"blank\.txt: no words"):
        running([LanguageText(str(tmp_path / "blank.txt"), lang="en")], 10, 1, quiet)


def test_too_few_words_are_refused(text):
    with pytest.raises(InputError, match=r"too little text: .* of en occur 9 times"):
        running([text], 100, 9, quiet)


def test_text_must_be_of_one_language(text, tmp_path):
    other = LanguageText(text.path, lang="de")
    with pytest.raises(InputError, match="one language, and there are de, en"):
        running([text, other], 10, 1, quiet)
    with pytest.raises(InputError, match="texts names no file"):
        running([], 10, 1, quiet)


def test_no_pairs_and_a_language_without_words_are_refused(tmp_path):
    with pytest.raises(InputError, match="names no file"):
        paired([], 10, 1, 0, quiet)
    (tmp_path / "half.tsv").write_text("a dog\t \na cat\t \n")
    with pytest.raises(InputError, match="fewer than 2 words of de"):
        paired([PairFile(str(tmp_path / "half.tsv"), "en", "de")], 10, 1, 0, quiet)


def test_pairs_of_which_one_side_is_always_unknown_are_refused(tmp_path):
    lines = ["dog cat\tx", "y\thund katze", "dog cat\tz", "w\thund katze"]
    (tmp_path / "apart.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"apart\.tsv: fewer than 2 pairs"):
        paired([PairFile(str(tmp_path / "apart.tsv"), "en", "de")], 2, 1, 0, quiet)


@pytest.mark.parametrize("wrapped", [False, True])
def test_running_text_is_cut_into_sentences(wrapped, tmp_path):
    end = "\n" if wrapped else " "
    (tmp_path / "t.txt").write_text(f"“Who{end}are you?” he said. I{end}am!\n\nA second one\n")
    text = LanguageText(str(tmp_path / "t.txt"), lang="en", wrapped=wrapped)
    sentences = [sentence for each in paragraphs(text) for sentence in each if sentence]
    assert sentences == ["“Who are you?", "he said.", "I am!", "A second one"]
