"""Attract-Repel: the objective against a plain loop, and what the trainer promises."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import ConfigError, InputError, StorageError
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import save_space
from pmeans.training import from_toml
from pmeans.training.constraints import WordPairFile
from pmeans.training.specialise import AttractRepel, _Learning

WORDS = [f"w{i}" for i in range(12)]


@pytest.fixture
def made(tmp_path):
    """A trainer over twelve random words: w0 w1, w2 w3, w4 w5 attract, w6 w7, w8 w9 repel."""
    vectors = np.random.default_rng(1).normal(size=(12, 6)).astype(np.float32)
    save_space(WordSpace.from_words("start", {"en": WORDS}, vectors), tmp_path / "s.safetensors")
    (tmp_path / "near").write_text("w0 w1\nw2 w3\nw4 w5\n")
    (tmp_path / "far").write_text("w6 w7\nw8 w9\n")
    return AttractRepel(
        name="new",
        space=str(tmp_path / "s.safetensors"),
        attract=(WordPairFile(str(tmp_path / "near"), ("en",)),),
        repel=(WordPairFile(str(tmp_path / "far"), ("en",)),),
        epochs=4,
    )


def quiet(share, words):
    pass


def cost(vectors, original, batch, kind, how):
    """The paper's cost of one batch, word by word."""
    unit = {w: vectors[w] / np.linalg.norm(vectors[w]) for pair in batch for w in pair}
    sign, margin = ((1, how.attract_margin), (-1, how.repel_margin))[kind]
    total = 0.0
    for pair in batch:
        for word, partner in (pair, pair[::-1]):
            others = [sign * unit[word] @ unit[t] for t in unit if t not in pair]
            total += max(0, margin + max(others) - sign * unit[word] @ unit[partner])
    return total + how.regularisation * sum(((unit[w] - original[w]) ** 2).sum() for w in unit)


@pytest.mark.parametrize("margin", [0.0, 1.0])  # at 0, some pairs cost nothing
@pytest.mark.parametrize("kind", [0, 1])
def test_a_step_goes_down_the_gradient_of_the_papers_cost(kind, margin):
    rng = np.random.default_rng(2)
    vectors, original = rng.normal(size=(2, 8, 5))
    vectors[3] += 2 * vectors[2]  # a partner is the closest word of all, another the farthest,
    vectors[6] -= 2 * vectors[5]  # and neither may be the negative of its own pair
    batch = np.array([[0, 1], [2, 3], [0, 4], [5, 6]])  # word 0 twice, word 7 never
    margins = {"attract_margin": margin, "repel_margin": margin}
    how = AttractRepel(name="", space="", attract=(), regularisation=0.3, rate=1.0, **margins)
    learning = _Learning(original, vectors.copy(), [np.zeros((8, 5)) + 1e12 for _ in range(2)], how)
    learning.step(kind, batch)
    gradient = (vectors - learning.vectors) * 1e6  # accounts of 1e12 divide each step by 1e6

    def slope(i, j, h=1e-6):
        nudge = np.zeros_like(vectors)
        nudge[i, j] = h
        up, down = (cost(vectors + s * nudge, original, batch, kind, how) for s in (1, -1))
        return (up - down) / (2 * h)

    expected = [[slope(i, j) for j in range(5)] for i in range(8)]
    # atol: slopes are single precision counts, and differences of 1e-6 keep about six digits.
    np.testing.assert_allclose(gradient, expected, atol=1e-4)


def test_attracted_words_come_closer_and_repelled_ones_move_apart(made):
    before, after = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (
            np.random.default_rng(1).normal(size=(12, 6)),
            made.train(progress=quiet).rows(slice(None)),
        )
    )
    for a, b in ((0, 1), (2, 3), (4, 5)):
        assert after[a] @ after[b] > before[a] @ before[b]
    for a, b in ((6, 7), (8, 9)):
        assert after[a] @ after[b] < before[a] @ before[b]
    # Words of no pair keep their direction, to single precision.
    np.testing.assert_allclose(after[10:], before[10:], atol=1e-6)


