"""The native parser is the plain one, and rounds correctly."""

from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels import parsing

FIELD = st.sampled_from(
    b"the . 1 -0.25 +3e2 1e-50 1e40 nan inf 1_0 e 1e \r \x00 \xff \xc2\xa0 "
    b"123456789012345678901234567890 0.1234567890123456789".split(b" ")
)
SEPARATOR = st.sampled_from([b" ", b" ", b" ", b"\t", b"  ", b"\n", b"\n", b"\r\n"])
FILES = st.lists(st.tuples(FIELD | st.binary(max_size=4), SEPARATOR), max_size=60).map(
    lambda pairs: b"".join(field + separator for field, separator in pairs)
)
NUMBERS = st.from_regex(rb"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?(e[+-]?[0-9]{1,2})?", fullmatch=True)


@settings(deadline=None, max_examples=400)
@given(data=FILES, dim=st.integers(1, 4), n_threads=st.integers(1, 3))
@example(data=b"a 1 2\x00\nb 3 4", dim=2, n_threads=1)
def test_both_cores_agree_on_any_bytes(data, dim, n_threads):
    got = kernels.parse_lines(data, dim, n_threads)
    expected = parsing.parse_lines(np.frombuffer(data, np.uint8), dim, 1)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def nearest_float32(text):
    """By exact arithmetic: of the float32 around the value, the closest, or the even one."""
    exact = Fraction(text.decode())
    guess = np.float32(float(exact))
    around = [
        np.nextafter(guess, np.float32(-np.inf)),
        guess,
        np.nextafter(guess, np.float32(np.inf)),
    ]
    return min(
        (f for f in around if np.isfinite(f)),
        key=lambda f: (abs(Fraction(float(f)) - exact), int(f.view(np.uint32)) & 1),
    )


@settings(deadline=None, max_examples=400)
@given(text=NUMBERS)
@example(text=b"1.000000536441803")
@example(text=b"1.000000059604644775390626")
@example(text=b"7.006492321624085e-46")
def test_a_value_is_the_nearest_float32(text):
    if abs(Fraction(text.decode())) > Fraction(float(np.finfo(np.float32).max)):
        return
    _, _, vectors, _ = kernels.parse_lines(b"w " + text, 1)
    assert vectors[0, 0] == nearest_float32(text)
