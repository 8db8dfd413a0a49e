"""The real sentence-transformers on our encoder, and our pooling within it."""

import numpy as np
import pytest

import pmeans
from libraries import DE, EN, library
from pmeans.errors import InputError
from pmeans.kernels import reference

pytestmark = pytest.mark.integrations

INF = float("inf")


@pytest.fixture(scope="module")
def st():
    return library("sentence_transformers", "sentence-transformers")


@pytest.fixture(scope="module")
def encoder():
    return pmeans.load()


@pytest.fixture(scope="module")
def model(st, encoder):
    return encoder.to_sentence_transformer()


@pytest.fixture(scope="module")
def pooling(st):
    from pmeans.integrations.pooling import PowerMeanPooling

    return PowerMeanPooling


def test_the_rows_are_the_encoders_own(st, model, encoder):
    texts = EN + DE
    rows = encoder.encode(texts)
    assert isinstance(model, st.SentenceTransformer)
    assert model.encode(texts).dtype == np.float32
    for encode in (model.encode, model.encode_query, model.encode_document):
        np.testing.assert_array_equal(encode(texts, batch_size=3), rows)
    np.testing.assert_array_equal(model.encode(texts[0]), rows[0])
    np.testing.assert_array_equal(model.encode(texts, convert_to_tensor=True).numpy(), rows)
    np.testing.assert_array_equal(model.encode(texts, truncate_dim=5), rows[:, :5])
    assert model.get_embedding_dimension() == encoder.dim
    # rtol: sums of float32, in another order.
    np.testing.assert_allclose(
        model.similarity(rows, rows), encoder.similarity(rows, rows), rtol=1e-5, atol=1e-6
    )


def test_the_language_and_a_prompt_reach_the_encoder(model, encoder):
    got = model.encode(EN, lang="de")
    np.testing.assert_array_equal(got, encoder.encode(EN, lang="de"))
    assert not np.array_equal(got, encoder.encode(EN, lang="en"))
    got = model.encode(EN, prompt="Good news: ")
    np.testing.assert_array_equal(got, encoder.encode(EN, prompt="Good news: "))


def test_a_language_for_each_sentence_is_refused(model):
    with pytest.raises(InputError, match="lang is one language here"):
        model.encode(EN, lang=["en"] * len(EN))


def test_the_librarys_functions_and_evaluators_run(st, model, encoder):
    pairs = st.util.paraphrase_mining(model, EN + DE, top_k=1)
    assert {frozenset(pair) for _, *pair in pairs[: len(EN)]} == {
        frozenset({i, i + len(EN)}) for i in range(len(EN))
    }
    found = st.util.semantic_search(model.encode_query(EN), model.encode_document(DE), top_k=1)
    assert [best["corpus_id"] for (best,) in found] == list(range(len(EN)))

    from sentence_transformers.sentence_transformer import evaluation

    translated = evaluation.TranslationEvaluator(EN, DE, write_csv=False)(model)
    assert translated["mean_accuracy"] == 1
    cosines = encoder.similarity_pairwise(encoder.encode(EN), encoder.encode(DE[::-1]))
    similar = evaluation.EmbeddingSimilarityEvaluator(EN, DE[::-1], cosines, write_csv=False)
    # abs: sums of float32, in another order.
    assert similar(model)["pearson_cosine"] == pytest.approx(1, abs=1e-6)


