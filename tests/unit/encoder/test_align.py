import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models
from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.alignment_fit import Fit, Products, canonical_pivot, to_canonical, to_pivot
from pmeans.errors import FormatError, InputError, LanguageError

PAIRS = [
    ("the cat", "die katze"),
    ("cat", "katze"),
    ("the", "die"),
    ("cat sat", "katze saß"),
    ("sat sat the", "saß saß die"),
    ("sat", "saß"),
]
TINY = 1e-6


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def products(x, y):
    sums = Products(x.shape[1])
    sums.add(x, y)
    return sums


def alignment(*factors):
    return Alignment("en", {"de": LanguageMap(factors, "by hand")})


@pytest.fixture
def znormed():
    words = {"en": ["the", "cat", "sat"], "de": ["die", "katze", "saß"]}
    space = WordSpace.from_words("random", words, random(6, 3))
    recipe = Recipe((Part("random", (1,)),), znorm="per_language")
    encoder = PowerMeanEncoder(recipe, {"random": space}).fit_znorm(
        [a for a, _ in PAIRS], lang="en"
    )
    return encoder.fit_znorm([b for _, b in PAIRS], lang="de")


def test_ridge_is_the_minimum_of_its_loss():
    x, y = random(50, 4), random(50, 4, seed=1)
    (best,) = to_pivot(products(x, y), Fit("ridge", penalty=7))

    def loss(w):
        return np.square(x @ w - y).sum() + 7 * np.square(w).sum()

    for i, j in np.ndindex(4, 4):
        for step in (-0.1, 0.1):
            moved = best.copy()
            moved[i, j] += step
            assert loss(moved) > loss(best)


@pytest.mark.parametrize("method", ["cca", "procrustes"])
def test_a_rotation_is_found_again(method):
    turn = np.linalg.qr(random(4, 4))[0]
    x = random(60, 4, seed=1)
    (found,) = to_pivot(products(x, x @ turn), Fit(method, penalty=TINY))
    # atol: float32 rows.
    np.testing.assert_allclose(found, turn, atol=1e-5)


def test_procrustes_is_orthogonal_whatever_the_rows():
    (found,) = to_pivot(products(random(60, 4), random(60, 4, seed=1)), Fit("procrustes"))
    # atol: a float32 matrix.
    np.testing.assert_allclose(found @ found.T, np.eye(4), atol=1e-6)


