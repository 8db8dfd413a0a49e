"""Encoders other than power means, which other packages have: what each is, and how it is stored.

Each is a `pmeans.models.baselines.base.Baseline`, made by a
`pmeans.training.trainer.BaselineTrainer`.
"""

from __future__ import annotations

from pmeans import plugins
from pmeans.errors import FormatError, did_you_mean
from pmeans.models.baselines.base import Baseline

GROUP = "pmeans.baselines"
"""Of `pmeans.plugins`: the class of each kind."""


def of_kind(kind: object) -> type[Baseline]:
    """Return the class of a kind."""
    known = plugins.added(GROUP)
    if not isinstance(kind, str) or kind not in known:
        near = did_you_mean(kind, known) if isinstance(kind, str) else ""
        raise FormatError(
            f"an encoder of the kind {kind!r}, which no installed package knows.{near} "
            f"Known are {', '.join(known) or 'none'}."
        )
    found: type[Baseline] = plugins.load(known[kind])
    return found