def test_a_saved_folder_is_opened_without_a_network(st, encoder, tmp_path):
    folder = str(tmp_path / "saved")
    german = encoder.for_language("de").to_sentence_transformer()
    for _ in range(2):  # what is there is replaced
        german.save(folder)
    opened = st.SentenceTransformer(folder, trust_remote_code=True)
    # In German, as it was saved, whatever it looks like.
    np.testing.assert_array_equal(opened.encode(EN), encoder.encode(EN, lang="de"))
    alone = pmeans.load(tmp_path / "saved" / "0_PowerMeanModule" / "encoder")
    assert alone.fingerprint() == encoder.fingerprint()
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        st.SentenceTransformer(folder)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, 3.5, 10, INF, -INF])
def test_pooling_agrees_with_the_papers_formula(pooling, p):
    import torch

    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(5, 7, 4)).astype(np.float32)
    tokens[0, 1] = 0
    tokens[1, :, 2] = 0
    tokens[2] *= 1e15  # whose tenth powers are beyond float32
    lengths = [7, 7, 3, 1, 0]
    mask = np.arange(7) < np.array(lengths)[:, None]
    tokens[~mask] = np.nan  # must not be counted
    given = {"token_embeddings": torch.tensor(tokens), "attention_mask": torch.tensor(mask * 1)}
    got = pooling(4, [p])(given)["sentence_embedding"].numpy()
    expected = [reference.power_mean(row[:n], p) for row, n in zip(tokens, lengths, strict=True)]
    # rtol: powers and roots in float32.
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)
    assert not got[4].any()


def test_pooling_puts_powers_side_by_side_and_keeps_the_precision(pooling):
    import torch

    tokens = torch.tensor([[[300.0, -1.0], [-200.0, 2.0]] * 1000], dtype=torch.float16)
    got = pooling(2, [-INF, 1, 3, INF])({"token_embeddings": tokens})["sentence_embedding"]
    # Their sum is beyond float16, and so are their cubes, of a mean of 9.5 million.
    assert got.dtype == torch.float16
    expected = [-200, -1, 50, 0.5, 9.5e6 ** (1 / 3), 3.5 ** (1 / 3), 300, 2]
    np.testing.assert_allclose(got[0].float(), expected, rtol=1e-3)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, INF, -INF])
def test_the_gradient_of_pooling_is_right_and_finite(pooling, p):
    import torch

    tokens = torch.randn(3, 4, 2, dtype=torch.float64, generator=torch.manual_seed(1))
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
    pool = pooling(2, [p])

    def pooled(x):
        return pool({"token_embeddings": x, "attention_mask": mask})["sentence_embedding"]

    assert torch.autograd.gradcheck(pooled, tokens.requires_grad_())
    at_zero = torch.zeros(3, 4, 2, requires_grad=True)
    pooled(at_zero).sum().backward()
    assert torch.isfinite(at_zero.grad).all()


@pytest.mark.parametrize("powers", [[], [0], [-1], [float("nan")]])
def test_pooling_refuses_powers_that_it_has_no_gradient_for(pooling, powers):
    with pytest.raises(InputError, match="powers are above 0"):
        pooling(2, powers)


@pytest.fixture(scope="module")
def transformer(st, tmp_path_factory):
    """A transformer of 16 columns and random weights, in a folder."""
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "a", "dog"]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {
        "vocab_size": len(words),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    BertModel(BertConfig(intermediate_size=16, **sizes)).save_pretrained(folder)
    return str(folder)


def test_pooling_works_within_a_model_that_is_saved_and_opened(st, pooling, transformer, tmp_path):
    from sentence_transformers.base.modules import Transformer

    powers = [-INF, 1, 3, INF]
    parts = [Transformer(transformer), pooling(16, powers)]
    model = st.SentenceTransformer(modules=parts, device="cpu")
    texts = ["the cat sat", "a dog", "the dog sat the cat sat a cat"]
    got = model.encode(texts)
    assert model.get_embedding_dimension() == 64
    for row, tokens in zip(got, model.encode(texts, output_value="token_embeddings"), strict=True):
        expected = [reference.power_mean(tokens.numpy(), p) for p in powers]
        np.testing.assert_allclose(row, np.concatenate(expected), rtol=1e-5, atol=1e-5)

    model.save(str(tmp_path))
    opened = st.SentenceTransformer(str(tmp_path), trust_remote_code=True, device="cpu")
    np.testing.assert_allclose(opened.encode(texts), got, rtol=1e-6)

    model(model.preprocess(texts))["sentence_embedding"].sum().backward()
    word_vectors = model[0].auto_model.embeddings.word_embeddings.weight
    assert word_vectors.grad.isfinite().all()
    assert word_vectors.grad.any()
