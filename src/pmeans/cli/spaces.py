"""``pmeans spaces``: make, look at and write word spaces."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pmeans import choices
from pmeans.cli.console import progress, resumable, say, table, warn
from pmeans.cli.options import argument, examples, flag, group, option
from pmeans.errors import count
from pmeans.files import size

if TYPE_CHECKING:
    from pmeans.spaces.space import WordSpace

app = group("Convert, fetch, list and look at word spaces.")
Space = Annotated[str, argument("SPACE", "Name of an installed space, or a file.")]
Out = Annotated[Path | None, option("PATH", "File to write, instead of installing the space.")]
Type = Annotated[
    choices.Precision | None,
    option(None, "Type of the stored numbers.", shown="as in the file"),
]


@app.command("list", epilog=examples("pmeans spaces list"))
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
            warn(error)
            continue
        shape = (f"{len(space):,}", str(space.dim), str(space.precision))
        languages = " ".join(space.languages)
        rows.append((path.stem, "installed", *shape, languages, size(path.stat().st_size)))
    for entry in catalogue.entries():
        if entry.name not in {path.stem for path in here}:
            known = size(entry.bytes) if entry.bytes else "unknown"
            rows.append((entry.name, "to fetch", "", "", "", " ".join(entry.languages), known))
    table(("NAME", "STATE", "WORDS", "DIM", "TYPE", "LANGUAGES", "SIZE"), rows)


@app.command(epilog=examples("pmeans spaces info glove-840b --verify"))
def info(
    name: Space,
    verify: Annotated[
        bool, flag("--verify", "Read the whole file, and look for damage, NaN and infinity.")
    ] = False,
) -> None:
    """Describe a word space, by its name or its file."""
    from pmeans.errors import FormatError
    from pmeans.spaces.library import find_space
    from pmeans.spaces.store import problems

    space = find_space(name)
    words = ", ".join(f"{lang} {len(words):,}" for lang, words in space.tables.items())
    ngrams = space.subwords
    kind = "folded n-grams" if ngrams and ngrams.folded else "n-grams"
    lines = {
        "name": space.name,
        "file": space.path,
        "words": words,
        "dim": str(space.dim),
        "type": space.precision,
        "case": space.case,
        "subwords": f"{len(ngrams.ngrams):,} {kind}" if ngrams else "none",
        "source": space.source or "unknown",
        "licence": space.licence or "unknown",
    }
    for key, value in lines.items():
        print(f"{key}\t{value}")
    if verify:
        issues = list(problems(space))
        if issues:
            raise FormatError(f"{space.path}: {'; '.join(issues)}. Convert or fetch it again.")
        say("verified: every table is sound, every number is finite.")


@app.command(epilog=examples("pmeans spaces neighbours bivcd house --lang en --into de"))
def neighbours(
    name: Space,
    word: Annotated[str, argument("WORD", "The word.")],
    lang: Annotated[
        str | None, option("CODE", "Language of the word, if the space has several.")
    ] = None,
    into: Annotated[str | None, option("CODE", "Look in this language only.")] = None,
    k: Annotated[int, option("N", "Number of words to print.", "-k", min=1)] = 10,
) -> None:
    """Print the words nearest to a word, by cosine."""
    from pmeans.spaces.library import find_space
    from pmeans.spaces.neighbours import neighbours

    space = find_space(name)
    if not lang and len(space.languages) > 1:
        which = f"which language? One of {', '.join(space.languages)}."
        raise typer.BadParameter(which, param_hint="--lang")
    nearest = neighbours(space, word, lang or space.languages[0], k, into)
    table(("COSINE", "LANGUAGE", "WORD"), [(f"{c:.4f}", code, near) for code, near, c in nearest])


@app.command(
    epilog=examples("pmeans spaces convert wiki.de.vec.gz --lang de --dtype float16 --limit 200000")
)
def convert(
    file: Annotated[Path, argument("FILE", "File with vectors, compressed or not.")],
    out: Out = None,
    name: Annotated[
        str | None, option("NAME", "Name of the space.", shown="that of the file")
    ] = None,
    lang: Annotated[str, option("CODE", "Language of the words.")] = "en",
    format_: Annotated[
        str | None, option("NAME", "Format of the file.", "--format", shown="detected")
    ] = None,
    case: Annotated[
        choices.Case | None,
        option(None, "How words are looked up.", shown="as the words of the file are written"),
    ] = None,
    dtype: Type = None,
    limit: Annotated[int | None, option("N", "Read the first N words only.", min=1)] = None,
    phrases: Annotated[
        str | None,
        option("CHAR", "Character between the words of a phrase, such as _ in New_York."),
    ] = None,
    prune: Annotated[Path | None, option("CORPUS", "Keep the words of this text only.")] = None,
    on_error: Annotated[
        choices.OnError, option(None, "At a bad entry, stop or leave it out.")
    ] = "fail",
) -> None:
    """Convert a vector file into a word space, which opens instantly.

    Only --dtype changes the numbers.
    """
    from pmeans.outputs import check_output
    from pmeans.spaces import edit, library, readers
    from pmeans.spaces.readers.entries import Policy
    from pmeans.spaces.readers.npy_words import words_path
    from pmeans.tables import read_lines

    words = words_path(file) if file.suffix == ".npy" else file
    target = out or library.path_of(name or readers.name_of(file))
    check_output(target, [file, words, *([prune] if prune else [])])
    policy = Policy.skipping() if on_error == "skip" else Policy()
    space, report = readers.read_space(
        file, format=format_, name=name, lang=lang, policy=policy, limit=limit, case=case,
        phrases=phrases,
    )  # fmt: skip
    say(str(report))
    if prune:
        n_before = len(space)
        space = edit.prune(space, edit.occurring_words(space, partial(read_lines, prune)))
        say(f"{len(space):,} of {count(n_before, 'word')} kept: those that occur in {prune}.")
    store(edit.quantise(space, dtype) if dtype else space, out)


@app.command(epilog=examples("pmeans spaces fetch glove-840b --limit 200000"))
def fetch(
    name: Annotated[str, argument("NAME", "Name of a space in the catalogue.")],
    limit: Annotated[int | None, option("N", "Keep the first N words only.", min=1)] = None,
) -> None:
    """Download a public word space, convert and install it."""
    from pmeans.spaces import download

    with resumable(), progress(name) as step:
        path = download.fetch(
            name,
            progress=lambda done, total: step(done, size(done), total or None),
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
    kind = f"{count(space.dim, 'column')} of {space.precision}"
    say(f"{count(len(space), 'word')}, {kind}, in {path}.")


@app.command(epilog=examples("pmeans spaces export glove-840b glove.txt --no-header"))
def export(
    name: Space,
    file: Annotated[Path, argument("FILE", "File to write.")],
    format_: Annotated[
        Literal["text", "word2vec"] | None,
        option(
            None, "Format of FILE: word2vec (binary) if it ends in .bin, else text.", "--format"
        ),
    ] = None,
    header: Annotated[
        bool, option(None, "Write the numbers of words and columns as the first line of text.")
    ] = True,
    suffix: Annotated[
        bool, flag("--suffix", "Append the language to each word: house_en.")
    ] = False,
) -> None:
    """Write a word space for other programs: text, or word2vec's binary format."""
    from pmeans.outputs import check_output
    from pmeans.spaces import export as exporting
    from pmeans.spaces.library import find_space

    space = find_space(name)
    check_output(file, [space.path])
    if (format_ or ("word2vec" if file.suffix == ".bin" else "text")) == "word2vec":
        exporting.to_word2vec_binary(space, file, suffix=suffix)
    else:
        exporting.to_text(space, file, header=header, suffix=suffix)
    say(f"{count(len(space), 'word')} of {space.name} in {file}.")


@app.command(epilog=examples("pmeans spaces merge wiki-en wiki-de --name wiki-en-de"))
def merge(
    names: Annotated[list[str], argument("SPACE...", "Names of installed spaces, or files.")],
    *,
    name: Annotated[str, option("NAME", "Name of the merged space.")],
    out: Out = None,
    dtype: Type = None,
) -> None:
    """Merge word spaces. If several have the same word, the first one is kept."""
    from pmeans.outputs import check_output
    from pmeans.spaces import edit
    from pmeans.spaces.library import find_space, path_of

    spaces = [find_space(each) for each in names]
    check_output(out or path_of(name), [each.path for each in spaces])
    space = edit.merge(spaces, name)
    store(edit.quantise(space, dtype) if dtype else space, out)
