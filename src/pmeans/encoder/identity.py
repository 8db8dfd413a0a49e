"""Which model made vectors, as files of vectors say it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pmeans import config
from pmeans.errors import FormatError


class Identified(Protocol):
    """What can be told apart: an encoder."""

    @property
    def name(self) -> str:
        """What people call it."""

    def fingerprint(self) -> str:
        """Return a hash over all that reaches its rows."""


MODEL = b"pmeans.model"
"""What a Parquet file calls the model of its vectors, in what it says of itself."""


@dataclass(frozen=True)
class ModelIdentity:
    """Which model made rows: what people call it, and its `fingerprint`."""

    name: str
    fingerprint: str

    @classmethod
    def of(cls, encoder: Identified) -> ModelIdentity:
        """Return the identity of an encoder."""
        return cls(encoder.name, encoder.fingerprint())

    def metadata(self) -> dict[bytes, bytes]:
        """Return it as a Parquet file has it."""
        return {MODEL: json.dumps(dataclasses.asdict(self)).encode()}

    def __str__(self) -> str:
        return f"{self.name!r} ({self.fingerprint})"


def model_of(metadata: Mapping[bytes, bytes] | None, path: str | Path) -> ModelIdentity | None:
    """Return the model that a Parquet file says its vectors are of, None if it says nothing."""
    written = (metadata or {}).get(MODEL)
    if written is None:
        return None
    try:
        return config.build(ModelIdentity, json.loads(written), "model")
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: what it says of its model is damaged: {error}") from error
