"""InferSent: its rows against a loop in NumPy, its training, and what it refuses."""

import numpy as np
import pytest

import pmeans
from pmeans import WordSpace
from pmeans.building.baseline_file import read_build
from pmeans.errors import ConfigError, FormatError, InputError, LanguageError, PmeansError
from pmeans.models.baselines import Parts, checksum, word_mean
from pmeans.training import read_baseline
from pmeans_lab.baselines.infersent import encoder as infersent
from pmeans_lab.baselines.infersent.encoder import InferSent
from pmeans_lab.baselines.infersent.trainer import _batches

pytestmark = pytest.mark.integrations
pytest.importorskip("torch", reason="pip install 'pmeans[train]'")

DIM, HIDDEN = 5, 3
EN = [f"e{chr(97 + i)}" for i in range(20)]
DE = [f"d{chr(97 + i)}" for i in range(20)]
TEXTS = ["ea", "eb ec", "", "xyzzy", "ea eb ec ed ee ef eg", "eh eh xyzzy ea", "EB ec"]


def space(dim=DIM):
    rng = np.random.default_rng(3)
    first = rng.standard_normal((20, dim)).astype(np.float32)
    second = first + rng.standard_normal((20, dim)).astype(np.float32) / 10
    return WordSpace.from_words("toy", {"en": EN, "de": DE}, np.concatenate([first, second]))


def weights(hidden=HIDDEN, dim=DIM, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {
        "input": (2, 4 * hidden, dim),
        "state": (2, 4 * hidden, hidden),
        "bias": (2, 4 * hidden),
    }
    return {k: rng.standard_normal(shape).astype(np.float16) for k, shape in shapes.items()}


@pytest.fixture
def encoder():
    return InferSent("mine", word_mean(space(), "words"), weights(), {})


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def states(vectors, w, direction):
    """The states of an LSTM after each word, (n_words, hidden), by the textbook."""
    h, c, found = np.zeros(HIDDEN), np.zeros(HIDDEN), []
    for x in vectors:
        gates = w["input"][direction] @ x + w["state"][direction] @ h + w["bias"][direction]
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.array(found)


def by_hand(text, lang="en"):
    vectors, known = space().vectors(text.lower().split(), lang)
    vectors = vectors[known].astype(np.float64)
    if not len(vectors):
        return np.zeros(2 * HIDDEN)
    w = {name: each.astype(np.float64) for name, each in weights().items()}
    both = states(vectors, w, 0), states(vectors[::-1], w, 1)
    return np.concatenate([each.max(axis=0) for each in both])


def test_rows_are_those_of_a_loop_in_numpy(encoder):
    rows = encoder.encode(TEXTS, lang="en")
    # atol: float32 against float64 over seven steps.
    np.testing.assert_allclose(rows, [by_hand(text) for text in TEXTS], atol=1e-6)
    assert not rows[2:4].any()
    assert (rows[[0, 1, 4]] < 0).any()  # zeros of padding would have won


def test_a_row_alone_is_the_row_in_a_batch(encoder):
    together = encoder.encode(TEXTS * 40, lang="en", n_threads=1)
    alone = [encoder.encode(text, lang="en") for text in TEXTS]
    # atol: products of matrices of other sizes add up in another order.
    np.testing.assert_allclose(together, np.tile(alone, (40, 1)), atol=1e-6)


def test_a_long_text_is_the_maximum_of_its_pieces(encoder, monkeypatch):
    monkeypatch.setattr(infersent, "LONGEST", 3)
    long, *pieces = encoder.encode(
        ["ea eb ec ed ee ef eg", "ea eb ec", "ed ee ef", "eg"], lang="en"
    )
    np.testing.assert_allclose(long, np.max(pieces, axis=0), atol=1e-6)


def test_threads_of_torch_are_as_they_were(encoder):
    import torch

    before = torch.get_num_threads()
    encoder.encode(TEXTS, lang="en", n_threads=before + 1)
    assert torch.get_num_threads() == before


def test_what_is_stored_encodes_alike(encoder, tmp_path):
    pmeans.save(encoder, tmp_path / "kept")
    loaded = pmeans.load(tmp_path / "kept")
    np.testing.assert_array_equal(loaded.encode(TEXTS, lang="en"), encoder.encode(TEXTS, lang="en"))
    assert loaded.fingerprint() == encoder.fingerprint()
    told = InferSent("mine", word_mean(space(), "words"), weights(), {"seconds": 3.0})
    assert told.fingerprint() == encoder.fingerprint()
    other = InferSent("mine", word_mean(space(), "words"), weights(seed=1), {})
    assert other.fingerprint() != encoder.fingerprint()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bias": None}, "'bias' is missing"),
        ({"input": np.zeros((2, 12, 7), np.float16)}, r"'input' is \(2, 12, 7\)"),
        ({"state": np.zeros((2, 9, 3), np.float16)}, r"'state' is \(2, 9, 3\)"),
        ({"bias": np.full((2, 12), np.nan, np.float16)}, "NaN"),
        ({"bias": np.zeros((2, 12), np.int64)}, "is of int64"),
    ],
)
def test_weights_that_do_not_fit_are_refused(changed, message):
    given = {k: v for k, v in (weights() | changed).items() if v is not None}
    with pytest.raises(FormatError, match=message):
        InferSent.restored("mine", Parts({}, given, word_mean(space(), "words")))


