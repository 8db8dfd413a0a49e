"""What the protocols do with folds, seeds and languages, on words one can see through."""

import numpy as np
import pytest

from pmeans import kernels
from pmeans.evaluation.features import Features
from pmeans.evaluation.protocols import PROTOCOLS, evaluate, senteval, ukp
from pmeans.evaluation.protocols.training import Job, Trainer
from pmeans.evaluation.types import Dataset, Rows

GENERATOR = np.random.default_rng(0)


class Table:
    """An encoder that knows the row of every sentence by heart."""

    name = "table"

    def __init__(self, rows):
        self.rows, self.dim = rows, len(next(iter(rows.values())))

    def encode(self, sentences, *, lang=None):
        return np.array([self.rows[sentence] for sentence in sentences], dtype=np.float32)


def problem(n=120, n_classes=2, parts=None, langs=("en", "de")):
    """Sentences whose class shows in their row, but for some noise."""
    labels = np.arange(n) % n_classes
    table, data = {}, {}
    for lang in langs:
        names = tuple(f"{lang}{i}" for i in range(n))
        noise = GENERATOR.normal(size=(n, 5)).astype(np.float32)
        noise[np.arange(n), labels] += 3
        # Many columns, as SentEval's steps are small and stop early on so few rows.
        table |= dict(zip(names, np.tile(noise, 60), strict=True))
        if parts is None:
            data[lang] = {"all": Rows(names, labels)}
        else:
            borders = np.linspace(0, n, len(parts) + 1).astype(int)
            data[lang] = {
                part: Rows(names[a:b], labels[a:b])
                for part, a, b in zip(parts, borders[:-1], borders[1:], strict=True)
            }
    classes = tuple(map(str, range(n_classes)))
    return Table(table), Dataset("toy", classes, "macro-f1", True, data)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_class_that_shows_is_learned_in_both_languages(protocol):
    encoder, dataset = problem(n_classes=3)
    scores = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["en", "de"])
    for lang in ("en", "de"):
        assert np.mean([s.value for s in scores if s.test_lang == lang]) > 80


@pytest.mark.parametrize(("protocol", "splits"), [("senteval-2018", 10), ("modern", 5)])
def test_folds_test_every_row_once(protocol, splits):
    encoder, dataset = problem()
    scores = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["en"])
    assert [s.split for s in scores] == list(range(splits))
    assert sum(s.n_test for s in scores) == 120
    assert sorted(np.concatenate([s.gold for s in scores])) == [0] * 60 + [1] * 60


def test_fifty_repetitions_are_scored_with_one_learning_rate():
    encoder, dataset = problem()
    scores = evaluate(encoder, dataset, "ukp-subsample", train_lang="en", test_langs=["en"])
    assert [s.seed for s in scores] == list(range(50))
    assert len({s.chosen["rate"] for s in scores}) == 1
    assert {(s.n_train, s.n_test) for s in scores} == {(72, 24)}


@pytest.mark.parametrize("parts", [("train", "test"), ("train", "dev", "test")])
@pytest.mark.parametrize("protocol", ["senteval-2018", "modern"])
def test_a_published_test_part_gives_one_score(protocol, parts):
    encoder, dataset = problem(n=300, parts=parts)
    [score] = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["de"])
    assert score.n_test == 300 // len(parts)
    assert score.value > 80


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_test_language_does_not_change_what_is_trained(protocol):
    encoder, dataset = problem()
    both = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["de", "en"])
    alone = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["en"])
    assert [s.value for s in both if s.test_lang == "en"] == [s.value for s in alone]


@pytest.mark.parametrize("protocol", [senteval, ukp])
def test_how_much_is_trained_at_once_changes_nothing(protocol):
    encoder, dataset = problem()

    def values(groups):
        trainer = Trainer(kernels.train_classifiers, groups)
        features = Features(encoder, dataset)
        scores = protocol.run(Job(dataset, features, "en", ["en"], trainer, lambda *_: None))
        return [(s.split, s.value, s.chosen) for s in scores]

    assert values(1) == values(25) == values(1000)


def test_portions_keep_a_trainer_busy_and_no_more():
    trainer = Trainer(kernels.train_classifiers, 25)
    assert list(trainer.portions(10, 10, groups_each=10)) == [
        range(3),
        range(3, 6),
        range(6, 9),
        range(9, 10),
    ]
    assert list(trainer.portions(10, 1, groups_each=10)) == [range(k, k + 1) for k in range(10)]
    assert list(trainer.portions(3, 8)) == [range(3)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_progress_rises_towards_one(protocol):
    encoder, dataset = problem()
    seen = []
    evaluate(
        encoder,
        dataset,
        protocol,
        train_lang="en",
        test_langs=["en"],
        progress=lambda done, text: seen.append(done),
    )
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] < 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_languages_of_different_sizes_are_split_on_their_own(protocol):
    encoder, dataset = problem()
    rows = dataset.rows["de"]["all"]
    shorter = Rows(rows.sentences[:90], rows.labels[:90])
    uneven = Dataset(
        "toy", dataset.classes, "accuracy", False, {**dataset.rows, "de": {"all": shorter}}
    )
    scores = evaluate(encoder, uneven, protocol, train_lang="en", test_langs=["de"])
    assert np.mean([s.value for s in scores]) > 80
    if protocol != "ukp-subsample":
        assert sum(s.n_test for s in scores) == 90
