"""``pmeans mine``: pairs of lines that translate each other, from text that nobody has aligned."""

from __future__ import annotations

from typing import Annotated

from pmeans.cli import options
from pmeans.cli.console import progress, say
from pmeans.cli.options import argument, examples, flag, option

EXAMPLES = examples(
    "pmeans mine news.en.txt news.de.txt --out pairs.tsv --report scored.csv",
    "pmeans mine mixed.txt --langs en,de --out pairs.tsv",
)


def mine(
    first: Annotated[str, argument("FIRST", "Text, .csv, .tsv, .jsonl or .parquet.")],
    second: Annotated[
        str | None, argument("SECOND", "The same in another language.", "FIRST has both languages")
    ] = None,
    *,
    langs: Annotated[
        str | None, option("CODES", "The two languages, such as 'en,de'.", shown="detected")
    ] = None,
    out: Annotated[
        str, option("FILE", "Where to write the pairs: two columns with a tab; '-' prints.")
    ] = "-",
    report: Annotated[
        str | None,
        option("FILE", "Also write a table of the pairs with scores and line numbers."),
    ] = None,
    threshold: Annotated[
        float | None,
        option("X", "Least score of a pair.", min=0, shown="chosen by translations of the model"),
    ] = None,
    text: options.Text = "text",
    model: Annotated[
        str, option("MODEL", "A model: its name or folder, a recipe, or a word space.")
    ] = "default",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    approximate: Annotated[
        bool,
        flag("--approximate", "Look in a graph: faster with 100,000 lines, and may miss pairs."),
    ] = False,
    n_threads: Annotated[
        int | None, option("N", "Number of threads.", min=1, shown="all cores")
    ] = None,
) -> None:
    """Find pairs of lines in FIRST and SECOND that translate each other.

    The score of a pair says how much nearer its lines are to each other than to their neighbours in
    the other language. The pairs are written in the order of FIRST, as 'pmeans extend --pairs'
    reads them, and the report has the best ones first.
    """
    from pmeans import jobs, models, search
    from pmeans.errors import InputError, count, shown
    from pmeans.tables import Fields, open_source, texts_of

    codes = None if langs is None else tuple(code.strip() for code in langs.split(","))
    if codes is not None and (len(codes) != 2 or not all(codes)):
        raise InputError(f"langs= are two languages with a comma between them, not {shown(langs)}.")
    encoder, files = models.load(model), [first, *([second] if second else ())]
    jobs.check_pair_outputs(out, report, [*files, *models.files_of(encoder), model])
    sides = [
        [each or "" for each in texts_of(
            open_source(file, Fields(text, whole=False), delimiter=delimiter, encoding=encoding)
        )]
        for file in files
    ]  # fmt: skip
    with progress("comparing"):
        result = search.mine(
            *sides, langs=codes, model=encoder, threshold=threshold, approximate=approximate,
            n_threads=n_threads,
        )  # fmt: skip
    jobs.write_pairs(result, sides[0], sides[-1], out, report)
    where = "" if out == "-" else f" in {out}"
    say(f"{count(len(result.pairs), 'pair')}{where}, with scores from {result.threshold:.3f}.")
