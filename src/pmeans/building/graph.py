"""The graph of spaces: what a space is made from is made first, and nothing is made twice.

A trainer may name another trainer file in place of a space (``glove.toml``, or
``glove.toml#glove-de`` where a file makes several), or a file of vectors, which is converted.

Made spaces lie in one folder, each under its name and a hash of all it is made from: its settings,
the content of its files and, by the same rule, its own spaces. What has changed has another name.
So a space that is there is never stale, and what is stale is missing. The state of a training lies
beside its space, so that an interrupted one goes on. The folder may be emptied at any time.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pmeans.errors import ConfigError, StorageError, did_you_mean
from pmeans.files import locked, replacing, sha256
from pmeans.identity import SHORT, identity
from pmeans.spaces import cache
from pmeans.spaces.library import data_home, find_space, path_of
from pmeans.spaces.readers import name_of
from pmeans.spaces.readers.npy_words import words_path
from pmeans.spaces.store import save_space
from pmeans.training import read_trainers
from pmeans.training.joined import Convert
from pmeans.training.trainer import FromFiles, Role, Trainer, is_space_path, within
from pmeans.types import Progress

VERSION = 1
"""To be raised when a trainer makes other numbers of the same settings and material."""

_FICLONE = 0x40049409  # of Linux: share the blocks of another file

S = TypeVar("S", bound=FromFiles)


@dataclass(frozen=True)
class Node:
    """A space to be made."""

    trainer: Trainer  # with the files of made spaces in place of what makes them
    path: Path  # where the space lies once it is made
    inputs: tuple[Node, ...]  # the spaces that must be made before

    def make(self, progress: Progress) -> None:
        """Train the space, or go on where it was interrupted, and keep it."""
        name, state = self.trainer.name, self.path.with_suffix(".training")
        space = self.trainer.train(
            progress=lambda share, words: progress(share, f"{name}: {words}"), checkpoint=state
        )
        save_space(space, self.path)
        state.unlink(missing_ok=True)


class Graph:
    """Spaces by what they are made from.

    ``{data}`` in trainer files is `data`, or else `data_home`. Made spaces are kept in `folder`, or
    else in ``made`` beside the installed ones.
    """

    def __init__(self, data: str | Path | None = None, folder: Path | None = None) -> None:
        self.data = data_home(data)
        self.folder = folder or cache.folder("made")
        self._nodes: dict[str, Node] = {}
        self._underway: list[str] = []
        self._digests: dict[Path, str] = {}
        self.inputs: set[Path] = set()
        """All files and folders that were looked at so far, to be made from."""

    def targets(self, references: Iterable[str]) -> list[Node]:
        """Return the spaces of trainer files: all of a file, or the one named after ``#``."""
        nodes: dict[str, Node] = {}
        for reference in references:
            for name in self._trainers(reference):
                node = self.node(f"{reference.partition('#')[0]}#{name}")
                if nodes.setdefault(name, node) != node:
                    message = f"another file makes a space named {name!r} as well."
                    raise ConfigError(f"{reference}: {message}")
        return list(nodes.values())

    def node(self, reference: str) -> Node:
        """Return the space that a trainer file, or a file of vectors, makes."""
        trainers = self._trainers(reference)
        (name, trainer), *others = trainers.items()
        if others:
            raise ConfigError(
                f"{reference} makes {', '.join(trainers)}: name one, as in {reference}#{name}."
            )
        file = Path(reference.partition("#")[0]).resolve()
        key = f"{file}#{name}"
        if key in self._underway:
            circle = [*self._underway[self._underway.index(key) :], key]
            shown = " needs ".join(Path(each).name for each in circle)
            raise ConfigError(f"a space cannot be made from itself: {shown}.")
        if key not in self._nodes:
            self._underway.append(key)
            try:
                trainer, inputs = self.resolved(trainer)
            finally:
                self._underway.pop()
            path = path_of(f"{name}-{self._identity(trainer)}", self.folder)
            self._nodes[key] = Node(trainer, path, inputs)
        return self._nodes[key]

    def resolved(self, settings: S) -> tuple[S, tuple[Node, ...]]:
        """Put the files of made spaces in place of what makes them; return these as well."""
        inputs: dict[Path, Node] = {}

        def file_of(name: str, role: Role) -> str:
            if role == "file" or not is_space_path(name) or name.endswith(".safetensors"):
                is_path = role == "file" or is_space_path(name)
                self.inputs |= set(_belonging(Path(name) if is_path else path_of(name)))
                return name
            node = self.node(name)
            inputs[node.path] = node
            return str(node.path)

        return settings.renamed(file_of), tuple(inputs.values())

    def make(self, nodes: Sequence[Node], *, progress: Progress, again: bool = False) -> list[str]:
        """Make what is missing, in order; return the names of the spaces that were made.

        With `again`, these, but not what they need, are made although they are there.
        """
        missing = list(_missing(nodes, again))
        for i, node in enumerate(missing):
            with one_thread(), _alone(node.path):
                node.make(within(progress, i, len(missing)))
        return [node.trainer.name for node in missing]

    def _trainers(self, reference: str) -> dict[str, Trainer]:
        file, _, wanted = reference.partition("#")
        self.inputs |= set(_belonging(Path(file)))
        if Path(file).suffix != ".toml":
            name = name_of(Path(reference))
            return {name: Convert(name, reference)}
        trainers = read_trainers(file, self.data)
        if not wanted:
            return trainers
        if wanted not in trainers:
            raise ConfigError(
                f"{file} makes no space {wanted!r}.{did_you_mean(wanted, trainers)} "
                f"It makes {', '.join(trainers)}."
            )
        return {wanted: trainers[wanted]}

    def _identity(self, trainer: Trainer) -> str:
        """Return a hash of everything that the trainer's space depends on."""

        def content_of(name: str, role: Role) -> str:
            path = Path(name)
            if role == "space":
                if path.parent == self.folder:
                    return path.name  # has a hash of its own
                path = Path(find_space(name).path)
            return f"{path.name} {self._digest(path)}"

        depends = (VERSION, type(trainer).__name__, trainer.renamed(content_of))
        return identity(depends, digits=SHORT)

    def _digest(self, path: Path) -> str:
        """Return a hash of a file's content, of what belongs to it, or of all files of a folder."""
        if path not in self._digests:
            files = sorted(path.rglob("*")) if path.is_dir() else _belonging(path)
            contents = [self._content(file) for file in files if not file.is_dir()]
            self._digests[path] = identity(*contents)
        return self._digests[path]

    def _content(self, path: Path) -> bytes:
        try:
            return bytes.fromhex(sha256(path))
        except StorageError as error:
            if path.exists() or not path.is_relative_to(self.data):
                raise
            hint = f"{{data}} is {str(self.data)!r}; $PMEANS_DATA names another folder."
            raise StorageError(f"{error} {hint}") from None


