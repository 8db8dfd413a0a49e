"""What the protocols do with folds, seeds and languages, on words one can see through."""

import numpy as np
import pytest

from pmeans import kernels
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.features import Features
from pmeans_lab.evaluation.protocol import Job, Settings, Trainer, outer_splits
from pmeans_lab.evaluation.protocols import CLASSIFYING, PROTOCOLS, evaluate
from pmeans_lab.evaluation.protocols.modern import calibration_error

GENERATOR = np.random.default_rng(0)


def problem(n=120, n_classes=2, parts=None, langs=("en", "de")):
    """Sentences of one word, whose class shows in its vector, but for some noise."""
    labels = np.arange(n) % n_classes
    words, matrix, data = {}, [], {}
    for lang in langs:
        names = tuple(f"{lang}{i}" for i in range(n))
        noise = GENERATOR.normal(size=(n, 5)).astype(np.float32)
        noise[np.arange(n), labels] += 3
        # Many columns, as SentEval's steps are small and stop early on so few rows.
        words[lang] = names
        matrix.append(np.tile(noise, 60))
        if parts is None:
            data[lang] = {"all": Examples(names, labels)}
        else:
            borders = np.linspace(0, n, len(parts) + 1).astype(int)
            data[lang] = {
                part: Examples(names[a:b], labels[a:b])
                for part, a, b in zip(parts, borders[:-1], borders[1:], strict=True)
            }
    classes = tuple(map(str, range(n_classes)))
    space = WordSpace.from_words("table", words, np.concatenate(matrix))
    encoder = PowerMeanEncoder(Recipe((Part("table", (1.0,)),)), {"table": space})
    return encoder, Dataset("toy", classes, "macro-f1", True, data)


@pytest.mark.parametrize("protocol", [each.name for each in CLASSIFYING])
def test_a_class_that_shows_is_learned_in_both_languages(protocol):
    encoder, dataset = problem(n_classes=3)
    scores = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["en", "de"])
    for lang in ("en", "de"):
        assert np.mean([s.value for s in scores if s.test_lang == lang]) > 80


@pytest.mark.parametrize(
    ("protocol", "splits"), [("senteval-2018", 10), ("modern", 5), ("transfer", 5)]
)
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
@pytest.mark.parametrize("protocol", ["senteval-2018", "modern", "transfer"])
def test_a_published_test_part_gives_one_score(protocol, parts):
    encoder, dataset = problem(n=300, parts=parts)
    [score] = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["de"])
    assert score.n_test == 300 // len(parts)
    assert score.value > 80


@pytest.mark.parametrize("protocol", [each.name for each in CLASSIFYING])
def test_the_test_language_does_not_change_what_is_trained(protocol):
    encoder, dataset = problem()
    both = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["de", "en"])
    alone = evaluate(encoder, dataset, protocol, train_lang="en", test_langs=["en"])
    assert [s.value for s in both if s.test_lang == "en"] == [s.value for s in alone]


@pytest.mark.parametrize("protocol", ["senteval-2018", "ukp-subsample"])
def test_how_much_is_trained_at_once_changes_nothing(protocol):
    encoder, dataset = problem()

    def values(groups):
        trainer = Trainer(kernels.train_classifiers, groups)
        features = Features(encoder, dataset)
        job = Job(dataset, features, "en", ["en"], trainer, lambda *_: None)
        scores = PROTOCOLS[protocol].run(job)
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


@pytest.mark.parametrize("protocol", [each.name for each in CLASSIFYING])
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


@pytest.mark.parametrize("protocol", [each.name for each in CLASSIFYING])
def test_languages_of_different_sizes_are_split_on_their_own(protocol):
    encoder, dataset = problem()
    rows = dataset.rows["de"]["all"]
    shorter = Examples(rows.sentences[:90], rows.labels[:90])
    uneven = Dataset(
        "toy", dataset.classes, "accuracy", False, {**dataset.rows, "de": {"all": shorter}}
    )
    scores = evaluate(encoder, uneven, protocol, train_lang="en", test_langs=["de"])
    assert np.mean([s.value for s in scores]) > 80
    if protocol != "ukp-subsample":
        assert sum(s.n_test for s in scores) == 90


def transferred(dataset, encoder, **settings):
    return evaluate(
        encoder,
        dataset,
        "transfer",
        train_lang="en",
        test_langs=["de"],
        settings=Settings(**settings),
    )


def shifted():
    """A language whose rows lie elsewhere than those that are trained on."""
    encoder, dataset = problem(n=1200)
    space = encoder.spaces["table"]
    start = space.tables["de"].start
    space.matrix[start:, ::5] += 8
    return dataset, encoder


@pytest.mark.parametrize("adapt", ["rows", "test"])
def test_adapting_brings_a_shifted_language_back(adapt):
    before, after = transferred(*shifted()), transferred(*shifted(), adapt=adapt)
    gain = np.mean([s.value for s in after]) - np.mean([s.value for s in before])
    assert gain > 20


def test_adapting_to_rows_does_not_look_at_the_test_rows():
    dataset, encoder = shifted()
    scores = transferred(dataset, encoder, adapt="rows")
    fold = outer_splits(dataset, "de", 5, 0)[0][3]
    start = encoder.spaces["table"].tables["de"].start
    encoder.spaces["table"].matrix[start + fold, ::5] += 100
    again = transferred(dataset, encoder, adapt="rows")
    # The test rows of the first fold became nonsense, and what it was adapted to did not.
    assert scores[0].dev == again[0].dev
    assert len(set(again[0].predicted)) == 1


def test_balanced_classes_help_the_rare_one():
    encoder, dataset = problem(n=240)
    rows = dataset.rows["en"]["all"]
    few = np.flatnonzero((rows.labels == 0) | (np.arange(240) % 8 == 1))
    rare = Examples(tuple(rows.sentences[i] for i in few), rows.labels[few])
    uneven = Dataset(
        "toy", dataset.classes, "macro-f1", False, {**dataset.rows, "en": {"all": rare}}
    )
    plain, even = (
        np.concatenate([s.predicted for s in transferred(uneven, encoder, **settings)]).mean()
        for settings in ({}, {"class_weight": "balanced"})
    )
    assert even > plain


def test_a_setting_that_a_protocol_lacks_is_refused():
    encoder, dataset = problem()
    with pytest.raises(InputError, match=r"'modern' has no setting 'adapt'\. It has: none"):
        evaluate(
            encoder,
            dataset,
            "modern",
            train_lang="en",
            test_langs=["de"],
            settings=Settings(adapt="rows"),
        )


def test_calibration_error_is_that_of_a_calculation_by_hand():
    # Two bins: 0.9, 0.9 with one right are off by 0.4 each; 0.6 right is off by 0.4.
    confidence, right = np.array([0.9, 0.9, 0.6]), np.array([True, False, True])
    assert calibration_error(confidence, right) == pytest.approx(100 * (0.8 + 0.4) / 3)
