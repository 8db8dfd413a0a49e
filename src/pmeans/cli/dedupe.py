"""``pmeans dedupe``: the rows of a file that say what no earlier row says."""

from __future__ import annotations

from typing import Annotated

from pmeans.cli import options
from pmeans.cli.console import progress, say, warn
from pmeans.cli.options import argument, examples, option
from pmeans.jobs.options import DedupeOptions

EXAMPLES = examples(
    "pmeans dedupe tickets.csv --out unique.csv --report duplicates.csv",
    "pmeans dedupe news.txt --across --threshold 0.85 > unique.csv",
)


@options.taking(DedupeOptions)
def dedupe(
    file: Annotated[str, argument("FILE", "Text, .csv, .tsv, .jsonl or .parquet.")],
    *,
    out: options.LabelledOut = "-",
    format_: options.LabelledFormat = None,
    report: Annotated[
        str | None,
        option("FILE", "Also write a table of what was removed, and of what nearly was."),
    ] = None,
    how: DedupeOptions,
    model: Annotated[
        str, option("MODEL", "A model: its name or folder, a recipe, or a word space.")
    ] = "default",
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
) -> None:
    """Remove rows of a file that say what an earlier row says.

    A row is a duplicate if its text is that of an earlier row but for case and spaces, or if their
    cosine is at least the threshold. The first row of a group stays, with all its columns. Texts
    that differ in a number or a 'not' may be duplicates by cosine: look at the report. It has the
    100 closest rows that stay as well.
    """
    import sys

    from pmeans import jobs, models
    from pmeans.errors import count
    from pmeans.jobs.files import fields_of
    from pmeans.languages.resolution import Doubts
    from pmeans.tables import open_source

    encoder, doubts = models.load(model), Doubts()
    source = open_source(
        file, fields_of(how, encoder.languages, whole=True), format=input_format,
        delimiter=delimiter, encoding=encoding, lang=how.lang,
    )  # fmt: skip
    with progress("comparing") as step:
        result = jobs.dedupe_to_file(
            encoder, source, sys.stdout.buffer if out == "-" else out, options=how, format=format_,
            groups=report, keep=(model,), doubts=doubts,
            report=lambda place: step(place.offset, count(place.rows, "row"), source.size),
        )  # fmt: skip
    n, stay = len(result.nearest), len(result.rows)
    where = "" if out == "-" else f", in {out}"
    say(f"{count(n, 'row')}, {count(n - stay, 'duplicate')}: {count(stay, 'row')} stay{where}.")
    if doubts.any:
        warn(str(doubts))
