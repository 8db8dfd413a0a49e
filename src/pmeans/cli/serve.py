"""``pmeans serve``: the model over HTTP."""

from __future__ import annotations

from typing import Annotated

from pmeans import choices
from pmeans.cli.console import say, warn
from pmeans.cli.options import argument, examples, flag, option, taking
from pmeans.serve.limits import Limits

EXAMPLES = examples(
    "pmeans serve",
    "pmeans serve --classifier my-classifier/ --index news.npy --texts news.txt",
    "pmeans serve my-encoder/ --host 0.0.0.0 --token-file token --workers 2",
)

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_NAMES = ("127.0.0.1", "[::1]", "localhost")  # the same in a request


@taking(Limits)
def serve(
    model: Annotated[
        str | None,
        argument(
            "MODEL",
            "The model.",
            "the classifier's encoder, or the default model",
            envvar="PMEANS_SERVE_MODEL",
        ),
    ] = None,
    *,
    classifier: Annotated[
        str | None, option("DIR", "A folder that 'fit' wrote, to label texts.")
    ] = None,
    index: Annotated[str | None, option("FILE", "Rows to search in, made with MODEL.")] = None,
    texts: Annotated[str | None, option("FILE", "The sentences that were embedded.")] = None,
    text: Annotated[
        str | None, option("NAME", "Column with the sentences, in --texts or --index.")
    ] = None,
    approximate: Annotated[
        bool, flag("--approximate", "Search faster, by the graph of --index; may miss rows.")
    ] = False,
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, option("N", "Port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8000,
    workers: Annotated[
        int, option("N", "Number of processes; one that dies is replaced.", min=1)
    ] = 1,
    token_file: Annotated[
        str | None,
        option("FILE", "Bearer tokens, one per line: answer only those who send one."),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        option("ORIGIN", "Of pages that may ask from another site; * is any. May be repeated."),
    ] = None,
    access_log: Annotated[
        choices.AccessLog,
        option(None, "Write a line per request to standard output."),
    ] = "off",
    how: Limits,
) -> None:
    """Answer requests over HTTP: embeddings, similarity, labels, search.

    The paths are those of OpenAI (/v1/embeddings, /v1/models) and of text-embeddings-inference
    (/embed, /predict, /rerank, /similarity), and /detect, /classify, /explain, /search, /health,
    /ready, /info, /metrics; /openapi.json describes them, and / is a page to try them on. MODEL and
    --index are what 'pmeans search' takes. Each option can be set by an environment variable.
    SIGTERM stops after all answers, SIGHUP opens the files again.
    """
    from pmeans.files import optional

    for module in ("starlette", "uvicorn", "httptools", "orjson", "threadpoolctl"):
        optional(module, "serve", "serving")
    from pmeans.serve import Settings
    from pmeans.serve.processes import serve as serve_until_stopped

    if token_file is None and host not in _LOOPBACK:
        warn(f"whoever can reach {host} can use this server: set a --token-file.")
    settings = Settings(
        model,
        classifier,
        index,
        texts,
        text,
        approximate=approximate,
        token_file=token_file,
        limits=how,
        hosts=_NAMES if token_file is None and host in _LOOPBACK else (),
        access_log=access_log,
        cors_origins=tuple(cors_origin or ()),
    )
    serve_until_stopped(settings, host, port, workers, lambda address: say(f"serving at {address}"))
