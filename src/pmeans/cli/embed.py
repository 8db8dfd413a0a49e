"""``pmeans embed``: a file of sentences becomes a file of vectors."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from pmeans.cli.console import progress, resumable, say

_HELP = """Embed the sentences of a file, row by row.

MODEL is 'default', an encoder's folder, a recipe (.toml), or a word space. INPUT is plain text
    with a sentence a line, .csv, .tsv (unquoted), .jsonl or .parquet; all but the last may end in
    .gz; '-' or nothing is standard input.

The output has a row for every row of the input, in its order. It is written piece by piece
to FILE.partial: after a crash, the same command goes on from there and ends with the same bytes.
"""
_EXAMPLE = """\b
Examples:
  pmeans embed glove-840b reviews.csv --text-column review --out reviews.npy
  zcat wiki.txt.gz | pmeans embed my-encoder --lang de --out - | head -n 1
"""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("embed", help=_HELP, epilog=_EXAMPLE)(embed)


def embed(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="What embeds.")],
    input_: Annotated[
        str, typer.Argument(metavar="INPUT", help="The sentences.", show_default="standard input")
    ] = "-",
    *,
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to; '-' prints JSON lines.")],
    format_: Annotated[
        Literal["npy", "jsonl", "parquet"] | None,
        typer.Option("--format", help="Of FILE, if its name does not tell."),
    ] = None,
    input_format: Annotated[
        Literal["txt", "csv", "tsv", "jsonl", "parquet"] | None,
        typer.Option(help="Of INPUT, if its name does not tell."),
    ] = None,
    text_column: Annotated[str, typer.Option(metavar="NAME", help="With the sentences.")] = "text",
    lang: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of all sentences.")
    ] = None,
    lang_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="With the language of each sentence.")
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Scale vectors to length 1.")
    ] = False,
    on_error: Annotated[
        Literal["fail", "skip"],
        typer.Option(help="At a row that cannot be read, stop or make it a zero row."),
    ] = "fail",
    n_threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="All cores if not given.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(metavar="N", min=1, help="Rows embedded and saved together.")
    ] = 8192,
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard what an earlier run left in FILE.partial.")
    ] = False,
) -> None:
    """Parse the command; `_HELP` is what it says of itself."""
    from pmeans import embedding, models

    encoder = models.load(model)
    fields = embedding.Fields(text_column, lang_column, encoder.languages, on_error)
    source = embedding.open_source(input_, fields, format=input_format)
    options = embedding.Options(lang, normalize, n_threads, batch_size)
    if out == "-":
        state = embedding.embed_to_stream(
            encoder, source, sys.stdout.buffer, options, format=format_
        )
    else:
        with resumable(), progress("embedding") as step:
            state = embedding.embed_to_file(
                encoder,
                source,
                out,
                options,
                format=format_,
                restart=restart,
                report=lambda s: step(s.offset, source.size, f"{s.rows:,} rows"),
            )
    say(f"{state.rows:,} rows of {encoder.dim} numbers{'' if out == '-' else f' in {out}'}.")
    if state.empty:
        say(f"{state.empty:,} rows have no known word and are zero.")
    if state.skipped:
        say(f"warning: {state.skipped:,} rows could not be read and are zero.")
