"""Encoders on disk: one folder each, without pickle.

::

    my-encoder/
        recipe.toml              the recipe
        spaces/NAME.safetensors  a word space for each name in it, mapped when it is opened
        znorm.safetensors        fitted statistics, if the recipe asks for z-norm
        alignment.safetensors    fitted maps into the pivot language, if there are any
        translations.tsv         sentences and translations to calibrate classifiers by, if any
        identifier.safetensors   what tells languages apart, if anything does
        MODEL.md, SHA256SUMS     the model card, and checksums of all files, if it was built

An encoder of another kind (`pmeans.models.baselines`) has a ``baseline.toml`` in place of the
recipe. A folder is written under a temporary name and renamed when it is whole. The package's own
model lies in ``default_model/`` beside this folder; ``make default-model`` builds it. Others may be
installed as packs (`pmeans.models.packs`), whose checksums are compared when they are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import overload
from urllib.parse import quote

from pmeans._version import __version__
from pmeans.encoder.alignment import Alignment
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.encoder.translations import Translations
from pmeans.encoder.znorm import ZNorm
from pmeans.errors import (
    ConfigError,
    FormatError,
    InputError,
    StorageError,
    count,
    did_you_mean,
    shown,
)
from pmeans.files import (
    CHECKSUMS,
    altered,
    finish_replacing,
    replacing_folder,
    sizes,
    write_checksums,
)
from pmeans.languages.identifier import Identifier
from pmeans.models import baselines, packs
from pmeans.models.baselines import Baseline
from pmeans.spaces import library
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space, save_space

DEFAULT = Path(__file__).parents[1] / "default_model"
"""The model in the package: English, German and French."""

RECIPE, CARD = "recipe.toml", "MODEL.md"
"""What each folder of power means has, and the card of a model."""

AnyEncoder = PowerMeanEncoder | Baseline

_ZNORM, _ALIGNMENT = "znorm.safetensors", "alignment.safetensors"
_TRANSLATIONS, _IDENTIFIER = "translations.tsv", "identifier.safetensors"
_SPACES, _INNER = "spaces", "encoder"
FILES = (
    RECIPE, _ZNORM, _ALIGNMENT, _TRANSLATIONS, _IDENTIFIER, CARD, CHECKSUMS,
    f"{_SPACES}/*.safetensors",
)  # fmt: skip
"""Patterns of all files that a folder of power means may have."""
_OF_BASELINE = (
    baselines.SETTINGS, baselines.ARRAYS, CARD, CHECKSUMS,
    *(f"{_INNER}/{name}" for name in FILES),
)  # fmt: skip


@dataclass(frozen=True)
class Installed:
    """A model that has a name.

    Attributes:
        name: Of the folder or of the pack.
        where: ``"pmeans"``, ``"library"``, or distribution and version of its pack.
        open: Opens it, with the checks of `load`.
        hidden: Where `load` finds another model or a word space of this name; empty if nowhere.
    """

    name: str
    where: str
    open: Callable[[], AnyEncoder]
    hidden: str = ""


@overload
def load(path_or_name: None = None) -> PowerMeanEncoder: ...
@overload
def load(path_or_name: str | Path | None) -> AnyEncoder: ...
def load(path_or_name: str | Path | None = None) -> AnyEncoder:
    """Open an encoder: the one in the package, or another.

    Args:
        path_or_name: None or ``"default"`` for the package's own model. Otherwise a folder that
            `save` wrote; a recipe (``.toml``) whose spaces are installed or lie beside it; a word
            space (``.safetensors``), which gives the paper's min, mean, max; or a name. A name is
            that of a folder in the library, else of a word space there, else of a model pack.
    """
    if path_or_name is None or path_or_name == "default":
        return _load_default()
    path = Path(path_or_name)
    finish_replacing(path)
    if path.is_dir():
        return _load_folder(path)
    if path.suffix == ".toml":
        return from_recipe(Recipe.from_toml(path), beside=path.parent)
    if path.suffix == ".safetensors":
        return _single_space(open_space(path))
    name = str(path_or_name)
    folders = {folder.name: folder for folder in _library()}
    if name in folders:
        return _load_folder(folders[name])
    spaces = [space.stem for space in library.installed()]
    if name in spaces:
        return _single_space(find_space(name))
    packed = packs.installed()
    if name in packed:
        return _load_pack(packed[name])
    offers = {offer.name: offer for offer in packs.catalogue()}
    if name in offers:
        raise StorageError(f"the model {shown(name)} is not installed: {offers[name].how}.")
    raise StorageError(
        f"no encoder {shown(name)}: it is not a folder, not a recipe (.toml), none of the "
        f"{len(folders)} encoders and {len(spaces)} spaces in {library.home().parent}, and none "
        f"of the {len(packed)} installed packs."
        f"{did_you_mean(name, ['default', *folders, *spaces, *packed, *offers])}"
    )


def anywhere(path_or_name: str | Path) -> str:
    """Return what `load` understands in any folder: a whole path; a name stays as it is."""
    known = path_or_name != "default" and Path(path_or_name).exists()
    return str(Path(path_or_name).absolute()) if known else str(path_or_name)


def opened(encoder: SentenceEncoder | str | Path) -> SentenceEncoder:
    """Return an encoder that is given as such, or as `load` takes it."""
    if isinstance(encoder, SentenceEncoder):
        return encoder
    if isinstance(encoder, str | Path):
        return load(encoder)
    raise InputError(
        f"expected an encoder, or the name or folder of one, got {type(encoder).__name__}: "
        f"{shown(encoder, 40)}."
    )


def installed() -> list[Installed]:
    """Return the models that have a name: pmeans's own, those of the library, and packs."""
    folders, taken = _library(), {"default": "pmeans"}
    listed = [Installed("default", "pmeans", _load_default)]
    for folder in folders:
        opener = partial(_load_folder, folder)
        listed.append(Installed(folder.name, "library", opener, taken.get(folder.name, "")))
    names = [folder.name for folder in folders] + [space.stem for space in library.installed()]
    taken = dict.fromkeys(names, "library") | taken
    for name, several in packs.installed().items():
        sources = ", ".join(pack.source for pack in several)
        listed.append(Installed(name, sources, partial(_load_pack, several), taken.get(name, "")))
    return listed


