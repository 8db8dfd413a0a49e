"""Model packs: pip packages of data alone, with one model each.

A pack announces itself by an entry point of the group ``pmeans.models``: its name is the model's,
its value a package, and the folder ``model`` in that package is the model. Nothing of a pack is
imported. Looking through all installed packages takes milliseconds, so a pack is looked for after
everything else. `packs.toml` is the catalogue of packs that can be installed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pmeans import config
from pmeans.errors import InputError, StorageError

GROUP = "pmeans.models"
FOLDER = "model"
PREFIX = "pmeans-model-"
"""What the distributions of packs are called, before the name of the model."""


@dataclass(frozen=True)
class Pack:
    """A model that a pip package announces.

    Attributes:
        name: Of the model.
        distribution: What pip calls the package.
        version: Of the distribution.
        package: What Python calls it.
    """

    name: str
    distribution: str
    version: str
    package: str

    @property
    def source(self) -> str:
        """The distribution and its version."""
        return f"{self.distribution} {self.version}"

    @property
    def again(self) -> str:
        """What to do if the pack is damaged."""
        return f"Install it again: pip install --force-reinstall {self.distribution}"

    def __str__(self) -> str:
        return f"the model {self.name!r} of {self.source}"

    def folder(self) -> Path:
        """Return where the model should lie."""
        spec = None
        # For a name with dots its parents would be imported.
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(self.package) if self.package.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            raise StorageError(
                f"{self} should be in the package {self.package!r}, which is not installed. "
                f"{self.again}"
            )
        return Path(spec.submodule_search_locations[0]) / FOLDER


@dataclass(frozen=True)
class Offer:
    """A pack of the catalogue.

    Attributes:
        name: Of the model.
        languages: Codes of its languages.
        bytes: Size of the model.
        licence: Terms of what it is made from.
    """

    name: str
    languages: tuple[str, ...]
    bytes: int
    licence: str

    @property
    def how(self) -> str:
        """How to install it."""
        folder = f"packages/{PREFIX}{self.name}"
        return f"pip install {PREFIX}{self.name}, or ./{folder} in a clone of pmeans"


def installed() -> dict[str, list[Pack]]:
    """Return the installed packs by the name of the model, sorted."""
    from importlib.metadata import distributions  # takes longer than opening a model

    by_name: dict[str, dict[str, Pack]] = defaultdict(dict)
    for each in distributions():
        # One with damaged entry points, of whatever project, must not hide the others.
        with contextlib.suppress(TypeError, ValueError):
            for entry in each.entry_points.select(group=GROUP):
                pack = Pack(entry.name, each.name, each.version, entry.value)
                # Of a distribution that is there twice, Python sees the first.
                by_name[entry.name].setdefault(each.name, pack)
    return {name: [*packs.values()] for name, packs in sorted(by_name.items())}


def single(several: Sequence[Pack]) -> Pack:
    """Return the only pack of a name; two are an error."""
    if len(several) > 1:
        sources = " and ".join(sorted(pack.source for pack in several))
        raise InputError(
            f"{len(several)} packs have a model {several[0].name!r}: {sources}. "
            "Uninstall all but one."
        )
    return several[0]


@functools.cache
def catalogue() -> tuple[Offer, ...]:
    """Return the packs that can be installed."""
    path = Path(__file__).with_name("packs.toml")
    return tuple(config.build(Offer, table, path.name) for table in config.read_toml(path)["pack"])
