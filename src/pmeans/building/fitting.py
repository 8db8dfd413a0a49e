"""What an encoder learns from general text, before any task: z-norms and an alignment.

Both are of languages and not of tasks, so text of any kind will do; pairs of sentences serve both.
"""

from __future__ import annotations

from collections.abc import Sequence

from pmeans.align_fit import Fit
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import ConfigError
from pmeans.training.corpus import PairFile


def fit_on_pairs(
    encoder: PowerMeanEncoder, files: Sequence[PairFile], align: Fit | None = None
) -> PowerMeanEncoder:
    """Fit the z-norm of every language, and the maps into one space.

    Args:
        encoder: With a z-norm per language that is not fitted yet.
        files: Their training pairs are used. All have the same first language, the pivot.
        align: How the languages are mapped; None leaves them as they are.

    Returns:
        The encoder with what was fitted.
    """
    pivot = files[0].first
    if any(file.first != pivot for file in files):
        raise ConfigError(
            f"all files of pairs must have the same first language: {files[0].path} has {pivot!r}."
        )
    pairs = {file.second: file.read()["train"] for file in files}
    firsts = [pair.first for found in pairs.values() for pair in found]
    encoder = encoder.fit_znorm(firsts, lang=pivot)
    for lang, found in pairs.items():
        encoder = encoder.fit_znorm([pair.second for pair in found], lang=lang)
    if align is None:
        return encoder
    sides = {lang: ((pair.first, pair.second) for pair in found) for lang, found in pairs.items()}
    return encoder.fit_alignment(
        sides, pivot=pivot, method=align.method, penalty=align.penalty, rank=align.rank
    )
