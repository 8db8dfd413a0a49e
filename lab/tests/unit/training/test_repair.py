"""Filling a space's gaps, and evening out its directions."""

import numpy as np
import pytest

import pmeans
from pmeans import training
from pmeans.errors import ConfigError, InputError
from pmeans.spaces import edit
from pmeans.spaces.space import Subwords, WordSpace
from pmeans_lab.training import repair
from pmeans_lab.training.repair import Repair, fill, transform

# Float32 vectors carry about 7 digits, and sums of 40 of them lose one.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def vectors(n, dim, seed=1):
    """Return rows whose columns correlate and whose mean is far from 0."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, dim)) @ rng.normal(size=(dim, dim)) + 3).astype(np.float32)


def space_of(rows, lang="en", **rest):
    return WordSpace.from_words("s", {lang: [f"w{i}" for i in range(len(rows))]}, rows, **rest)


def quiet(share, text):
    pass


def covariance(rows):
    return np.cov(rows, rowvar=False, bias=True)


def test_centring_leaves_no_mean():
    rows = transform(space_of(vectors(40, 5)), ["centre"]).matrix
    np.testing.assert_allclose(rows.mean(axis=0), 0, **CLOSE)


def test_what_is_removed_are_the_directions_of_largest_variance():
    before = vectors(40, 5)
    after = transform(space_of(before), ["remove-top:2"]).matrix
    expected = np.linalg.eigvalsh(covariance(before))
    np.testing.assert_allclose(
        np.linalg.eigvalsh(covariance(after)), [0, 0, *expected[:3]], **CLOSE
    )


def test_whitened_rows_have_the_identity_as_covariance():
    rows = transform(space_of(vectors(40, 5)), ["whiten"]).matrix
    np.testing.assert_allclose(covariance(rows), np.eye(5), **CLOSE)


def test_whitening_turns_as_little_as_possible():
    matrix = repair.whiten(vectors(40, 5)).matrix
    np.testing.assert_allclose(matrix, matrix.T, **CLOSE)


def test_whitening_keeps_a_direction_without_variance_at_zero():
    rows = np.column_stack([vectors(40, 2), np.full(40, 7)]).astype(np.float32)
    np.testing.assert_allclose(transform(space_of(rows), ["whiten"]).matrix[:, 2], 0, atol=1e-6)


def test_equal_rows_become_zero_and_never_nan():
    rows = transform(space_of(np.ones((4, 2))), ["whiten", "remove-top:1", "unit"]).matrix
    np.testing.assert_array_equal(rows, np.zeros((4, 2)))


def test_pca_orders_columns_by_variance():
    before = vectors(40, 5)
    after = transform(space_of(before), ["pca:3"]).matrix
    largest = np.linalg.eigvalsh(covariance(before))[::-1][:3]
    np.testing.assert_allclose(covariance(after), np.diag(largest), **CLOSE)


def test_unit_rows_have_length_one():
    rows = transform(space_of(vectors(6, 3)), ["unit"]).matrix
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)


def test_by_language_every_language_is_centred_on_its_own():
    rows = np.array([[1, 0], [3, 0], [0, 10], [0, 30]], dtype=np.float32)
    both = WordSpace.from_words("s", {"en": ["a", "b"], "de": ["c", "d"]}, rows)
    apart = transform(both, ["centre"], by_language=True).matrix
    np.testing.assert_array_equal(apart, [[-1, 0], [1, 0], [0, -10], [0, 10]])


def test_pca_gives_all_languages_the_same_axes():
    rows = np.array([[5, 0], [-5, 0], [0, 1], [0, -1]], dtype=np.float32)
    both = WordSpace.from_words("s", {"en": ["a", "b"], "de": ["c", "d"]}, rows)
    first = transform(both, ["pca:1"], by_language=True).matrix
    np.testing.assert_allclose(first[:, 0], [5, -5, 0, 0], atol=1e-6)


def test_an_unknown_word_is_composed_as_if_it_had_been_mapped_itself():
    ngrams = Subwords(vectors(20, 3, seed=2), 2, 3)
    before = space_of(vectors(40, 3), subwords=ngrams)
    after = transform(before, ["remove-top:1", "pca:2"])
    steps = [repair.remove_top(before.matrix, 1)]
    steps.append(repair.pca(steps[0](before.matrix), 2))
    by_hand = steps[1](steps[0](before.vector("unknown", "en")[None]))[0]
    np.testing.assert_allclose(after.vector("unknown", "en"), by_hand, **CLOSE)


def test_quantised_ngrams_are_mapped_as_what_they_decode_to():
    small = edit.quantise(
        space_of(vectors(40, 3), subwords=Subwords(vectors(20, 3, seed=2), 2, 3)), "int8"
    )
    steps = ["remove-top:1"]
    of_small, of_decoded = (
        transform(small, steps),
        transform(edit.quantise(small, "float32"), steps),
    )
    assert of_small.subwords.scale is None
    np.testing.assert_array_equal(of_small.subwords.ngrams, of_decoded.subwords.ngrams)


def test_a_quantised_space_that_is_filled_keeps_its_subwords():
    ngrams = Subwords(vectors(20, 3, seed=2), 2, 3)
    small = edit.quantise(space_of(vectors(30, 3), subwords=ngrams), "int8")
    assert fill(small, space_of(vectors(40, 3))).subwords is small.subwords


def test_folded_subwords_are_scaled_and_dropped_where_a_mean_is_taken_away():
    ngrams = Subwords(vectors(20, 3, seed=2), 3, 4, folded=True)
    space = space_of(vectors(40, 3), subwords=ngrams)
    doubled = transform(space, ["scale:2"])
    word = ["unheard"]
    np.testing.assert_allclose(
        doubled.composed(word, "en")[0], 2 * space.composed(word, "en")[0], rtol=1e-6
    )
    assert transform(space, ["centre"]).subwords is None


def test_unit_rows_have_no_subwords():
    ngrams = Subwords(vectors(20, 3, seed=2), 2, 3)
    assert transform(space_of(vectors(9, 3), subwords=ngrams), ["unit"]).subwords is None


def test_a_gap_is_filled_through_the_map_that_the_shared_words_tell():
    other = vectors(40, 4)
    turned = other @ vectors(4, 3, seed=2) + 1
    filled = fill(space_of(turned[:30]), space_of(other), 0)
    assert len(filled) == 40
    # rtol: the map is exact here, and float32 keeps 7 digits of sums of hundreds.
    np.testing.assert_allclose(filled.rows(slice(30, 40)), turned[30:], rtol=1e-3, atol=1e-3)


def test_filling_leaves_the_spaces_own_words_alone():
    own = vectors(30, 3)
    np.testing.assert_array_equal(fill(space_of(own), space_of(vectors(40, 3))).matrix[:30], own)


def test_cased_words_do_not_fill_a_lower_case_space():
    other = WordSpace.from_words(
        "o", {"en": [*(f"w{i}" for i in range(9)), "Word"]}, vectors(10, 3), case="cased"
    )
    assert len(fill(space_of(vectors(9, 3)), other)) == 9


def test_too_few_shared_words_are_refused():
    with pytest.raises(InputError, match=r"share 3 words \(en\); a map from 4 columns needs more"):
        fill(space_of(vectors(3, 4)), space_of(vectors(9, 4)))


def test_a_space_of_another_language_cannot_fill():
    with pytest.raises(InputError, match="'s' cannot fill 's': it has de, not en"):
        fill(space_of(vectors(9, 2)), space_of(vectors(9, 2), "de"))


def test_a_step_that_asks_for_more_columns_than_there_are_is_refused():
    with pytest.raises(InputError, match="'pca:4' is too much for 9 vectors of 3 columns"):
        transform(space_of(vectors(9, 3)), ["pca:4"])


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("whitten", "unknown step 'whitten'. Did you mean 'whiten'"),
        ("pca", "write pca:K"),
        ("pca:0", "write pca:K"),
        ("centre:1", "write centre."),
    ],
)
def test_a_step_that_is_none_says_what_to_write(step, said):
    with pytest.raises(ConfigError, match=said):
        Repair("r", "s", steps=(step,))


def test_the_toml_form_finds_its_spaces_beside_it(tmp_path):
    pmeans.save_space(space_of(vectors(9, 3)), tmp_path / "s.safetensors")
    content = """
        kind = "repair"
        name = "r"
        space = "s.safetensors"
        fill = "s.safetensors"
        steps = ["centre", "pca:2", "unit"]
        precision = "float16"
    """
    (tmp_path / "repair.toml").write_text(content, encoding="utf-8")
    trainer = training.from_toml(tmp_path / "repair.toml")
    space = trainer.train(progress=quiet)
    assert (space.name, space.dim, space.matrix.dtype) == ("r", 2, np.float16)
