"""Test rows may change as they like: what is fitted on training rows does not move a bit.

That is a z-norm of the ``train`` scope, what SIF and uSIF take out, and the words of TF-IDF.

Every matrix that is trained on, every weight, chosen penalty and chosen rate is recorded, once with
the true test sentences and once with nonsense in their place.
"""

import numpy as np
import pytest

from pmeans import kernels
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.models.baselines import plain_mean
from pmeans.spaces.space import WordSpace
from pmeans_lab.baselines.sif.encoder import Sif, Usif
from pmeans_lab.baselines.tfidf.encoder import Tfidf
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.features import Features
from pmeans_lab.evaluation.protocol import Job, Trainer
from pmeans_lab.evaluation.protocols import modern
from pmeans_lab.evaluation.protocols import senteval_2018 as senteval
from pmeans_lab.evaluation.protocols import ukp_subsample as ukp
from pmeans_lab.evaluation.protocols.modern import TRANSFER
from pmeans_lab.evaluation.random_splits import stratified_folds, subsample

GENERATOR = np.random.default_rng(5)
VOCABULARY = [f"w{i}" for i in range(60)]
MATRIX = GENERATOR.normal(size=(60, 4)).astype(np.float32)
MATRIX[50:] *= 1000  # words of the nonsense, which would move any statistic
LABELS = np.arange(160) % 2
SENTENCES = [
    " ".join(GENERATOR.choice(VOCABULARY[label * 15 : 35 + label * 15], 6)) for label in LABELS
]


def encoder(scope):
    """Return an encoder with a z-norm of a scope, or a baseline that is to be fitted."""
    space = WordSpace.from_words("toy", {"en": VOCABULARY}, MATRIX)
    if scope == "tfidf":
        return Tfidf("tfidf", 40, "whitespace")
    if scope in ("sif", "usif"):
        mean, shares = plain_mean(space, "toy", "whitespace"), np.linspace(0.2, 0, 60)
        return Sif(scope, mean, shares, a=1.0) if scope == "sif" else Usif(scope, mean, shares)
    return PowerMeanEncoder(Recipe((Part("toy"),), znorm=scope), {"toy": space})


def dataset(changed, parts):
    sentences = np.array(SENTENCES, dtype=object)
    sentences[changed] = "w50 w59 w55"
    rows = {p: Examples(tuple(sentences[i]), LABELS[i]) for p, i in parts.items()}
    return Dataset("toy", ("a", "b"), "accuracy", True, {"en": rows})


def fitted(protocol, scope, changed, parts):
    """Return the bytes of all that one run fits, call by call, and its scores."""
    record = []

    def train(groups, rule):
        fits = kernels.train_classifiers(groups, rule)
        for group, members in zip(groups, fits, strict=True):
            used = np.concatenate([group.train, group.dev])
            record.append(group.x[used].tobytes())
            record.extend(f.weights.tobytes() + f.bias.tobytes() for f in members)
        return fits

    data = dataset(changed, parts)
    features = Features(encoder(scope), data)
    scores = protocol.run(
        Job(data, features, "en", ["en"], Trainer(train, 1), lambda done, text: None)
    )
    return record, scores


ALL = {"all": np.arange(160)}
FIXED = {"train": np.arange(100), "dev": np.arange(100, 130), "test": np.arange(130, 160)}
FOLD = stratified_folds(LABELS, senteval.FOLDS, senteval.SEED)[0][1]


def test_the_outer_fold_of_senteval_never_sees_its_test_rows():
    plain, before = fitted(senteval.SENTEVAL_2018, "train", [], ALL)
    nonsense, after = fitted(senteval.SENTEVAL_2018, "train", FOLD, ALL)
    first_fold = 10 * (1 + len(senteval.PENALTIES)) + 2
    assert plain[:first_fold] == nonsense[:first_fold]
    assert plain[first_fold:] != nonsense[first_fold:], "the rows train other folds"
    assert before[0].chosen == after[0].chosen
    assert before[0].dev == after[0].dev


@pytest.mark.parametrize("scope", ["train", "sif", "tfidf"])
@pytest.mark.parametrize("parts", [FIXED, {"train": FIXED["train"], "test": FIXED["test"]}])
def test_a_published_test_part_never_enters_a_fit(parts, scope):
    plain, before = fitted(senteval.SENTEVAL_2018, scope, [], parts)
    nonsense, after = fitted(senteval.SENTEVAL_2018, scope, FIXED["test"], parts)
    assert plain == nonsense
    assert before[0].chosen == after[0].chosen
    assert not np.array_equal(before[0].predicted, after[0].predicted), "the change is visible"


@pytest.mark.parametrize("scope", ["train", "usif"])
def test_a_repetition_of_the_subsamples_never_sees_its_test_rows(scope):
    plain, _ = fitted(ukp.UKP_SUBSAMPLE, scope, [], ALL)
    nonsense, _ = fitted(ukp.UKP_SUBSAMPLE, scope, subsample(160, 0)[2], ALL)
    first_repetition = 1 + len(ukp.RATES)
    assert plain[:first_repetition] == nonsense[:first_repetition]
    assert plain[first_repetition:] != nonsense[first_repetition:]


def test_the_modern_protocol_never_sees_its_test_rows(monkeypatch):
    record = []
    fit = modern._fit

    def recorded(x, labels, data, threads):
        classifier, c, dev = fit(x, labels, data, threads)
        record.append((x.tobytes(), classifier.coef_.tobytes(), c, dev))
        return classifier, c, dev

    monkeypatch.setattr(modern, "_fit", recorded)
    fitted(modern.MODERN, "train", [], ALL)
    fitted(modern.MODERN, "train", stratified_folds(LABELS, modern.FOLDS, modern.SEED)[0][1], ALL)
    assert record[0] == record[5]
    assert record[1] != record[6]


def test_the_transfer_classifier_never_sees_its_test_rows():
    first_fold = stratified_folds(LABELS, modern.FOLDS, modern.SEED)[0][1]
    _, before = fitted(TRANSFER, "train", [], ALL)
    _, after = fitted(TRANSFER, "train", first_fold, ALL)
    # What was chosen, and how well it did on training rows; its error on test rows may differ.
    for key in ("penalty", "columns"):
        assert before[0].chosen[key] == after[0].chosen[key]
    assert before[0].dev == after[0].dev
    assert before[1].dev != after[1].dev, "the rows train other folds"


@pytest.mark.parametrize("protocol", [senteval.SENTEVAL_2018, ukp.UKP_SUBSAMPLE])
def test_the_scope_all_does_see_them(protocol):
    # So that the tests above can fail: the paper's likely scope moves what is fitted.
    test = FOLD if protocol is senteval.SENTEVAL_2018 else subsample(160, 0)[2]
    assert fitted(protocol, "all", [], ALL)[0][0] != fitted(protocol, "all", test, ALL)[0][0]
