"""Siamese-CBOW, CVM-add, Sent2Vec: losses by finite differences, and toy text that is learned."""

import numpy as np
import pytest

import pmeans
from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import ConfigError, InputError, StorageError
from pmeans.training import read_baseline
from pmeans.training.bivcd import LanguageText
from pmeans.training.corpus import PairFile
from pmeans_lab.baselines import siamese_cbow
from pmeans_lab.baselines.cvm_add import trainer as cvm_add
from pmeans_lab.baselines.cvm_add.trainer import CvmAdd
from pmeans_lab.baselines.sent2vec import trainer as sent2vec_fit
from pmeans_lab.baselines.sent2vec.trainer import TrainSent2Vec
from pmeans_lab.baselines.sentence_ids import running
from pmeans_lab.baselines.siamese_cbow import SiameseCbow

pytestmark = pytest.mark.integrations
RNG = np.random.default_rng(5)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="pip install 'pmeans[train]'")


def quiet(share, words):
    """Take no notice of progress."""


def check_gradient(torch, loss, *arrays):
    """Compare torch's gradient of a loss in each array with central differences, in float64."""
    tensors = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in arrays]
    loss(*tensors).backward()
    step = 1e-6
    for which, array in enumerate(arrays):
        for at in np.ndindex(array.shape):
            values = []
            for sign in (step, -step):
                moved = [each.copy() for each in arrays]
                moved[which][at] += sign
                values.append(float(loss(*(torch.tensor(each) for each in moved))))
            numeric = (values[0] - values[1]) / (2 * step)
            # Differences of a loss near 1 over 2e-6 carry about 1e-9 of rounding.
            assert float(tensors[which].grad[at]) == pytest.approx(numeric, rel=1e-5, abs=1e-7)


# --- Losses -----------------------------------------------------------------------------------


def test_the_loss_of_siamese_cbow_has_the_gradient_of_finite_differences(torch):
    there = torch.tensor([[True, False, True], [True, True, False], [True] * 3, [True] * 3])
    means = RNG.standard_normal((5, 3, 4))
    check_gradient(torch, lambda m: siamese_cbow.loss(torch, m, there), means)


@pytest.mark.parametrize("neighbours", [[True, True], [True, False], [False, True]])
def test_the_loss_of_siamese_cbow_is_the_papers(torch, neighbours):
    means = RNG.standard_normal((5, 1, 4))
    there = np.array([*neighbours, True, True])
    unit = means[:, 0] / np.linalg.norm(means[:, 0], axis=1, keepdims=True)
    chances = np.exp(unit[1:] @ unit[0]) * there
    chances /= chances.sum()
    found = siamese_cbow.loss(torch, torch.tensor(means), torch.tensor(there[:, None]))
    assert float(found) == pytest.approx(-np.log(chances[:2][neighbours]).mean())


def test_the_loss_of_cvm_add_has_the_gradient_of_finite_differences(torch):
    first, second = RNG.standard_normal((2, 4, 3))
    others = torch.tensor([[1, 2], [2, 3], [3, 0], [0, 1]])
    check_gradient(torch, lambda a, b: cvm_add.loss(torch, a, b, others, 5.0), first, second)


def test_the_loss_of_cvm_add_is_the_papers(torch):
    first, second = RNG.standard_normal((2, 4, 3))
    others = [[1, 2], [2, 3], [3, 0], [0, 1]]
    expected = 0.0
    for i, j in ((i, j) for i, listed in enumerate(others) for j in listed):
        near = np.sum((first[i] - second[i]) ** 2)
        expected += max(0, 5 + near - np.sum((first[i] - second[j]) ** 2))
        expected += max(0, 5 + near - np.sum((second[i] - first[j]) ** 2))
    found = cvm_add.loss(torch, *map(torch.tensor, (first, second, others)), 5.0)
    assert float(found) == pytest.approx(expected)


# Sentences of three words, two and one. Of the first, the bigram of the last two was dropped.
OWNER = [0, 0, 0, 1, 1, 2]
HAS = [False, True, False, False, True, False]
CHOSEN = [0, 1, 4, 5]


