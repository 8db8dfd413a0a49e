"""The model card of a built encoder: what a person wrote, then what the build knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import count
from pmeans.models.baselines import Baseline
from pmeans.spaces.space import WordSpace
from pmeans.tensors import precision_of
from pmeans.types import Power

_MATERIAL = "## Material"


@dataclass(frozen=True)
class Material:
    """Something that a model was made from, its terms, and what it was used for, in words."""

    name: str
    licence: str
    use: str


def render(
    encoder: PowerMeanEncoder, written: str, materials: Sequence[Material], sizes: Mapping[str, int]
) -> str:
    """Return the card of an encoder, with a z-norm per language, as Markdown.

    The hand-written part has a title, or is empty. `sizes` are the bytes of the model's files.
    """
    languages = encoder.languages
    parts = []
    for part in encoder.recipe.parts:
        space, powers = encoder.spaces[part.space], ", ".join(map(_power, part.powers))
        counts = [f"{len(space.table(lang)):,}" for lang in languages]
        parts.append([part.space, powers, str(space.dim), space.precision, *counts])
    files = [[name, f"{n:,}"] for name, n in (*sizes.items(), ("all", sum(sizes.values())))]
    sections = [
        written.strip() or f"# {encoder.name}",
        f"## Parts\n\n{encoder.dim:,} columns, recipe `{encoder.recipe.id}`.",
        _table(["space", "powers", "dim", "type", *(f"words {lang}" for lang in languages)], parts),
        *(_composed(space) for space in encoder.spaces.values() if space.subwords),
        "## Fitted",
        _table(["language", "z-norm", "map"], _fitted(encoder)),
        *([_other_languages(encoder)] if encoder.identifier else ()),
        "## Files",
        _table(["file", "bytes"], files),
    ]
    if materials:
        rows = [[each.name, each.licence, each.use] for each in materials]
        sections += [_MATERIAL, _table(["source", "licence", "used for"], rows)]
    return "\n\n".join(sections) + "\n"


def render_baseline(baseline: Baseline, sizes: Mapping[str, int]) -> str:
    """Return the card of a baseline, as Markdown."""
    languages = ", ".join(baseline.languages) or "any language"
    settings = [[name, f"`{value}`"] for name, value in baseline.settings().items()]
    files = [[name, f"{n:,}"] for name, n in (*sizes.items(), ("all", sum(sizes.values())))]
    sections = [
        f"# {baseline.name}",
        f"{baseline.dim:,} columns, {languages}. An encoder of the kind `{baseline.kind}`, whose "
        f"fingerprint is `{baseline.fingerprint()}`.",
        *(["## Settings", _table(["setting", "value"], settings)] if settings else ()),
        "## Files",
        _table(["file", "bytes"], files),
    ]
    return "\n\n".join(sections) + "\n"


def licences(card: str) -> tuple[str, ...]:
    """Return the terms of the material that a card lists, each once."""
    section = card.partition(f"\n{_MATERIAL}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|[^|\n]*\| ([^|\n]*) \|[^|\n]*\|$", section, re.MULTILINE)
    # A language that was added later is described in words.
    added = re.findall(r"^## Added: (\S+)$", card, re.MULTILINE)
    return tuple(dict.fromkeys([*rows[2:], *(f"see card for {lang}" for lang in added)]))


def _composed(space: WordSpace) -> str:
    """Return what a space with n-grams does with words that it lacks."""
    sub = space.subwords
    assert sub is not None
    own = "".join(f"; {lang} has {n:,} of its own" for lang, n in sub.own.items())
    shared = len(sub.ngrams) - sum(sub.own.values())
    text = (
        f"A word that {space.name} lacks is composed from n-grams of {sub.minn} to {sub.maxn} "
        f"characters, in {shared:,} rows of {precision_of(sub.ngrams)} that the languages "
        f"share{own}."
    )
    if not sub.folded:
        return text
    return (
        f"{text} The n-grams are folded: those of the word without accents, in Latin letters, and "
        "of its consonants. Another spelling of a known word has the vector of that word."
    )


def _fitted(encoder: PowerMeanEncoder) -> list[list[str]]:
    rows = []
    for lang, statistics in encoder.znorm.statistics.items() if encoder.znorm else ():
        mapped = "none"
        if encoder.alignment and lang == encoder.alignment.pivot:
            mapped = "pivot"
        elif encoder.alignment and lang in encoder.alignment.maps:
            mapped = f"{encoder.alignment.maps[lang].origin}, {encoder.alignment.precision}"
        rows.append([lang, count(statistics.count, "sentence"), mapped])
    return rows


def _power(p: Power) -> str:
    return "one per dimension" if isinstance(p, tuple) else f"{p:g}"


def _other_languages(encoder: PowerMeanEncoder) -> str:
    known = encoder.identifier.languages if encoder.identifier else ()
    others = ", ".join(sorted(set(known) - set(encoder.languages)))
    return f"The language of a text is found, also if it is one of these others: {others}."


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
