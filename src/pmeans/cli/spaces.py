"""``pmeans spaces``: look at word spaces."""

from __future__ import annotations

from typing import Annotated

import typer

from pmeans.cli.console import say, size, table

app = typer.Typer(
    help="Convert, fetch, list and look at word spaces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Space = Annotated[str, typer.Argument(metavar="SPACE", help="An installed name, or a file.")]


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
    from pmeans.spaces.verify import problems

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
