"""The target ``serve``: requests with damaged bodies, through the whole application in process."""

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.damage import LARGEST, NUMBERS, damaged
from fuzz.runner import Target
from pmeans.errors import InputError
from pmeans.languages.resolution import DoubtfulLanguageWarning
from pmeans.serve import Settings
from pmeans.serve.observed import create_app
from served import write_served

_TEXTS = ("good dog", "gut \0 suppe", "", "😀 \u2028 ‮hund", "x" * 300, "\\", "a.b" * 40)
_LANGS = ("en", "de", "German", "auto", "xx", "", "e\0n", "../en", "EN-us")
_VALUES = (
    None, True, False, 0, 1, -1, 3.5, 1e300, -0.0, "", "dog", [], {}, [[]], [1, 2], [None], [True],
    ["dog", 3], {"a": {"b": {}}}, "mean", "inf", "\ud800", *NUMBERS,
)  # fmt: skip
_STATUSES = (200, 400, 401, 404, 405, 408, 413, 415, 422)


def _texts(rng: Random) -> Any:
    if rng.random() < 0.3:
        return rng.choice(_TEXTS)
    return rng.choices(_TEXTS, k=rng.choice((1, 1, 2, 3, 65, 300)))


def _compared(rng: Random) -> Any:
    return {"source_sentence": rng.choice(_TEXTS), "sentences": _texts(rng)}


def _means(rng: Random) -> Any:
    names = ("mean", "max", "min", "p_mean_2", "p_mean_3", "median")
    return [[rng.choice(("words", "words", "../words")), rng.sample(names, k=rng.randint(1, 3))]]


def _predicted(rng: Random) -> Any:
    texts = _texts(rng)
    return texts if isinstance(texts, str) else [[text] for text in texts]


_PREDICTED: dict[str, Callable[[Random], Any]] = {
    "inputs": _predicted,
    "raw_scores": lambda rng: rng.random() < 0.5,
    "parameters": lambda rng: {"top_k": rng.randint(0, 3), "function_to_apply": "sigmoid"},
}
_FIELDS: dict[str, dict[str, Callable[[Random], Any]]] = {
    "/v1/embeddings": {
        "input": _texts,
        "dimensions": lambda rng: rng.randint(0, 14),
        "encoding_format": lambda rng: rng.choice(("float", "base64", "int8")),
        "model": lambda rng: rng.choice(_TEXTS),
    },
    "/embed": {
        "inputs": _texts,
        "dimensions": lambda rng: rng.randint(0, 14),
        "normalize": lambda rng: rng.random() < 0.5,
        "truncate": lambda rng: True,
        "parts": lambda rng: [["words", rng.choice(([1], [1, "inf"], [], ["-inf", 1e9]))]],
    },
    "/similarity": {"inputs": _compared, "parameters": lambda rng: {"a": [1]}},
    "/rerank": {
        "query": lambda rng: rng.choice(_TEXTS),
        "texts": _texts,
        "return_text": lambda rng: rng.random() < 0.5,
        "raw_scores": lambda rng: True,
    },
    "/detect": {"inputs": _texts},
    "/classify": {"inputs": _texts, "top_k": lambda rng: rng.choice((1, 2, 10**9, 0))},
    "/predict": _PREDICTED,
    "/": _PREDICTED,
    "/explain": {"inputs": _texts, "label": lambda rng: rng.choice(("pos", "neg", "?", ""))},
    "/search": {"inputs": _texts, "k": lambda rng: rng.choice((1, 3, 100, 101, 0))},
    "/convert": {"sentences": _texts, "embedding_types": _means},
}
_FIRST = ("input", "inputs", "sentences", "embedding_types", "query", "texts")


@contextmanager
def server() -> Iterator[dict[str, Target]]:
    """Give the target: what it serves is written once, for all worker processes."""
    with TemporaryDirectory() as folder:
        yield {"serve": partial(serve, settings=Settings(**write_served(Path(folder))))}


def serve(rng: Random, folder: Path, settings: Settings) -> None:
    """Send a request, most often a damaged one: any answer but an error of the server will do."""
    path = rng.choice(list(_FIELDS))
    status, headers, body = _loop().run_until_complete(
        _answer(rng, _application(settings), path, _body(rng, path))
    )
    assert status in _STATUSES, (status, body[:500])
    assert int(headers[b"content-length"]) == len(body)
    if status == 200 and headers[b"content-type"].startswith(b"text/plain"):
        assert path in ("/convert", "/embed")
        return
    answer = json.loads(body)
    if status != 200:
        error = answer["error"]
        why = error["message"] if path.startswith("/v1/") else error
        assert why.endswith((".", "?")), why
        raise InputError(why)


def _body(rng: Random, path: str) -> bytes:
    kind = rng.random()
    if kind < 0.002:
        word = rng.choice((b"x", "é".encode(), b"\\u0000", b"ab "))
        word *= rng.choice((10**5, 10**6, 10**7)) // len(word)
        return b'{"lang": "en", "inputs": "' + word + b'"}'
    if kind < 0.02:
        opened = rng.choice((b"[", b'{"inputs":', b'{"":['))
        return b'{"inputs":' + opened * rng.choice((100, 1023, 1025, 10**5))
    fields = _FIELDS[path]
    given = {
        name: make(rng) for name, make in fields.items() if name in _FIRST or rng.random() < 0.3
    }
    if rng.random() < 0.9:
        n = rng.choice((1, 1, 1, 2, 3))
        given["lang"] = rng.choice(_LANGS[:3] if n == 1 else ([rng.choice(_LANGS)] * n, "en"))
    if rng.random() < 0.3:
        given[rng.choice([*fields, "lang", "parts", "user"])] = rng.choice(_VALUES)
    body = json.dumps(given, ensure_ascii=rng.random() < 0.7).encode("utf-8", "surrogatepass")
    if rng.random() < 0.5:
        body = damaged(rng, body[:LARGEST], [b'{"inputs": [["dog"]], "lang": ["en", "de"]}'])
    if path == "/convert" or (path == "/embed" and rng.random() < 0.1):
        body = b"conversion=" + body
    return body


async def _answer(
    rng: Random, application: Any, path: str, body: bytes
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Return status, headers and body of the answer to a body that comes in pieces."""
    cuts = sorted(rng.choices(range(len(body) + 1), k=rng.choice((0, 0, 0, 1, 5))))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
    ]
    messages[-1]["more_body"] = False
    if rng.random() < 0.01:
        messages[-1] = {"type": "http.disconnect"}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": path, "query_string": b"",
        "headers": [(b"content-encoding", b"gzip")] if rng.random() < 0.01 else [],
    }  # fmt: skip
    await asyncio.wait_for(application(scope, receive, send), 9)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), content


@cache
def _application(settings: Settings) -> Any:
    warnings.simplefilter("ignore", DoubtfulLanguageWarning)  # as the server does
    return create_app(settings)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()
