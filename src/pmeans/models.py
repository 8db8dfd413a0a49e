"""Encoders on disk: one folder each, without pickle.

::

    my-encoder/
        recipe.toml              the recipe
        spaces/NAME.safetensors  a word space for each name in it, mapped when it is opened
        znorm.safetensors        fitted statistics, if the recipe asks for z-norm
        alignment.safetensors    fitted maps into the pivot language, if there are any
        translations.tsv         sentences and translations to calibrate classifiers by, if any

A folder is written under a temporary name and renamed when it is whole. The package's own model
lies in ``default_model/`` beside this file; ``make default-model`` builds it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

from pmeans.align import Alignment
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import StorageError, did_you_mean
from pmeans.files import replacing_folder
from pmeans.recipe import Part, Recipe
from pmeans.spaces.library import find_space, home, installed
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space, save_space
from pmeans.translations import Translations
from pmeans.znorm import ZNorm

DEFAULT = Path(__file__).parent / "default_model"
"""The model in the package: English, German and French."""

_RECIPE, _ZNORM, _ALIGNMENT = "recipe.toml", "znorm.safetensors", "alignment.safetensors"
_TRANSLATIONS = "translations.tsv"


def load(path_or_name: str | Path | None = None) -> PowerMeanEncoder:
    """Open an encoder: the one in the package, or another.

    Args:
        path_or_name: None or ``"default"`` for the package's own model. Otherwise a folder that
            `save` wrote, or the name of one in the library; a recipe (``.toml``) whose spaces are
            installed or lie beside it; or a word space (a ``.safetensors`` file or an installed
            name), which gives the paper's min, mean, max.
    """
    if path_or_name is None or path_or_name == "default":
        return _load_default()
    path = Path(path_or_name)
    if path.is_dir():
        return _load_folder(path)
    if path.suffix == ".toml":
        return from_recipe(Recipe.from_toml(path), beside=path.parent)
    if path.suffix == ".safetensors":
        return _single_space(open_space(path))
    name = str(path_or_name)
    models = home().parent / "models"
    if (models / name).is_dir():
        return _load_folder(models / name)
    spaces = [space.stem for space in installed()]
    if name in spaces:
        return _single_space(find_space(name))
    folders = [folder.name for folder in models.iterdir()] if models.is_dir() else []
    raise StorageError(
        f"no encoder {name!r}: it is no folder, no recipe (.toml), and none of the "
        f"{len(folders)} encoders and {len(spaces)} spaces in {home().parent}."
        f"{did_you_mean(name, ['default', *folders, *spaces])}"
    )


def from_recipe(recipe: Recipe, beside: Path | None = None) -> PowerMeanEncoder:
    """Open a recipe's spaces: files beside it first, then installed names."""
    spaces = {}
    for part in recipe.parts:
        local = beside / part.space if beside else None
        found = local is not None and local.suffix == ".safetensors" and local.is_file()
        spaces[part.space] = open_space(local) if local and found else find_space(part.space)
    return PowerMeanEncoder(recipe, spaces)


def save(encoder: PowerMeanEncoder, folder: str | Path) -> None:
    """Write an encoder as one folder, whole or not at all; an older encoder there is replaced."""
    with replacing(folder) as new:
        write(encoder, new)


def replacing(folder: str | Path) -> AbstractContextManager[Path]:
    """Open a temporary folder that takes the place of an encoder, or of nothing, on success."""
    return replacing_folder(folder, _RECIPE, "encoder")


def write(encoder: PowerMeanEncoder, folder: Path) -> None:
    """Write the files of an encoder into a folder that is there."""
    (folder / _RECIPE).write_text(encoder.recipe.to_toml(), encoding="utf-8")
    for name, space in encoder.spaces.items():
        save_space(space, _space_file(folder, name))
    if encoder.znorm:
        encoder.znorm.save(folder / _ZNORM)
    if encoder.alignment:
        encoder.alignment.save(folder / _ALIGNMENT)
    if encoder.translations:
        encoder.translations.save(folder / _TRANSLATIONS)


def _space_file(folder: Path, name: str) -> Path:
    # A recipe may name a space by its path, which is then no file name.
    return folder / "spaces" / f"{quote(name, safe='')}.safetensors"


def _load_default() -> PowerMeanEncoder:
    if not (DEFAULT / _RECIPE).is_file():
        raise StorageError(
            "this installation of pmeans has no model of its own. In a checkout, "
            "'make default-model' builds it; or name an encoder: pmeans.load('my-encoder')."
        )
    return _load_folder(DEFAULT)


def _load_folder(folder: Path) -> PowerMeanEncoder:
    if not (folder / _RECIPE).is_file():
        raise StorageError(f"{str(folder)!r} holds no {_RECIPE}: it is no saved encoder.")
    recipe = Recipe.from_toml(folder / _RECIPE)
    spaces = {part.space: open_space(_space_file(folder, part.space)) for part in recipe.parts}
    plain = PowerMeanEncoder(recipe, spaces)
    znorm, alignment, told = (folder / name for name in (_ZNORM, _ALIGNMENT, _TRANSLATIONS))
    return plain.replace(
        znorm=ZNorm.load(znorm, recipe.znorm, plain.dim) if znorm.is_file() else None,
        alignment=Alignment.load(alignment, plain.dim) if alignment.is_file() else None,
        translations=Translations.load(told) if told.is_file() else None,
    )


def _single_space(space: WordSpace) -> PowerMeanEncoder:
    recipe = Recipe((Part(space.name),), space.name, tokenizer="words")
    return PowerMeanEncoder(recipe, {space.name: space})
