"""``pmeans spaces``: make, look at and write word spaces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pmeans.cli.console import progress, resumable, say, size, table

if TYPE_CHECKING:
    from pmeans.spaces.space import WordSpace

app = typer.Typer(
    help="Convert, fetch, list and look at word spaces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Space = Annotated[str, typer.Argument(metavar="SPACE", help="An installed name, or a file.")]
Out = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Write there, not into the library.")
]
Type = Annotated[
    Literal["float32", "float16", "int8"] | None,
    typer.Option(help="How to store numbers; as in the file if not given."),
]


def register(parent: typer.Typer) -> None:
    """Add the group to the program."""
    parent.add_typer(app, name="spaces")


@app.command("list", epilog="\b\nExample:\n  pmeans spaces list")
def list_spaces() -> None:
    """List the installed word spaces, and those of the catalogue that can be fetched.

    Installed ones lie in $PMEANS_HOME/spaces, or pmeans/spaces in your cache folder.
    """
    from pmeans.errors import PmeansError
    from pmeans.spaces import catalogue, library
    from pmeans.spaces.store import open_space

    rows = []
    here = library.installed()
    for path in here:
        try:
            space = open_space(path)
        except PmeansError as error:
            say(f"warning: {error}")
            continue
        shape = (f"{len(space):,}", str(space.dim), str(space.matrix.dtype))
        languages = " ".join(space.languages)
        rows.append((path.stem, "installed", *shape, languages, size(path.stat().st_size)))
    for entry in catalogue.entries():
        if entry.name not in {path.stem for path in here}:
            known = size(entry.bytes) if entry.bytes else "unknown"
            rows.append((entry.name, "to fetch", "", "", "", " ".join(entry.languages), known))
    table(("NAME", "STATE", "WORDS", "DIM", "TYPE", "LANGUAGES", "SIZE"), rows)


@app.command(epilog="\b\nExample:\n  pmeans spaces info glove-840b --verify")
def info(
    name: Space,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all of it, and look for damage, nan and inf.")
    ] = False,
) -> None:
    """Describe a word space, by its name or its file."""
    from pmeans.errors import FormatError
    from pmeans.spaces.library import find_space
    from pmeans.spaces.store import problems

    space = find_space(name)
    words = ", ".join(f"{lang} {len(words):,}" for lang, words in space.tables.items())
    lines = {
        "name": space.name,
        "file": space.path,
        "words": words,
        "dim": str(space.dim),
        "type": str(space.matrix.dtype),
        "case": space.case,
        "subwords": f"{len(space.subwords.ngrams):,} n-grams" if space.subwords else "none",
        "source": space.source or "unknown",
        "licence": space.licence or "unknown",
    }
    for key, value in lines.items():
        print(f"{key}\t{value}")
    if verify:
        found = list(problems(space))
        if found:
            raise FormatError(f"{space.path}: {'; '.join(found)}. Convert or fetch it again.")
        say("verified: every table is sound, every number is finite.")


@app.command(epilog="\b\nExample:\n  pmeans spaces neighbours bivcd house --lang en --into de")
def neighbours(
    name: Space,
    word: Annotated[str, typer.Argument(metavar="WORD", help="Where to start.")],
    lang: Annotated[
        str | None, typer.Option(metavar="CODE", help="Of the word, if the space has several.")
    ] = None,
    into: Annotated[
        str | None, typer.Option(metavar="CODE", help="Look in this language only.")
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many.")] = 10,
) -> None:
    """Print the words nearest to a word, by cosine."""
    from pmeans.spaces.library import find_space
    from pmeans.spaces.neighbours import neighbours

    space = find_space(name)
    found = neighbours(space, word, lang or _only_language(space.languages), k, into)
    table(("COSINE", "LANGUAGE", "WORD"), [(f"{c:.4f}", code, near) for code, near, c in found])


def _only_language(languages: tuple[str, ...]) -> str:
    if len(languages) > 1:
        raise typer.BadParameter(
            f"which language? One of {', '.join(languages)}.", param_hint="--lang"
        )
    return languages[0]


_CONVERT = """\b
Example:
  pmeans spaces convert wiki.de.vec.gz --lang de --dtype float16 --limit 200000
