"""The random-projection control: as long as another encoder, and no wiser than its own."""

import numpy as np
import pytest

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError
from pmeans_lab.evaluation import controls
from pmeans_lab.evaluation.controls import RandomProjection

SENTENCES = ["the cat sat", "the cat", "sat sat the", "nothing known", "cat"]


@pytest.fixture
def inner(toy):
    return PowerMeanEncoder(Recipe((Part("toy"),), "toy"), {"toy": toy})


@pytest.fixture
def normed(toy):
    return PowerMeanEncoder(Recipe((Part("toy"),), "toy", znorm="train"), {"toy": toy})


def test_rows_have_the_wanted_size_and_type(inner):
    rows = RandomProjection(inner, 40).encode(SENTENCES, lang="en")
    assert (rows.shape, rows.dtype) == ((5, 40), np.float32)


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(inner):
    first = RandomProjection(inner, 8, seed=1).encode(SENTENCES, lang="en")
    again = RandomProjection(inner, 8, seed=1).encode(SENTENCES, lang="en")
    other = RandomProjection(inner, 8, seed=2).encode(SENTENCES, lang="en")
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_projected_row_is_a_linear_image_of_the_inner_row(inner):
    # More columns than before: what was known before can be read back, and nothing was added.
    before = inner.encode(SENTENCES, lang="en")
    after = RandomProjection(inner, 30).encode(SENTENCES, lang="en")
    assert np.linalg.matrix_rank(after) == np.linalg.matrix_rank(before)


def test_numbers_keep_their_average_size(inner):
    before = inner.encode(["the cat sat"], lang="en")
    after = RandomProjection(inner, 20_000).encode(["the cat sat"], lang="en")
    # The mean square of 20,000 projected columns strays by about sqrt(2 / 20,000) = 1 per cent.
    assert np.mean(after**2) == pytest.approx(np.mean(before**2), rel=0.05)


def test_a_sentence_without_known_words_stays_zero(inner):
    assert not RandomProjection(inner, 8).encode(["nothing known"], lang="en").any()


def test_blocks_change_nothing_but_the_last_bit(inner, monkeypatch):
    whole = RandomProjection(inner, 8).encode(iter(SENTENCES), lang="en")
    monkeypatch.setattr(controls, "CHUNK", 2)
    blocks = RandomProjection(inner, 8).encode(SENTENCES, lang="en")
    np.testing.assert_allclose(blocks, whole, rtol=1e-5, atol=1e-6)


def test_the_z_norm_is_applied_before_the_projection(normed):
    control = RandomProjection(normed, 8, seed=3)
    assert control.recipe.znorm == "train"
    assert control.znorm is None
    fitted = control.fit_znorm(SENTENCES, lang="en")
    expected = RandomProjection(normed.fit_znorm(SENTENCES, lang="en"), 8, seed=3)
    assert fitted.znorm is not None
    np.testing.assert_array_equal(
        fitted.encode(SENTENCES, lang="en"), expected.encode(SENTENCES, lang="en")
    )


def test_coverage_is_that_of_the_inner_encoder(inner):
    assert RandomProjection(inner, 8).coverage(["the dog"], lang="en").by_space == {"toy": 0.5}


def test_no_columns_are_refused(inner):
    with pytest.raises(InputError, match="to 0 columns: at least 1"):
        RandomProjection(inner, 0)


def test_a_projection_is_adapted_as_its_inner_encoder_is(toy):
    # Features passes keep_alignment for a row that has both `project` and `adapt`.
    recipe = Recipe((Part("toy"),), "toy", znorm="per_language")
    inner = PowerMeanEncoder(recipe, {"toy": toy})
    fitted = RandomProjection(inner, 8).fit_znorm(SENTENCES, lang="en", keep_alignment=True)
    expected = RandomProjection(inner.fit_znorm(SENTENCES, lang="en"), 8)
    np.testing.assert_array_equal(
        fitted.encode(SENTENCES, lang="en"), expected.encode(SENTENCES, lang="en")
    )


def test_a_projection_has_the_inner_encoders_languages_spaces_and_alignment(inner):
    made = RandomProjection(inner, 8)
    assert (made.languages, made.alignment) == (inner.languages, inner.alignment)
    assert made.spaces is inner.spaces


def test_rows_are_written_where_they_are_wanted(inner):
    out = np.empty((len(SENTENCES), 8), dtype=np.float32)
    made = RandomProjection(inner, 8)
    assert made.encode(SENTENCES, lang="en", out=out, n_threads=1) is out
    np.testing.assert_array_equal(out, made.encode(iter(SENTENCES), lang="en"))


def test_the_languages_of_sentences_may_differ(inner):
    made = RandomProjection(inner, 8)
    mixed = made.encode(["the cat", "die katze"], lang=["en", "de"])
    np.testing.assert_array_equal(mixed[1:], made.encode(["die katze"], lang="de"))