def test_cca_gives_rows_the_covariance_of_the_pivot():
    x, y = random(500, 3) * [1, 5, 9], random(500, 3, seed=1) @ random(3, 3, seed=2)
    sums = products(x.astype(np.float32), y)
    (found,) = to_pivot(sums, Fit("cca", penalty=TINY))
    # rtol: the penalty, and float32.
    np.testing.assert_allclose(found.T @ sums.xx @ found, sums.yy, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("method", ["ridge", "cca", "procrustes"])
def test_full_rank_in_two_factors_is_the_same_map(method):
    sums = products(random(60, 4), random(60, 4, seed=1))
    (whole,) = to_pivot(sums, Fit(method))
    left, right = to_pivot(sums, Fit(method, rank=4))
    # atol: float32 factors.
    np.testing.assert_allclose(left @ right, whole, atol=1e-6)


def test_a_low_rank_ridge_fits_better_than_a_truncated_map():
    x = random(200, 5) * np.float32([1, 1, 1, 1, 30])
    sums = products(x, x @ random(5, 5, seed=1) * np.float32([9, 1, 1, 1, 1]))
    left, right = to_pivot(sums, Fit("ridge", TINY, rank=2))
    (whole,) = to_pivot(sums, Fit("ridge", TINY))
    u, s, vt = np.linalg.svd(whole)
    target = x @ whole
    assert left.shape == (5, 2)
    assert np.square(x @ left @ right - target).sum() < (
        np.square(x @ (u[:, :2] * s[:2]) @ vt[:2] - target).sum()
    )


def test_pairs_with_a_zero_row_are_left_out():
    x, y = random(30, 3), random(30, 3, seed=1)
    sums = products(x, y)
    sums.add(np.zeros((5, 3), np.float32), y[:5])
    sums.add(x[:5], np.zeros((5, 3), np.float32))
    assert sums.count == 30
    np.testing.assert_array_equal(sums.yy, products(x, y).yy)


def test_blocks_add_up_to_the_whole():
    x, y = random(30, 3), random(30, 3, seed=1)
    sums = products(x[:11], y[:11])
    sums.add(x[11:], y[11:])
    # rtol: float64 sums in another order.
    np.testing.assert_allclose(sums.xy, products(x, y).xy, rtol=1e-12)


@pytest.mark.parametrize("rank", [None, 7])
def test_neither_place_nor_company_changes_a_bit_of_a_row(rank):
    dim = 301  # no multiple of any vector register
    factors = (random(dim, dim),) if rank is None else (random(dim, rank), random(rank, dim))
    rows = random(101, dim, seed=1)
    whole = alignment(*factors).apply(rows, "de")
    order = np.random.default_rng(2).permutation(len(rows))
    np.testing.assert_array_equal(alignment(*factors).apply(rows[order], "de"), whole[order])
    for i in (0, 1, 32, len(rows) - 1):
        np.testing.assert_array_equal(alignment(*factors).apply(rows[[i]], "de")[0], whole[i])


def test_applying_is_multiplying():
    w, rows = random(5, 5), random(70, 5, seed=1)
    # rtol, atol: float32 sums in another order.
    np.testing.assert_allclose(alignment(w).apply(rows, "de"), rows @ w, rtol=1e-5, atol=1e-6)


def test_the_pivot_and_zero_rows_stay_as_they_are():
    rows = random(2, 5)
    np.testing.assert_array_equal(alignment(random(5, 5)).apply(rows, "en"), rows)
    assert not alignment(random(5, 5)).apply(np.zeros((2, 5), np.float32), "de").any()


def test_rows_near_the_end_of_float32_are_cut_off_and_never_nan():
    largest = np.finfo(np.float32).max
    w = np.array([[2, 2], [2, -2]], np.float32)
    rows = np.array([[largest, largest], [1, 1]], np.float32)
    assert alignment(w).apply(rows, "de").tolist() == [[largest, 0], [4, 0]]


@pytest.mark.parametrize("rank", [None, 2])
def test_a_folded_classifier_gives_the_same_logits_without_the_map(rank):
    factors = (random(5, 5),) if rank is None else (random(5, rank), random(rank, 5, seed=3))
    weights, rows = random(3, 5, seed=1), random(9, 5, seed=2)
    aligned = alignment(*factors)
    # atol: float32 products in another order.
    np.testing.assert_allclose(
        rows @ aligned.fold(weights, "de").T, aligned.apply(rows, "de") @ weights.T, atol=1e-4
    )
    np.testing.assert_array_equal(aligned.fold(weights, "en"), weights)


def test_a_language_without_a_map_is_named():
    with pytest.raises(LanguageError, match=r"no map for 'fr' \(it has: 'en', 'de'\)"):
        alignment(random(2, 2)).apply(random(1, 2), "fr")


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (Fit("svd"), "no method 'svd': take canonical, ridge, cca, procrustes"),
        (Fit(penalty=0), "penalty must be a number above 0, not 0"),
        (Fit(penalty=np.nan), "penalty must be a number above 0, not nan"),
        (Fit(rank=4), "rank 4 is not within 1 and 3"),
    ],
)
def test_settings_that_give_no_map_are_refused(fit, message):
    with pytest.raises(InputError, match=message):
        fit.check(3)


def test_fewer_pairs_than_columns_are_refused():
    with pytest.raises(InputError, match="2 pairs with known words on both sides are too few"):
        products(random(2, 3), random(2, 3)).check()


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(InputError, match=r"differ: \(3, 2\) and \(4, 2\)"):
        products(random(3, 2), random(4, 2))


