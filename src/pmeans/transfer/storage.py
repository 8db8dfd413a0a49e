"""How a classifier is stored: as arrays and names, without pickle.

::

    my-classifier/
        classifier.json          classes, options, what was chosen
        classifier.safetensors   weights, bias, prior, centre and spread of the training rows;
                                 slope.LANG and offset.LANG of a language's decisions
        adapted.safetensors      mean and deviation of adapted languages' rows
        encoder/                 the encoder, as `pmeans.save` writes it

The folder needs nothing outside it, and is written whole or not at all. Where the classifier refers
to a model, ``classifier.json`` has the model's name and fingerprint, and there is no ``encoder/``.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from pmeans import config, models
from pmeans.encoder.identity import ModelIdentity
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.znorm import ZNorm
from pmeans.errors import ConfigError, FormatError, InputError, StorageError, shown
from pmeans.files import finish_replacing, replacing_folder
from pmeans.tensors import are_numbers, map_tensors, write_tensors
from pmeans.transfer.labels import Name
from pmeans.transfer.learned import Chosen, Fitted, Options
from pmeans.transfer.linear import Calibration

_NAMES, _ARRAYS, _ENCODER = "classifier.json", "classifier.safetensors", "encoder"
_ADAPTED = "adapted.safetensors"
_FILES = (_NAMES, _ARRAYS, _ADAPTED, *(f"{_ENCODER}/{name}" for name in models.FILES))
_SLOPE, _OFFSET = "slope.", "offset."
_VERSION, _REFERRING = 1, 2


@dataclass(frozen=True)
class _Names:
    """What ``classifier.json`` holds."""

    version: int
    classes: tuple[Name, ...]
    multi_label: bool
    options: Options
    chosen: Chosen
    model: ModelIdentity | None = None


def save(
    folder: str | Path,
    encoder: PowerMeanEncoder,
    fitted: Fitted,
    options: Options,
    model: str | Path | None = None,
) -> None:
    """Write a classifier; an older one there is replaced, unless the encoder is of its folder.

    With a model, it is referred to, and not copied.
    """
    referred = None
    if model is not None:
        referred = ModelIdentity(models.anywhere(model), encoder.fingerprint())
        if models.load(model).fingerprint() != referred.fingerprint:
            raise InputError(
                f"the classifier was not fitted on the model {shown(model)}: save it without "
                "model=, so that it has a copy of its own encoder."
            )
    version = _VERSION if referred is None else _REFERRING
    names = _Names(version, fitted.classes, fitted.multi_label, options, fitted.chosen, referred)
    with replacing_folder(folder, "classifier", _FILES, models.files_of(encoder)) as temporary:
        if referred is None:
            # The translations have said what they can say.
            models.save(encoder.replace(translations=None), temporary / _ENCODER)
        stored = ("weights", "bias", "prior", "centre", "spread")
        tensors = {name: getattr(fitted, name) for name in stored}
        for lang, found in fitted.calibrated.items():
            tensors |= {f"{_SLOPE}{lang}": found.slope, f"{_OFFSET}{lang}": found.offset}
        write_tensors(temporary / _ARRAYS, tensors, {"format": "pmeans-classifier"})
        ZNorm("per_language", fitted.adapted).save(temporary / _ADAPTED)
        # Python's JSON writes the powers -inf and inf as -Infinity and Infinity, and reads them.
        listed = dataclasses.asdict(names)
        if referred is None:  # as before there was a choice
            del listed["model"]
        text = json.dumps(listed, ensure_ascii=False, indent=1)
        (temporary / _NAMES).write_text(text + "\n", encoding="utf-8")


def load(folder: str | Path) -> tuple[PowerMeanEncoder, Fitted, Options]:
    """Read what `save` wrote, and check that its pieces belong together."""
    folder = Path(folder)
    finish_replacing(folder)
    path = folder / _NAMES
    if not path.is_file():
        raise StorageError(
            f"{str(folder)!r} holds no {_NAMES}: it is not a saved classifier. "
            "'pmeans fit' makes one."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names = config.build(_Names, content, str(path))
    except (ConfigError, ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged: {error}") from error
    if names.version not in (_VERSION, _REFERRING):
        raise FormatError(
            f"{path}: version {names.version}; this pmeans reads {_VERSION} and {_REFERRING}."
        )
    kinds = set(map(type, names.classes))
    if len(set(names.classes)) < len(names.classes) or len(kinds) != 1:
        raise FormatError(f"{path}: damaged: its classes are {shown(list(names.classes), 60)}.")
    if names.model is None:
        encoder = models.power_means(models.load(folder / _ENCODER), "a classifier")
    else:
        encoder = _referred(names.model, folder)
    arrays, _ = map_tensors(folder / _ARRAYS)
    n, dim = len(names.classes), encoder.dim
    shapes = {"weights": (n, dim), "bias": (n,), "prior": (n,), "centre": (dim,), "spread": (dim,)}
    languages = [name.removeprefix(_SLOPE) for name in arrays if name.startswith(_SLOPE)]
    both = {f"{kind}{lang}": (n,) for lang in languages for kind in (_SLOPE, _OFFSET)}
    for name, shape in (shapes | both).items():
        if not are_numbers(arrays.get(name), shape):
            raise FormatError(
                f"{folder / _ARRAYS}: {name!r} does not fit {n} classes and {dim} columns. "
                "The folder is damaged: fit the classifier again."
            )
    fitted = Fitted(
        classes=names.classes,
        multi_label=names.multi_label,
        adapted=ZNorm.load(folder / _ADAPTED, "per_language", dim).statistics,
        calibrated={
            lang: Calibration(arrays[_SLOPE + lang], arrays[_OFFSET + lang]) for lang in languages
        },
        chosen=names.chosen,
        **{name: arrays[name] for name in shapes},
    )
    return encoder, fitted, names.options


def _referred(model: ModelIdentity, folder: Path) -> PowerMeanEncoder:
    """Open a model, if it is still the one that the classifier of a folder was fitted on."""
    opened = models.power_means(models.load(model.name), "a classifier")
    if opened.fingerprint() != model.fingerprint:
        raise StorageError(
            f"{str(folder)!r} was fitted on the model {shown(model.name, 300)} with fingerprint "
            f"{shown(model.fingerprint)}, and the one that is there has {opened.fingerprint()}: "
            "install that version, or fit the classifier again."
        )
    return opened
