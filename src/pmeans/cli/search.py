"""``pmeans search``: the sentences of a file nearest to a query, in whatever language."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from pmeans.cli import engines, options
from pmeans.cli.console import progress, warn
from pmeans.cli.options import argument, examples, flag, option
from pmeans.errors import count

EXAMPLES = examples(
    'pmeans search news.npy "rising rents" --lang en --texts news.txt',
    "pmeans search news.parquet --queries fragen.txt --lang de -k 3 --json",
)


def search(
    index: Annotated[str, argument("INDEX", "File or folder to search in.")],
    query: Annotated[str | None, argument("QUERY", "Text to search for.")] = None,
    *,
    queries: Annotated[
        str | None, option("FILE", "File with one query per line; '-' is standard input.")
    ] = None,
    model: Annotated[
        str | None,
        option("MODEL", "The model that INDEX was made with.", shown="the default model"),
    ] = None,
    lang: Annotated[
        str | None,
        option("LANGUAGE", "Language of the queries, such as 'de'.", shown="detected for each"),
    ] = None,
    k: Annotated[int, option("N", "Number of rows to find.", "-k", min=1)] = 10,
    texts: Annotated[
        str | None, option("FILE", "File with the sentences that were embedded.")
    ] = None,
    text: Annotated[
        str | None, option("NAME", "Column with the sentences, in --texts or INDEX.", shown="text")
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    approximate: Annotated[
        bool, flag("--approximate", "Search faster, in a graph kept beside INDEX; may miss rows.")
    ] = False,
    as_json: Annotated[bool, flag("--json", "Print a JSON object for each query.")] = False,
) -> None:
    """Find the rows of INDEX nearest in meaning to QUERY, by cosine.

    INDEX is what 'pmeans embed' wrote with the same model: a .npy, or a .parquet with the vectors
    in the column 'embedding'; or a folder that 'pmeans index' wrote. Its rows may be in any
    language that the model covers.

    Prints rank, score, row number (from 0) and, where the texts are known, the text, with tabs
    between them; with --queries, the number of the query (from 0) comes first.
    """
    from pmeans import models, search
    from pmeans.errors import InputError, shown
    from pmeans.languages.resolution import language_of_rows
    from pmeans.tables import open_source, texts_of, valid_text

    if (query is None) == (queries is None):
        raise InputError("what to look for? Give either a query or --queries FILE.")
    if query is not None and not query.strip():
        raise InputError("the query is empty: say what to look for.")
    # The encoding is that of both files, of which either may be missing.
    of_texts = None if texts is None and queries is not None else encoding
    opened = search.open_index(
        index, texts=texts, text=text, delimiter=delimiter, encoding=of_texts
    )
    encoder = models.load(model)
    lang = language_of_rows(encoder, lang)
    graph = None
    if approximate:
        with progress("building the approximate index") as step:
            graph = search.open_graph(
                opened, lambda done, total: step(done, count(done, "row"), total)
            )
    source = () if queries is None else texts_of(open_source(queries, encoding=encoding, lang=lang))
    asked = [valid_text(query)] if query is not None else (each or "" for each in source)
    unknown = 0
    answers = search.find(encoder, opened, asked, lang=lang, k=k, approximate=graph)
    for number, (wanted, hits) in enumerate(answers):
        unknown += not hits
        ranked = list(enumerate(hits, 1))
        if as_json:
            listed = [{"rank": rank, **asdict(hit)} for rank, hit in ranked]
            print(json.dumps({"query": wanted, "hits": listed}, ensure_ascii=False))
            continue
        for rank, hit in ranked:
            cells = [str(rank), f"{hit.score:.4f}", str(hit.row)]
            cells += [] if hit.text is None else [hit.text.translate(options.ONE_LINE)]
            print("\t".join(cells if query is not None else [str(number), *cells]))
    if unknown and query is not None:
        raise InputError(
            f"nothing found: the model knows no word of {shown(query)}, or none of all rows."
        )
    if unknown:
        which = count(unknown, "query", "queries")
        warn(f"nothing found for {which}: the model knows none of their words.")


INDEXING = examples("pmeans index vectors/ --shards 4 --engine ray --out index/")


def index(
    files: Annotated[str, argument("FILES", "Folder or pattern of Parquet files with vectors.")],
    *,
    out: Annotated[str, option("DIR", "Folder to write the index to.")],
    shards: Annotated[int, option("N", "Number of shards.", min=1)] = 1,
    engine: engines.Name = None,
    restart: options.Restart = False,
) -> None:
    """Build an index in shards, for 'pmeans search DIR --approximate'.

    FILES is a folder that 'pmeans embed --engine' wrote, or a pattern of Parquet files with the
    column 'embedding'. One worker builds one shard, in its memory. Shards that an earlier run has
    finished are not built again.
    """
    from pmeans import jobs

    engines.run(engine, jobs.index_parts, {}, files=files, out=out, shards=shards, restart=restart)
