"""Norms of some columns halfway, and of all rows by a length: kept in the file, or refused."""

import numpy as np
import pytest

from pmeans.encoder.znorm import FEWEST, SHORT, PartMoments, Statistics, ZNorm, side_by_side
from pmeans.errors import FormatError
from pmeans.tensors import map_tensors, write_tensors

STD = np.array([4, 1, 0.25, 9], dtype=np.float32)


@pytest.fixture
def fitted():
    return ZNorm("per_language", {"en": Statistics(np.zeros(4, np.float32), STD, 10)})


def test_halfway_divides_by_the_root_and_keeps_the_sum_of_squares(fitted):
    std = fitted.normed(3).statistics["en"].std
    np.testing.assert_allclose(std[:3] ** 2, STD[:3] * STD[:3].mean(), rtol=1e-6)
    assert std[3] == STD[3]
    assert np.sum((STD[:3] / std[:3]) ** 2) == pytest.approx(3, rel=1e-6)


def test_a_language_that_joins_is_normed_as_the_others(fitted):
    whole = fitted.normed(2).shortened(5.0)
    joined = whole.joined({"de": fitted.statistics["en"]})
    np.testing.assert_array_equal(joined.statistics["de"].std, whole.statistics["en"].std)


def test_columns_that_are_normed_halfway_are_centred_by_short_texts():
    rows = np.repeat(np.float32([[1, 2], [5, 7]]), FEWEST, axis=0)
    moments = PartMoments(2)
    moments.add(rows, np.repeat([SHORT, SHORT + 1], FEWEST))
    fitted = ZNorm("per_language", {"en": side_by_side([moments])})
    np.testing.assert_array_equal(fitted.statistics["en"].mean, [3, 4.5])
    np.testing.assert_array_equal(fitted.normed(1).statistics["en"].mean, [1, 4.5])


def test_few_short_texts_have_no_say():
    rows = np.repeat(np.float32([[1, 2], [5, 7]]), FEWEST, axis=0)[1:]
    moments = PartMoments(2)
    moments.add(rows, np.repeat([SHORT, SHORT + 1], FEWEST)[1:])
    fitted = side_by_side([moments])
    np.testing.assert_array_equal(fitted.halfway(2).mean, fitted.mean)


def test_both_settings_are_kept_in_the_file(fitted, tmp_path):
    normed = fitted.normed(2).shortened(1 / 3)
    normed.save(tmp_path / "znorm.safetensors")
    again = ZNorm.load(tmp_path / "znorm.safetensors", "per_language", 4)
    assert (again.halfway, again.length) == (2, 1 / 3)
    np.testing.assert_array_equal(again.statistics["en"].std, normed.statistics["en"].std)


def test_a_plain_z_norm_has_the_bytes_that_it_always_had(fitted, tmp_path):
    fitted.save(tmp_path / "znorm.safetensors")
    assert map_tensors(tmp_path / "znorm.safetensors")[1].keys() == {"format", "scope"}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("halfway", each) for each in ("5", "-1", "x")]
    + [("length", each) for each in ("0", "nan", "inf", "")],
)
def test_settings_that_make_no_sense_are_refused(fitted, tmp_path, setting, value):
    path = tmp_path / "znorm.safetensors"
    fitted.save(path)
    tensors, metadata = map_tensors(path)
    copies = {name: each.copy() for name, each in tensors.items()}
    write_tensors(path, copies, {**metadata, setting: value})
    with pytest.raises(FormatError, match="halfway, for rows of the length"):
        ZNorm.load(path, "per_language", 4)
