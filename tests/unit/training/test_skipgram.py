"""Around the engine: ids, subsampling, negatives, epochs, and going on after a kill."""

import numpy as np
import pytest

from pmeans.errors import InputError, StorageError
from pmeans.kernels.numpy_core import ngram_hash, ngram_pieces
from pmeans.tensors import map_tensors
from pmeans.training import word2vec
from pmeans.training.word2vec import LONGEST, Collector, Settings, alias_table


def silent(share: float, what: str) -> None:
    pass


def settings(**changed) -> Settings:
    values = {"dim": 8, "window": 3, "negatives": 4, "epochs": 3, "subsample": 1.0, "rate": 0.05}
    return Settings(**values | changed)


def train(corpus, settings, progress=silent, checkpoint=None):
    """Return the vectors alone."""
    return word2vec.train(
        corpus, settings, shuffle=False, progress=progress, checkpoint=checkpoint
    )[0]


def corpus(n=60, seed=0):
    """Sentences that are either about animals or about tools."""
    rng = np.random.default_rng(seed)
    topics = (["cat", "dog", "cow", "hen"], ["saw", "axe", "file", "drill"])
    collector = Collector()
    for i in range(n):
        collector.add([("en", rng.choice(topics[i % 2], 6).tolist())])
    return collector.corpus(1, seed)


class KilledError(Exception):
    pass


def test_words_are_keyed_by_language_and_ordered_by_frequency():
    collector = Collector()
    collector.add([("en", ["die", "men", "die", "men", "men"]), ("de", ["die", "männer", "die"])])
    found = collector.corpus(2, seed=1)
    assert found.words == {"en": ["men", "die"], "de": ["die"]}
    assert found.counts.tolist() == [3, 2, 2]
    assert found.ids.tolist() == [1, 0, 1, 0, 0, 2, 2]


