"""What the server says to requests that are wrong or too much: never a 500."""

import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

SHAPES = {
    "/v1/embeddings": lambda texts: {"input": texts},
    "/embed": lambda texts: {"inputs": texts},
    "/classify": lambda texts: {"inputs": texts},
    "/detect": lambda texts: {"inputs": texts},
    "/explain": lambda texts: {"inputs": texts},
    "/search": lambda texts: {"inputs": texts},
    "/predict": lambda texts: {"inputs": [[text] for text in texts]},
    "/": lambda texts: {"inputs": [[text] for text in texts]},
    "/rerank": lambda texts: {"query": texts[0], "texts": texts[1:] or ["a"]},
    "/similarity": lambda texts: {
        "inputs": {"source_sentence": texts[0], "sentences": texts[1:] or ["a"]}
    },
}


def send(client, path, texts):
    if path == "/convert":
        types = [["words", ["mean"]]]
        body = {"sentences": texts, "embedding_types": types, "lang": "en"}
        return client.post(path, data={"conversion": json.dumps(body)})
    lang = {} if path == "/detect" else {"lang": "en"}
    return client.post(path, json={**SHAPES[path](texts), **lang})


def message(answer):
    error = answer.json()["error"]
    return error if isinstance(error, str) else error["message"]


@pytest.fixture(scope="module")
def limited(start):
    from pmeans.serve import Limits

    return start(Limits(body=400, texts=3, characters=50, seconds=1))


@pytest.mark.parametrize("path", [*SHAPES, "/convert"])
def test_too_many_texts_are_refused_by_every_shape(limited, path):
    answer = send(limited, path, ["dog"] * 5)
    assert answer.status_code == (400 if path.startswith("/v1/") else 422)
    assert "at most 3" in message(answer)


@pytest.mark.parametrize("path", [*SHAPES, "/convert"])
def test_too_many_characters_are_refused_by_every_shape(limited, path):
    answer = send(limited, path, ["x" * 51])
    assert answer.status_code == (400 if path.startswith("/v1/") else 422)
    assert "at most 50" in message(answer)


@pytest.mark.parametrize("path", [*SHAPES, "/convert"])
def test_too_long_a_body_is_refused_by_every_shape(limited, path):
    answer = send(limited, path, ["x" * 1000])
    assert answer.status_code == 413
    assert "at most 400 bytes" in message(answer)


def test_a_word_of_ten_megabytes_is_refused_or_answered(start):
    from pmeans.serve import Limits

    word = "x" * 10_000_000
    assert send(start(), "/embed", [word]).status_code == 413
    wide = start(Limits(body=20_000_000, characters=20_000_000))
    assert send(wide, "/embed", [word]).json() == [[0.0] * 12]
    assert send(wide, "/classify", [word]).json()[0]["note"] == "no known word"
    assert "at most 10,000" in message(send(wide, "/explain", [word]))


def test_a_client_that_is_too_many_is_told_when_to_come_again(start, monkeypatch):
    from pmeans.serve import Limits

    entered, leave = threading.Event(), threading.Event()
    client = start(Limits(requests=1))

    def slow(*args, **kwargs):
        entered.set()
        assert leave.wait(10)
        return np.zeros((1, 12), np.float32)

    monkeypatch.setattr("pmeans.encoder.power_means.PowerMeanEncoder.encode", slow)
    with client:
        # So many that a thread works on them: the event loop goes on.
        first = threading.Thread(target=lambda: send(client, "/embed", ["dog"] * 100))
        first.start()
        assert entered.wait(10)
        answer = send(client, "/embed", ["dog"] * 100)
        leave.set()
        first.join()
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "1"
    assert "1 request is taken at a time" in message(answer)