def test_all_vectors_of_the_result_have_length_one(made):
    lengths = np.linalg.norm(made.train(progress=quiet).matrix, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(made):
    made = replace(made, batch=2)
    first, again, other = (
        replace(made, seed=seed).train(progress=quiet).matrix.tobytes() for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_a_killed_training_resumes_to_the_same_bytes(made, tmp_path):
    def kill(share, words):
        if share == 0.5:
            raise KeyboardInterrupt

    state = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        made.train(progress=kill, checkpoint=state)
    shares = []
    resumed = made.train(progress=lambda share, words: shares.append(share), checkpoint=state)
    assert shares == [0.0, 0.75, 1.0]
    assert resumed.matrix.tobytes() == made.train(progress=quiet).matrix.tobytes()


def test_a_state_of_other_pairs_is_refused(made, tmp_path):
    made.train(progress=quiet, checkpoint=tmp_path / "state")
    (tmp_path / "near").write_text("w0 w1\nw2 w4\n")
    with pytest.raises(StorageError, match="another training"):
        made.train(progress=quiet, checkpoint=tmp_path / "state")


def test_too_few_pairs_are_an_error(made, tmp_path):
    (tmp_path / "near").write_text("unheard of\n")
    (tmp_path / "far").write_text("w6 w7\nunheard of\n")
    with pytest.raises(InputError, match="0 attract and 1 repel pairs between words of 'start'"):
        made.train(progress=quiet)


def test_a_pair_alone_in_its_batch_and_a_zero_vector_give_no_nan(made, tmp_path):
    vectors = np.ones((12, 3), dtype=np.float32)
    vectors[0] = 0
    save_space(WordSpace.from_words("start", {"en": WORDS}, vectors), tmp_path / "s.safetensors")
    (tmp_path / "far").write_text("w6 w7\n")
    assert np.isfinite(made.train(progress=quiet).matrix).all()


def test_subwords_are_dropped_and_the_source_tells_the_pairs(made, tmp_path):
    subwords = Subwords(np.ones((4, 6), dtype=np.float32), 3, 4)
    start = WordSpace.from_words("start", {"en": WORDS}, np.eye(12, 6) + 1, subwords=subwords)
    save_space(start, tmp_path / "s.safetensors")
    space = made.train(progress=quiet)
    assert space.subwords is None
    assert space.name == "new"
    assert "3 attract and 2 repel pairs" in space.source


def test_languages_are_tied_together_by_translations(tmp_path):
    rng = np.random.default_rng(0)
    words = {"en": ["cat", "dog", "cup"], "de": ["katze", "hund", "tasse"]}
    start = WordSpace.from_words("both", words, rng.normal(size=(6, 8)))
    save_space(start, tmp_path / "s.safetensors")
    (tmp_path / "p").write_text("cat\tkatze\ndog\thund\ncup\ttasse\n")
    pairs = WordPairFile(str(tmp_path / "p"), ("en", "de"))
    path = str(tmp_path / "s.safetensors")
    rows = AttractRepel(name="n", space=path, attract=(pairs,), epochs=20).train(progress=quiet)
    nearest = (rows.matrix[:3] @ rows.matrix[3:].T).argmax(axis=1)
    assert nearest.tolist() == [0, 1, 2]


def test_a_toml_file_names_its_files_relative_to_itself(made, tmp_path):
    (tmp_path / "t.toml").write_text(
        'kind = "attract-repel"\nname = "new"\nspace = "s.safetensors"\nepochs = 4\n'
        'attract = [{ path = "near", languages = ["en"] }]\n'
        'repel = [{ path = "far", languages = ["en"] }]\n'
    )
    assert from_toml(tmp_path / "t.toml") == made


@pytest.mark.parametrize("wrong", [{"batch": 1}, {"epochs": 0}, {"seed": -1}, {"rate": np.inf}])
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises((ConfigError, InputError), match=next(iter(wrong))):
        AttractRepel(name="", space="", attract=(), **wrong)