def install(node: Node, target: Path) -> None:
    """Put a copy of a made space where it is wanted.

    It is not a link to the same file: whoever edits the one would change the other. Disks that can
    share the blocks of two files until one is changed do so, and copy nothing.
    """
    with replacing(target) as file, open(node.path, "rb") as source:
        try:
            import fcntl

            fcntl.ioctl(file.fileno(), _FICLONE, source.fileno())
        except (ImportError, OSError):
            shutil.copyfileobj(source, file)


def _belonging(path: Path) -> list[Path]:
    """Return a file and what belongs to it: the words of an array, the tokeniser of a network."""
    words = [words_path(path)] if path.suffix == ".npy" else []
    return [path, *words, *([path.with_name("tokenizer.json")] if path.suffix == ".onnx" else [])]


def _missing(nodes: Iterable[Node], again: bool = False) -> dict[Node, None]:
    """Return the nodes that are not made, each after those that it needs."""
    missing: dict[Node, None] = {}
    for node in nodes:
        if again or not node.path.exists():
            missing |= _missing(node.inputs) | {node: None}
    return missing


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from making the same space."""
    lock = path.with_suffix(".lock")
    held = locked(lock)
    if held is None:
        raise StorageError(f"another process is making {str(path)!r}; wait for it, and try again.")
    with held:
        try:
            yield
        finally:
            lock.unlink()


def one_thread() -> contextlib.AbstractContextManager[object]:
    """Keep BLAS to one thread: with more, sums are added up in another order, to other bytes."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")