def test_weights_of_another_version_and_without_words_are_refused(encoder, tmp_path):
    with pytest.raises(FormatError, match="inner encoder is missing"):
        InferSent.restored("mine", Parts({}, weights(), None))
    pmeans.save(encoder, tmp_path / "kept")
    file = tmp_path / "kept" / "baseline.toml"
    file.write_text(file.read_text().replace("format = 1", "format = 9"))
    with pytest.raises(FormatError, match="format 9"):
        pmeans.load(tmp_path / "kept")


PAIRS = 'pairs = [{ path = "pairs.tsv", first = "en", second = "de" }]'
NLI = """
nli = [
  { lang = "en", train = "en/s1.train", dev = "en/s1.train", test = "en/s1.train" },
  { lang = "de", train = "de/s1.train", dev = "de/s1.train", test = "de/s1.train" },
]
"""
ENGLISH = NLI.partition('  { lang = "de"')[0] + "]\n"


def written(folder, more, hidden=8):
    """Write toy material: translations are word by word, and entailed is what is a part."""
    rng = np.random.default_rng(5)
    pmeans.save_space(space(8), folder / "toy.safetensors")
    lines = []
    for _ in range(600):
        some = rng.integers(0, 20, rng.integers(1, 6))
        sides = [EN[i] for i in some], [DE[i] for i in rng.permutation(some)]
        lines.append("\t".join(" ".join(side) for side in sides))
    (folder / "pairs.tsv").write_text("\n".join(lines) + "\n")
    for lang, words in (("en", EN), ("de", DE)):
        (folder / lang).mkdir(exist_ok=True)
        columns = {
            "s1": [words[i % 20] for i in range(60)],
            "s2": [words[(i + i % 3) % 20] for i in range(60)],
            "labels": [("entailment", "neutral", "contradiction")[i % 3] for i in range(60)],
        }
        for name, column in columns.items():
            (folder / lang / f"{name}.train").write_text("\n".join(column) + "\n")
    path = folder / "infersent-toy.toml"
    path.write_text(
        f'kind = "infersent"\nspace = "toy.safetensors"\nhidden = {hidden}\nlayer = 16\n'
        f"batch = 16\nepochs = 4\n{more}\n"
    )
    return path


def silent(share, words):
    pass


def test_translations_are_told_from_unrelated_sentences(tmp_path):
    folder = tmp_path / "made"
    read_build(written(tmp_path, PAIRS, hidden=16)).make(folder, progress=silent)
    made = pmeans.load(folder)
    told = made.settings()
    assert told["test_accuracy"] > 0.85  # 12 + 12 pairs
    assert told["test_accuracies"] == [f"td en-de {told['test_accuracy']:.4f}"]
    assert (told["task"], told["classes"]) == ("TD", ["translation", "unrelated"])
    assert told["samples"] > 1100
    assert told["weights"] == checksum(made.arrays())
    assert made.arrays()["state"].dtype == np.float16
    assert made.encode(["da dc"], lang="de").shape == (1, 32)


