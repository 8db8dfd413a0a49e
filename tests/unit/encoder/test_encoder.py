import dataclasses
import inspect
import subprocess
import sys

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.errors import InputError, LanguageError, NotFittedError
from pmeans.spaces.space import Subwords

INF = np.inf


def encoder(toy, *, powers=(-INF, 1, INF), **options) -> PowerMeanEncoder:
    return PowerMeanEncoder(Recipe((Part("toy", powers),), **options), {"toy": toy})


def test_a_string_gives_one_row_and_a_list_gives_a_matrix(toy):
    one = encoder(toy).encode("the cat", lang="en")
    assert one.shape == (9,)
    assert one.tolist() == [1, -1, -8, 1.5, 1.5, -4, 2, 4, 0]
    assert encoder(toy).encode(["the cat"], lang="en").shape == (1, 9)
    assert encoder(toy).encode([], lang="en").shape == (0, 9)


def test_rows_are_float32_and_unknown_or_empty_sentences_are_zero(toy):
    rows = encoder(toy).encode(["", "   ", "dog", "the dog"], lang="en")
    assert rows.dtype == np.float32
    assert rows.any(axis=1).tolist() == [False, False, False, True]


def test_parts_are_concatenated_space_by_space_and_power_by_power(toy):
    other = WordSpace.from_words("other", {"en": ["cat"]}, np.array([[7.0]], np.float32))
    recipe = Recipe((Part("other", (1,)), Part("toy", (INF, 1))))
    row = PowerMeanEncoder(recipe, {"toy": toy, "other": other}).encode("the cat")
    assert row.tolist() == [7, 2, 4, 0, 1.5, 1.5, -4]


def test_each_sentence_may_have_its_own_language(toy):
    texts, langs = ["the cat", "die katze", "cat", "katze"], ["en", "de", "de", "en"]
    rows = encoder(toy).encode(texts, lang=langs)
    np.testing.assert_array_equal(rows[0], encoder(toy).encode("the cat", lang="en"))
    np.testing.assert_array_equal(rows[1], encoder(toy).encode("die katze", lang="de"))
    assert not rows[2:].any()


def test_a_language_is_asked_for_where_there_are_several(toy):
    with pytest.raises(LanguageError, match=r"covers de, en, .*pass lang="):
        encoder(toy).encode("x")


def test_an_unknown_language_lists_the_known_ones(toy):
    with pytest.raises(LanguageError, match="no language 'fr' among de, en"):
        encoder(toy).encode("x", lang="fr")


def test_too_few_languages_are_refused(toy):
    with pytest.raises(InputError, match="fewer entries"):
        encoder(toy).encode(["a", "b"], lang=["en"])


def test_too_many_languages_are_refused(toy):
    with pytest.raises(InputError, match="more entries"):
        encoder(toy).encode(["cat"], lang=["en", "de"])


def test_a_language_too_many_is_refused_even_if_it_is_none(toy):
    with pytest.raises(InputError, match="more entries"):
        encoder(toy).encode(["cat"], lang=["en", None])


class Frame:
    """What all data frames share: iterating over one gives no rows."""

    columns = ("text", "label")

    def __iter__(self):
        return iter(self.columns)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (Frame(), "Frame, which would give its columns: pass the one with the sentences"),
        ({"the": "cat"}, "a mapping, which would give its keys"),
        (b"the cat", "got one bytes"),
        (7, "got int"),
        (np.array("the cat"), "a single value in a ndarray: put it into a list"),
    ],
)
def test_what_is_not_sentences_is_refused_saying_what_to_pass(toy, sentences, message):
    with pytest.raises(InputError, match=message):
        encoder(toy).encode(sentences, lang="en")
    with pytest.raises(InputError, match=message):
        encoder(toy).coverage(sentences, lang="en")


def test_spaces_without_a_common_language_cannot_be_joined(toy):
    other = WordSpace.from_words("other", {"fr": ["x"]}, np.ones((1, 1), np.float32))
    with pytest.raises(LanguageError, match="share no language"):
        PowerMeanEncoder(Recipe((Part("toy"), Part("other"))), {"toy": toy, "other": other})


