"""The tanh projection: its gradient, what it learns, how it goes on, what it refuses."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pmeans import training
from pmeans.errors import ConfigError, InputError, LanguageError
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import save_space
from pmeans.training.bag_means import retrieved, sentence_means
from pmeans.training.corpus import PairFile
from pmeans_lab.training.projection import Projection
from pmeans_lab.training.tanh_map import TanhMap, apply, gradients

DIM = 32
WORDS = 60
NUMBERS = np.random.default_rng(7)
ENGLISH = NUMBERS.normal(size=(WORDS, DIM)).astype(np.float32)
ROTATION = np.linalg.qr(NUMBERS.normal(size=(DIM, DIM)))[0].astype(np.float32)
SENTENCES = NUMBERS.integers(0, WORDS, size=(4000, 3))


def silent(share: float, text: str) -> None:
    """No progress."""


def spelled(prefix: str) -> list[str]:
    return [prefix + chr(97 + i // 26) + chr(97 + i % 26) for i in range(WORDS)]


def write_pairs(path: Path, prefix: str, n: int = 500) -> str:
    first, second = spelled("en"), spelled(prefix)
    lines = [
        "\t".join(("talks", " ".join(first[i] for i in ids), " ".join(second[i] for i in ids)))
        for ids in SENTENCES[:n]
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def rotated(turn: np.ndarray = ROTATION, **more: object) -> WordSpace:
    """English and a language that is English, rotated."""
    words = {"en": spelled("en"), "fr": spelled("fr")}
    return WordSpace.from_words("rotated", words, np.concatenate([ENGLISH, ENGLISH @ turn]), **more)


@pytest.fixture
def trainer(tmp_path: Path) -> Projection:
    save_space(rotated(), tmp_path / "rotated.safetensors")
    pairs = PairFile(write_pairs(tmp_path / "en-fr.tsv", "fr"), "en", "fr")
    return Projection("mapped", (str(tmp_path / "rotated.safetensors"),), (pairs,), epochs=4)


def nearest(space: WordSpace, lang: str) -> float:
    """Share of English words whose translation is the nearest word of another language."""
    tables = space.tables["en"], space.tables[lang]
    return float(retrieved(*(space.rows(slice(t.start, t.start + len(t))) for t in tables)).mean())


@pytest.mark.parametrize("dropout", ["input", "output"])
def test_the_gradient_is_the_slope_of_the_loss(dropout):
    rng = np.random.default_rng(1)
    first, second = (TanhMap.glorot(n, 4, rng).weights.astype(np.float64) for n in (5, 3))
    s, t, u = rng.normal(size=(6, 5)), rng.normal(size=(6, 3)), rng.normal(size=(6, 3))

    def run():
        return gradients(first, second, s, t, u, dropout, np.random.default_rng(2))

    _, d_first, d_second = run()
    for weights, gradient in ((first, d_first), (second, d_second)):
        for at in np.ndindex(weights.shape):
            kept = weights[at]
            weights[at] = kept + 1e-6
            above = run()[0]
            weights[at] = kept - 1e-6
            below = run()[0]
            weights[at] = kept
            # atol: a difference of two losses of about 0.5, each right to 1e-16, over 2e-6.
            assert gradient[at] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-8)


def test_the_loss_is_that_of_the_paper_where_nothing_is_dropped():
    weights = np.concatenate([np.eye(2), np.zeros((1, 2))]).astype(np.float32)
    s, t, u = (np.array([row], dtype=np.float32) for row in ([1, 0], [1, 0], [0, 1]))
    # Axes: whatever tanh makes of their lengths, the cosines are 1 and 0.
    rng = _AllKept()
    assert gradients(weights, weights, s, t, u, "input", rng)[0] == 0
    assert gradients(weights, weights, s, u, t, "input", rng)[0] == pytest.approx(1.5)


class _AllKept:
    def integers(self, low, high, shape, dtype):
        return np.ones(shape, dtype)


def test_outputs_lose_the_same_dimensions_in_all_three_sentences():
    weights = np.concatenate([np.eye(2), np.zeros((1, 2))]).astype(np.float32)
    s, u = (np.array([row], dtype=np.float32) for row in ([1, 2], [2, -1]))
    rng = np.random.default_rng(0)
    losses = {round(gradients(weights, weights, s, s, u, "output", rng)[0], 3) for _ in range(64)}
    # The cosines with s and u are 1 and 0 with both dimensions, 1 and 1 with the first, 1 and -1
    # with the second, 0 and 0 with none. With masks of their own s and s would differ: 1.5.
    assert losses == {0, 0.5}


def test_adam_takes_a_first_step_of_its_rate():
    one = TanhMap.glorot(2, 2, np.random.default_rng(0))
    before = one.weights.copy()
    one.step(np.full((3, 2), 0.3, dtype=np.float32))
    np.testing.assert_allclose(before - one.weights, 1e-3, rtol=1e-3)  # float32 near 0.1


def test_weights_begin_within_glorots_bound_and_the_bias_at_a_tenth():
    weights = TanhMap.glorot(40, 20, np.random.default_rng(0)).weights
    bound = np.sqrt(6 / 60)
    assert 0.9 * bound < np.abs(weights[:-1]).max() <= bound
    assert (weights[-1] == np.float32(0.1)).all()


@pytest.mark.parametrize("dropout", ["input", "output"])
def test_a_rotated_space_is_found_again(trainer, tmp_path, dropout):
    write_pairs(tmp_path / "en-fr.tsv", "fr", n=4000)
    before = nearest(rotated(), "fr")
    space = replace(trainer, epochs=100, dropout=dropout).train(progress=silent)
    assert before < 0.1
    assert nearest(space, "fr") > 0.9
    assert space.languages == ("en", "fr")
    assert space.vector("enab", "en") is not None


def test_two_languages_meet_in_the_pivots_space(trainer, tmp_path):
    write_pairs(tmp_path / "en-fr.tsv", "fr", n=4000)
    german_pairs = write_pairs(tmp_path / "en-de.tsv", "de", n=4000)
    other = np.linalg.qr(np.random.default_rng(3).normal(size=(DIM, DIM)))[0]
    german = WordSpace.from_words("german", {"de": spelled("de")}, ENGLISH @ other[:, :30])
    save_space(german, tmp_path / "german.safetensors")
    both = replace(
        trainer,
        spaces=(*trainer.spaces, str(tmp_path / "german.safetensors")),
        pairs=(*trainer.pairs, PairFile(german_pairs, "en", "de")),
        epochs=100,
    )
    space = both.train(progress=silent)
    assert space.dim == DIM
    assert [table.start for table in space.tables.values()] == [0, WORDS, 2 * WORDS]
    assert min(nearest(space, "fr"), nearest(space, "de")) > 0.8


def test_every_word_goes_through_its_languages_map(trainer, tmp_path):
    space = trainer.train(progress=silent, checkpoint=tmp_path / "state")
    kept = training.trainer.map_tensors(tmp_path / "state")[0]
    np.testing.assert_array_equal(space.matrix[:WORDS], apply(kept["best.en"], ENGLISH))
    np.testing.assert_array_equal(space.matrix[WORDS:], apply(kept["best.fr"], ENGLISH @ ROTATION))


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(trainer):
    once, again = trainer.train(progress=silent), trainer.train(progress=silent)
    assert once.matrix.tobytes() == again.matrix.tobytes()
    assert replace(trainer, seed=1).train(progress=silent).matrix.tobytes() != once.matrix.tobytes()


@pytest.mark.parametrize("killed_after", [1, 3])
def test_a_killed_training_ends_with_the_same_bytes(trainer, tmp_path, killed_after):
    def kill(share: float, text: str) -> None:
        if text.startswith(f"epoch {killed_after}"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.train(progress=kill, checkpoint=tmp_path / "state")
    epochs: list[str] = []
    resumed = trainer.train(
        progress=lambda _, text: epochs.append(text.split(":")[0]), checkpoint=tmp_path / "state"
    )
    assert resumed.matrix.tobytes() == trainer.train(progress=silent).matrix.tobytes()
    assert f"epoch {killed_after}" not in epochs


def test_training_ends_when_retrieval_has_not_risen_for_five_epochs(trainer, tmp_path):
    told: list[str] = []
    replace(trainer, epochs=100).train(progress=lambda _, text: told.append(text))
    shares = [float(text.split()[-2]) for text in told if text.startswith("epoch")]
    assert len(shares) < 100
    assert int(np.argmax(shares)) == len(shares) - 6


def test_the_weights_of_the_best_epoch_are_the_ones_applied(trainer):
    told: list[str] = []
    longer = replace(trainer, epochs=100).train(progress=lambda _, text: told.append(text))
    best = sum(text.startswith("epoch") for text in told) - 5
    shorter = replace(trainer, epochs=best).train(progress=silent)
    assert longer.matrix.tobytes() == shorter.matrix.tobytes()


def test_retrieval_is_told_by_source(trainer):
    source = trainer.train(progress=silent).source
    assert re.search(r"480 pairs; test retrieval en-fr [\d.]+ % \(talks [\d.]+\)", source)


def test_a_sentence_is_the_mean_of_its_known_words(toy):
    means, known = sentence_means(toy, "en", ["The cat purred.", "Nothing."])
    np.testing.assert_array_equal(means, [[1.5, 1.5, -4], [0, 0, 0]])
    assert known.tolist() == [True, False]


def test_a_pair_that_is_not_its_own_nearest_is_not_retrieved():
    first = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    second = np.array([[9, 1], [5, 4], [1, 1]], dtype=np.float32)
    assert retrieved(first, second).tolist() == [True, False, True]


def test_the_dimension_can_be_chosen(trainer):
    assert replace(trainer, dim=3).train(progress=silent).dim == 3


def test_a_length_makes_the_size_of_the_vectors_indifferent(trainer, tmp_path):
    first = replace(trainer, length=5.0).train(progress=silent)
    large = replace(rotated(), matrix=rotated().matrix * np.float32(64))
    save_space(large, tmp_path / "rotated.safetensors")
    again = replace(trainer, length=5.0).train(progress=silent)
    assert first.matrix.tobytes() == again.matrix.tobytes()  # by a power of two: nothing rounds
    assert trainer.train(progress=silent).matrix.tobytes() != again.matrix.tobytes()


def test_subwords_are_dropped_as_a_map_of_a_mean_is_no_mean_of_maps(trainer, tmp_path):
    subwords = Subwords(np.ones((5, DIM), dtype=np.float32), 3, 4)
    save_space(rotated(subwords=subwords), tmp_path / "rotated.safetensors")
    assert trainer.train(progress=silent).subwords is None


def test_spaces_of_different_case_are_looked_up_both_ways(trainer, tmp_path):
    english = WordSpace.from_words("e", {"en": spelled("en")}, ENGLISH, case="cased")
    save_space(english, tmp_path / "english.safetensors")
    mixed = replace(trainer, spaces=(str(tmp_path / "english.safetensors"), *trainer.spaces))
    assert mixed.train(progress=silent).case == "cased-then-lower"


def test_toml_names_files_beside_it_and_spaces_by_name(tmp_path):
    (tmp_path / "map.toml").write_text(
        'kind = "projection"\nname = "m"\nspaces = ["news", "./fr.safetensors"]\n'
        '[[pairs]]\npath = "en-fr.tsv"\nfirst = "en"\nsecond = "fr"\n',
        encoding="utf-8",
    )
    made = training.from_toml(tmp_path / "map.toml")
    assert made.spaces == ("news", str(tmp_path / "fr.safetensors"))
    assert made.pairs[0].path == str(tmp_path / "en-fr.tsv")


def test_too_few_pairs_are_refused_with_their_number(trainer, tmp_path):
    write_pairs(tmp_path / "en-fr.tsv", "fr", n=99)
    with pytest.raises(InputError, match=r"99 of 99 pairs have known words .* at least 100"):
        trainer.train(progress=silent)


def test_pairs_without_known_words_are_refused_and_the_side_is_told(trainer, tmp_path):
    write_pairs(tmp_path / "en-fr.tsv", "xx")
    with pytest.raises(InputError, match=r"0 of 500 pairs .* of 0 second ones \(fr\)"):
        trainer.train(progress=silent)


def test_a_language_that_no_space_has_is_refused(trainer):
    pairs = (replace(trainer.pairs[0], second="de"),)
    with pytest.raises(LanguageError, match="'de': rotated has en, fr"):
        replace(trainer, pairs=pairs).train(progress=silent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spaces": ()}, "needs a space"),
        ({"pairs": ()}, "a file of pairs"),
        ({"pivot": "fr"}, "'fr' is the pivot"),
        ({"dim": 0}, "dim = 0"),
        ({"epochs": 0}, "epochs = 0"),
        ({"length": 0.0}, r"length = 0\.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(trainer, change, message):
    with pytest.raises(ConfigError, match=message):
        replace(trainer, **change)


def test_vectors_too_large_for_a_gradient_are_refused(trainer, tmp_path):
    huge = replace(rotated(), matrix=rotated().matrix * np.float32(1e16))
    save_space(huge, tmp_path / "rotated.safetensors")
    with pytest.raises(InputError, match="'rotated' has numbers beyond 1e"):
        trainer.train(progress=silent)


def test_vectors_just_small_enough_give_no_nan(trainer, tmp_path):
    large = replace(rotated(), matrix=rotated().matrix * np.float32(1e14))
    save_space(large, tmp_path / "rotated.safetensors")
    assert np.isfinite(trainer.train(progress=silent).matrix).all()
