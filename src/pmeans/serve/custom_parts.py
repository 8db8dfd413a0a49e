"""An encoder of power means that a request chooses, of the word spaces that are served."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part
from pmeans.encoder.znorm import Statistics, ZNorm
from pmeans.errors import ConfigError, did_you_mean
from pmeans.serve.refusals import RefusedError
from pmeans.types import Power

COLUMNS = 4096
"""Columns of a row of chosen parts, at most."""


def chosen(
    encoder: PowerMeanEncoder, parts: Sequence[tuple[str, tuple[Power, ...]]]
) -> PowerMeanEncoder:
    """Return an encoder of some power means of a model's word spaces.

    Means that the model takes itself are z-normed by its statistics. If it has none for one of the
    chosen, all stay plain: z-scores beside plain means would outweigh them. The map of a model
    takes whole rows of it, so that a choice is not mapped. The model's own parts are the model.
    """
    own = {part.space: part for part in encoder.recipe.parts}
    for name, _ in parts:
        if name not in own:
            near = did_you_mean(name[:40], own)
            raise RefusedError(
                422, f"no word space {name[:40]!r}: there are {', '.join(own)}.{near}"
            )
    columns = sum(encoder.spaces[name].dim * len(powers) for name, powers in parts)
    if columns > COLUMNS:
        raise RefusedError(422, f"{columns:,} columns: chosen parts have at most {COLUMNS:,}.")
    taken = tuple(Part(name, powers, phrases=own[name].phrases) for name, powers in parts)
    if taken == encoder.recipe.parts:
        return encoder
    znorm = _statistics(encoder, taken)
    try:
        recipe = dataclasses.replace(
            encoder.recipe,
            parts=taken,
            name=f"{encoder.name}, chosen parts",
            znorm=znorm.scope if znorm else "none",
        )
    except ConfigError as error:  # powers that the root of the model does not have
        raise RefusedError(422, str(error)) from error
    return encoder.replace(recipe=recipe, znorm=znorm, alignment=None)


def _statistics(encoder: PowerMeanEncoder, parts: Sequence[Part]) -> ZNorm | None:
    """Return the columns of a model's z-norm that belong to parts, if it has all of them."""
    if encoder.znorm is None:
        return None
    places: dict[tuple[str, Power], np.ndarray] = {}
    start = 0
    for part in encoder.recipe.parts:
        dim = encoder.spaces[part.space].dim
        for power in part.powers:
            places[part.space, power] = np.arange(start, start + dim)
            start += dim
    wanted = [(part.space, power) for part in parts for power in part.powers]
    if not places.keys() >= set(wanted):
        return None
    columns = np.concatenate([places[each] for each in wanted])
    fitted = encoder.znorm.statistics
    return ZNorm(
        encoder.znorm.scope,
        {lang: Statistics(s.mean[columns], s.std[columns], s.count) for lang, s in fitted.items()},
    )
