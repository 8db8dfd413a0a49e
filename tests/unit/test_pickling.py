"""What encoders are made of survives pickling and copying, also after use, and so do classifiers.

`tests/contracts/test_encoder_contract.py` says the same of every encoder.
"""

import copy
import dataclasses
import os
import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, mapped
from pmeans.errors import NotFittedError, StorageError
from pmeans.estimators import PowerMeanVectorizer
from pmeans.search import open_index
from pmeans.search.approximate import ApproximateIndex
from pmeans.search.finding import find
from pmeans.spaces.space import Subwords
from pmeans.spaces.store import open_space, save_space
from pmeans.transfer import TransferClassifier

pytestmark = pytest.mark.filterwarnings("ignore::pmeans.transfer.labels.FewRowsWarning")

TEXTS = ["the cat sat", "die katze", "a dog", "the cats"]
WORDS = {"en": ["the", "cat", "sat", "dog", "the cat"], "de": ["die", "katze"]}


def by_pickle(made):
    return pickle.loads(pickle.dumps(made))


def by_joblib(made, folder):
    joblib.dump(made, folder / "made.joblib")
    return joblib.load(folder / "made.joblib")


COPIES = {
    "pickle": lambda made, folder: by_pickle(made),
    "oldest protocol": lambda made, folder: pickle.loads(pickle.dumps(made, 2)),
    "deepcopy": lambda made, folder: copy.deepcopy(made),
    "copy": lambda made, folder: copy.copy(made),
    "joblib": by_joblib,
    "twice": lambda made, folder: by_pickle(by_pickle(made)),
}


def space(folder, stored=True):
    rng = np.random.default_rng(0)
    ngrams = Subwords(rng.standard_normal((40, 3)).astype(np.float32), 3, 4)
    matrix = rng.standard_normal((7, 3)).astype(np.float32)
    made = WordSpace.from_words("toy", WORDS, matrix, subwords=ngrams)
    if not stored:
        return made
    save_space(made, folder / "toy.safetensors")
    return open_space(folder / "toy.safetensors")


def normed(folder, stored=True):
    recipe = Recipe((Part("toy", (1, 3)),), "toy", "words", znorm="per_language")
    made = PowerMeanEncoder(recipe, {"toy": space(folder, stored)})
    return made.fit_znorm(TEXTS, lang="en").fit_znorm(TEXTS, lang="de")


ENCODERS = {
    "for one language": lambda folder: pmeans.load().for_language("en"),
    "in memory": lambda folder: normed(folder, stored=False),
    "of a file": normed,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
@pytest.mark.parametrize("make", ENCODERS.values(), ids=list(ENCODERS))
def test_a_copy_of_an_encoder_gives_the_same_bits(make, copied, tmp_path):
    encoder = make(tmp_path)
    rows = encoder.encode(TEXTS, lang="en")  # what it keeps for later must not be in the way
    encoder.coverage(TEXTS, lang="en")
    back = copied(encoder, tmp_path)
    assert type(back) is type(encoder)
    assert back.fingerprint() == encoder.fingerprint()
    assert (back.languages, back.files) == (encoder.languages, encoder.files)
    np.testing.assert_array_equal(back.encode(TEXTS, lang="en"), rows)


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
def test_a_copy_of_the_packages_model_finds_languages(copied, tmp_path):
    encoder = pmeans.load()
    found = encoder.detect(TEXTS)
    assert copied(encoder, tmp_path).detect(TEXTS) == found


@pytest.mark.parametrize("stored", [True, False])
def test_a_copy_of_a_word_space_is_the_same_space(stored, tmp_path):
    toy = space(tmp_path, stored)
    expected, _ = toy.vectors(["cat", "kitten"], "en")
    toy.check_whole()
    back = by_pickle(toy)
    assert back.digest() == toy.digest()
    np.testing.assert_array_equal(back.vectors(["cat", "kitten"], "en")[0], expected)
    back.check_whole()


def test_a_space_that_was_changed_in_memory_is_not_read_from_its_file(tmp_path):
    changed = dataclasses.replace(space(tmp_path), matrix=np.ones((7, 3), np.float32))
    assert (by_pickle(changed).vectors(["cat"], "en")[0] == 1).all()


def test_a_pickle_names_the_files_instead_of_copying_them():
    encoder = pmeans.load()
    encoder.encode("a cat", lang="en")
    size = sum(Path(file).stat().st_size for file in encoder.files)
    assert len(pickle.dumps(encoder)) < size / 20


def test_a_pickle_of_a_relative_path_is_read_in_any_folder(tmp_path, monkeypatch):
    space(tmp_path)
    monkeypatch.chdir(tmp_path)
    saved = pickle.dumps(open_space("toy.safetensors"))
    monkeypatch.chdir("/")
    assert pickle.loads(saved).row("cat", "en") == 1


def test_a_file_that_is_gone_is_named(tmp_path):
    saved = pickle.dumps(normed(tmp_path))
    (tmp_path / "toy.safetensors").unlink()
    with pytest.raises(StorageError, match=r"no file .*toy\.safetensors"):
        pickle.loads(saved)


@pytest.mark.parametrize("content", [b"", b"x", "same size"])
def test_another_file_of_the_same_name_is_refused(tmp_path, content):
    saved = pickle.dumps(normed(tmp_path))
    path = tmp_path / "toy.safetensors"
    if content == "same size":
        old = path.read_bytes()
        content = old[:-1] + bytes([old[-1] ^ 1])
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    with pytest.raises(StorageError, match=r"toy\.safetensors' has changed since"):
        pickle.loads(saved)


def test_a_copy_of_the_file_with_another_time_is_the_same_file(tmp_path):
    saved = pickle.dumps(normed(tmp_path))
    os.utime(tmp_path / "toy.safetensors", ns=(1, 1))
    assert pickle.loads(saved).encode("the cat", lang="en").any()


def test_a_large_file_is_told_by_size_and_time_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "_HASHED", 10)
    saved = pickle.dumps(normed(tmp_path))
    assert pickle.loads(saved).encode("the cat", lang="en").any()
    os.utime(tmp_path / "toy.safetensors", ns=(1, 1))
    with pytest.raises(StorageError, match="has changed since"):
        pickle.loads(saved)


