"""Words and n-grams fitted together: their gradient, their order, and that a state goes on."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import StorageError
from pmeans.training import students
from pmeans.training.students import Lessons, Schedule, epoch_order, fit

pytest.importorskip("torch", reason="pip install 'pmeans[train]'")

HOW = Schedule(
    epochs=2, batch=8, rate=0.1, contrast=0.2, across=0.7, relations=0.4,
    temperature=0.05, dropout=0.0, own_dropout=0.0, seed=3,
)  # fmt: skip
DIM, BUCKETS = 6, 9


def silent(share, text):
    """No progress."""


@pytest.fixture
def lessons():
    """Twelve sentences of two languages, some words with n-grams, some with a vector of theirs."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 5, size=24)
    targets = rng.normal(size=(12, DIM)).astype(np.float32)
    per_word = np.array([0, 2, 3, 1, 2, 0, 4, 1])
    return Lessons(
        ids=rng.integers(0, 8, size=counts.sum()).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        pairs=np.stack([np.arange(12), np.arange(12, 24)], axis=1),
        langs=np.ones(12, dtype=np.int64),
        targets=(targets / np.linalg.norm(targets, axis=1, keepdims=True)).astype(np.float16),
        own=np.array([0, 1, -1, 2, 3, 4, -1, 5]),
        ngrams=rng.integers(0, BUCKETS, size=per_word.sum()).astype(np.int32),
        borders=np.concatenate([[0], np.cumsum(per_word)]),
    )


@pytest.fixture
def own():
    return np.random.default_rng(1).normal(size=(6, DIM)).astype(np.float32)


def loss_by_hand(lessons, own, ngrams, pairs):
    """The loss in float64, one sentence and one word after the other."""

    def direction(sentence):
        words = lessons.ids[lessons.offsets[sentence] : lessons.offsets[sentence + 1]]
        mean = np.zeros(DIM)
        for word in words:
            rows = lessons.ngrams[lessons.borders[word] : lessons.borders[word + 1]]
            if len(rows):
                mean += ngrams[rows].sum(axis=0) / np.sqrt(len(rows))
            if lessons.own[word] >= 0:
                mean += own[lessons.own[word]]
        return mean / np.sqrt(mean @ mean + students.SHORT**2)

    first, second = (np.array([direction(s) for s in side]) for side in pairs.T)
    goals = lessons.targets[pairs[:, 0]].astype(np.float64)

    def surprise(a, b):
        logits = a @ b.T / HOW.temperature
        return np.mean(np.log(np.exp(logits).sum(axis=1)) - np.diag(logits))

    def relation(a):
        wanted, got = (np.exp(x @ x.T / HOW.temperature) for x in (goals, a))
        for each in (wanted, got):
            np.fill_diagonal(each, 0)
            each /= each.sum(axis=1, keepdims=True)
        np.fill_diagonal(got, 1)  # whose logarithm counts 0 times
        return -(wanted * np.log(got)).sum() / len(pairs)

    taught = surprise(first, goals) + surprise(second, goals)
    met = surprise(first, second) + surprise(second, first)
    related = relation(first) + relation(second)
    near = np.einsum("ij,ij->", first + second, goals) / len(pairs)
    return 2 - near + HOW.contrast * taught + HOW.across * met + HOW.relations * related


def test_a_step_goes_down_the_slope_of_the_loss(lessons, own, monkeypatch):
    gradients = []
    monkeypatch.setattr(
        students._Rows,
        "move",
        lambda self, rows, gradient, rate, step: gradients.append((rows.numpy(), gradient.numpy())),
    )
    ngrams = np.random.default_rng(2).normal(size=(BUCKETS, DIM)).astype(np.float32)
    torch = pytest.importorskip("torch")
    state = {
        "own": students._Rows(torch, "cpu", own),
        "ngrams": students._Rows(torch, "cpu", ngrams),
    }
    pairs = lessons.pairs[:6]
    loss = students._Students(torch, "cpu", lessons, HOW, state).step(
        pairs, 0, np.random.default_rng(0)
    )
    # Cosines of the contrast are products of bfloat16, of 8 bits.
    assert float(loss) == pytest.approx(loss_by_hand(lessons, own, ngrams, pairs), rel=0.02)
    for table, (rows, gradient) in zip((own, ngrams), gradients, strict=True):
        slopes = np.zeros((len(rows), DIM))
        for i, j in np.ndindex(*slopes.shape):
            sides = []
            for move in (1e-4, -1e-4):
                moved = table.astype(np.float64)
                moved[rows[i], j] += move
                tables = (moved, ngrams) if table is own else (own, moved)
                sides.append(loss_by_hand(lessons, *tables, pairs))
            slopes[i, j] = (sides[0] - sides[1]) / 2e-4
        assert np.corrcoef(slopes.ravel(), gradient.ravel())[0, 1] > 0.999
        np.testing.assert_allclose(gradient, slopes, atol=0.05 * np.abs(slopes).max())


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(lessons, own):
    how = replace(HOW, dropout=0.2, own_dropout=0.3)
    once, again = (fit(own, BUCKETS, lessons, how, silent) for _ in range(2))
    other = fit(own, BUCKETS, lessons, replace(how, seed=4), silent)
    for a, b, c in zip(once, again, other, strict=True):
        assert a.tobytes() == b.tobytes() != c.tobytes()