def test_the_loss_of_sent2vec_has_the_gradient_of_finite_differences(torch):
    owner, has, chosen = map(torch.tensor, (OWNER, HAS, CHOSEN))
    wanted = torch.tensor([[4, 4, 9], [7, 1, 2], [2, 3, 4], [3, 1, 2]])

    def loss(words, bigrams, targets):
        pair = torch.zeros_like(words)
        pair[has] = bigrams
        context, size = sent2vec_fit.contexts(torch, words, pair, has, owner, chosen)
        return sent2vec_fit.loss(torch, context, targets, wanted, size > 0)

    shapes = ((6, 4), (2, 4), (4, 3, 4))
    check_gradient(torch, loss, *(RNG.standard_normal(shape) for shape in shapes))


def test_the_loss_of_sent2vec_is_the_papers_without_negatives_that_are_the_target(torch):
    context, targets = RNG.standard_normal((2, 4)), RNG.standard_normal((2, 3, 4))
    wanted = torch.tensor([[7, 1, 7], [5, 5, 2]])
    scores = np.einsum("ijk,ik->ij", targets, context)
    signed = [scores[0, 0], -scores[0, 1], scores[1, 0], -scores[1, 2]]
    expected = -np.log(1 / (1 + np.exp(-np.array(signed)))).sum() / 2
    there = torch.tensor([True, True])
    found = sent2vec_fit.loss(torch, torch.tensor(context), torch.tensor(targets), wanted, there)
    assert float(found) == pytest.approx(expected)


def test_a_target_and_its_bigrams_are_not_in_its_own_context(torch):
    words, bigrams = RNG.standard_normal((2, 6, 4))
    bigrams[~np.array(HAS)] = 0
    tensors = map(torch.tensor, (words, bigrams, HAS, OWNER, CHOSEN))
    context, size = sent2vec_fit.contexts(torch, *tensors)
    # Word 0 has words 1 and 2 beside it, and no bigram: 0-1 has it. Word 1 ends 0-1. Word 4 ends
    # 3-4. Word 5 is alone.
    expected = [(words[1] + words[2]) / 2, (words[0] + words[2]) / 2, words[3], np.zeros(4)]
    np.testing.assert_allclose(context, expected, atol=1e-12)
    assert size.tolist() == [2, 2, 1, 0]


def test_so_many_bigrams_of_each_sentence_are_dropped(torch):
    bigrams = torch.tensor([-1, 5, 6, 7, -1, 8, -1])
    owner = torch.tensor([0, 0, 0, 0, 1, 1, 2])
    draws = torch.tensor([0.0, 0.9, 0.1, 0.5, 0.0, 0.7, 0.0])
    found = {n: sent2vec_fit.dropped(torch, bigrams, owner, draws, n).tolist() for n in range(4)}
    assert found[0] == [-1, 5, 6, 7, -1, 8, -1]
    assert found[1] == [-1, 5, -1, 7, -1, -1, -1]
    assert found[2] == [-1, 5, -1, -1, -1, -1, -1]
    assert found[3] == [-1] * 7


# --- Training ---------------------------------------------------------------------------------

TOPICS = [[f"t{t}w{i}" for i in range(6)] for t in range(4)]
WORDS = [word for topic in TOPICS for word in topic]
SAME = np.kron(np.eye(4), np.ones((6, 6))) > 0


