"""The files of a baseline: its settings as TOML, its arrays as safetensors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from pmeans import config
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import FormatError, InputError
from pmeans.models.baselines import of_kind
from pmeans.models.baselines.base import Baseline, Parts
from pmeans.tensors import map_tensors, write_tensors

SETTINGS, ARRAYS = "baseline.toml", "baseline.safetensors"


def write(baseline: Baseline, folder: Path) -> None:
    """Write settings and arrays into a folder that is there; the inner encoder is not written."""
    head = {"kind": baseline.kind, "format": baseline.format, "name": baseline.name}
    lines = [f"{key} = {_toml(value)}" for key, value in head.items()]
    lines += ["", "[settings]"]
    lines += [f"{key} = {_toml(value)}" for key, value in baseline.settings().items()]
    (folder / SETTINGS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_tensors(folder / ARRAYS, baseline.arrays(), {"format": f"pmeans-{baseline.kind}"})


def read(folder: Path, inner: PowerMeanEncoder | None) -> Baseline:
    """Read what `write` wrote, and join it with its inner encoder."""
    path = folder / SETTINGS
    head = config.read_toml(path)
    try:
        cls = of_kind(head.get("kind"))
        if head.get("format") != cls.format:
            raise FormatError(
                f"format {head.get('format')!r} of the kind {cls.kind!r}; this version of pmeans "
                f"reads format {cls.format}. Build it again."
            )
        name, settings = head.get("name"), head.get("settings", {})
        if not isinstance(name, str) or not isinstance(settings, dict):
            raise FormatError("it needs a name and a table [settings].")
        arrays, metadata = map_tensors(folder / ARRAYS)
        if metadata.get("format") != f"pmeans-{cls.kind}":
            raise FormatError(f"{ARRAYS} is not of the kind {cls.kind!r}.")
        found = cls.restored(name, Parts(settings, arrays, inner))
    except (FormatError, InputError) as error:
        if str(error).startswith(str(folder)):
            raise
        raise FormatError(f"{path}: {error}") from error
    found.folder = folder
    return found


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return config.toml_string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # inf and nan, as TOML spells them
    return repr(value)
