"""``pmeans embed``: a file of sentences becomes a file of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pmeans.cli import engines, options
from pmeans.cli.console import job, say, warn
from pmeans.cli.options import argument, examples, flag, option
from pmeans.errors import counted

if TYPE_CHECKING:
    from pmeans.identifier import Doubts

EXAMPLES = examples(
    "pmeans embed glove-840b reviews.csv --text review --out reviews.npy",
    "zcat wiki.txt.gz | pmeans embed my-encoder --lang de --out - | head -n 1",
    "pmeans embed default 'crawl/*.parquet' --engine ray --out vectors/",
)


def embed(
    model: Annotated[str, argument("MODEL", "What embeds.")],
    input_: Annotated[str, argument("INPUT", "The sentences.", "standard input")] = "-",
    *,
    out: Annotated[str, option("FILE", "Where to; '-' prints JSON lines.")],
    format_: Annotated[
        Literal["npy", "jsonl", "parquet"] | None,
        option(None, "Of FILE, if its name does not tell.", "--format"),
    ] = None,
    dtype: Annotated[
        options.Precision, option(None, "Of the numbers; int8 keeps directions only.")
    ] = "float32",
    text: options.Text = "text",
    lang: options.Lang = None,
    lang_column: options.LangColumn = None,
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    normalize: Annotated[bool, flag("--normalize", "Scale vectors to length 1.")] = False,
    on_error: Annotated[
        Literal["fail", "skip"],
        option(None, "At a row that cannot be read, stop or make it a zero row."),
    ] = "fail",
    n_threads: Annotated[int | None, option("N", "All cores if not given.", min=1)] = None,
    batch_size: Annotated[int, option("N", "Rows embedded together.", min=1)] = 8192,
    engine: engines.Name = None,
    restart: options.Restart = False,
) -> None:
    """Embed the sentences of a file, row by row.

    MODEL is 'default', an encoder's folder, a recipe (.toml), or a word space. INPUT is plain text
    with a sentence per line, .csv, .tsv (unquoted), .jsonl or .parquet, compressed or not; '-' or
    nothing is standard input.

    The output has a row for every row of the input, in its order. It is written piece by piece
    to FILE.partial: after a crash, the same command goes on from there and ends with the same
    bytes.

    With --engine, INPUT is a pattern as 'crawl/*.parquet' or 's3://bucket/crawl/*.parquet', and
    --out a folder: of parts, with all columns of the input and 'embedding'. Parts that are there
    are not made again.
    """
    from pmeans import apply, models, parts, rows

    if engine:
        unfit = {
            "format": format_, "input_format": input_format, "delimiter": delimiter,
            "encoding": encoding, "n_threads": n_threads,
        }  # fmt: skip
        done = engines.run(
            engine, parts.embed_parts, unfit, files=input_, out=out, model=model, text=text,
            lang=lang, lang_column=lang_column, normalize=normalize, dtype=dtype,
            on_error=on_error, restart=restart,
        )  # fmt: skip
        _say_counts(done.empty, done.skipped, done.doubts)
        return
    encoder = models.load(model)
    fields = rows.Fields(text, lang_column, languages=encoder.languages, on_error=on_error)
    source = rows.open_source(
        input_, fields, format=input_format, delimiter=delimiter, encoding=encoding, lang=lang
    )
    how = apply.EmbedOptions(
        lang, batch_size, normalize=normalize, n_threads=n_threads, dtype=dtype
    )
    with job("embedding", source.size, out) as (to, report):
        state = apply.embed_to_file(
            encoder, source, to, how, format=format_, restart=restart, report=report, keep=(model,)
        )
    where = "" if out == "-" else f" in {out}"
    say(f"{counted(state.rows, 'row')} of {encoder.dim} numbers{where}.")
    _say_counts(state.empty, state.skipped, how.doubts)


def _say_counts(empty: int, skipped: int, doubts: Doubts) -> None:
    if empty:
        say(f"{counted(empty, 'row')} without a known word: zeros.")
    if doubts.any:
        warn(str(doubts))
    if skipped:
        warn(f"{counted(skipped, 'row')} could not be read: zeros.")