def test_a_space_of_no_particular_language_joins_any(toy):
    other = WordSpace.from_words("other", {"mul": ["katze"]}, np.ones((1, 1), np.float32))
    joint = PowerMeanEncoder(Recipe((Part("toy"), Part("other"))), {"toy": toy, "other": other})
    assert joint.languages == ("de", "en")
    assert joint.encode("katze", lang="de")[-1] == 1


def test_iterators_are_read_in_chunks_and_give_the_same_bits(toy):
    texts = ["the cat sat", "", "cat"] * 3000
    listed = encoder(toy).encode(texts, lang="en")
    np.testing.assert_array_equal(encoder(toy).encode(iter(texts), lang="en"), listed)
    blocks = list(encoder(toy).encode_batches(iter(texts), lang="en", batch_size=700))
    assert {len(block) for block in blocks} == {700, 600}
    np.testing.assert_array_equal(np.concatenate(blocks), listed)


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"n_threads": 1}, {"n_threads": 3}])
def test_batches_and_threads_change_no_bit(toy, options):
    texts = [" ".join(["the", "cat", "sat"][i % 3 :] * (i % 7)) for i in range(5000)]
    full = encoder(toy, powers=(1, 3, 0.5)).encode(texts, lang="en")
    np.testing.assert_array_equal(
        encoder(toy, powers=(1, 3, 0.5)).encode(texts, lang="en", **options), full
    )
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = encoder(toy, powers=(1, 3, 0.5)).encode([texts[i] for i in order], lang="en")
    np.testing.assert_array_equal(shuffled, full[order])


def test_out_is_filled_and_returned(toy):
    out = np.full((1, 9), 7, dtype=np.float32)
    assert encoder(toy).encode(["cat"], lang="en", out=out) is out
    assert out[0, :3].tolist() == [2, 4, -8]


def test_out_of_the_wrong_shape_is_refused(toy):
    with pytest.raises(InputError, match=r"out is \(2, 9\), expected \(1, 9\)"):
        encoder(toy).encode(["cat"], lang="en", out=np.zeros((2, 9), np.float32))


def test_normalised_rows_have_length_one_and_zero_rows_stay(toy):
    rows = encoder(toy).encode(["cat", "dog"], lang="en", normalize_embeddings=True)
    # rtol: one float32 division a value.
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0], rtol=1e-6)


def test_truncation_keeps_the_first_columns(toy):
    assert encoder(toy).encode("cat", lang="en", truncate_dim=2).tolist() == [2, 4]
    with pytest.raises(InputError, match="truncate_dim 10"):
        encoder(toy).encode("cat", lang="en", truncate_dim=10)


def test_binary_precisions_are_those_of_sentence_transformers(toy):
    # sentence-transformers packs bits with numpy.packbits and shifts "binary" by 128.
    bits = encoder(toy).encode(["cat", "the"], lang="en", precision="ubinary")
    assert bits.tolist() == [[0b11011011, 0], [0b10010010, 0]]
    assert encoder(toy).encode("the", lang="en", precision="binary").tolist() == [18, -128]
    with pytest.raises(InputError, match="precision 'int4'"):
        encoder(toy).encode("cat", lang="en", precision="int4")


def test_int8_rows_are_scaled_by_their_own_largest_number(toy):
    together = encoder(toy, powers=(1,)).encode(["cat", "the"], lang="en", precision="int8")
    # (2, 4, -8) / 8 * 127, and (1, -1, 0) * 127.
    assert together.tolist() == [[32, 64, -127], [127, -127, 0]]
    alone = encoder(toy, powers=(1,)).encode("cat", lang="en", precision="int8")
    assert alone.tolist() == together[0].tolist()
    shifted = encoder(toy, powers=(1,)).encode("cat", lang="en", precision="uint8")
    assert shifted.tolist() == [160, 192, 1]


def test_the_signature_is_that_of_sentence_transformers_with_our_additions():
    names = list(inspect.signature(PowerMeanEncoder.encode).parameters)[1:]
    assert names[:14] == [
        "inputs", "prompt_name", "prompt", "batch_size", "show_progress_bar", "output_value",
        "precision", "convert_to_numpy", "convert_to_tensor", "device", "normalize_embeddings",
        "truncate_dim", "pool", "chunk_size",
    ]  # fmt: skip