def test_what_was_interrupted_ends_with_the_same_bytes(lessons, own, tmp_path, monkeypatch):
    how = replace(HOW, epochs=3, dropout=0.2, own_dropout=0.3)
    whole = fit(own, BUCKETS, lessons, how, silent)
    learn = students._Students.learn

    def interrupted(self, epoch, progress):
        if epoch == 2:
            raise KeyboardInterrupt
        learn(self, epoch, progress)

    path = tmp_path / "state.safetensors"
    monkeypatch.setattr(students._Students, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(own, BUCKETS, lessons, how, silent, path)
    monkeypatch.undo()
    resumed = fit(own, BUCKETS, lessons, how, silent, path)
    assert [a.tobytes() for a in resumed] == [a.tobytes() for a in whole]
    with pytest.raises(StorageError, match="another training"):
        fit(own, BUCKETS, lessons, replace(how, seed=4), silent, path)


def test_pairs_of_the_same_sentence_are_no_wrong_answers(lessons, own):
    torch = pytest.importorskip("torch")
    state = {"own": students._Rows(torch, "cpu", own)}
    how = replace(HOW, contrast=0.0, relations=0.0)
    pupil = students._Students(torch, "cpu", lessons, how, state)
    means = torch.tensor(np.random.default_rng(5).normal(size=(2, DIM)), dtype=torch.float32)
    # Two pairs of one sentence whose translations are the same: there is nothing to tell apart.
    both = torch.cat([means[:1], means[:1], means[1:], means[1:]])
    goals = torch.nn.functional.normalize(both[:2], dim=1)
    alike = pupil.loss(both, goals, torch.tensor([0, 0, 12, 13]))
    apart = pupil.loss(both, goals, torch.tensor([0, 1, 12, 13]))
    cosine = float(torch.nn.functional.cosine_similarity(means[:1], means[1:]))
    # Directions of means about 2 long are a thousandth short.
    assert float(alike) == pytest.approx(1 - cosine, abs=0.01)
    assert float(apart - alike) == pytest.approx(2 * HOW.across * np.log(2), rel=1e-5)


def test_words_that_start_at_nothing_are_learned(lessons):
    how = replace(HOW, epochs=40, rate=0.05, across=0.0, relations=0.0)
    nothing = np.zeros((6, DIM), dtype=np.float32)
    losses = []
    fit(nothing, BUCKETS, lessons, how, lambda share, text: losses.append(float(text.split()[1])))
    assert losses[-1] < 0.7 * losses[0]


def test_rare_languages_are_drawn_more_often_than_they_have_pairs():
    langs = np.repeat([1, 2], [900, 100])
    order = epoch_order(langs, np.random.default_rng(0))
    drawn = np.bincount(langs[order])
    assert drawn.tolist() == [0, 750, 250]  # as sqrt(900) to sqrt(100)
    assert np.bincount(order[langs[order] == 1]).max() == 1
    times = np.bincount(order[langs[order] == 2], minlength=1000)[900:]
    assert times.min() == 2
    assert times.max() == 3


def test_sentences_without_words_or_with_very_many_are_left_out(lessons):
    lengths = np.diff(lessons.offsets)
    lengths[0], lengths[13] = 0, students.LONGEST + 1
    ids = np.zeros(lengths.sum(), dtype=np.int32)
    changed = replace(lessons, ids=ids, offsets=np.concatenate([[0], np.cumsum(lengths)]))
    assert changed.usable().tolist() == list(range(2, 12))


def test_groups_have_sentences_that_point_to_similar_places():
    rng = np.random.default_rng(6)
    goals = rng.normal(size=(64, DIM)).astype(np.float32)
    goals /= np.linalg.norm(goals, axis=1, keepdims=True)
    groups = students.alike(goals, 8, rng)
    assert [len(group) for group in groups] == [8] * 8
    assert sorted(np.concatenate(groups).tolist()) == list(range(64))
    within = np.mean([(goals[group] @ goals[group].T).mean() for group in groups])
    assert within > (goals @ goals.T).mean() + 0.2


def test_groups_are_not_smaller_than_asked_for():
    goals = np.eye(20, dtype=np.float32)
    groups = students.alike(goals, 8, np.random.default_rng(7))
    assert [len(group) for group in groups] == [10, 10]
    (whole,) = students.alike(goals[:8], 8, np.random.default_rng(7))
    assert sorted(whole.tolist()) == list(range(8))


def test_an_epoch_takes_every_pair_once_in_batches_of_groups(lessons, own, monkeypatch):
    monkeypatch.setattr(students, "COMPARED", 2)
    monkeypatch.setattr(students, "POOL", 2)
    torch = pytest.importorskip("torch")
    how = replace(HOW, batch=4)
    pupil = students._Students(
        torch, "cpu", lessons, how, {"own": students._Rows(torch, "cpu", own)}
    )
    batches = list(pupil._batches(np.arange(12), np.random.default_rng(8)))
    assert [len(batch) for batch in batches] == [4, 4, 4]
    assert sorted(np.concatenate(batches).tolist()) == list(range(12))