def test_an_aligned_encoder_brings_translations_together(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en", method="ridge", penalty=TINY)
    before = znormed.encode("katze", lang="de") - znormed.encode("cat", lang="en")
    after = aligned.encode("katze", lang="de") - aligned.encode("cat", lang="en")
    assert np.linalg.norm(after) < np.linalg.norm(before) / 10
    np.testing.assert_array_equal(
        aligned.encode("the cat", lang="en"), znormed.encode("the cat", lang="en")
    )
    assert not aligned.encode("unbekannt", lang="de").any()
    assert aligned.alignment.maps["de"].origin == "ridge, penalty 1e-06, 6 pairs"


def test_an_aligned_encoder_gives_the_same_bits_in_every_batch(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en")
    texts, langs = [PAIRS[i % 6][i % 2] for i in range(99)], ["en", "de"] * 49 + ["en"]
    rows = aligned.encode(texts, lang=langs)
    for text, lang, row in zip(texts, langs, rows, strict=True):
        np.testing.assert_array_equal(aligned.encode(text, lang=lang), row)


@pytest.fixture
def three():
    """Sentences of three languages, and an encoder whose z-norm they fit."""
    words = {"en": ["a", "b"], "de": ["c", "d"], "fr": ["e", "f"]}
    space = WordSpace.from_words("three", words, random(6, 2))
    encoder = PowerMeanEncoder(
        Recipe((Part("three", (1,)),), znorm="per_language"), {"three": space}
    )
    texts = {"en": ["a", "b", "a b b"], "de": ["c", "d", "c d d"], "fr": ["e", "f", "e f f"]}
    for lang, sentences in texts.items():
        encoder = encoder.fit_znorm(sentences, lang=lang)
    pairs = {lang: list(zip(texts["en"], texts[lang], strict=True)) for lang in ("de", "fr")}
    return encoder, pairs


@pytest.mark.parametrize("method", ["canonical", "cca"])
def test_maps_of_further_languages_join_the_first(three, method):
    encoder, pairs = three
    german = encoder.fit_alignment({"de": pairs["de"]}, pivot="en", method=method)
    both = german.fit_alignment({"fr": pairs["fr"]}, pivot="en", method=method)
    assert {"de", "fr"} <= set(both.alignment.maps)
    for lang, text in (("de", "c d"), ("en", "a b")):
        np.testing.assert_array_equal(both.encode(text, lang=lang), german.encode(text, lang=lang))


@pytest.mark.parametrize(("first", "second"), [("canonical", "ridge"), ("cca", "canonical")])
def test_all_maps_lead_to_the_same_space(three, first, second):
    encoder, pairs = three
    german = encoder.fit_alignment({"de": pairs["de"]}, pivot="en", method=first)
    with pytest.raises(InputError, match=f"cannot add a language by '{second}'"):
        german.fit_alignment({"fr": pairs["fr"]}, pivot="en", method=second)


def test_there_is_one_pivot(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en")
    with pytest.raises(InputError, match="the pivot of this alignment is 'en', not 'de'"):
        aligned.fit_alignment({"en": PAIRS}, pivot="de")
    with pytest.raises(InputError, match="'en' is the pivot"):
        aligned.fit_alignment({"en": PAIRS}, pivot="en")


def with_noise_of_its_own(shared, seed):
    """Return rows of three columns: what is shared, and one that no other language has."""
    return np.concatenate([shared, random(len(shared), 1, seed=seed) * 2], axis=1)


def test_canonical_directions_leave_out_what_one_language_alone_has():
    shared = random(2000, 2)
    x, y = with_noise_of_its_own(shared, 1), with_noise_of_its_own(shared, 2)
    sums = products(x, y)
    pivot = canonical_pivot({"de": sums}, Fit(penalty=TINY))
    noise, signal = np.abs(pivot[2]), np.abs(pivot[:2]).max()
    assert noise.max() < signal / 20
    mapped = x @ to_canonical(sums, pivot, TINY)
    # Both languages' rows agree in the directions that are kept.
    for column in range(2):
        assert np.corrcoef(mapped[:, column], (y @ pivot)[:, column])[0, 1] > 0.99


def test_a_canonical_column_has_the_spread_of_its_squared_correlation():
    x, y = random(5000, 3), random(5000, 3, seed=1)
    y[:, 0] = x[:, 0] + 0.5 * y[:, 0]
    sums = products(x, y)
    pivot = canonical_pivot({"de": sums}, Fit(penalty=TINY))
    squared = np.corrcoef(x[:, 0], y[:, 0])[0, 1] ** 2
    # rtol: other columns correlate a little by chance, and the rows' means are not quite 0.
    assert (y @ pivot)[:, 0].std() == pytest.approx(squared, rel=0.02)
    assert (x @ to_canonical(sums, pivot, TINY))[:, 0].std() == pytest.approx(squared, rel=0.02)


def test_a_rank_keeps_the_first_canonical_directions():
    sums = {"de": products(random(60, 4), random(60, 4, seed=1))}
    whole = canonical_pivot(sums, Fit())
    np.testing.assert_array_equal(canonical_pivot(sums, Fit(rank=2)), whole[:, :2])


def test_a_canonical_encoder_has_as_many_columns_as_its_rank(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en", rank=2)
    assert aligned.dim == 2
    assert aligned.encode(["the cat"], lang="en").shape == (1, 2)
    mixed = aligned.encode(["the cat", "die katze"], lang=["en", "de"])
    np.testing.assert_array_equal(mixed[1], aligned.encode("die katze", lang="de"))


def test_maps_to_different_columns_are_refused(tmp_path):
    maps = {"en": LanguageMap((random(3, 2),), ""), "de": LanguageMap((random(3, 3),), "")}
    Alignment("en", maps).save(tmp_path / "a")
    with pytest.raises(FormatError, match=r"lead to different columns: \[2, 3\]"):
        Alignment.load(tmp_path / "a", 3)


def test_an_alignment_needs_z_norm_per_language(toy):
    plain = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    with pytest.raises(InputError, match="has znorm = 'none': set it to 'per_language'"):
        plain.fit_alignment({"de": PAIRS}, pivot="en")


def test_the_z_norm_under_an_alignment_cannot_be_changed(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en")
    with pytest.raises(InputError, match="alignment of 'de' was fitted after its z-norm"):
        aligned.fit_znorm(["die katze", "die"], lang="de")


@pytest.mark.parametrize("bad", ["ab", ("a",), ("a", "b", "c")])
def test_what_is_no_pair_is_refused(znormed, bad):
    with pytest.raises(InputError, match="expected pairs of two sentences"):
        znormed.fit_alignment({"de": [("the", "die"), bad]}, pivot="en")


@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("method", ["canonical", "ridge"])
def test_a_saved_encoder_keeps_its_alignment_to_the_bit(znormed, tmp_path, method, rank):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en", method=method, rank=rank)
    models.save(aligned, tmp_path / "enc")
    back = models.load(tmp_path / "enc")
    assert back.alignment.pivot == "en"
    assert back.alignment.maps["de"].origin == aligned.alignment.maps["de"].origin
    np.testing.assert_array_equal(
        back.encode("die katze", lang="de"), aligned.encode("die katze", lang="de")
    )


@pytest.mark.parametrize("factors", [[(2, 3)], [(3, 2), (3, 3)], [(3, 3, 1)]])
def test_a_file_whose_maps_do_not_fit_is_refused(tmp_path, factors):
    path = tmp_path / "alignment.safetensors"
    alignment(*(random(*shape) for shape in factors)).save(path)
    with pytest.raises(FormatError, match="map of 'de' does not fit 3 columns"):
        Alignment.load(path, 3)


def test_a_file_with_nan_or_of_another_kind_is_refused(znormed, tmp_path):
    path = tmp_path / "a.safetensors"
    alignment(np.full((3, 3), np.nan, np.float32)).save(path)
    with pytest.raises(FormatError, match="does not fit"):
        Alignment.load(path, 3)
    znormed.znorm.save(path)
    with pytest.raises(FormatError, match="not an alignment"):
        Alignment.load(path, 3)


def test_an_aligned_encoder_has_another_identity(znormed):
    aligned = znormed.fit_alignment({"de": PAIRS}, pivot="en")
    other = znormed.fit_alignment({"de": PAIRS}, pivot="en", penalty=1)
    assert len({e.fingerprint() for e in (znormed, aligned, other)}) == 3
