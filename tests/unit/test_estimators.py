"""Transformers of scikit-learn: texts to rows, z-scores, maps."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from pmeans import (
    MapTransformer,
    Part,
    PowerMeanEncoder,
    PowerMeanVectorizer,
    Recipe,
    WordSpace,
    ZNormTransformer,
)
from pmeans.errors import InputError, LanguageError

WORDS = {"en": ["good", "bad", "dog"], "de": ["gut", "schlecht", "hund"]}
VECTORS = np.array([[2, 1], [-2, 1], [0, -3], [3, 2], [-1, 2], [1, -2]], dtype=np.float32)
TEXTS, LABELS = ["good", "bad dog", "good dog", "bad"] * 6, [1, 0, 1, 0] * 6


@pytest.fixture(scope="module")
def encoder():
    space = WordSpace.from_words("toy", WORDS, VECTORS)
    recipe = Recipe((Part("toy", (-np.inf, 1, 2.5, np.inf)),), "toy", tokenizer="words")
    return PowerMeanEncoder(recipe, {"toy": space})


@pytest.fixture
def vectorizer(encoder):
    return PowerMeanVectorizer(encoder, lang="en")


@pytest.mark.parametrize("estimator", [ZNormTransformer(), MapTransformer()], ids=repr)
def test_what_takes_rows_passes_scikit_learns_checks(estimator):
    check_estimator(estimator, on_skip=None)


def test_a_vectorizer_gives_the_rows_of_its_encoder(encoder, vectorizer):
    rows = vectorizer.fit_transform(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, encoder.encode(TEXTS, lang="en"))
    again = clone(vectorizer)
    assert again.encoder is encoder
    np.testing.assert_array_equal(again.fit(TEXTS).transform(np.array(TEXTS)), rows)


def test_an_empty_cell_is_a_zero_row(vectorizer):
    rows = vectorizer.fit_transform(["good", None, float("nan")])
    assert rows.any(axis=1).tolist() == [True, False, False]


def test_columns_are_named_by_space_power_and_dimension(vectorizer):
    assert vectorizer.fit(TEXTS).get_feature_names_out().tolist() == [
        f"toy_{power}_{i}" for power in ("min", "mean", "p2.5", "max") for i in range(2)
    ]


def aligned(encoder, method, rank=None):
    parts = (Part("toy", (1,)), Part("toy", (np.inf,)))
    encoder = encoder.replace(recipe=Recipe(parts, "toy", tokenizer="words", znorm="per_language"))
    for lang, words in WORDS.items():
        encoder = encoder.fit_znorm([*words, " ".join(words)], lang=lang)
    pairs = {"de": zip(WORDS["en"], WORDS["de"], strict=True)}
    return encoder.fit_alignment(pairs, pivot="en", method=method, rank=rank, keep=1)


def test_mapped_columns_are_named_so(encoder):
    def names(encoder):
        return PowerMeanVectorizer(encoder).fit(TEXTS).get_feature_names_out().tolist()

    kept = ["toy_mean_0", "toy_mean_1"]
    assert names(aligned(encoder, "canonical", 1)) == [*kept, "mapped_0"]
    assert names(aligned(encoder, "ridge")) == [*kept, "mapped_toy_max_0", "mapped_toy_max_1"]


def test_a_vectorizer_is_a_step_of_a_searched_pipeline(encoder, vectorizer):
    mean = encoder.replace(recipe=Recipe((Part("toy", (1,)),), "mean", tokenizer="words"))
    steps = make_pipeline(vectorizer, StandardScaler(), LogisticRegression())
    grid = {"powermeanvectorizer__encoder": [encoder, mean]}
    found = GridSearchCV(steps, grid, cv=2).fit(TEXTS, LABELS)
    assert found.best_score_ == 1
    assert found.predict(["good good dog"]).tolist() == [1]


def test_a_vectorizer_joins_others(encoder, vectorizer):
    both = make_union(vectorizer, PowerMeanVectorizer(encoder, lang="de"))
    assert both.fit_transform(["good gut"]).shape == (1, 2 * encoder.dim)
    table = np.array([["good", "dog"], ["bad", "dog"]], dtype=object)
    columns = ColumnTransformer([("first", vectorizer, 0), ("second", vectorizer, 1)])
    got = columns.fit_transform(table)
    np.testing.assert_array_equal(got[:, encoder.dim :], encoder.encode(["dog", "dog"], lang="en"))
    assert columns.get_feature_names_out()[0] == "first__toy_min_0"


def test_what_is_no_column_of_texts_is_refused(vectorizer):
    with pytest.raises(InputError, match="pass its column of texts"):
        vectorizer.fit(np.array([["good"]]))
    with pytest.raises(InputError, match="got one str"):
        vectorizer.fit("good")
    with pytest.raises(InputError, match="expected an encoder, or the name"):
        PowerMeanVectorizer(None).fit(TEXTS)
    with pytest.raises(InputError, match="is one code"):
        PowerMeanVectorizer(lang=["en"]).fit(["good"])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        vectorizer.transform(TEXTS)


def test_languages_are_routed_to_vectors_and_z_scores(encoder):
    texts, langs = ["good", "gut", "bad", "hund"], ["en", "de", "en", "de"]
    with sklearn.config_context(enable_metadata_routing=True):
        vectors = PowerMeanVectorizer(encoder).set_transform_request(lang=True)
        scores = ZNormTransformer().set_fit_request(lang=True).set_transform_request(lang=True)
        got = make_pipeline(vectors, scores).fit_transform(texts, lang=langs)
    rows = encoder.encode(texts, lang=langs)
    for some in (rows[::2], rows[1::2]):
        some -= some.mean(axis=0)
        some /= some.std(axis=0) + (some.std(axis=0) == 0)
    np.testing.assert_allclose(got, rows, atol=1e-6)  # atol: float32


def test_z_scores_are_those_of_an_encoder(encoder):
    texts = [*TEXTS, "good bad dog", "unknown"]
    scored = encoder.replace(
        recipe=Recipe(encoder.recipe.parts, "toy", tokenizer="words", znorm="per_language")
    )
    scored = scored.fit_znorm(texts, lang="en")
    got = ZNormTransformer().fit_transform(encoder.encode(texts, lang="en"), lang="en")
    np.testing.assert_allclose(got, scored.encode(texts, lang="en"), atol=1e-6)  # atol: float32
    assert not got[-1].any()


def test_z_scores_of_a_language_that_was_not_fitted_are_refused():
    rows = np.eye(3)
    fitted = ZNormTransformer().fit(rows, lang=["en", "en", "de"])
    for lang in ("fr", None):
        with pytest.raises(LanguageError, match=r"no z-norm was fitted for .*'en', 'de'"):
            fitted.transform(rows, lang=lang)
    with pytest.raises(InputError, match="3 texts and 1 language:"):
        fitted.transform(rows, lang=["en"])


@pytest.mark.parametrize("method", ["canonical", "ridge", "cca", "procrustes"])
def test_a_map_is_the_one_of_an_aligned_encoder(encoder, method):
    plain = encoder.replace(
        recipe=Recipe((Part("toy", (1,)),), "toy", tokenizer="words", znorm="per_language")
    )
    for lang, words in WORDS.items():
        plain = plain.fit_znorm(words, lang=lang)
    pairs = zip(WORDS["en"], WORDS["de"], strict=True)
    mapped = plain.fit_alignment({"de": pairs}, pivot="en", method=method, penalty=2.0)
    rows = {lang: plain.encode(words, lang=lang) for lang, words in WORDS.items()}
    expected = {lang: mapped.encode(words, lang=lang) for lang, words in WORDS.items()}
    found = MapTransformer(method, penalty=2.0).fit(rows["de"], rows["en"])
    # atol: sums of float32 in another order.
    np.testing.assert_allclose(found.transform(rows["de"]), expected["de"], atol=1e-5)
    np.testing.assert_allclose(found.transform_pivot(rows["en"]), expected["en"], atol=1e-5)
    assert found.get_feature_names_out().tolist() == ["mapped_0", "mapped_1"]


def test_a_map_says_what_it_cannot_fit():
    with pytest.raises(InputError, match="no method 'magic'"):
        MapTransformer("magic").fit(np.eye(3), np.eye(3))
    with pytest.raises(InputError, match="rank 4 is not within 1 and 3"):
        MapTransformer(rank=4).fit(np.eye(3), np.eye(3))
    with pytest.raises(InputError, match=r"2 pairs .* are too few"):
        MapTransformer().fit(np.eye(3)[:2], np.eye(3)[:2])


def test_columns_with_powers_of_their_own_are_named_by_their_list(encoder):
    recipe = Recipe((Part("toy", ((2.5, -3), 1)),), "toy", tokenizer="words", root="shifted")
    fitted = PowerMeanVectorizer(encoder.replace(recipe=recipe, znorm=None)).fit(TEXTS)
    names = ["toy_list0_0", "toy_list0_1", "toy_mean_0", "toy_mean_1"]
    assert fitted.get_feature_names_out().tolist() == names
