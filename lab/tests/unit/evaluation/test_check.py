"""What would spoil a run is said before it starts."""

import numpy as np
import pytest

from pmeans.errors import InputError, LanguageError
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.protocols import CLASSIFYING, check


def rows(labels, n=None):
    return Examples(("word",) * (len(labels) if n is None else n), np.array(labels))


def dataset(parallel=True, **langs):
    return Dataset("toy", ("no", "yes", "maybe"), "accuracy", parallel, langs)


GOOD = {"all": rows([0, 1] * 50)}


@pytest.mark.parametrize("protocol", [each.name for each in CLASSIFYING])
def test_a_sound_dataset_passes(protocol):
    check(dataset(en=GOOD, de=GOOD), protocol, "en", ["en", "de"])


def test_an_unknown_protocol_names_the_known_ones():
    with pytest.raises(InputError, match=r"no protocol 'moden'. Did you mean 'modern'"):
        check(dataset(en=GOOD), "moden", "en", ["en"])


@pytest.mark.parametrize("langs", [("en", ["fr"]), ("fr", ["en"])])
def test_a_language_without_data_is_an_error(langs):
    with pytest.raises(LanguageError, match="no rows in 'fr', only in en"):
        check(dataset(en=GOOD), "modern", *langs)


def test_labels_and_sentences_must_be_equally_many():
    broken = {"all": rows([0, 1] * 50, n=99)}
    with pytest.raises(InputError, match="99 sentences, but 100 labels"):
        check(dataset(en=broken), "modern", "en", ["en"])


def test_a_label_that_training_never_saw_is_an_error():
    strange = {"all": rows([0, 1] * 49 + [0, 2])}
    with pytest.raises(InputError, match="in 'de', all: the class 'maybe' does not occur"):
        check(dataset(False, en=GOOD, de=strange), "ukp-subsample", "en", ["de"])


def test_a_label_that_is_no_class_is_an_error():
    strange = {"train": rows([0, 1] * 50), "test": rows([0, 7])}
    with pytest.raises(InputError, match="the class number 7"):
        check(dataset(en=strange), "senteval-2018", "en", ["en"])


def test_parallel_labels_must_agree_row_by_row():
    swapped = {"all": rows([1, 0] * 50)}
    with pytest.raises(InputError, match="a parallel task"):
        check(dataset(en=GOOD, de=swapped), "modern", "en", ["de"])
    check(dataset(False, en=GOOD, de=swapped), "modern", "en", ["de"])


def test_parts_must_be_the_same_in_every_language():
    with pytest.raises(InputError, match="'de' has the parts train, test, but 'en' has all"):
        check(dataset(en=GOOD, de={"train": rows([0]), "test": rows([1])}), "modern", "en", ["de"])


def test_a_test_language_may_have_test_rows_alone():
    parts = {"train": rows([0, 1] * 50), "test": rows([0, 1])}
    check(dataset(en=parts, de={"test": rows([0, 1])}), "modern", "en", ["de"])


def test_one_class_is_not_enough():
    with pytest.raises(InputError, match="one class only"):
        check(dataset(en={"all": rows([1] * 100)}), "modern", "en", ["en"])


@pytest.mark.parametrize(("count", "enough"), [(11, False), (12, True)])
def test_a_class_must_be_in_every_outer_and_inner_fold(count, enough):
    # Of 12 rows an outer fold takes two at most, and ten are left for ten inner folds.
    few = dataset(en={"all": rows([0] * 90 + [1] * count)})
    if enough:
        check(few, "senteval-2018", "en", ["en"])
    else:
        with pytest.raises(InputError, match="'yes' has 11 rows, too few"):
            check(few, "senteval-2018", "en", ["en"])


def test_a_development_part_needs_no_folds():
    parts = {"train": rows([0, 0, 1]), "dev": rows([0, 1]), "test": rows([1])}
    check(dataset(en=parts), "senteval-2018", "en", ["en"])


def test_every_repetition_must_train_on_every_class():
    with pytest.raises(InputError, match=r"would train without the class 'yes'"):
        check(dataset(en={"all": rows([0] * 98 + [1])}), "ukp-subsample", "en", ["en"])


def test_own_test_parts_and_drawn_ones_exclude_each_other():
    parts = {"train": rows([0, 1] * 50), "test": rows([0, 1])}
    with pytest.raises(InputError, match="has a test part of its own"):
        check(dataset(en=parts), "ukp-subsample", "en", ["en"])
