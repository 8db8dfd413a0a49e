"""From rows of an experiment to encoders, and the digits that name what they compute."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans import models
from pmeans.encoder.alignment_fit import Fit
from pmeans.encoder.recipe import Part
from pmeans.errors import InputError, LanguageError, StorageError
from pmeans.models.baselines import plain_mean
from pmeans.spaces.edit import quantise
from pmeans.spaces.library import path_of
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import save_space
from pmeans.training.corpus import PairFile
from pmeans_lab.baselines.sif.encoder import Sif
from pmeans_lab.experiments.encoders import Shelf
from pmeans_lab.experiments.plan import EncoderRow

ROW = EncoderRow("mean", parts=(Part("toy-en-{lang}", (1.0,)),))


@pytest.fixture(autouse=True)
def _library(tmp_path, monkeypatch, toy):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path))
    save_space(toy, path_of("toy-en-de"))


def opened(row=ROW, train="en", test="de"):
    return Shelf().open(row, train, test)


def test_the_language_in_a_spaces_name_is_the_test_language():
    assert opened().encoder.recipe.parts[0].space == "toy-en-de"


def test_a_missing_space_is_named():
    with pytest.raises(StorageError, match=r"^no word space named 'toy-en-fr'$"):
        opened(test="fr")


def test_a_space_without_the_training_language_is_refused():
    row = replace(ROW, parts=(Part("toy-en-de", (1.0,)),))
    with pytest.raises(LanguageError, match="its word spaces know de, en, not fr"):
        opened(row, train="fr", test="de")


def test_a_projected_row_has_that_many_columns():
    assert opened(replace(ROW, project=7)).encoder.dim == 7


def test_an_encoder_is_opened_once():
    shelf = Shelf()
    assert shelf.open(ROW, "en", "de") is shelf.open(ROW, "de", "de")


def test_the_name_does_not_change_the_id():
    assert opened(replace(ROW, name="other")).id == opened().id


@pytest.mark.parametrize(
    "change",
    [
        {"parts": (Part("toy-en-{lang}", (2.0,)),)},
        {"znorm": "train"},
        {"root": "signed"},
        {"project": 4},
    ],
    ids=str,
)
def test_all_that_determines_a_vector_changes_the_id(change):
    assert opened(replace(ROW, **change)).id != opened().id


def test_other_numbers_under_the_same_name_change_the_id(toy):
    before = opened().id
    matrix = toy.matrix.copy()
    matrix[-1, -1] += 1
    save_space(replace(toy, matrix=matrix), path_of("toy-en-de"))
    assert opened().id != before


def test_the_digest_sees_words_case_type_and_scale(toy):
    words = {"en": ["the", "cat", "sit"], "de": ["die", "katze"]}
    eight = quantise(toy, "int8")
    coded = Subwords(np.ones((4, 3), np.int8), 2, 3, np.ones(4, np.float32))
    spaces = [
        toy,
        WordSpace.from_words("toy", words, toy.matrix),
        replace(toy, case="cased"),
        quantise(toy, "float16"),
        eight,
        replace(eight, scale=eight.scale * np.float32(2)),
        replace(eight, subwords=coded),
        replace(eight, subwords=replace(coded, scale=coded.scale * np.float32(2))),
    ]
    assert len({space.digest() for space in spaces}) == len(spaces)


def test_the_digest_does_not_see_the_name(toy):
    assert replace(toy, name="other").digest() == toy.digest()


@pytest.fixture
def text(tmp_path):
    """Pairs of sentences for `toy`, by the test language in the file's name."""
    english = ["The cat", "cat sat", "sat", "the sat the"]
    german = ["Die Katze", "Katze", "die Katze Katze", "die"]
    lines = [f"{english[i % 4]}\t{german[i % 3]}" for i in range(60)]
    (tmp_path / "en-de.tsv").write_text("\n".join(lines), encoding="utf-8")
    return PairFile(str(tmp_path / "en-{lang}.tsv"), "en", "{lang}")


def test_a_text_gives_the_statistics_of_both_languages(text):
    row = replace(ROW, znorm="per_language", text=text)
    assert set(opened(row).encoder.znorm.statistics) == {"en", "de"}
    assert opened(row).encoder.alignment is None
    assert opened(row).encoder.recipe.tokenizer == "whitespace"


