"""Parts that stand first and are not mapped."""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models
from pmeans.encoder.alignment import Alignment
from pmeans.errors import FormatError, InputError
from pmeans.tensors import map_tensors, write_tensors

WORDS = {"en": ["the", "cat", "sat", "mat"], "de": ["die", "katze", "saß", "matte"]}
PAIRS = [
    (f"{a} {b}", f"{c} {d}")
    for a, c in zip(*WORDS.values(), strict=True)
    for b, d in zip(*WORDS.values(), strict=True)
]
TEXTS = ["the cat", "sat mat mat", "", "unknown"]


def space(name, dim, seed):
    vectors = np.random.default_rng(seed).standard_normal((8, dim)).astype(np.float32)
    return WordSpace.from_words(name, WORDS, vectors)


@pytest.fixture
def znormed():
    recipe = Recipe((Part("first", (1,)), Part("second", (-np.inf, np.inf))), znorm="per_language")
    encoder = PowerMeanEncoder(
        recipe, {"first": space("first", 5, 0), "second": space("second", 3, 1)}
    ).fit_znorm([a for a, _ in PAIRS], lang="en")
    return encoder.fit_znorm([b for _, b in PAIRS], lang="de")


@pytest.fixture
def kept(znormed):
    return znormed.fit_alignment({"de": PAIRS}, pivot="en", rank=4, keep=1)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_kept_columns_stay_and_the_mapped_others_follow(znormed, kept, precision):
    aligned = kept.replace(alignment=kept.alignment.stored_as(precision))
    plain, rows = znormed.encode(TEXTS, lang="en"), aligned.encode(TEXTS, lang="en")
    assert rows.shape == (4, 9)
    np.testing.assert_array_equal(rows[:, :5], plain[:, :5])
    np.testing.assert_array_equal(rows, aligned.alignment.apply(plain, "en"))


def test_the_maps_are_those_of_the_other_parts_alone(znormed, kept):
    others = znormed.replace(recipe=Recipe(znormed.recipe.parts[1:], znorm="per_language"))
    others = others.replace(znorm=None).fit_znorm([a for a, _ in PAIRS], lang="en")
    others = others.fit_znorm([b for _, b in PAIRS], lang="de")
    alone = others.fit_alignment({"de": PAIRS}, pivot="en", rank=4)
    np.testing.assert_array_equal(
        kept.encode(["die katze"], lang="de")[:, 5:], alone.encode(["die katze"], lang="de")
    )


def test_a_folded_classifier_gives_the_same_logits_over_kept_columns(znormed, kept):
    weights = np.random.default_rng(2).standard_normal((3, 9)).astype(np.float32)
    folded = kept.alignment.fold(weights, "de")
    rows = znormed.encode(["die katze saß"], lang="de")
    # Two sums of nine numbers of about 1 in float32.
    np.testing.assert_allclose(
        rows @ folded.T, kept.encode(["die katze saß"], lang="de") @ weights.T, atol=1e-5
    )


def test_a_saved_encoder_keeps_its_kept_columns(kept, tmp_path):
    models.save(kept, tmp_path / "model")
    again = models.load(tmp_path / "model")
    assert again.alignment.kept == 5
    np.testing.assert_array_equal(again.encode(TEXTS, lang="de"), kept.encode(TEXTS, lang="de"))


@pytest.mark.parametrize("said", ["11", "-1", "five"])
def test_a_file_that_keeps_what_there_is_not_is_refused(kept, tmp_path, said):
    path = tmp_path / "alignment.safetensors"
    kept.alignment.save(path)
    tensors, metadata = map_tensors(path)
    write_tensors(path, dict(tensors), {**metadata, "kept": said})
    with pytest.raises(FormatError, match=f"it keeps '{said}' of 11 columns"):
        Alignment.load(path, 11)


@pytest.mark.parametrize("keep", [-1, 2])
def test_a_part_must_be_left_to_map(znormed, keep):
    with pytest.raises(InputError, match=f"keep = {keep} of 2 parts leaves none to map"):
        znormed.fit_alignment({"de": PAIRS}, pivot="en", keep=keep)


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_weight_multiplies_the_mapped_columns_of_every_language(kept, precision, lang):
    stored = kept.alignment.stored_as(precision)
    rows, half = (
        kept.replace(alignment=each).encode(TEXTS, lang=lang)
        for each in (stored, stored.weighted(0.5))
    )
    # A half changes no digit.
    np.testing.assert_array_equal(half, rows * ([1] * 5 + [0.5] * 4))


def test_a_weight_needs_a_map_of_the_pivot(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en", method="cca", keep=1)
    with pytest.raises(InputError, match="a weight needs a map of the pivot 'en'"):
        aligned.alignment.weighted(2)
