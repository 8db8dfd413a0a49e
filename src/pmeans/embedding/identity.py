"""A name for what an encoder computes, by which a resumed job knows it again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from pmeans.encoder import PowerMeanEncoder


def model_identity(encoder: PowerMeanEncoder) -> str:
    """Name an encoder so that another one, or other vectors, will hardly have the same name.

    Reading gigabytes for that would take longer than many a job: rows are sampled, and a
    store's size and time of change stand for the rest.
    """
    digest = hashlib.sha256()
    for name, space in encoder.spaces.items():
        sizes = {lang: len(table) for lang, table in space.tables.items()}
        digest.update(repr((name, space.matrix.shape, space.case, sizes)).encode())
        sample = np.linspace(0, len(space) - 1, min(len(space), 64)).astype(np.int64)
        digest.update(space.rows(sample).tobytes())
        if space.path:
            stat = Path(space.path).stat()
            digest.update(repr((stat.st_size, stat.st_mtime_ns)).encode())
    for lang, statistics in sorted(encoder.znorm.statistics.items()) if encoder.znorm else ():
        digest.update(lang.encode() + statistics.mean.tobytes() + statistics.std.tobytes())
    for lang, fitted in sorted(encoder.alignment.maps.items()) if encoder.alignment else ():
        digest.update(lang.encode() + b"".join(factor.tobytes() for factor in fitted.factors))
    return f"{encoder.name} {encoder.recipe.id}-{digest.hexdigest()[:12]}"
