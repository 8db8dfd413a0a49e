"""The store's format, to the byte: a change here is a new format version."""

import hashlib

from pmeans.spaces.store import save_space

HEADER = (
    b'{"__metadata__": {"format": "pmeans-space", "version": "1", "name": "toy", '
    b'"languages": "[\\"en\\", \\"de\\"]", "case": "lower", "source": "", "licence": ""}, '
    b'"matrix": {"dtype": "F32", "shape": [5, 3], "data_offsets": [0, 60]}, '
    b'"padding.1": {"dtype": "U8", "shape": [4], "data_offsets": [60, 64]}, '
    b'"words.en": {"dtype": "U8", "shape": [9], "data_offsets": [64, 73]}, '
)
SHA256 = "2f52a9e6db3039ae4d5dc4269a0df50e74fcbd262d75e8edfc4429f3db176085"


def test_a_store_has_exactly_these_bytes(toy, tmp_path):
    save_space(toy, tmp_path / "toy.safetensors")
    data = (tmp_path / "toy.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 64 == 0
    assert data[8:].startswith(HEADER)
    assert data[8 + length : 8 + length + 60] == toy.matrix.tobytes()
    assert data[8 + length + 64 :].startswith(b"thecatsat")
    assert hashlib.sha256(data).hexdigest() == SHA256
