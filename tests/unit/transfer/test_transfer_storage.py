"""Classifiers on disk."""

import json

import numpy as np
import pytest
from opinions import opinions

import pmeans
from pmeans import TransferClassifier
from pmeans.errors import InputError, PmeansError, StorageError
from pmeans.tensors import map_tensors, write_tensors


@pytest.fixture
def folder(encoder, tmp_path):
    classifier = TransferClassifier(encoder, unsure=0.6, seed=3)
    classifier.fit(*opinions(60, "en"), lang="en").adapt(opinions(100, "de")[0], lang="de")
    classifier.save(tmp_path / "classifier")
    return tmp_path / "classifier"


def test_a_saved_classifier_comes_back_the_same(encoder, tmp_path):
    texts, _ = opinions(100, "de", seed=1)
    classifier = TransferClassifier(encoder, class_weight="balanced", unsure=0.6, seed=3)
    classifier.fit(*opinions(60, "en"), lang="en").adapt(texts, lang="de")
    classifier.save(tmp_path / "it")
    again = TransferClassifier.load(tmp_path / "it")
    np.testing.assert_array_equal(
        again.decision_function(texts, lang="de"), classifier.decision_function(texts, lang="de")
    )
    assert (again.chosen, again.fitted.classes) == (classifier.chosen, ("neg", "pos"))
    assert (again.unsure, again.class_weight, again.seed) == (0.6, "balanced", 3)


@pytest.fixture
def referring(encoder, tmp_path, monkeypatch):
    """A classifier that refers to a model in another folder, named from where one is."""
    pmeans.save(encoder, tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    classifier = TransferClassifier(pmeans.load("model")).fit(*opinions(60, "en"), lang="en")
    classifier.save("referring", model="model")
    return tmp_path / "referring"


def test_a_classifier_may_refer_to_a_model(referring, monkeypatch):
    assert not (referring / "encoder").exists()
    monkeypatch.chdir("/")
    texts = opinions(20, "de")[0]
    again = TransferClassifier.load(referring)
    model = pmeans.load(referring.parent / "model")
    assert again.encoder_.fingerprint() == model.fingerprint()
    again.save(referring.parent / "whole")
    whole = TransferClassifier.load(referring.parent / "whole")
    np.testing.assert_array_equal(
        whole.decision_function(texts, lang="de"), again.decision_function(texts, lang="de")
    )


def test_a_model_that_has_changed_or_gone_is_no_longer_referred_to(referring, encoder):
    model = referring.parent / "model"
    pmeans.save(encoder.fit_znorm(opinions(9, "en")[0], lang="en"), model)
    with pytest.raises(StorageError, match=r"fitted on the model '.*model' with fingerprint '"):
        TransferClassifier.load(referring)
    model.rename(model.with_name("elsewhere"))
    with pytest.raises(StorageError, match=r"no encoder '"):
        TransferClassifier.load(referring)


def test_a_classifier_refers_to_no_model_that_it_was_not_fitted_on(referring, folder):
    before = {path: path.read_bytes() for path in referring.iterdir()}
    classifier = TransferClassifier.load(folder)
    classifier._encoder = classifier.encoder_.fit_znorm(opinions(9, "en")[0], lang="en")
    with pytest.raises(InputError, match="was not fitted on the model 'model'"):
        classifier.save(referring, model="model")
    assert {path: path.read_bytes() for path in referring.iterdir()} == before


def test_its_encoder_can_be_opened_by_itself(folder):
    assert pmeans.load(folder / "encoder").languages == ("de", "en")


def test_saving_again_replaces_the_folder(folder, encoder):
    TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en").save(folder)
    assert TransferClassifier.load(folder).unsure is None
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapted.safetensors", "classifier.json", "classifier.safetensors", "encoder",
    ]  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["classifier"]


def test_a_classifier_is_not_saved_over_the_folder_that_it_is_read_from(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="would overwrite"):
        TransferClassifier.load(folder).save(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_of_something_else_is_left_alone(folder, tmp_path):
    (tmp_path / "photos" / "one").mkdir(parents=True)
    with pytest.raises(InputError, match="exists and is no classifier"):
        TransferClassifier.load(folder).save(tmp_path / "photos")


def test_a_folder_without_a_classifier_is_named(tmp_path):
    with pytest.raises(StorageError, match="is not a saved classifier"):
        TransferClassifier.load(tmp_path)


def _cut(folder):
    path = folder / "classifier.safetensors"
    path.write_bytes(path.read_bytes()[:-64])


def _not_a_number(folder):
    arrays, metadata = map_tensors(folder / "classifier.safetensors")
    arrays = {name: array.copy() for name, array in arrays.items() if "padding" not in name}
    arrays["bias"][0] = np.nan
    write_tensors(folder / "classifier.safetensors", arrays, metadata)


def _class_lost(folder):
    names = json.loads((folder / "classifier.json").read_text())
    (folder / "classifier.json").write_text(json.dumps(names | {"classes": ["neg"]}))


def _newer(folder):
    names = json.loads((folder / "classifier.json").read_text())
    (folder / "classifier.json").write_text(json.dumps(names | {"version": 99}))


DAMAGE = {
    "weights cut short": (_cut, "does not fit|damaged|cut short"),
    "weights gone": (lambda f: (f / "classifier.safetensors").unlink(), "no file"),
    "names cut short": (lambda f: (f / "classifier.json").write_text('{"classes": ['), "damaged"),
    "names of another kind": (lambda f: (f / "classifier.json").write_text("[]"), "damaged"),
    "no text": (lambda f: (f / "classifier.json").write_bytes(b"\xff\xfe"), "damaged"),
    "not a number": (_not_a_number, "'bias' does not fit"),
    "a class lost": (_class_lost, "does not fit 1 classes"),
    "a newer version": (_newer, "version 99"),
    "adaptation gone": (lambda f: (f / "adapted.safetensors").unlink(), "no file"),
    "no recipe": (lambda f: (f / "encoder" / "recipe.toml").unlink(), "not a saved encoder"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_when_the_folder_is_opened(folder, name):
    damage, message = DAMAGE[name]
    damage(folder)
    with pytest.raises(PmeansError, match=message):
        TransferClassifier.load(folder)


@pytest.mark.parametrize("classes", [["neg", "neg"], []])
def test_classes_that_cannot_be_are_refused(folder, classes):
    path = folder / "classifier.json"
    names = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(names | {"classes": classes}), encoding="utf-8")
    with pytest.raises(PmeansError, match="damaged: its classes are"):
        TransferClassifier.load(folder)
