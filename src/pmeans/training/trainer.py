"""What every trainer is, and how an interrupted one goes on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_type_hints

from pmeans.errors import StorageError
from pmeans.identity import identity
from pmeans.models.baselines import Baseline
from pmeans.spaces.space import WordSpace
from pmeans.tensors import map_tensors, write_tensors
from pmeans.types import Array, Progress

Role = Literal["file", "space"]
FilePath = Annotated[str, "file"]
"""The type of a field that names a file."""
SpaceRef = Annotated[str, "space"]
"""The type of a field that names a word space: an installed one, its file, or what makes it."""


class FromFiles:
    """A dataclass of which some fields, also of dataclasses within, name files and spaces."""

    def renamed(self, change: Callable[[str, Role], str]) -> Self:
        """Return the same with every name of a file or space replaced."""
        hints = get_type_hints(type(self), include_extras=True)
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        values = {name: _renamed(getattr(self, name), hints[name], change) for name in names}
        return replace(self, **values)  # type: ignore[type-var]

    def beside(self, folder: Path) -> Self:
        """Return the same with relative paths taken from a folder; installed spaces stay."""

        def moved(name: str, role: Role) -> str:
            is_path = role == "file" or is_space_path(name)
            return str(folder / Path(name).expanduser()) if is_path else name

        return self.renamed(moved)


def _renamed(value: Any, hint: Any, change: Callable[[str, Role], str]) -> Any:
    if isinstance(value, FromFiles):
        return value.renamed(change)
    if isinstance(value, tuple):
        return tuple(_renamed(each, get_args(hint)[0], change) for each in value)
    # The hint itself, or what a value may be besides None.
    beside = [getattr(each, "__metadata__", ()) for each in (hint, *get_args(hint))]
    roles = get_args(Role)
    role = next((each for hints in beside for each in hints if each in roles), None)
    return change(value, role) if role and value is not None else value


def is_space_path(name: str) -> bool:
    """Return whether a name of a space is a path, and not that of an installed one."""
    return "/" in name or Path(name.partition("#")[0]).suffix in (".safetensors", ".toml")


def within(progress: Progress, part: int, parts: int) -> Progress:
    """Return a progress that fills one of so many equal parts of another."""
    return lambda share, words: progress((part + share) / parts, words)


class Checkpoint:
    """The state of a training, in one file that is replaced whole.

    A training that was killed and is run again with the same settings and material goes on from
    here, and ends with the same bytes as one that was not.
    """

    def __init__(self, path: Path | None, depends: object) -> None:
        """Name a file, or None to keep nothing, and all that the result depends on.

        The state of a training that depends on anything else is an error and not a start.
        """
        self.path = path
        self._identity = identity(depends)

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
        copies = {name: array.copy() for name, array in arrays.items()}
        return copies, json.loads(metadata["state"])

    def save(self, arrays: Mapping[str, Array], state: Mapping[str, Any]) -> None:
        """Keep arrays and values (JSON), in place of the earlier ones."""
        if self.path is not None:
            metadata = {"identity": self._identity, "state": json.dumps(dict(state))}
            write_tensors(self.path, dict(arrays), metadata)


class BaselineTrainer(FromFiles, ABC):
    """A frozen dataclass as `Trainer`, whose result is an encoder.

    Attributes:
        name: What the encoder will be called.
    """

    name: str

    @abstractmethod
    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> Baseline:
        """Train as `Trainer.train` does, from the beginning or from a checkpoint."""


class Trainer(FromFiles, ABC):
    """A frozen dataclass: what to train, from which files, with which settings.

    Attributes:
        name: What the trained space will be called.
    """

    name: str

    @abstractmethod
    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train, from the beginning or from a checkpoint.

        The same settings, seed and material give the same bytes. Too little material is an
        `InputError` before any time is spent; no vector is ever NaN.
        """
