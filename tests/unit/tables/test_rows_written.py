"""The bytes of an output."""

import io

import numpy as np
import pytest

from pmeans.errors import FormatError, InputError
from pmeans.tables.writers import format_of, vector_writer


def appended(format_, rows, first=0):
    rows = np.array(rows, dtype=np.float32)
    file = io.BytesIO()
    writer = vector_writer(f"out.{format_}", rows.shape[1])
    writer.begin(file, ())
    writer.append(file, rows, first)
    return file.getvalue()


def test_json_lines_have_the_shortest_numbers():
    expected = b'{"index": 7, "embedding": [0.1, 1e-20, 3e+20]}\n'
    assert appended("jsonl", [[0.1, 1e-20, 3e20]], first=7) == expected


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_json_lines_refuse_what_is_not_finite(bad):
    with pytest.raises(FormatError, match="row 8 has a number that is not finite"):
        appended("jsonl", [[1.0], [bad]], first=7)


def test_npy_rows_begin_at_a_multiple_of_64_bytes():
    content = appended("npy", [[1.0, 2.0]])
    assert len(content) == 128 + 8
    assert content.startswith(b"\x93NUMPY\x01\x00")


def test_the_name_of_a_file_tells_its_format_unless_one_is_asked_for():
    known = ("npy", "jsonl", "parquet")
    assert format_of("a.NPY", known) == "npy"
    assert format_of("a.jsonl", known, "parquet") == "parquet"
    with pytest.raises(InputError, match="format="):
        format_of("a.txt", known)
