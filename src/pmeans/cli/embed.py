"""``pmeans embed``: a file of sentences becomes a file of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pmeans import choices
from pmeans.cli import engines, options
from pmeans.cli.console import job, say, say_waiting, warn
from pmeans.cli.options import argument, examples, option
from pmeans.errors import count
from pmeans.jobs.options import EmbedOptions

if TYPE_CHECKING:
    from pmeans.languages.resolution import Doubts

EXAMPLES = examples(
    "pmeans embed glove-840b reviews.csv --text review --out reviews.npy",
    "zcat wiki.txt.gz | pmeans embed my-encoder --lang de --out - | head -n 1",
    "pmeans embed default 'crawl/*.parquet' --engine ray --out vectors/",
)


@options.taking(EmbedOptions)
def embed(
    model: Annotated[str, argument("MODEL", "The model.")],
    input_: Annotated[str, argument("INPUT", "File with the sentences.", "standard input")] = "-",
    *,
    out: Annotated[str, option("FILE", "File to write; '-' prints JSON lines.")],
    format_: Annotated[
        choices.VectorFormat | None,
        option(None, "Format of the output, if its name does not show it.", "--format"),
    ] = None,
    how: EmbedOptions,
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    batch_size: Annotated[
        int | None, option("N", "Number of rows embedded together.", min=1, shown="8192")
    ] = None,
    engine: engines.Name = None,
    restart: options.Restart = False,
) -> None:
    """Embed the sentences of a file, row by row.

    MODEL is 'default', the folder of a model, a recipe (.toml), or a word space. INPUT is plain
    text with a sentence per line, .csv, .tsv (unquoted), .jsonl or .parquet, compressed or not;
    '-' or nothing is standard input.

    The output has a row for every row of the input, in its order: zeros where no word is known, or
    where a row was skipped. It is written piece by piece to FILE.partial: after a crash, the same
    command goes on from there and ends with the same bytes.

    With --engine, INPUT is a folder or a pattern of Parquet files, such as 'crawl/*.parquet' or
    's3://bucket/crawl/*.parquet'. They become Parquet files in the folder --out, with all columns
    of the input and the column 'embedding'. What an earlier run has finished is not made again.
    """
    from pmeans import jobs, models, tables
    from pmeans.jobs.files import fields_of
    from pmeans.languages.resolution import Doubts

    if engine:
        unfit = {
            "format": format_, "input_format": input_format, "delimiter": delimiter,
            "encoding": encoding, "n_threads": how.n_threads, "batch_size": batch_size,
        }  # fmt: skip
        done = engines.run(
            engine, jobs.embed_parts, unfit, files=input_, out=out, model=model, options=how,
            restart=restart,
        )  # fmt: skip
        _say_counts(done.empty, done.skipped, done.doubts)
        return
    encoder, doubts = models.load(model), Doubts()
    if input_ == "-":
        say_waiting()
    source = tables.open_source(
        input_, fields_of(how, encoder.languages), format=input_format, delimiter=delimiter,
        encoding=encoding, lang=how.lang,
    )  # fmt: skip
    with job("embedding", source.size, out) as (to, report):
        state = jobs.embed_to_file(
            encoder, source, to, options=how, format=format_, restart=restart, report=report,
            batch_size=batch_size or tables.fields.BLOCK, keep=(model,), doubts=doubts,
        )  # fmt: skip
    where = "" if out == "-" else f" in {out}"
    say(f"{count(state.rows, 'row')} of {count(encoder.dim, 'number')}{where}.")
    _say_counts(state.empty, state.skipped, doubts)


def _say_counts(empty: int, skipped: int, doubts: Doubts) -> None:
    if empty:
        say(f"{count(empty, 'row')} without a known word: written as zeros.")
    if doubts.any:
        warn(str(doubts))
    if skipped:
        warn(f"could not read {count(skipped, 'row')}: written as zeros.")
