"""Models and word spaces: ``pmeans train``, ``build``, ``extend``, ``models`` and ``clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, resumable, say, table, warn
from pmeans.cli.options import DATA, argument, examples, flag, option
from pmeans.cli.spaces import Out, describe
from pmeans.files import size, sizes

Data = Annotated[Path | None, option("DIR", "What {data} in the files stands for.", shown=DATA)]
TRAIN = examples(
    "pmeans train recipes/spaces/bivcd.toml --data ../data",
    "pmeans train recipes/spaces/merged.toml#glove-en-de-fr",
)
BUILD = examples(
    "pmeans build recipes/default.toml --out my-model",
    "pmeans build my-model --package pmeans-model-mine",
)
MODELS = examples("pmeans models", "pmeans models default")
CLEAN = examples("pmeans clean --dry-run", "pmeans clean downloads teachers")
EXTEND = examples(
    "pmeans extend --lang it --dictionary en-it.tsv --text it.txt --out my-model",
    "pmeans extend my-model --lang nl --pairs en-nl.tsv.gz --out my-other-model",
)


def clean(
    kinds: Annotated[
        list[str] | None, argument("[KIND]...", "What to remove.", "all of it")
    ] = None,
    *,
    dry_run: Annotated[bool, flag("--dry-run", "Say what would be removed, and keep it.")] = False,
) -> None:
    """Remove what pmeans has kept to save work.

    'made' are the spaces that 'train' and 'build' made, and the states of trainings that were
    interrupted; 'teachers' the vectors of sentence encoders that spaces learn from; 'downloads' the
    files that 'spaces fetch' downloaded. All of it is made or downloaded again when it is needed.
    Installed spaces and models stay, and so does what another process is at work on.
    """
    from pmeans.spaces import cache

    rows = []
    for kind in [*map(cache.checked_kind, kinds or cache.KINDS)]:
        contents = cache.contents(kind)
        n, n_bytes = (len(contents), sum(contents.values())) if dry_run else cache.remove(kind)
        rows.append((kind, str(n), size(n_bytes), str(cache.folder(kind))))
    table(("KIND", "FILES", "SIZE", "FOLDER"), rows)


def train(
    files: Annotated[
        list[str],
        argument(
            "FILE...", "TOML files that say what to train. FILE#NAME is one space of several."
        ),
    ],
    out: Out = None,
    data: Data = None,
    again: Annotated[bool, flag("--again", "Train again, even if nothing has changed.")] = False,
) -> None:
    """Make word spaces: from text, word pairs or other spaces.

    They are installed under their names. Where a file names another trainer file, the spaces of
    that file are made first. After an interruption, the same command goes on where it stopped, and
    the result is the same.
    """
    from pmeans.building.graph import Graph, install
    from pmeans.outputs import check_output
    from pmeans.spaces.library import path_of
    from pmeans.spaces.store import open_space

    graph = Graph(data)
    nodes = graph.targets(files)
    if out and len(nodes) > 1:
        names = ", ".join(node.trainer.name for node in nodes)
        raise typer.BadParameter(
            f"names one file, but there are several spaces: {names}.", param_hint="--out"
        )
    for node in nodes:
        check_output(out or path_of(node.trainer.name), graph.inputs)
    with resumable(), progress(Path(files[0]).stem) as step:
        graph.make(nodes, progress=step, again=again)
    for node in nodes:
        target = out or path_of(node.trainer.name)
        install(node, target)
        describe(open_space(target), target)


def build(
    source: Annotated[
        str,
        argument(
            "FILE",
            "A TOML file: a recipe, how it is packed and what is fitted; or a kind of baseline and "
            "its settings. To make a package: the name or folder of a model.",
        ),
    ],
    *,
    out: Annotated[Path | None, option("FOLDER", "Where to write the model.")] = None,
    data: Data = None,
    package: Annotated[
        Path | None,
        option("DIR", "Also write the model as a pip package; DIR is called pmeans-model-NAME."),
    ] = None,
    version: Annotated[
        str | None, option("VERSION", "Version of the package.", shown="1.0.0")
    ] = None,
) -> None:
    """Make a model from a TOML file, or a pip package from a model.

    Where a part names a trainer file, its word space is trained first, unless that has been done
    and nothing has changed. After 'pip install DIR', the model of a package is loaded by its NAME.
    The size of each file goes to standard output.
    """
    from pmeans import models
    from pmeans.building.baseline_file import read_build
    from pmeans.building.graph import Graph
    from pmeans.building.package import FIRST_VERSION, write_package
    from pmeans.outputs import check_output

    to_build = source.endswith(".toml")
    if to_build != (out is not None):
        which = "name a folder for the model." if to_build else "goes with a TOML file only."
        raise typer.BadParameter(which, param_hint="--out")
    if package is None and (version or not to_build):
        raise typer.BadParameter("name a folder for the package.", param_hint="--package")
    for target in filter(None, (out, package)):
        check_output(target, [source])
    if out is not None:
        plan = read_build(source, data)
        with resumable(), progress(plan.name) as step:
            sizes = plan.make(out, progress=step, graph=Graph(data))
    if package is not None:
        built = models.power_means(models.load(out or source), "a model pack")
        sizes = write_package(built, package, version or FIRST_VERSION)
    table(["FILE", "BYTES"], [[name, f"{n:,}"] for name, n in sizes.items()])
    say(f"{size(sum(sizes.values()))} in {package or out}.")


def extend(
    model: Annotated[
        str | None, argument("MODEL", "Name or folder of a model.", "the model in the package")
    ] = None,
    *,
    lang: Annotated[str, option("CODE", "The language to add.")],
    out: Annotated[Path, option("FOLDER", "Where to write the new model.")],
    dictionary: Annotated[
        list[str] | None,
        option(
            "FILE",
            "Two columns: a word of the pivot language, and one of CODE. May be given several "
            "times.",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        option(
            "FILE",
            "A .tsv file: a sentence of the pivot language and its translation into CODE. A first "
            "column may name the source.",
        ),
    ] = None,
    text: Annotated[str | None, option("FILE", "Sentences in CODE, one per line.")] = None,
    pivot: Annotated[
        str, option("CODE", "Pivot language: the one that dictionaries and pairs translate from.")
    ] = "en",
) -> None:
    """Add a language to a model.

    It is learned from a dictionary, from pairs of sentences, or from both. Its words become means
    of their translations' vectors. The z-norm is fitted on the pairs, or else on the text. Up to
    1,000 of the pairs go into the model as text, to calibrate classifiers. MODEL and its other
    languages are not changed. All files may be compressed (.gz, .bz2, .xz).
    """
    from pmeans.building.new_language import NewLanguage
    from pmeans.training.corpus import PairFile

    paired = PairFile(pairs, pivot, lang) if pairs else None
    new = NewLanguage(lang, tuple(dictionary or ()), paired, text, pivot)
    with progress(lang) as step:
        encoder = new.make(model, out, progress=step)
    spaces = encoder.spaces.values()
    table(
        ["SPACE", f"WORDS {lang}", f"WORDS {pivot}"],
        [[s.name, f"{len(s.table(lang)):,}", f"{len(s.table(pivot)):,}"] for s in spaces],
    )
    say(f"{', '.join(encoder.languages)} in {out}.")


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
