"""The two functions that SentEval asks for. It is no package, so there is nothing to install."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmeans.errors import InputError
from pmeans.types import Floats


def prepare(params: Mapping[str, Any], samples: Sequence[Sequence[str]]) -> None:
    """Do nothing, at the start of a task: an encoder has no vocabulary to build."""


def batcher(params: Mapping[str, Any], batch: Sequence[Sequence[str]]) -> Floats:
    """Return a row per sentence, (n, dim) float32.

    Args:
        params: SentEval's settings, with the encoder as ``params["encoder"]``. SentEval is English:
            ``pmeans.load().for_language("en")``.
        batch: Sentences as lists of tokens. An empty one is encoded as a full stop, as the scripts
            that come with SentEval do.
    """
    if "encoder" not in params:
        raise InputError("params has no encoder: set params_senteval['encoder'] = pmeans.load().")
    rows: Floats = params["encoder"].encode([" ".join(tokens or ["."]) for tokens in batch])
    return rows
