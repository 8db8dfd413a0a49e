"""What every trainer is, and how an interrupted one goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Self

from pmeans.errors import StorageError
from pmeans.spaces.space import WordSpace
from pmeans.tensors import map_tensors, write_tensors
from pmeans.types import Array, Progress


def space_beside(folder: Path, space: str) -> str:
    """Take a relative path of a space from a folder; the name of an installed space stays."""
    is_path = "/" in space or space.endswith(".safetensors")
    return str(folder / Path(space).expanduser()) if is_path else space


class Checkpoint:
    """The state of a training, in one file that is replaced whole.

    A training that was killed and is run again with the same settings and material goes on from
    here, and ends with the same bytes as one that was not.
    """

    def __init__(self, path: Path | None, identity: object) -> None:
        """Name a file, or None to keep nothing.

        Args:
            path: Where the state is kept.
            identity: Everything that the result depends on; its `repr` is hashed. A state of
                another identity is an error and not a start.
        """
        self.path = path
        self._identity = hashlib.sha256(repr(identity).encode()).hexdigest()

    def load(self) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Return the kept arrays (writable copies) and values; None if there are none."""
        if self.path is None or not self.path.exists():
            return None
        arrays, metadata = map_tensors(self.path)
        if metadata.get("identity") != self._identity:
            raise StorageError(
                f"{str(self.path)!r} is the state of another training. Delete it, or name "
                "another file."
            )
        # What the store put between arrays is not state; saved again it would grow at each resume.
        kept = {n: array.copy() for n, array in arrays.items() if not n.startswith("padding.")}
        return kept, json.loads(metadata["state"])

    def save(self, arrays: Mapping[str, Array], state: Mapping[str, Any]) -> None:
        """Keep arrays and values (JSON), in place of the earlier ones."""
        if self.path is not None:
            metadata = {"identity": self._identity, "state": json.dumps(dict(state))}
            write_tensors(self.path, dict(arrays), metadata)

    def remove(self) -> None:
        """Forget the state, once the result is kept elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


class Trainer(Protocol):
    """A frozen dataclass: what to train, from which files, with which settings."""

    @property
    def name(self) -> str:
        """What the trained space will be called."""

    def beside(self, folder: Path) -> Self:
        """Return the same trainer with its relative paths taken from a folder."""

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train, from the beginning or from a checkpoint.

        The same settings, seed and material give the same bytes. Too little material is an
        `InputError` before any time is spent; no vector is ever NaN.
        """