@pytest.fixture
def text(tmp_path):
    """Texts of three sentences, each of one of four topics."""
    rng = np.random.default_rng(1)
    lines = [
        " ".join(" ".join(rng.choice(TOPICS[topic], 5)) + "." for _ in range(3))
        for topic in rng.integers(0, 4, 250)
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    return (LanguageText(str(tmp_path / "text.txt"), lang="en"),)


@pytest.fixture
def pairs(tmp_path):
    rng = np.random.default_rng(2)
    english = [" ".join(rng.choice(WORDS, 4)) for _ in range(600)]
    lines = [f"{each}\t{each.replace('t', 'd')}" for each in english]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    return (PairFile(str(tmp_path / "pairs.tsv"), "en", "de"),)


def vectors(space, lang, words):
    rows = dict(zip(space.words(lang), space.matrix[space.table(lang).start :], strict=False))
    return unit_rows(np.array([rows[word] for word in words], dtype=np.float32))


def test_siamese_cbow_puts_words_of_neighbouring_sentences_together(torch, text):
    trainer = SiameseCbow("toy", text, dim=12, epochs=4, batch=64, min_count=1)
    rows = vectors(trainer.train(progress=quiet), "en", WORDS)
    cosines = rows @ rows.T
    assert cosines[SAME].mean() > cosines[~SAME].mean() + 0.5


def test_sent2vec_puts_words_of_the_same_sentences_together(torch, text):
    trainer = TrainSent2Vec(
        text, "toy", dim=12, epochs=6, batch=64, min_count=1, dropout=1, subsample=1e-2
    )
    made = trainer.train(progress=quiet)
    rows = vectors(made.space, "en", WORDS)
    cosines = rows @ rows.T
    assert cosines[SAME].mean() > cosines[~SAME].mean() + 0.3
    assert len(made.arrays()["keys"]) > 100


def test_cvm_add_puts_translations_together(torch, pairs):
    trainer = CvmAdd("toy", pairs, dim=16, epochs=6, batch=64)
    space = trainer.train(progress=quiet)
    english = vectors(space, "en", WORDS)
    german = vectors(space, "de", [word.replace("t", "d") for word in WORDS])
    assert (np.argmax(english @ german.T, axis=1) == np.arange(24)).mean() > 0.9


def test_an_epoch_of_cvm_add_has_the_penalty_once(torch, pairs):
    def whole(penalty):
        """Return the loss of all pairs as one batch, and the squared length of all vectors."""
        trainer = CvmAdd("toy", pairs, dim=3, batch=1000, penalty=penalty)
        descent = trainer.descent(trainer.samples(quiet))
        (batch,) = descent.batches(np.random.default_rng(0))
        before = float((descent.tables["words"].double() ** 2).sum())
        return float(descent.step(batch, torch.Generator().manual_seed(0))) * len(batch), before

    (bare, _), (more, length) = whole(0.0), whole(50.0)
    # rel: the difference of two sums in float32.
    assert more - bare == pytest.approx(50.0 / 2 * length, rel=1e-3)


def test_vectors_are_stored_as_precision_says(torch, pairs, text):
    space = CvmAdd("toy", pairs, dim=4, epochs=1, precision="int8").train(progress=quiet)
    assert (space.matrix.dtype, space.scale.dtype) == (np.int8, np.float32)
    assert CvmAdd("toy", pairs, dim=4, epochs=1, precision="int4").train(progress=quiet).dim == 4
    made = TrainSent2Vec(text, "toy", dim=4, epochs=1, precision="int4").train(progress=quiet)
    assert made.space.precision == "int4"
    assert made.arrays()["vectors"].dtype == np.uint8
    assert made.encode(["a b"], lang="en").shape == (1, 4)
    made = TrainSent2Vec(text, "toy", dim=4, epochs=1, precision="float16").train(progress=quiet)
    assert made.space.matrix.dtype == made.arrays()["vectors"].dtype == np.float16


def test_sent2vec_goes_on_after_a_kill_to_the_same_bytes(torch, text, tmp_path):
    trainer = TrainSent2Vec(text, "toy", dim=4, epochs=3, batch=256, min_count=1)
    whole = trainer.train(progress=quiet).fingerprint()
    assert trainer.train(progress=quiet).fingerprint() == whole

    class Killed(BaseException):
        pass

    def kill(share, words):
        if "epoch 3" in words:
            raise Killed

    with pytest.raises(Killed):
        trainer.train(progress=kill, checkpoint=tmp_path / "state")
    seen = []
    resumed = trainer.train(
        progress=lambda share, words: seen.append(words), checkpoint=tmp_path / "state"
    )
    assert resumed.fingerprint() == whole
    assert not any("epoch 1" in words for words in seen)
    other = TrainSent2Vec(text, "toy", dim=4, epochs=3, batch=256, min_count=1, negatives=3)
    with pytest.raises(StorageError, match="state of another training"):
        other.train(progress=quiet, checkpoint=tmp_path / "state")


def test_no_epoch_is_begun_after_the_time_is_up(torch, text):
    seen = []
    trainer = SiameseCbow("toy", text, dim=4, epochs=9, batch=256, min_count=1, minutes=1e-9)
    trainer.train(progress=lambda share, words: seen.append((share, words)))
    assert seen[-1] == (1.0, "the time is up after 1 epochs")


def test_one_word_sentences_leave_nothing_to_predict_from(torch, tmp_path):
    (tmp_path / "single.txt").write_text("dog\ncat\ndog\n")
    texts = (LanguageText(str(tmp_path / "single.txt"), lang="en"),)
    with pytest.raises(InputError, match=r"single\.txt: no sentence has two known words"):
        TrainSent2Vec(texts, "toy", min_count=1).train(progress=quiet)
    with pytest.raises(InputError, match=r"single\.txt: no two sentences .* follow each other"):
        SiameseCbow("toy", texts, min_count=1).train(progress=quiet)


def test_a_single_pair_of_two_languages_has_no_other_to_be_told_from(torch, tmp_path):
    for lang in ("de", "fr"):
        (tmp_path / f"{lang}.tsv").write_text("a dog\tein hund\n")
    pairs = tuple(PairFile(str(tmp_path / f"{lang}.tsv"), "en", lang) for lang in ("de", "fr"))
    with pytest.raises(InputError, match=r"de\.tsv, fr\.tsv: no two pairs of the same two"):
        CvmAdd("toy", pairs, min_count=1).train(progress=quiet)


def test_neighbours_end_with_the_text(tmp_path):
    (tmp_path / "text.txt").write_text("A dog. A cat. A dog.\nA cat.\nA dog. A cat.\n")
    texts = [LanguageText(str(tmp_path / "text.txt"), lang="en")]
    anchors, before, after = siamese_cbow.neighbours(running(texts, 9, 1, quiet))
    assert [*zip(anchors, before, after, strict=True)] == [
        (0, -1, 1), (1, 0, 2), (2, 1, -1), (6, -1, 7), (7, 6, -1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "settings", "message"),
    [
        (SiameseCbow, {"dim": 0}, "dim must be at least 1"),
        (SiameseCbow, {"rate": 0.0}, "rate must be above 0"),
        (SiameseCbow, {"seed": -1}, "seed"),
        (SiameseCbow, {"minutes": 0.0}, "minutes must be above 0"),
        (CvmAdd, {"batch": 1}, "batch must be at least 2"),
        (CvmAdd, {"margin": 0.0}, "margin must be above 0"),
        (CvmAdd, {"penalty": -1.0}, "penalty must be at least 0"),
        (TrainSent2Vec, {"bigrams": -1}, "bigrams must be at least 0"),
        (TrainSent2Vec, {"subsample": 0.0}, "subsample must be above 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(cls, settings, message):
    files = {"pairs": ()} if cls is CvmAdd else {"texts": ()}
    with pytest.raises((ConfigError, InputError), match=message):
        cls(name="toy", **files, **settings)


def test_the_build_file_of_a_sum_makes_one(torch, pairs, tmp_path):
    space = CvmAdd("toy", pairs, dim=4, epochs=1).train(progress=quiet)
    pmeans.save_space(space, tmp_path / "toy.safetensors")
    (tmp_path / "sum.toml").write_text('kind = "sum"\nspace = "toy.safetensors"\n')
    made = read_baseline(tmp_path / "sum.toml").train(progress=quiet)
    assert (made.name, made.kind, made.languages) == ("sum", "sum", ("de", "en"))