BAD = {
    "no JSON": b"{",
    "nothing": b"",
    "a list": b"[]",
    "deep nesting": b'{"inputs":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "half a character": b'{"inputs":"\\ud800","lang":"en"}',
    "half a character in bytes": b'{"inputs":"\xed\xa0\x80","lang":"en"}',
    "no UTF-8": b'{"inputs":"\xff","lang":"en"}',
    "no number": b'{"inputs":"dog","lang":"en","dimensions":NaN}',
    "no texts": b'{"inputs":[],"lang":"en"}',
    "a number": b'{"inputs":3,"lang":"en"}',
    "token ids": b'{"inputs":[1,2],"lang":"en"}',
    "no such field": b'{"inputs":"dog","langs":"en"}',
    "no such language": b'{"inputs":"dog","lang":"xx"}',
    "no language": b'{"inputs":"dog","lang":""}',
    "fewer languages": b'{"inputs":["dog","dog"],"lang":["en"]}',
    "too many dimensions": b'{"inputs":"dog","lang":"en","dimensions":13}',
    "no dimensions": b'{"inputs":"dog","lang":"en","dimensions":0}',
    "huge dimensions": b'{"inputs":"dog","lang":"en","dimensions":1e30}',
    "a word for a flag": b'{"inputs":"dog","lang":"en","normalize":"yes"}',
    "a form without JSON": b"conversion=",
    "a form of nothing": b"conversion=%7B%7D",
    "a file": b'conversion={"sentences":["a"],"embedding_types":[["../../etc/passwd",["mean"]]]}',
    "the same space twice": b'conversion={"sentences":["a"],"embedding_types":[["words",["mean"]],["words",["max"]]]}',  # noqa: E501
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_a_wrong_body_is_a_422_that_says_why(client, body):
    answer = client.post("/embed", content=body)
    assert answer.status_code == 422
    assert message(answer).endswith((".", "?"))


def test_token_ids_are_refused_by_name(client):
    answer = client.post("/v1/embeddings", json={"input": [[1, 2, 3]], "lang": "en"})
    assert "token ids" in message(answer)


def test_a_nul_is_an_ordinary_character(client):
    assert send(client, "/embed", ["\0", "dog\0soup"]).status_code == 200


def test_a_language_that_cannot_be_found_is_asked_for(client):
    answer = client.post("/embed", json={"inputs": "dog"})
    assert answer.status_code == 422
    assert message(answer).startswith("which language?")


@pytest.mark.parametrize(
    "path", ["/nope", "/embed/", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"]
)
def test_a_path_that_is_not_in_the_table_is_a_404(client, path):
    assert client.post(path, json={}).status_code == 404


def test_another_method_is_a_405(client):
    assert client.get("/embed").status_code == 405
    assert "GET" in client.delete("/info").headers["Allow"]


@pytest.mark.parametrize("given", [None, "Bearer wrong", "secret", "Bearer secret2", "Bearer é"])
def test_a_wrong_token_opens_nothing_but_health(start, given):
    client = start(token="secret")
    headers = {"Authorization": given.encode()} if given else {}
    for path in ("/info", "/metrics", "/openapi.json", "/v1/models"):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert client.post("/embed", json={"inputs": "dog"}, headers=headers).status_code == 401
    assert client.get("/health").status_code == 200


def test_the_right_token_opens_all(start):
    headers = {"Authorization": "Bearer secret"}
    client = start(token="secret")
    assert client.get("/info", headers=headers).status_code == 200
    body = {"inputs": "dog", "lang": "en"}
    assert client.post("/embed", json=body, headers=headers).status_code == 200


def test_a_bug_is_a_500_that_tells_no_secret(start, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("/secret/path")

    client = start()
    monkeypatch.setattr("pmeans.encoder.power_means.PowerMeanEncoder.encode", broken)
    answer = send(client, "/embed", ["dog"])
    assert answer.status_code == 500
    assert "secret" not in answer.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["input", "inputs", "lang", "dimensions", "encoding_format", "model", "k", "label", "parts",
     "normalize", "truncate", "source_sentence", "sentences", "embedding_types", "parameters",
     "query", "texts", "top_k", "raw_scores", "return_text", "prompt_name"]
)  # fmt: skip
LIKELY = st.sampled_from(
    ["dog", "gut \0 dog", ["dog", "hund"], "en", ["en", "de"], 1, 3, 10**20, True, "float", "pos",
     {"source_sentence": "dog", "sentences": ["soup"]}, [["words", ["mean", "min"]]],
     [["words", [1, "inf"]]], [["dog"], ["soup"]], {"top_k": 1}]
)  # fmt: skip
BODIES = st.one_of(
    st.binary(max_size=200),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(NAMES, LIKELY | JSON, max_size=5).map(lambda value: json.dumps(value).encode()),
    st.dictionaries(NAMES, LIKELY | JSON, max_size=4).map(
        lambda value: b"conversion=" + json.dumps(value).encode()
    ),
)


@settings(max_examples=300)
@given(path=st.sampled_from([*SHAPES, "/convert"]), body=BODIES)
def test_no_body_gives_a_500(client, path, body):
    assert client.post(path, content=body).status_code in (200, 400, 422)
