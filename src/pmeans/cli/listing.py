"""``pmeans models``: what there is to load."""

from __future__ import annotations

from typing import Annotated

from pmeans.cli.console import table, warn
from pmeans.cli.options import argument, examples
from pmeans.files import size, sizes

EXAMPLES = examples("pmeans models", "pmeans models default")


def models(
    model: Annotated[
        str | None, argument("MODEL", "Name or folder of a model whose card to print.")
    ] = None,
) -> None:
    """List the models that have a name, or print the card of one.

    Models come with pmeans, lie in the library ($PMEANS_HOME/models, or pmeans/models in your cache
    folder), or are installed by pip as packs. The files of a pack are compared with their
    checksums. Packs of the catalogue that are not installed are listed as well.
    """
    from pmeans import models
    from pmeans.building.card import licences
    from pmeans.errors import PmeansError, StorageError
    from pmeans.models import packs

    if model is not None:
        card = models.card_of(models.load(model))
        if not card:
            raise StorageError(f"the model {model!r} has no card.")
        print(card, end="")
        return
    rows = []
    here = models.installed()
    for each in here:
        if each.hidden:
            warn(f"{each.name!r} of {each.where} is hidden by that of {each.hidden}.")
            continue
        try:
            encoder = each.open()
        except PmeansError as error:
            warn(error)
            continue
        folder = models.folder_of(encoder)
        n_bytes = sum(sizes(folder).values()) if folder else 0
        terms = ", ".join(licences(models.card_of(encoder))) or "unknown"
        rows.append((each.name, each.where, " ".join(encoder.languages), size(n_bytes), terms))
    for offer in packs.catalogue():
        if offer.name not in {each.name for each in here}:
            languages = " ".join(offer.languages)
            rows.append((offer.name, "to install", languages, size(offer.bytes), offer.licence))
    table(("NAME", "WHERE", "LANGUAGES", "SIZE", "LICENCE"), rows)