def test_what_was_mapped_is_pickled_and_not_what_has_its_name_now(tmp_path):
    toy = space(tmp_path)
    other = WordSpace.from_words("toy", WORDS, np.ones((7, 3), np.float32))
    save_space(other, tmp_path / "toy.safetensors")
    with pytest.raises(StorageError, match="has changed since"):
        by_pickle(toy)
    assert copy.deepcopy(toy).digest() == toy.digest()


@pytest.fixture
def classifier(tmp_path):
    texts = ["the cat", "cat sat", "the dog", "dog", "the cat sat", "a dog"] * 5
    labels = ["cat", "cat", "dog", "dog", "cat", "dog"] * 5
    return TransferClassifier(normed(tmp_path)).fit(texts, labels, lang="en")


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
@pytest.mark.parametrize("stored", [True, False])
def test_a_copy_of_a_classifier_predicts_the_same(classifier, copied, stored, tmp_path):
    if stored:
        classifier.save(tmp_path / "classifier")
        classifier = TransferClassifier.load(tmp_path / "classifier")
    expected = classifier.predict_proba(TEXTS, lang="en")
    back = copied(classifier, tmp_path)
    np.testing.assert_array_equal(back.predict_proba(TEXTS, lang="en"), expected)


def test_a_classifier_that_is_not_fitted_is_copied_as_such(tmp_path):
    back = by_pickle(TransferClassifier(normed(tmp_path), lang="en", seed=3))
    assert back.get_params()["seed"] == 3
    with pytest.raises(NotFittedError):
        back.predict(TEXTS)


def test_a_copy_of_a_vectorizer_makes_the_same_rows(tmp_path):
    vectorizer = PowerMeanVectorizer(normed(tmp_path), lang="en").fit(TEXTS)
    expected = vectorizer.transform(TEXTS)
    np.testing.assert_array_equal(by_pickle(vectorizer).transform(TEXTS), expected)


def hits(encoder, index, **options):
    return list(find(encoder, index, ["the cat", "dog"], lang="en", k=2, **options))


@pytest.fixture
def encoder(tmp_path):
    return normed(tmp_path)


@pytest.fixture
def index(encoder, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((2000, 6), "f4"))
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS * 500))
    return open_index(tmp_path / "rows.npy", texts=tmp_path / "texts.txt")


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
def test_a_copy_of_an_index_finds_the_same(encoder, index, copied, tmp_path):
    expected = hits(encoder, index)
    assert hits(encoder, copied(index, tmp_path)) == expected


def test_a_pickle_of_an_index_names_its_rows(index, tmp_path):
    saved = pickle.dumps(index)
    assert len(saved) < (tmp_path / "rows.npy").stat().st_size / 10
    np.save(tmp_path / "rows.npy", np.ones((2000, 6), np.float32))
    with pytest.raises(StorageError, match=r"rows\.npy' has changed since"):
        pickle.loads(saved)


def test_a_copy_of_an_approximate_index_finds_the_same(encoder, index):
    graph = ApproximateIndex(index)
    expected = hits(encoder, index, approximate=graph)
    assert hits(encoder, index, approximate=by_pickle(graph)) == expected