def power_means(encoder: SentenceEncoder, what: str) -> PowerMeanEncoder:
    """Return an encoder that is made of power means, or say that ``what`` needs one."""
    if isinstance(encoder, PowerMeanEncoder):
        return encoder
    kind = f"of the kind {encoder.kind!r}" if isinstance(encoder, Baseline) else "of another kind"
    raise InputError(
        f"{what} needs an encoder of power means, and {encoder.name!r} is {kind}: take "
        "pmeans.load(), or a PowerMeanEncoder."
    )


def folder_of(encoder: SentenceEncoder) -> Path | None:
    """Return the folder that an encoder was opened from, if it is one."""
    if not isinstance(encoder, PowerMeanEncoder):
        return encoder.folder if isinstance(encoder, Baseline) else None
    for space in encoder.spaces.values():
        folder = Path(space.path).parent.parent
        if space.path and (folder / RECIPE).is_file():
            return folder
    return None


def files_of(encoder: SentenceEncoder) -> tuple[str, ...]:
    """Return what an encoder was opened from: its files, and its folder if it has one."""
    folder = folder_of(encoder)
    return (*encoder.files, *([str(folder)] if folder else []))


def card_of(encoder: SentenceEncoder) -> str:
    """Return the model card in the folder of an encoder, or an empty string."""
    folder = folder_of(encoder)
    card = folder / CARD if folder else None
    return card.read_text(encoding="utf-8", errors="replace") if card and card.is_file() else ""


def from_recipe(recipe: Recipe, beside: Path | None = None) -> PowerMeanEncoder:
    """Open a recipe's spaces: files beside it first, then installed names."""
    spaces = {}
    for part in recipe.parts:
        local = beside / part.space if beside else None
        is_file = local is not None and local.suffix == ".safetensors" and local.is_file()
        spaces[part.space] = open_space(local) if local and is_file else find_space(part.space)
    return PowerMeanEncoder(recipe, spaces)


def save(encoder: AnyEncoder, folder: str | Path) -> None:
    """Write an encoder as one folder, whole or not at all; an older encoder there is replaced.

    The folder that this one was opened from is not: choose another name.
    """
    with replacing(folder, files_of(encoder)) as new:
        if isinstance(encoder, Baseline):
            write_baseline(encoder, new)
            write_checksums(new)
        else:
            write(encoder, new)


