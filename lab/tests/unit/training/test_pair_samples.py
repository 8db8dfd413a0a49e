"""Samples of pairs: which unrelated ones are made, and what is left after the look-up."""

import numpy as np
import pytest

from pmeans import WordSpace
from pmeans.errors import FormatError, InputError
from pmeans.tensors import write_tensors
from pmeans.training.corpus import Pair
from pmeans_lab.baselines.infersent.pair_samples import (
    DETECTED,
    PORTIONS,
    Gatherer,
    Samples,
    detection,
)

SPACE = WordSpace.from_words(
    "space", {"en": ["dog", "cat"], "de": ["hund", "katze"]}, np.eye(4, dtype=np.float32)
)


def made(pairs, seed=0):
    return detection([Pair(*pair) for pair in pairs], np.random.default_rng(seed))


def test_every_pair_is_there_and_an_unrelated_one_of_its_source():
    pairs = [(source, f"e{i}{source}", f"d{i}{source}") for source in "ab" for i in range(20)]
    found, labels = made(pairs)
    assert labels == ["translation"] * 40 + ["unrelated"] * 40
    assert found[:40] == [pair[1:] for pair in pairs]
    for (_, one, own), (first, second) in zip(pairs, found[40:], strict=True):
        assert first == one
        assert second != own
        assert second[-1] == own[-1]  # the source
    assert len({second for _, second in found[40:]}) > 10


def test_pairs_that_share_a_sentence_are_never_unrelated():
    pairs = [("", "yes", f"ja{i}") for i in range(5)] + [("", "no", "nein")]
    for seed in range(20):
        found, labels = made(pairs, seed)
        unrelated = {
            pair for pair, label in zip(found, labels, strict=True) if label == "unrelated"
        }
        assert {first for first, second in unrelated if second == "nein"} <= {"yes"}
        assert not {pair for pair in unrelated if pair[0] == "yes"} - {("yes", "nein")}


@pytest.mark.parametrize("pairs", [[("", "yes", "ja")], [("", "yes", "ja")] * 3])
def test_pairs_without_any_other_are_refused(pairs):
    with pytest.raises(InputError, match="nothing to tell translations from"):
        made(pairs)


def gathered(pairs=(("dog", "hund"), ("the dog", "xyzzy"), ("cat cat dog", "katze"))):
    gatherer = Gatherer(DETECTED)
    for portion in PORTIONS:
        gatherer.add("td en-de", portion, ("en", "de"), pairs, ["translation"] * len(pairs))
    return gatherer


def test_samples_without_known_words_on_a_side_are_left_out():
    samples = gathered().samples(SPACE)
    assert len(samples) == 6
    words = [
        [samples.vectors[i].argmax() for i in samples.ids[slice(*samples.offsets[s : s + 2])]]
        for s in (samples.first[1], samples.second[1])
    ]
    assert words == [[1, 1, 0], [3]]
    assert [len(samples.of(portion)) for portion in PORTIONS] == [2, 2, 2]


def test_samples_are_stored_and_read(tmp_path):
    samples = gathered().samples(SPACE)
    samples.save(tmp_path / "samples")
    read = Samples.load(tmp_path / "samples")
    assert (read.names, read.classes, read.scale) == (("td en-de",), DETECTED, None)
    for name, array in samples.arrays().items():
        np.testing.assert_array_equal(getattr(read, name), array)
    write_tensors(tmp_path / "other", {"ids": np.zeros(1, np.float32)}, {})
    with pytest.raises(FormatError, match="no samples"):
        Samples.load(tmp_path / "other")


def test_a_part_without_known_words_is_refused():
    with pytest.raises(InputError, match=r"of 1 pairs .* train, none has words that 'space' knows"):
        gathered([("xyzzy", "hund")]).samples(SPACE)
