"""How a classifier is learned: encode, choose, fit, calibrate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.znorm import Moments
from pmeans.errors import InputError, count
from pmeans.transfer.cross_lingual_calibration import HeldOut, calibrations
from pmeans.transfer.labels import Name, read_targets, text_groups, warn_of_few
from pmeans.transfer.learned import Chosen, Fitted
from pmeans.transfer.scores import WordCount
from pmeans.transfer.selection import Examples, learn
from pmeans.types import Progress

_BLOCK = 4096


def fit_classifier(
    encoder: PowerMeanEncoder,
    texts: list[str],
    labels: Sequence[Name | tuple[str, ...]],
    langs: str | list[str] | None,
    balanced: bool,
    seed: int,
    words: WordCount,
    progress: Progress,
) -> Fitted:
    """Learn from checked texts and labels; known and unknown words are counted in ``words``."""
    from threadpoolctl import threadpool_limits

    progress(0.0, "encoding")
    x = np.empty((len(texts), encoder.dim), dtype=np.float32)
    empty = np.empty(len(texts), dtype=np.bool_)
    length = np.empty(len(texts), dtype=np.int64)
    for code, which in encoder.by_language(texts, langs, doubts=words.doubts):
        some = [texts[i] for i in which]
        x[which], coverage = encoder.encode_covered(some, lang=code)
        empty[which], length[which] = coverage.zero_rows, coverage.tokens
        words.add(code, coverage, some)
    known = np.flatnonzero(~empty)
    if not len(known):
        raise InputError(f"no known word in {count(len(texts), 'text')}: is the language right?")
    x = x[known] if len(known) < len(x) else x
    targets = read_targets([labels[i] for i in known.tolist()])
    groups = text_groups([texts[i] for i in known.tolist()])
    warn_of_few(targets, groups)
    moments = Moments(encoder.dim)
    for start in range(0, len(x), _BLOCK):
        moments.add(x[start : start + _BLOCK])
    spread = moments.std.astype(np.float32)
    rows = Examples(x, targets.y, len(targets.classes), balanced, groups)
    rng = np.random.default_rng(seed)
    # One thread: these products are small, and on a busy machine threads that wait for each
    # other in every one of them made a fit five times as slow.
    with threadpool_limits(1):
        linear, trial, held, decisions = learn(encoder, rows, spread, rng, progress)
        progress(0.9, "calibrating other languages")
        held_out = HeldOut(decisions, rows.y[held], length[known[held]])
        calibrated = calibrations(encoder, linear, held_out, words.languages, rng)
    progress(1.0, "done")
    return Fitted(
        classes=targets.classes,
        multi_label=targets.multi_label,
        weights=linear.weights,
        bias=linear.bias,
        prior=rows.prior(),
        centre=moments.mean.astype(np.float32),
        spread=spread,
        adapted={},
        calibrated=calibrated,
        chosen=Chosen(
            method=rows.method,
            penalty=trial.penalty,
            powers=trial.candidate.powers,
            scaling=trial.candidate.scaling,
            columns=len(trial.candidate.columns),
            measure=rows.measure,
            score=trial.score,
            held_out=trial.held_out,
            rows=len(x),
            empty=len(texts) - len(x),
        ),
    )