def test_sentences_are_shuffled_and_keep_their_words_together():
    collector = Collector()
    for i in range(50):
        collector.add([("en", [f"w{i}"] * (i % 4))])
    found = collector.corpus(1, seed=1)
    parts = [found.ids[a:b] for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    assert all(len(part) and len(set(part.tolist())) == 1 for part in parts)
    named = [found.words["en"][part[0]] for part in parts]
    assert sorted(named) == sorted(f"w{i}" for i in range(50) if i % 4)
    assert named != sorted(named, key=lambda word: int(word[1:]))


def test_long_sentences_are_cut():
    collector = Collector()
    collector.add([("en", ["a", "b"] * LONGEST)])
    assert collector.corpus(1, seed=1).offsets.tolist() == [0, LONGEST, 2 * LONGEST]


def test_too_little_text_names_the_language_and_the_count():
    collector = Collector()
    collector.add([("en", ["a", "a", "b", "b"]), ("de", ["c", "d"])])
    with pytest.raises(InputError, match="of de occur 2 times"):
        collector.corpus(2, seed=1)


def test_no_text_at_all_is_too_little():
    with pytest.raises(InputError, match="too little text"):
        Collector().corpus(1, seed=1)


def test_alias_table_draws_in_proportion():
    weights = np.array([5.0, 1, 0.5, 3, 0.01])
    coin, alias = alias_table(weights)
    chance = coin / 2**32
    drawn = chance.copy()
    np.add.at(drawn, alias, 1 - chance)
    np.testing.assert_allclose(drawn / 5, weights / weights.sum(), atol=1e-9)


def test_frequent_words_are_used_less_often():
    # word2vec's formula at a share of 1/2 and a threshold of 1/8: (sqrt(4) + 1) / 4.
    keep = word2vec._kept(np.array([50, 45, 5]), 1 / 8)
    assert keep[0] == int(0.75 * 2**32)
    assert keep[2] == 2**32


def test_words_of_one_topic_end_up_near_each_other():
    found = corpus(300)
    vectors = train(found, settings(epochs=10))
    assert vectors.shape == (8, 8)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    row = {word: unit[i] for i, word in enumerate(found.words["en"])}
    assert row["cat"] @ row["dog"] > row["cat"] @ row["saw"] + 0.3


def test_same_seed_gives_the_same_bytes_and_another_does_not():
    one, same = (train(corpus(), settings()) for _ in range(2))
    other = train(corpus(), settings(seed=2))
    assert one.tobytes() == same.tobytes() != other.tobytes()


@pytest.mark.parametrize("often", [False, True])
def test_killed_and_resumed_gives_the_same_bytes(tmp_path, monkeypatch, often):
    monkeypatch.setattr(word2vec, "_BLOCK_TOKENS", 40)
    monkeypatch.setattr(word2vec, "_CHECKPOINT_TOKENS", 50 if often else 10**9)
    whole = train(corpus(), settings())

    def kill(share: float, what: str) -> None:
        if share > 0.6:
            raise KilledError

    path = tmp_path / "state"
    with pytest.raises(KilledError):
        train(corpus(), settings(), progress=kill, checkpoint=path)
    seen: list[float] = []
    resumed = train(
        corpus(), settings(), progress=lambda share, _: seen.append(share), checkpoint=path
    )
    assert seen[0] > (0.5 if often else 1 / 3)
    assert resumed.tobytes() == whole.tobytes()


def test_state_of_other_settings_or_text_is_refused(tmp_path):
    path = tmp_path / "state"
    train(corpus(), settings(), checkpoint=path)
    with pytest.raises(StorageError, match="another training"):
        train(corpus(), settings(window=2), checkpoint=path)
    with pytest.raises(StorageError, match="another training"):
        train(corpus(seed=5), settings(), checkpoint=path)


def test_state_of_other_ngrams_is_refused(tmp_path):
    path = tmp_path / "state"
    train(corpus(), settings(buckets=50), checkpoint=path)
    with pytest.raises(StorageError, match="another training"):
        train(corpus(), settings(buckets=50, minn=2), checkpoint=path)


def test_pieces_are_hashed_as_unknown_words_are_composed():
    words = ["walked", "mäher", "a"]
    pieces, borders = word2vec._pieces([w.encode() for w in words], settings(buckets=500))
    for i, word in enumerate(words):
        hashes = [ngram_hash(piece) % 500 for piece in ngram_pieces(word, 3, 6)]
        assert pieces[borders[i] : borders[i + 1]].tolist() == [i, *(3 + h for h in hashes)]


def test_a_known_word_is_the_mean_of_its_row_and_its_ngrams_in_every_language(tmp_path):
    collector = Collector()
    for _ in range(10):
        collector.add([("en", ["die", "walked"]), ("de", ["mäher", "die", "die"])])
    found = collector.corpus(1, seed=1)
    vectors, subwords = word2vec.train(
        found,
        settings(buckets=50),
        shuffle=True,
        progress=silent,
        checkpoint=tmp_path / "state",
    )
    rows = map_tensors(tmp_path / "state")[0]["inputs"][:, :8]  # the padding behind is zeros
    np.testing.assert_array_equal(subwords.ngrams, rows[4:])
    for i, word in enumerate(["die", "walked", "die", "mäher"]):
        hashes = [ngram_hash(piece) % 50 for piece in ngram_pieces(word, 3, 6)]
        mean = rows[[i, *(4 + h for h in hashes)]].mean(axis=0)
        np.testing.assert_allclose(vectors[i], mean, rtol=1e-5, atol=1e-7)


def two_words():
    collector = Collector()
    for _ in range(20):
        collector.add([("en", ["a", "b"] * 50)])
    return collector.corpus(1, seed=1)


def test_two_words_that_meet_all_the_time_stay_finite():
    some = settings(rate=0.025, window=10, negatives=10)
    assert np.isfinite(train(two_words(), some)).all()


def test_vectors_that_leave_all_bounds_are_an_error_and_not_nan():
    wild = settings(rate=1.0, window=10, negatives=10)
    with pytest.raises(InputError, match="smaller rate"):
        train(two_words(), wild)


@pytest.mark.parametrize(
    "changed",
    [
        {"dim": 0},
        {"rate": 0.0},
        {"subsample": 2.0},
        {"seed": -1},
        {"buckets": -1},
        {"maxn": 2},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(changed):
    with pytest.raises(InputError, match=next(iter(changed))):
        settings(**changed)