def test_the_older_argument_name_is_accepted(toy):
    assert encoder(toy).encode(sentences=["cat"], lang="en").shape == (1, 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output_value": "token_embeddings"}, "sentence_embedding"),
        ({"prompt_name": "query"}, "no prompts"),
        ({"pool": {}}, "n_threads"),
        ({"inputs": None}, "needs sentences"),
        ({"inputs": [b"bytes"]}, "sentence 0 is bytes"),
        ({"inputs": [None]}, "sentence 0 is NoneType"),
    ],
)
def test_what_is_not_supported_says_so(toy, options, message):
    with pytest.raises(InputError, match=message):
        encoder(toy).encode(**({"inputs": ["cat"], "lang": "en"} | options))


def test_a_prompt_is_put_before_every_sentence(toy):
    assert encoder(toy, powers=(1,)).encode("cat", prompt="the ", lang="en").tolist() == [
        1.5, 1.5, -4,
    ]  # fmt: skip


def test_texts_are_compared_as_their_rows(toy):
    texts = ["the cat", "cat"]
    english = encoder(toy).for_language("en")
    rows = english.encode(texts)
    cosines = english.similarity(rows, rows)
    np.testing.assert_array_equal(english.similarity(texts, texts), cosines)
    pairs = english.similarity_pairwise(texts, texts[::-1])
    np.testing.assert_array_equal(pairs, english.similarity_pairwise(rows, rows[::-1]))
    one = english.similarity(*texts)
    assert isinstance(one, float)
    assert one == pytest.approx(cosines[0, 1])


def test_similarity_is_the_cosine(toy):
    a = np.array([[3, 4], [0, 0]], np.float32)
    assert encoder(toy).similarity(a, a).tolist() == pytest.approx(
        np.array([[1, 0], [0, 0]]), abs=1e-6
    )
    assert encoder(toy).similarity_pairwise(a, a).tolist() == pytest.approx([1, 0], abs=1e-6)


def test_coverage_counts_known_words_and_names_the_unknown(toy):
    coverage = encoder(toy).coverage(["the dog", "", "katze dog"], lang=["en", "en", "de"])
    assert coverage.known.tolist() == [[1, 0, 1]]
    assert coverage.tokens.tolist() == [2, 0, 2]
    assert coverage.unknown_words["toy"] == {"dog": 2}
    assert coverage.by_space == {"toy": 0.5}
    assert coverage.zero_rows.tolist() == [False, True, False]


def subwords():
    """Two known words, and n-grams that give any word a vector."""
    ngrams = Subwords(np.ones((7, 3), np.float32), 3, 4)
    return WordSpace.from_words("toy", {"en": ["cats", "dogs"]}, np.eye(2, 3), subwords=ngrams)


def test_a_composed_word_is_known_and_not_listed_as_unknown():
    found = encoder(subwords()).coverage(["cats kittens"])
    assert found.known.tolist() == [[2]]
    assert found.unknown_words == {"toy": {}}


@pytest.mark.parametrize("text", ["привет мир", "你好", "🙂 🙃", "-"])
def test_a_word_in_a_script_that_the_language_does_not_use_is_unknown(text):
    model = encoder(subwords(), tokenizer="words")
    assert not model.encode(text).any()
    found = model.coverage([text])
    assert found.zero_rows.tolist() == [True]
    assert found.unknown_words["toy"].total() == found.tokens.sum()
    assert subwords().vector(text, "en") is None


@pytest.mark.parametrize("text", ["kittens", "naïveté", "42", "кits"])
def test_a_word_with_letters_of_the_language_or_digits_is_composed(text):
    assert encoder(subwords()).encode(text).any()


def test_rows_and_coverage_come_from_one_pass(toy):
    texts, langs = ["the dog", "", "katze", "xx the cat"], ["en", "en", "de", "en"]
    rows, found = encoder(toy).encode_covered(texts, lang=langs)
    expected = encoder(toy).coverage(texts, lang=langs)
    np.testing.assert_array_equal(rows, encoder(toy).encode(texts, lang=langs))
    np.testing.assert_array_equal(found.known, expected.known)
    np.testing.assert_array_equal(found.tokens, expected.tokens)
    assert found.unknown_words == expected.unknown_words == {"toy": {"dog": 1, "xx": 1}}


