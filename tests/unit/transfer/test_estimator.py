"""The classifier as scikit-learn's tools take it."""

import json

import numpy as np
import pytest
import sklearn
from opinions import make_encoder, opinions
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

import pmeans
from pmeans import TransferClassifier
from pmeans.errors import InputError, StorageError

TEXTS, LABELS = opinions(20, "en")
AS = {
    "str": LABELS,
    "int": [7 if label == "pos" else -3 for label in LABELS],
    "bool": [label == "pos" for label in LABELS],
    "float": [float(label == "pos") for label in LABELS],
}


@pytest.fixture(scope="module")
def classifier(encoder):
    return TransferClassifier(encoder, lang="en")


@pytest.fixture(scope="module")
def fitted(encoder):
    return TransferClassifier(encoder).fit(TEXTS, LABELS, lang="en")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_clone_has_the_parameters_and_shares_the_encoder(encoder, fitted):
    fitted = (
        clone(fitted).set_params(unsure=0.6, class_weight="balanced").fit(TEXTS, LABELS, lang="en")
    )
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.encoder is encoder
    assert not hasattr(again, "classes_")


def test_parameters_are_stored_as_they_are_given_and_shown_where_they_are_not_usual():
    wrong = TransferClassifier("no such model", unsure=9)
    assert repr(wrong) == "TransferClassifier(encoder='no such model', unsure=9)"
    assert repr(wrong.set_params(encoder="default", unsure=None)) == "TransferClassifier()"


def test_a_parameter_that_does_not_exist_is_named(classifier):
    with pytest.raises(InputError, match=r"no parameter 'class_wieght'\. Did you mean 'class_wei"):
        clone(classifier).set_params(class_wieght="balanced")


def test_it_is_a_classifier_and_says_whether_it_is_fitted(classifier, fitted):
    assert is_classifier(classifier)
    check_is_fitted(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(classifier)
    with pytest.raises(NotFittedError, match="call fit first"):
        classifier.predict(TEXTS)
    with pytest.raises(NotFittedError, match="call fit first"):
        classifier.explain("good")


def test_an_encoder_may_be_given_by_its_folder(encoder, fitted, tmp_path):
    pmeans.save(encoder, tmp_path / "enc")
    by_name = TransferClassifier(str(tmp_path / "enc")).fit(TEXTS, LABELS, lang="en")
    np.testing.assert_array_equal(by_name.weights, fitted.weights)
    with pytest.raises(StorageError, match="no encoder 'no such model'"):
        TransferClassifier("no such model").fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("str", np.array),
        ("int", list),
        ("int", np.array),
        ("bool", lambda y: np.array(y, object)),
        ("float", list),
    ],
)
def test_labels_come_back_as_they_were_given(classifier, kind, given, tmp_path):
    found = clone(classifier).fit(TEXTS, given(AS[kind]))
    found.save(tmp_path / "it")
    for each in (found, TransferClassifier.load(tmp_path / "it")):
        assert each.classes_.tolist() == sorted(set(AS[kind]))
        kinds = {"str": object, "int": np.int64, "bool": bool, "float": float}
        assert each.classes_.dtype == kinds[kind]
        labels = each.predict(["the good dog", "the bad dog"], lang="en")
        assert labels.dtype == each.classes_.dtype
        assert labels.tolist() == [AS[kind][1], AS[kind][0]]
        one = each.predict("the good dog", lang="en")
        assert (type(one), one) == (type(AS[kind][1]), AS[kind][1])


def test_a_number_is_stored_as_a_number(classifier, tmp_path):
    clone(classifier).fit(TEXTS, AS["int"]).save(tmp_path / "it")
    names = json.loads((tmp_path / "it" / "classifier.json").read_text())
    assert names["classes"] == [-3, 7]
    mixed = names | {"classes": [-3, "7"]}
    (tmp_path / "it" / "classifier.json").write_text(json.dumps(mixed))
    with pytest.raises(pmeans.PmeansError, match="damaged: its classes are"):
        TransferClassifier.load(tmp_path / "it")


def test_where_it_is_unsure_there_is_no_number(classifier):
    unsure = clone(classifier).set_params(unsure=1.0).fit(TEXTS, AS["int"])
    assert unsure.predict(["the good bad", "the good dog"]).tolist()[0] is None
    assert unsure.predict([]).dtype == object


@pytest.mark.parametrize("kind", ["int", "bool"])
def test_labels_of_a_file_are_compared_by_how_they_are_spelled(classifier, kind):
    found = clone(classifier).fit(TEXTS, AS[kind])
    spelled = found.evaluate(TEXTS, list(map(str, AS[kind])))
    assert (spelled.accuracy, spelled.unseen) == (1, {})
    assert found.evaluate(TEXTS[:2], ["9", str(AS[kind][1])]).unseen == {"9": 1}
    assert found.explain("the good dog", label=AS[kind][1]).label == str(AS[kind][1])
    json.dumps(spelled.as_dict())


def test_labels_of_another_type_are_refused(fitted):
    with pytest.raises(InputError, match="trained with one label, a str,"):
        fitted.score(TEXTS, AS["int"])


