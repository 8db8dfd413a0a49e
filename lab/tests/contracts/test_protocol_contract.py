"""What holds of every protocol and of every measure that an experiment can ask for."""

import numpy as np
import pytest

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError, LanguageError
from pmeans.spaces.space import WordSpace
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.protocol import Settings
from pmeans_lab.evaluation.protocols import CLASSIFYING, PROTOCOLS, evaluate

LANGS = ("en", "de", "fr")
N = 120
GENERATOR = np.random.default_rng(7)
LABELS = np.arange(N) % 2
# A sentence is one word; a translation has nearly the same vector, and the class shows in it.
MEANING = GENERATOR.normal(size=(N, 30)).astype(np.float32)
MEANING[:, :5] += 4 * LABELS[:, None] - 2
MEANING = np.tile(MEANING, 10)  # many columns, as SentEval's steps are small and stop early
WORDS = {lang: [f"{lang}{i}" for i in range(N)] for lang in LANGS}
NOISY = [MEANING + 0.3 * GENERATOR.normal(size=MEANING.shape) for _ in LANGS]


@pytest.fixture(scope="module")
def encoder():
    space = WordSpace.from_words("toy", WORDS, np.concatenate(NOISY).astype(np.float32))
    return PowerMeanEncoder(Recipe((Part("toy", (1.0,)),)), {"toy": space})


def dataset(protocol):
    """Return a dataset that suits a protocol."""
    if protocol in [each.name for each in CLASSIFYING]:
        rows = {lang: {"all": Examples(tuple(WORDS[lang]), LABELS)} for lang in LANGS}
        return Dataset("toy", ("no", "yes"), "macro-f1", True, rows)
    zeros = np.zeros(N)
    if protocol == "retrieval":
        rows = {lang: {"test": Examples(tuple(WORDS[lang]), zeros)} for lang in LANGS}
        return Dataset("toy", (), "accuracy", True, rows)
    grades = np.einsum("ij,ij->i", MEANING, np.roll(MEANING, 1, axis=0))
    rows = {
        lang: {
            "first": Examples(tuple(WORDS[lang]), grades),
            "second": Examples(tuple(np.roll(WORDS[lang], 1)), grades),
        }
        for lang in LANGS
    }
    return Dataset("toy", (), "spearman", True, rows)


def scored(protocol, encoder, test_langs=("de", "fr"), **options):
    return evaluate(
        encoder, dataset(protocol), protocol, train_lang="en", test_langs=test_langs, **options
    )


def told(scores):
    """Return scores as values that can be compared."""
    return sorted(
        (s.test_lang, s.split, s.value, s.dev, tuple(s.chosen.items()), s.n_train) for s in scores
    )


everyone = pytest.mark.parametrize("protocol", PROTOCOLS)


@everyone
def test_it_is_known_by_its_own_name_and_has_a_version(protocol):
    assert PROTOCOLS[protocol].name == protocol
    assert PROTOCOLS[protocol].version >= 1


@everyone
def test_what_shows_in_the_vectors_is_found(protocol, encoder):
    for lang in ("de", "fr"):
        values = [s.value for s in scored(protocol, encoder) if s.test_lang == lang]
        assert np.mean(values) > 80


@everyone
def test_the_same_run_gives_the_same_scores(protocol, encoder):
    assert told(scored(protocol, encoder)) == told(scored(protocol, encoder))


@everyone
def test_threads_change_nothing(protocol, encoder):
    assert told(scored(protocol, encoder, n_threads=1)) == told(
        scored(protocol, encoder, n_threads=2)
    )


@everyone
def test_a_language_is_scored_as_it_is_alone(protocol, encoder):
    alone = scored(protocol, encoder, ["fr"])
    assert told(alone) == [each for each in told(scored(protocol, encoder)) if each[0] == "fr"]


@everyone
def test_splits_are_numbered_and_their_predictions_complete(protocol, encoder):
    scores = scored(protocol, encoder, ["de"])
    assert [s.split for s in scores] == list(range(len(scores)))
    for score in scores:
        assert np.isfinite(score.value)
        assert score.n_test > 0
        assert (score.gold is None) == (score.predicted is None) or protocol == "sts"
        if score.gold is not None:
            assert len(score.gold) == len(score.predicted) == score.n_test


@everyone
def test_every_split_notes_the_same_numbers(protocol, encoder):
    scores = scored(protocol, encoder, ["de"])
    assert len({tuple(score.chosen) for score in scores}) == 1
    assert len({score.dev is None for score in scores}) == 1


@everyone
def test_progress_rises_from_zero_and_stays_below_one(protocol, encoder):
    seen = []
    scored(protocol, encoder, progress=lambda share, text: seen.append(share))
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] < 1


@everyone
def test_the_work_is_known_before(protocol):
    assert PROTOCOLS[protocol].fits(dataset(protocol), "en") >= 1


@everyone
def test_a_language_without_rows_is_refused(protocol, encoder):
    with pytest.raises(LanguageError, match="no rows in 'it'"):
        scored(protocol, encoder, ["it"])


@everyone
def test_only_settings_that_it_has_are_taken(protocol, encoder):
    for setting in (Settings(adapt="rows"), Settings(class_weight="balanced")):
        [name] = setting.chosen
        if name in PROTOCOLS[protocol].settings:
            assert scored(protocol, encoder, settings=setting)
        else:
            with pytest.raises(InputError, match=f"has no setting '{name}'"):
                scored(protocol, encoder, settings=setting)


@everyone
def test_a_z_norm_is_not_fitted_on_rows_that_are_measured(protocol, encoder):
    normed = encoder.replace(recipe=Recipe((Part("toy", (1.0,)),), znorm="per_language"))
    if dataset(protocol).classes:
        assert scored(protocol, normed)
    else:
        with pytest.raises(InputError, match="nothing but test rows in 'en'"):
            scored(protocol, normed)