"""


@app.command(epilog=_CONVERT)
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Vectors, also compressed.")],
    out: Out = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the space; the file's if not given.")
    ] = None,
    lang: Annotated[str, typer.Option(metavar="CODE", help="Language of the words.")] = "en",
    format_: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="If the file does not tell.")
    ] = None,
    case: Annotated[
        Literal["lower", "cased", "cased-then-lower"] | None,
        typer.Option(help="How to look words up; the words tell if not given."),
    ] = None,
    dtype: Type = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Read the first N words only.")
    ] = None,
    prune: Annotated[
        Path | None,
        typer.Option(metavar="CORPUS", help="Keep the words of this text only."),
    ] = None,
    on_error: Annotated[
        Literal["fail", "skip"], typer.Option(help="At a bad entry, stop or leave it out.")
    ] = "fail",
) -> None:
    """Convert a vector file into a word space, which opens at once.

    Numbers are never changed on the way, except by --dtype.
    """
    from pmeans.apply import words_of_corpus
    from pmeans.spaces import edit, readers
    from pmeans.spaces.readers.entries import Policy

    policy = Policy.skipping() if on_error == "skip" else Policy()
    space, report = readers.read_space(
        file, format=format_, name=name, lang=lang, policy=policy, limit=limit, case=case
    )
    say(str(report))
    if prune:
        n_before = len(space)
        space = edit.prune(space, words_of_corpus(space, prune))
        say(f"{len(space):,} of {n_before:,} words occur in {prune}.")
    store(edit.quantise(space, dtype) if dtype else space, out)


_FETCH = "\b\nExample:\n  pmeans spaces fetch glove-840b --limit 200000\n"


@app.command(epilog=_FETCH)
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of the catalogue's.")],
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Keep the first N words only.")
    ] = None,
) -> None:
    """Download a public word space, convert and install it."""
    from pmeans.spaces import download

    with resumable(), progress(name) as step:
        path = download.fetch(
            name,
            progress=lambda done, total: step(done, total or None, size(done)),
            report=lambda report: say(str(report)),
            limit=limit,
        )
    say(f"{name} is installed as {path}.")


def store(space: WordSpace, out: Path | None) -> None:
    """Save a space where it was asked for, or in the library, and say so."""
    from pmeans.spaces.library import path_of
    from pmeans.spaces.store import save_space

    path = out or path_of(space.name)
    save_space(space, path)
    describe(space, path)


def describe(space: WordSpace, path: Path) -> None:
    """Say what a space is, and where."""
    say(f"{len(space):,} words, {space.dim} d {space.matrix.dtype}, in {path}.")


_EXPORT = "\b\nExample:\n  pmeans spaces export glove-840b glove.txt --no-header\n"


@app.command(epilog=_EXPORT)
def export(
    name: Space,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    format_: Annotated[
        Literal["text", "word2vec"] | None,
        typer.Option("--format", help="word2vec's binary if FILE ends in .bin, else text."),
    ] = None,
    header: Annotated[bool, typer.Option(help="Begin text with a line of sizes.")] = True,
    suffix: Annotated[
        bool, typer.Option("--suffix", help="Append _en and the like to words.")
    ] = False,
) -> None:
    """Write a word space for other programs: text, or word2vec's binary format."""
    from pmeans.spaces import export as exporting
    from pmeans.spaces.library import find_space

    space = find_space(name)
    if (format_ or ("word2vec" if file.suffix == ".bin" else "text")) == "word2vec":
        exporting.to_word2vec_binary(space, file, suffix=suffix)
    else:
        exporting.to_text(space, file, header=header, suffix=suffix)
    say(f"{len(space):,} words of {space.name} in {file}.")


_MERGE = "\b\nExample:\n  pmeans spaces merge wiki-en wiki-de --name wiki-en-de\n"


@app.command(epilog=_MERGE)
def merge(
    names: Annotated[
        list[str], typer.Argument(metavar="SPACE...", help="Installed names, or files.")
    ],
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the merged space.")],
    out: Out = None,
    dtype: Type = None,
) -> None:
    """Put several languages, or vocabularies of one, into one space; the first one wins."""
    from pmeans.spaces import edit
    from pmeans.spaces.library import find_space

    space = edit.merge([find_space(each) for each in names], name)
    store(edit.quantise(space, dtype) if dtype else space, out)
