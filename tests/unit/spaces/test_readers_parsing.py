"""The line parser, by example; both cores."""

from itertools import pairwise

import numpy as np
import pytest

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.kernels import LineStatus

OK, BLANK, MALFORMED, NONFINITE, BAD_UTF8 = LineStatus


def parse(data, dim=2):
    words, offsets, vectors, status = kernels.parse_lines(data, dim)
    listed = [words[a:b].tobytes() for a, b in pairwise(offsets)]
    return listed, vectors, status.tolist()


def value(text):
    words, vectors, _ = parse(b"w " + text + b"\n", 1)
    return vectors[0, 0] if words else None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"the 1 2", b"the"),
        (b"the\t1\t2", b"the"),
        (b"the  1 \t 2 \r", b"the"),
        (b". . . 1 2", b". . ."),
        (b"New  York 1 2", b"New  York"),
        (b"route 66 1 2", b"route 66"),
        (b"0.5 1 2", b"0.5"),
        (b"nan 1 2", b"nan"),
        ("a\u00a0b 1 2".encode(), "a\u00a0b".encode()),
        ("a\u2028b 1 2".encode(), "a\u2028b".encode()),
        ("\u0085 1 2".encode(), "\u0085".encode()),
        (b"a\x0b\x0c\x1cb 1 2", b"a\x0b\x0c\x1cb"),
        (b"a\rb 1 2", b"a\rb"),
    ],
)
def test_the_word_is_all_that_comes_before_the_values(line, word):
    words, vectors, status = parse(line + b"\n")
    assert (words, status) == ([word], [OK])
    np.testing.assert_array_equal(vectors, [[1, 2]])


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"", BLANK),
        (b" \t \r", BLANK),
        (b"the", MALFORMED),
        (b"the 1", MALFORMED),
        (b"1 2", MALFORMED),
        (b" 1 2", MALFORMED),
        (b" the 1 2", MALFORMED),
        (b"the 0.5 1 2", MALFORMED),
        (b"the 1e3 1 2", MALFORMED),
        (b"the 1 x", MALFORMED),
        (b"the 1 2x", MALFORMED),
        (b"the 1 2\r\r", MALFORMED),
        (b"the 1 1_0", MALFORMED),
        (b"the 1 0x10", MALFORMED),
        (b"the 1 .", MALFORMED),
        (b"the 1 -", MALFORMED),
        (b"the 1 +-2", MALFORMED),
        (b"the 1 1e", MALFORMED),
        (b"the 1 1e+", MALFORMED),
        (b"the 1 nanx", MALFORMED),
        (b"the 1 nan", NONFINITE),
        (b"the -Infinity 2", NONFINITE),
        (b"the 1 +INF", NONFINITE),
        (b"the 1 1e39", NONFINITE),
        (b"the 1 -1e99999999999999999999", NONFINITE),
        (b"\xff 1 2", BAD_UTF8),
        (b"\xff 1 nan", NONFINITE),
    ],
)
def test_what_is_wrong_with_a_line_is_told_apart(line, status):
    words, vectors, found = parse(b"first 1 2\n" + line + b"\nlast 3 4")
    assert found == [OK, status, OK]
    assert words == [b"first", b"last"]
    np.testing.assert_array_equal(vectors, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"+.5", 0.5),
        (b"5.", 5),
        (b"1E2", 100),
        (b"-0", -0.0),
        (b"0e999999999999", 0),
        (b"1e-999999999999", 0),
        (b"-1e-60", -0.0),
        (b"1e-45", 2.0**-149),
        (b"3.4028235e38", np.finfo(np.float32).max),
        (b"00000000000000000000000000000001.5", 1.5),
        (b"0.00000000000000000000000000000000000000001e41", 1),
        (b"123456789012345678901234567890e-30", 0.12345679),
    ],
)
def test_values_are_read_as_python_reads_them(text, expected):
    got = value(text)
    assert got == np.float32(expected)
    assert np.signbit(got) == np.signbit(expected)


@pytest.mark.parametrize("sign", [b"", b"-"])
def test_values_are_rounded_once(sign):
    # 1 + 2**-24 lies in the middle between two floats. Just above it, the nearest double is the
    # middle itself, and rounding that to even would give 1.
    middle = b"1.000000059604644775390625"
    factor = -1 if sign else 1
    assert value(sign + middle) == factor * np.float32(1)
    assert value(sign + middle + b"0000000000000000000000001") == factor * np.float32(1 + 2**-23)
    # So do 16 digits, which take the path that is exact in double precision.
    assert value(sign + b"1.000000536441803") == factor * np.float32(1.0000005960464478)
    assert value(sign + b"1.000001847743988") == factor * np.float32(1.0000017881393433)


def test_many_blocks_keep_the_order():
    lines = [b"w%d %d.5 -%d" % (i, i, i) for i in range(60_000)]  # 1.2 MB, several blocks
    lines[7] = b"bad"
    lines[30_000] = b"bad 1 nan"
    words, vectors, status = parse(b"\n".join(lines))
    kept = [i for i in range(60_000) if i not in (7, 30_000)]
    assert words == [b"w%d" % i for i in kept]
    np.testing.assert_array_equal(vectors[:, 0], np.array(kept) + np.float32(0.5))
    np.testing.assert_array_equal(vectors[:, 1], -np.array(kept, np.float32))
    assert (status[7], status[30_000], sum(status)) == (MALFORMED, NONFINITE, 5)


def test_nothing_in_gives_nothing_out():
    words, vectors, status = parse(b"", 3)
    assert (words, vectors.shape, status) == ([], (0, 3), [])


def test_many_short_lines_cost_no_rows():
    # With a row for every line, these would need 400 GB.
    words, vectors, status = parse(b"\n" * 1_000_000, 100_000)
    assert (words, vectors.shape, len(status)) == ([], (0, 100_000), 1_000_000)


def test_the_dimension_must_be_positive():
    with pytest.raises(InputError, match="at least 1 value"):
        kernels.parse_lines(b"a 1\n", 0)
