"""Alignments in fewer bits: rounded once, and from then on the same numbers."""

import numpy as np
import pytest

from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.alignment_fit import Fit
from pmeans.errors import FormatError, InputError
from pmeans.tensors import map_tensors, write_tensors


def alignment(*factors):
    return Alignment("en", {"de": LanguageMap(factors, "by hand")})


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_a_stored_alignment_is_read_back_to_the_bit(precision, tmp_path):
    kept = alignment(random(40, 8), random(8, 40, seed=1)).stored_as(precision)
    kept.save(tmp_path / "a")
    back = Alignment.load(tmp_path / "a", 40)
    assert (back.pivot, back.precision) == ("en", precision)
    assert back.maps["de"].origin == "by hand"
    for before, after in zip(kept.maps["de"].factors, back.maps["de"].factors, strict=True):
        np.testing.assert_array_equal(before, after)
        assert after.dtype == np.float32


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_an_alignment_that_was_read_is_saved_as_the_same_bytes(precision, tmp_path):
    alignment(random(300, 300)).stored_as(precision).save(tmp_path / "a")
    Alignment.load(tmp_path / "a", 300).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_int8_is_off_by_at_most_half_a_step_of_its_row():
    factor = random(50, 60) * np.float32(10.0) ** np.arange(-25, 25, dtype=np.float32)[:, None]
    (rounded,) = alignment(factor).stored_as("int8").maps["de"].factors
    step = np.abs(factor).max(axis=1) / 127
    # 1e-4 of a step: the product of a code and a scale is itself rounded, by 127 * 2**-24 steps.
    assert (np.abs(rounded - factor).max(axis=1) <= step * 0.5001).all()


def test_int8_takes_a_quarter_of_the_bytes_and_a_scale_a_row(tmp_path):
    alignment(random(64, 64)).stored_as("int8").save(tmp_path / "a")
    tensors, _ = map_tensors(tmp_path / "a")
    assert tensors["map.de.0"].nbytes == 64 * 64
    assert tensors["scale.de.0"].shape == (64,)


def test_a_row_of_zeros_stays_one():
    (rounded,) = alignment(np.zeros((2, 2), np.float32)).stored_as("int8").maps["de"].factors
    np.testing.assert_array_equal(rounded, np.zeros((2, 2)))


def test_a_map_that_joins_others_is_stored_as_they_are():
    class Rows:
        dim = 2

        def encode(self, sentences, *, lang):
            return np.array([[float(len(s)), len(s) % 3] for s in sentences], dtype=np.float32)

    first = alignment(random(2, 2)).stored_as("float16")
    pairs = {"fr": [("a", "bb"), ("cc", "c"), ("d", "eee")]}
    both = first.extended(Rows(), pairs, "en", Fit("ridge"))
    assert both.precision == "float16"
    (factor,) = both.maps["fr"].factors
    np.testing.assert_array_equal(factor, factor.astype(np.float16))


def test_what_float16_cannot_hold_is_refused():
    with pytest.raises(InputError, match="cannot hold 70000"):
        alignment(np.full((2, 2), 70000, np.float32)).stored_as("float16")


@pytest.mark.parametrize(
    "scale",
    [
        None,
        np.ones(2, np.float32),
        np.ones(3, np.float64),
        np.full(3, np.nan, np.float32),
        np.full(3, 3e38, np.float32),
    ],
)
def test_codes_without_scales_that_fit_are_refused(scale, tmp_path):
    tensors = {"map.de.0": np.full((3, 3), 9, np.int8)}
    if scale is not None:
        tensors["scale.de.0"] = scale
    metadata = {"format": "pmeans-alignment", "pivot": "en", "origin.de": "by hand"}
    write_tensors(tmp_path / "a", tensors, metadata)
    with pytest.raises(FormatError, match="map of 'de' does not fit 3 columns"):
        Alignment.load(tmp_path / "a", 3)


def test_maps_of_several_types_are_refused(tmp_path):
    tensors = {"map.de.0": random(3, 3), "map.fr.0": random(3, 3).astype(np.float16)}
    metadata = {"format": "pmeans-alignment", "pivot": "en", "origin.de": "", "origin.fr": ""}
    write_tensors(tmp_path / "a", tensors, metadata)
    with pytest.raises(FormatError, match="maps of the types float16, float32"):
        Alignment.load(tmp_path / "a", 3)