def test_a_fingerprint_is_of_what_is_computed_and_not_of_names(toy):
    one = encoder(toy, name="one", znorm="train").fit_znorm(["the cat", "sat"], lang="en")
    other = one.replace(recipe=dataclasses.replace(one.recipe, name="other"))
    assert one.fingerprint() == other.fingerprint()
    moved = np.array(toy.matrix) + np.float32(1e-6)
    space = dataclasses.replace(toy, matrix=moved)
    different = [
        one.replace(recipe=dataclasses.replace(one.recipe, root="principal")),
        one.replace(spaces={"toy": space}),
        one.replace(znorm=None),
        one.fit_znorm(["the sat", "cat"], lang="en"),
    ]
    assert len({each.fingerprint() for each in (one, *different)}) == 5


def test_z_norm_must_be_fitted_first(toy):
    with pytest.raises(NotFittedError, match="fit_znorm"):
        encoder(toy, znorm="train").encode("cat", lang="en")


def test_z_norm_gives_its_own_text_mean_zero_and_deviation_one(toy):
    texts = ["the cat", "cat", "sat sat the", "dog", ""]
    fitted = encoder(toy, znorm="train", powers=(1, INF)).fit_znorm(texts, lang="en")
    rows = fitted.encode(texts[:3], lang="en")
    # atol: float32 statistics of float32 values.
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-5)
    assert not fitted.encode(["dog", ""], lang="en").any()


def test_per_language_statistics_are_kept_apart_and_added_one_by_one(toy):
    fitted = encoder(toy, znorm="per_language").fit_znorm(["the", "cat", "sat"], lang="en")
    with pytest.raises(LanguageError, match=r"has not seen 'de' \(fitted: 'en'\)"):
        fitted.encode("katze", lang="de")
    both = fitted.fit_znorm(["die", "katze"], lang="de")
    np.testing.assert_array_equal(both.encode("cat", lang="en"), fitted.encode("cat", lang="en"))
    # atol: float32.
    np.testing.assert_allclose(both.encode(["die", "katze"], lang="de").mean(axis=0), 0, atol=1e-6)


def test_a_constant_column_becomes_zero_not_infinite(toy):
    fitted = encoder(toy, znorm="all").fit_znorm(["cat", "cat"], lang="en")
    assert not fitted.encode("cat", lang="en").any()


def test_fitting_without_z_norm_in_the_recipe_is_refused(toy):
    with pytest.raises(InputError, match="has no z-norm"):
        encoder(toy).fit_znorm(["cat"], lang="en")


def test_importing_pmeans_loads_nothing_heavy():
    heavy = ["torch", "sklearn", "pyarrow", "matplotlib", "typer", "rich", "scipy"]
    code = f"import sys, pmeans; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_vectors_with_nan_make_no_space():
    with pytest.raises(InputError, match="NaN or infinity"):
        WordSpace.from_words("bad", {"en": ["a"]}, [[np.nan]])


def test_words_and_vectors_must_be_as_many():
    with pytest.raises(InputError, match=r"1 words for vectors \(2, 1\)"):
        WordSpace.from_words("bad", {"en": ["a"]}, [[1], [2]])


def test_long_texts_are_taken_in_smaller_chunks_and_give_the_same_bits(toy, monkeypatch):
    texts = [" ".join(["the", "cat", "sat"][: i % 4] * i) for i in range(60)]
    langs = ["en", "de", "en"] * 20
    whole = encoder(toy).encode(texts, lang=langs)
    monkeypatch.setattr("pmeans.encoder.sentence_encoder.LONGEST_CHUNK", 100)
    sizes = []
    original = PowerMeanEncoder._encode_chunk

    def counted(self, chunk, *rest):
        sizes.append(len(chunk))
        original(self, chunk, *rest)

    monkeypatch.setattr(PowerMeanEncoder, "_encode_chunk", counted)
    np.testing.assert_array_equal(encoder(toy).encode(texts, lang=langs), whole)
    assert len(sizes) > 10


def test_each_dimension_may_have_a_power_of_its_own(toy):
    found = encoder(toy, powers=((INF, -1, -INF), 1), root="shifted").encode("the cat", lang="en")
    assert found.tolist() == [2, 1.5, -8, 1.5, 1.5, -4]


def test_a_list_of_powers_must_fit_the_space(toy):
    with pytest.raises(InputError, match=r"part 'toy' of recipe .*2 powers for 3 dimensions"):
        encoder(toy, powers=((1, 2),), root="shifted")