@pytest.mark.parametrize(
    ("more", "task", "classes", "groups"),
    [
        (ENGLISH, "NLI", 3, ["nli en-en"]),
        (NLI, "MT", 3, ["nli en-en", "nli en-de", "nli de-en", "nli de-de"]),
        (ENGLISH + PAIRS, "NLI+TD", 5, ["td en-de", "nli en-en"]),
        (NLI + PAIRS, "MT+TD", 5, ["td en-de", "nli en-en", "nli en-de", "nli de-en", "nli de-de"]),
    ],
)
def test_what_is_given_makes_the_task(more, task, classes, groups, tmp_path):
    trainer = read_baseline(written(tmp_path, more))
    assert trainer.task == task
    samples = trainer.samples(silent)
    assert (len(samples.classes), list(samples.names)) == (classes, groups)
    assert set(samples.labels.tolist()) == set(range(classes))
    inference = samples.portions[samples.groups == groups.index("nli en-en")]
    assert (inference == 0).sum() == 60


class Killed(BaseException):
    """As if the process had been killed at this place."""


def test_a_training_that_was_killed_goes_on_to_the_same_weights(tmp_path):
    trainer = read_baseline(written(tmp_path, PAIRS))
    whole = trainer.train(progress=silent)

    def kill(share, words):
        if words.startswith("epoch 3, 0"):
            raise Killed

    state = tmp_path / "state"
    with pytest.raises(Killed):
        trainer.train(progress=kill, checkpoint=state)
    epochs = []
    resumed = trainer.train(progress=lambda _, words: epochs.append(words), checkpoint=state)
    assert not any(words.startswith("epoch 2") for words in epochs)
    assert resumed.fingerprint() == whole.fingerprint()
    other = read_baseline(written(tmp_path, PAIRS + "\nseed = 1"))
    with pytest.raises(PmeansError, match="another training"):
        other.train(progress=silent, checkpoint=state)


def test_one_epoch_is_all_that_little_time_allows(tmp_path):
    trainer = read_baseline(written(tmp_path, PAIRS + "\nminutes = 1e-9"))
    told = trainer.train(progress=silent).settings()
    assert (told["epochs"], told["best_epoch"]) == (1, 1)


def test_batches_have_every_sample_once_and_about_one_length():
    lengths = np.random.default_rng(0).integers(1, 100, 5000)
    batches = list(_batches(lengths, 32, np.random.default_rng(1)))
    np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(5000))
    assert max(np.ptp(lengths[some]) for some in batches) < 10


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ("", ConfigError, "name files under pairs, nli, or both"),
        (PAIRS + "\nrate = 0", ConfigError, "rate must be above 0"),
        (PAIRS + "\nminutes = 0", ConfigError, "minutes must be above 0"),
        (PAIRS + "\nseed = -1", ConfigError, "seed must be at least 0"),
        (NLI.replace('"de"', '"en"'), ConfigError, "two corpora under nli are 'en'"),
        (PAIRS.replace('"de"', '"fr"'), LanguageError, "no language 'fr'"),
        (NLI.replace('"de"', '"fr"'), LanguageError, "no language 'fr'"),
        (PAIRS.replace("pairs.tsv", "few.tsv"), InputError, "too few pairs to hold any out"),
        (PAIRS.replace("pairs.tsv", "empty.tsv"), InputError, "no pairs of sentences"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(more, error, message, tmp_path):
    (tmp_path / "few.tsv").write_text("ea\tda\neb\tdb\n")
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(error, match=message):
        read_baseline(written(tmp_path, more)).samples(silent)


def test_a_rate_that_diverges_is_refused(tmp_path):
    trainer = read_baseline(written(tmp_path, PAIRS + "\nrate = 1e38"))
    with pytest.raises(InputError, match="take a lower rate"):
        trainer.train(progress=silent)