def test_from_the_other_language_back_the_text_is_the_same(text):
    row = replace(ROW, znorm="per_language", text=text)
    assert opened(row, train="de", test="en").id == opened(row).id


def test_a_text_of_two_languages_says_nothing_of_one_alone(text):
    row = replace(ROW, parts=(Part("toy-en-de"),), znorm="per_language", text=text)
    with pytest.raises(LanguageError, match="its text is of en and of another language"):
        opened(row, test="en")


def test_an_aligned_row_has_a_map_to_the_texts_first_language(text):
    row = replace(ROW, znorm="per_language", text=text, align=Fit("cca"))
    alignment = opened(row).encoder.alignment
    assert (alignment.pivot, list(alignment.maps)) == ("en", ["de"])


def test_the_text_and_the_map_are_part_of_the_id(text, tmp_path):
    row = replace(ROW, znorm="per_language", text=text)
    before = opened(row).id
    assert opened(replace(row, align=Fit())).id != before
    assert opened(replace(row, text=replace(text, limit=20))).id != before
    moved = (tmp_path / "en-de.tsv").rename(tmp_path / "moved.tsv")
    assert opened(replace(row, text=replace(text, path=str(moved)))).id == before
    moved.write_text("the cat\tdie Katze\n", encoding="utf-8")
    assert opened(replace(row, text=replace(text, path=str(moved)))).id != before


def test_a_missing_text_is_named(text, tmp_path):
    (tmp_path / "en-de.tsv").unlink()
    with pytest.raises(StorageError, match=r"cannot read the text 'en-de\.tsv'"):
        opened(replace(ROW, znorm="per_language", text=text))


def test_a_saved_model_is_a_row_of_its_own(text, tmp_path, toy):
    row = replace(ROW, znorm="per_language", text=text, align=Fit("ridge"))
    models.save(opened(row).encoder, tmp_path / "model")
    saved = EncoderRow("saved", model=str(tmp_path / "model"))
    np.testing.assert_array_equal(
        opened(saved).encoder.encode(["die katze"], lang="de"),
        opened(row).encoder.encode(["die katze"], lang="de"),
    )
    other = replace(row, align=Fit("cca"))
    models.save(opened(other).encoder, tmp_path / "other")
    ids = {opened(replace(saved, model=str(tmp_path / name))).id for name in ("model", "other")}
    assert len({*ids, opened(replace(saved, adapt="test")).id}) == 3


MEAN = (Part("toy-en-{lang}", (1.0,)),)


@pytest.fixture
def sif(toy, tmp_path):
    encoder = plain_mean(toy, "toy", "words")
    fitted = Sif("mine", encoder, [0.5, 0.1, 0.1, 0.5, 0.1]).fit(["the cat", "sat"], lang="en")
    models.save(fitted, tmp_path / "models" / "sif-de")
    return fitted


def test_a_model_may_be_a_baseline_named_by_the_test_language(sif):
    found = opened(EncoderRow("SIF", model="sif-{lang}"))
    assert found.encoder.kind == "sif"
    assert found.encoder.encoder.recipe.tokenizer == "whitespace", "the row's, not the folder's"
    raw = opened(EncoderRow("SIF", model="sif-{lang}", tokenizer="words"))
    assert found.id != raw.id
    with pytest.raises(StorageError, match=r"^no encoder 'sif-fr'$"):
        opened(EncoderRow("SIF", model="sif-{lang}"), test="fr")
    with pytest.raises(LanguageError, match="it knows de, en, not fr"):
        opened(EncoderRow("SIF", model="sif-de"), test="fr")
    with pytest.raises(InputError, match="is a baseline: adapt and project"):
        opened(EncoderRow("SIF", model="sif-de", adapt="rows"))


def test_a_baseline_that_is_fitted_in_the_evaluation_is_named_by_what_it_is_made_of():
    rows = {
        kind: EncoderRow(kind, parts=MEAN if kind != "tfidf" else (), baseline=kind)
        for kind in ("sif", "usif", "tfidf")
    }
    shelf = Shelf()
    found = {kind: shelf.open(row, "en", "de") for kind, row in rows.items()}
    assert all(each.encoder.needs_fit for each in found.values())
    assert {each.encoder.kind for each in found.values()} == set(rows)
    assert len({each.id for each in found.values()}) == 3
    assert shelf.open(replace(rows["sif"], name="other"), "en", "de") is found["sif"]
    assert found["tfidf"].dim == 3600