def test_the_score_is_the_share_of_right_labels(fitted):
    assert fitted.score(TEXTS, LABELS, lang="en") == 1
    assert fitted.score(TEXTS, LABELS[1:] + LABELS[:1], lang="en") == 0


def test_two_classes_have_one_decision_and_more_have_one_each(classifier, fitted):
    p = fitted.predict_proba(TEXTS, lang="en")
    decisions = fitted.decision_function(TEXTS, lang="en")
    assert decisions.shape == (20,)
    # rtol: logarithms of float32 near 0.
    np.testing.assert_allclose(decisions, np.log(p[:, 1] / p[:, 0]), rtol=1e-3)
    three = clone(classifier).fit(
        TEXTS, ["dog" if "dog" in t else s for t, s in zip(TEXTS, LABELS, strict=True)]
    )
    assert three.decision_function(TEXTS).shape == (20, 3)


def test_one_text_gives_one_row(fitted):
    text = "the good dog"
    assert fitted.predict(text, lang="en") == "pos"
    for method in (fitted.predict_proba, fitted.decision_function):
        np.testing.assert_array_equal(method(text, lang="en"), method([text], lang="en")[0])


MISSING = [None, float("nan"), np.float32("nan"), type("NAType", (), {})()]


@pytest.mark.parametrize("missing", MISSING, ids=lambda value: type(value).__name__)
def test_an_empty_cell_is_an_empty_text(fitted, missing):
    got = fitted.predict_proba(np.array([missing, "the good dog"], dtype=object), lang="en")
    np.testing.assert_array_equal(got, fitted.predict_proba(["", "the good dog"], lang="en"))


def test_scores_are_cross_validated_whatever_the_labels(classifier):
    assert cross_val_score(classifier, TEXTS, AS["int"], cv=2).tolist() == [1, 1]
    found = cross_val_score(classifier, np.array(TEXTS), AS["bool"], cv=2, scoring="roc_auc")
    assert found.tolist() == [1, 1]
    p = cross_val_predict(classifier, TEXTS, LABELS, cv=2, method="predict_proba")
    assert p.shape == (20, 2)


def test_a_grid_is_searched_over_encoders_and_options(encoder, classifier):
    plain = make_encoder("none")
    grid = [{"encoder": [plain, encoder]}, {"class_weight": ["balanced"], "unsure": [1.0]}]
    found = GridSearchCV(classifier, grid, cv=2).fit(TEXTS, LABELS)
    assert found.best_score_ == 1
    assert "unsure" not in found.best_params_
    assert found.cv_results_["param_encoder"][0] is plain
    assert found.best_estimator_.encoder_ in (plain, encoder)
    assert found.predict(["the good dog"]).tolist() == ["pos"]


def test_it_ends_a_pipeline(classifier):
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    found = clone(make_pipeline(lower, classifier)).fit(list(map(str.upper, TEXTS)), LABELS)
    assert found.predict(["THE GOOD DOG"]).tolist() == ["pos"]
    assert found.score(TEXTS, LABELS) == 1


def test_a_pipeline_without_labels_says_so(classifier):
    with pytest.raises(InputError, match="requires y to be passed"):
        make_pipeline(clone(classifier)).fit(TEXTS)


def test_languages_are_routed_to_the_methods_that_ask_for_them(encoder, routing):
    texts = [*TEXTS, *opinions(20, "de")[0]]
    langs = np.array(["en"] * 20 + ["de"] * 20)
    asking = TransferClassifier(encoder).set_fit_request(lang=True).set_score_request(lang=True)
    params = {"lang": langs}
    assert cross_val_score(asking, texts, LABELS * 2, cv=2, params=params).tolist() == [1, 1]
    asking.set_predict_request(lang="code").set_predict_proba_request(lang=False)
    asking.set_decision_function_request(lang=True)
    found = make_pipeline(clone(asking)).fit(texts, LABELS * 2, lang=langs)
    assert found.predict(texts[18:22], code=langs[18:22]).tolist() == ["neg", "pos"] * 2


def test_what_is_not_asked_for_is_not_passed(encoder, routing):
    requests = get_routing_for_object(TransferClassifier(encoder))
    assert requests.fit.requests == requests.score.requests == {"lang": None}
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        cross_val_score(TransferClassifier(encoder), TEXTS, LABELS, params={"lang": ["en"] * 20})


def test_a_request_needs_routing(classifier):
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        clone(classifier).set_fit_request(lang=True)


@pytest.mark.filterwarnings("ignore::pmeans.transfer.FewTextsWarning")
def test_the_own_language_is_that_of_calls_which_name_none(encoder, classifier):
    found = clone(classifier).fit(TEXTS, LABELS)
    german = opinions(20, "de")
    assert found.score(*german, lang="de") == 1
    np.testing.assert_array_equal(found.predict_proba(TEXTS), found.predict_proba(TEXTS, lang="en"))
    assert found.adapt(TEXTS).fitted.adapted.keys() == {"en"}
    assert found.explain("the good dog").lang == "en"
