"""Damaged bytes: what broken downloads, full disks and hostile hands make of a valid file."""

import re
from collections.abc import Sequence
from random import Random

LARGEST = 1 << 16
NUMBERS = (
    0, 1, -1, 2, 7, 127, 128, 255, 256, 2**15, 2**16, 2**20, 2**24, 2**31 - 1, 2**31, 2**32 - 1,
    2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30,
)  # fmt: skip
PIECES = (
    b"\0", b"\n", b"\r\n", b" ", b"\t", b'"', b"{", b"}", b"[", b"]", b"[]", b"{}", b",", b":",
    b"=", b"nan", b"-inf", b"NaN", b"Infinity", b"1e999", b"1e-999", b"-0", b"null",
    b"true", b"_en", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(),
    "\xa0".encode(), "😀".encode(), b"\\ud800", b"\\", b"0x" + b"f" * 5000, b"9" * 5000,
    b"[" * 5000, b'{"":' * 2000, b"-" * 9000,
)  # fmt: skip

VALUES = (
    b"null", b"true", b"NaN", b"-Infinity", b"inf", b"1e999", b"1.5", b"-1", b"0", b'""', b'"x"',
    b"[]", b"[[]]", b"{}", b"[-1, 2]", b'"\\ud800"', b"None", b"b'x'", b"(3,)", b"''",
    b"0x" + b"f" * 5000, b"9" * 400, b"[0, 1180591620717411303424]", b'"[[0]]"',
)  # fmt: skip


def damaged(rng: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Return the data after one to eight accidents; ``others`` are files it may be mixed with."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 8))):
        data = rng.choice(_ACCIDENTS)(rng, data, others)[:LARGEST]
    return data


def _somewhere(rng: Random, data: bytes) -> tuple[int, int]:
    """Two places in order, near each other more often than not."""
    begin = rng.randint(0, len(data))
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 8, 16, 64, len(data))))


def _flip_a_bit(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _cut_short(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _cut_out(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    begin, end = _somewhere(rng, data)
    return data[:begin] + data[end:]


def _overwrite(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    begin, end = _somewhere(rng, data)
    return data[:begin] + rng.randbytes(end - begin) + data[end:]


def _repeat(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    begin, end = _somewhere(rng, data)
    return data[:end] + data[begin:end] * rng.choice((1, 1, 1, 2, 10, 300)) + data[end:]


def _swap(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    a, b = _somewhere(rng, data)
    c = rng.randint(b, len(data))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else data
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _insert(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(PIECES) + data[at:]


def _binary_number(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at, size = rng.randint(0, len(data)), rng.choice((1, 2, 4, 4, 8, 8))
    number = (rng.choice(NUMBERS) % 256**size).to_bytes(size, rng.choice(("little", "big")))
    return data[:at] + number + data[at + size :]


def _decimal_number(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    found = list(re.finditer(rb"[0-9]+", data[:4096]))
    if not found:
        return data
    begin, end = rng.choice(found).span()
    return data[:begin] + str(rng.choice(NUMBERS)).encode() + data[end:]


def _other_value(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put another value into JSON, TOML or the header of a NumPy file."""
    found = list(re.finditer(rb"\"[^\"]*\"|'[^']*'|[0-9.]+|[\[(][^\[\]()]*[\])]", data[:4096]))
    if not found:
        return data
    begin, end = rng.choice(found).span()
    return data[:begin] + rng.choice(VALUES) + data[end:]


def _noise(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 7, 8, 9, 100, 1000)))


_ACCIDENTS = (
    _flip_a_bit, _flip_a_bit, _cut_short, _cut_out, _overwrite, _repeat, _swap, _splice, _insert,
    _insert, _binary_number, _binary_number, _decimal_number, _decimal_number, _other_value,
    _other_value, _noise,
)  # fmt: skip