def replacing(
    folder: str | Path, inputs: Iterable[str | Path] = ()
) -> AbstractContextManager[Path]:
    """Open a temporary folder that takes the place of an encoder, or of nothing, on success.

    ``inputs`` is what it is made from, none of which is overwritten.
    """
    is_baseline = (Path(folder) / baselines.SETTINGS).is_file()
    return replacing_folder(folder, "encoder", _OF_BASELINE if is_baseline else FILES, inputs)


def write_baseline(baseline: Baseline, folder: Path) -> None:
    """Write the files of a baseline, but for card and checksums, into a folder that is there."""
    baselines.write(baseline, folder)
    inner = baseline.inner()
    if inner is not None:
        (folder / _INNER).mkdir()
        write(inner, folder / _INNER)


def write(encoder: PowerMeanEncoder, folder: Path) -> None:
    """Write the files of an encoder into a folder that is there."""
    (folder / RECIPE).write_text(encoder.recipe.to_toml(), encoding="utf-8")
    for name, space in encoder.spaces.items():
        save_space(space, _space_file(folder, name))
    if encoder.znorm:
        encoder.znorm.save(folder / _ZNORM)
    if encoder.alignment:
        encoder.alignment.save(folder / _ALIGNMENT)
    if encoder.translations:
        encoder.translations.save(folder / _TRANSLATIONS)
    if encoder.identifier:
        encoder.identifier.save(folder / _IDENTIFIER)


def _space_file(folder: Path, name: str) -> Path:
    # A recipe may name a space by its path, which is then no file name.
    return folder / _SPACES / f"{quote(name, safe='')}.safetensors"


def _library() -> list[Path]:
    """Return the folders of models in the library, sorted by name."""
    models = library.home().parent / "models"
    return sorted(each for each in models.glob("[!.]*") if each.is_dir())


def _load_default() -> PowerMeanEncoder:
    if not (DEFAULT / RECIPE).is_file():
        raise StorageError(
            "this installation of pmeans has no model of its own. In a checkout, "
            "'make default-model' builds it; or name an encoder: pmeans.load('my-encoder')."
        )
    return _load_power_means(DEFAULT)


def _load_folder(folder: Path) -> AnyEncoder:
    if (folder / baselines.SETTINGS).is_file():
        inner = folder / _INNER
        return baselines.read(folder, _load_power_means(inner) if inner.is_dir() else None)
    return _load_power_means(folder)


def _load_power_means(folder: Path) -> PowerMeanEncoder:
    if not (folder / RECIPE).is_file():
        raise StorageError(f"{str(folder)!r} holds no {RECIPE}: it is not a saved encoder.")
    recipe = Recipe.from_toml(folder / RECIPE)
    spaces = {part.space: open_space(_space_file(folder, part.space)) for part in recipe.parts}
    plain = PowerMeanEncoder(recipe, spaces)
    files = (_ZNORM, _ALIGNMENT, _TRANSLATIONS, _IDENTIFIER)
    znorm, alignment, translations, identifier = (folder / name for name in files)
    return plain.replace(
        znorm=ZNorm.load(znorm, recipe.znorm, plain.dim) if znorm.exists() else None,
        alignment=Alignment.load(alignment, plain.dim) if alignment.exists() else None,
        translations=Translations.load(translations) if translations.exists() else None,
        identifier=Identifier.load(identifier) if identifier.exists() else None,
    )


def _load_pack(several: Sequence[packs.Pack]) -> PowerMeanEncoder:
    pack = packs.single(several)
    folder = pack.folder()
    if not (folder / RECIPE).is_file():
        raise StorageError(f"{pack} is not there: no file {str(folder / RECIPE)!r}. {pack.again}")
    changed = altered(folder)
    if changed:
        raise FormatError(
            f"{pack} is damaged: {count(len(changed), 'file')} changed since the pack was made, "
            f"such as {str(folder / changed[0])!r}. {pack.again}"
        )
    try:
        # What this pmeans does not know might reach a row.
        known = {pattern.partition("/")[0] for pattern in FILES}
        unknown = {name.partition("/")[0] for name in sizes(folder)} - known
        if unknown:
            raise FormatError(f"{str(folder / min(unknown))!r} is unknown")
        return _load_power_means(folder)
    except (ConfigError, FormatError) as error:
        raise FormatError(
            f"{pack} is as it was made, but pmeans {__version__} cannot read it. Upgrade pmeans. "
            f"({error})"
        ) from error


def _single_space(space: WordSpace) -> PowerMeanEncoder:
    recipe = Recipe((Part(space.name),), space.name, tokenizer="words")
    return PowerMeanEncoder(recipe, {space.name: space})
