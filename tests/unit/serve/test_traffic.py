"""What a process takes on: answers and bodies are bounded, and other sites' pages sent away."""

import asyncio
import itertools
import json

import numpy as np
import pytest

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.serve import Limits
from pmeans.serve.application import SLICE, write_json
from pmeans.serve.refusals import RefusedError
from pmeans.serve.traffic import SMALL, Traffic

EN = {"lang": "en"}
LONG = {
    "/embed": {"inputs": ["dog"] * 10, **EN},
    "/v1/embeddings": {"input": ["dog"] * 10, **EN},
    "/v1/embeddings in base64": {"input": ["dog"] * 30, "encoding_format": "base64", **EN},
    "/embed of parts": {"inputs": ["dog"] * 10, "parts": [["words", [1, 2, 3]]], **EN},
    "/search": {"inputs": ["dog"] * 10, "k": 3, **EN},
}


def message(answer):
    error = answer.json()["error"]
    return error if isinstance(error, str) else error["message"]


@pytest.fixture
def idle(monkeypatch):
    """Let no work be done."""

    def encode(*args, **kwargs):
        raise AssertionError("this was to be refused before any work")

    monkeypatch.setattr("pmeans.encoder.power_means.PowerMeanEncoder.encode", encode)


@pytest.fixture(scope="module")
def limited(start):
    return start(Limits(answer=1000))


@pytest.mark.parametrize(("name", "body"), LONG.items(), ids=LONG)
def test_too_long_an_answer_is_refused_before_the_work(limited, idle, name, body):
    answer = limited.post(name.split()[0], json=body)
    assert answer.status_code == (400 if name.startswith("/v1/") else 422)
    assert "at most 1,000" in message(answer)


def test_too_long_an_answer_is_refused_by_the_papers_form(limited, idle):
    types = [["words", ["mean"]]]
    body = {"sentences": ["dog"] * 20, "embedding_types": types, **EN}
    answer = limited.post("/convert", data={"conversion": json.dumps(body)})
    assert answer.status_code == 422
    assert "20 × 4 numbers" in message(answer)


def test_texts_that_a_search_returns_count(start, folder, tmp_path):
    (tmp_path / "long.txt").write_text("\n".join(["x" * 900, "y" * 900, "z" * 900]) + "\n")
    client = start(Limits(answer=1500), texts=str(tmp_path / "long.txt"))
    assert client.post("/search", json={"inputs": "dog", "k": 1, **EN}).status_code == 200
    answer = client.post("/search", json={"inputs": "dog", "k": 2, **EN})
    assert answer.status_code == 422
    assert "1 × 2 rows with their texts make an answer of up to 1,960" in message(answer)


def test_any_other_answer_that_is_too_long_is_not_sent(start):
    client = start(Limits(answer=100))
    answer = client.post("/classify", json={"inputs": ["dog"] * 20, **EN})
    assert answer.status_code == 422
    assert "at most 100" in message(answer)


def test_no_work_begins_while_answers_wait(start):
    client = start(Limits(answers=1000))
    traffic = client.app.app.traffic
    with traffic.answer(1000):
        for texts in (["dog"], ["dog"] * 100):  # on the event loop, and in a thread
            answer = client.post("/embed", json={"inputs": texts, **EN})
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "1"
            assert "at 1,000 no work begins" in message(answer)
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200
    assert client.post("/embed", json={"inputs": "dog", **EN}).status_code == 200
    assert client.get("/ready").json() == {"status": "ready"}
    assert traffic.answers == traffic.bodies == traffic.requests == 0


def test_bodies_have_a_budget_that_small_ones_do_not_need():
    traffic = Traffic(Limits(body=10 * SMALL, bodies=10 * SMALL))
    with traffic.body() as large, traffic.body() as other, traffic.body() as small:
        large.grow(9 * SMALL)
        small.grow(SMALL)
        with pytest.raises(RefusedError, match="may take 655,360") as refused:
            other.grow(4 * SMALL)
        assert refused.value.status == 429
    assert traffic.bodies == 0


def test_one_body_alone_always_finds_room():
    traffic = Traffic(Limits(body=10 * SMALL, bodies=1))
    with traffic.body() as room:
        room.grow(10 * SMALL)


FOREIGN = {
    "another site": {"Origin": "http://evil.example"},
    "another port": {"Origin": "http://testserver:3000"},
    "a file": {"Origin": "null"},
    "a browser's word": {"Sec-Fetch-Site": "cross-site"},
    "another name of the site": {"Sec-Fetch-Site": "same-site"},
}
JSON = json.dumps({"inputs": "dog", **EN})
FORM = "conversion=" + json.dumps(
    {"sentences": ["dog"], "embedding_types": [["words", ["mean"]]], **EN}
)


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
@pytest.mark.parametrize("body", [JSON, FORM])
def test_pages_of_other_sites_cannot_send_what_needs_no_leave(client, headers, kind, body):
    headers = headers | ({"Content-Type": kind} if kind else {})
    answer = client.post("/embed", content=body, headers=headers)
    assert answer.status_code == 415
    assert "Content-Type: application/json" in message(answer)


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_json_of_another_page_is_answered_as_it_had_to_ask_first(client, headers):
    headers = headers | {"Content-Type": "application/json; charset=utf-8"}
    assert client.post("/embed", content=JSON, headers=headers).status_code == 200


OWN = {
    "curl": {"Content-Type": "application/x-www-form-urlencoded"},
    "its own page": {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"},
    "its own form": {"Origin": "http://testserver", "Content-Type": "text/plain"},
    "an address typed in": {"Sec-Fetch-Site": "none"},
}


@pytest.mark.parametrize("headers", OWN.values(), ids=OWN)
@pytest.mark.parametrize("body", [JSON, FORM])
def test_what_is_not_of_another_site_needs_no_type(client, headers, body):
    assert client.post("/embed", content=body, headers=headers).status_code == 200


def test_the_event_loop_looks_around_between_two_small_requests(start, monkeypatch):
    app = start(Limits(requests=1)).app  # small ones need no place
    events = []
    encode = PowerMeanEncoder.encode

    def recorded(*args, **kwargs):
        events.append("work")
        return encode(*args, **kwargs)

    async def ask():
        scope = {"type": "http", "method": "POST", "path": "/embed", "headers": []}
        body = {"type": "http.request", "body": JSON.encode()}
        sent = []

        async def receive():
            return body

        async def send(message):
            sent.append(message)

        await app(scope, receive, send)
        assert sent[0]["status"] == 200

    async def ask_all():
        loop = asyncio.get_running_loop()
        asking = [asyncio.create_task(ask()) for _ in range(20)]

        def look():
            events.append("look")
            if not all(task.done() for task in asking):
                loop.call_soon(look)

        look()
        await asyncio.gather(*asking)

    monkeypatch.setattr(PowerMeanEncoder, "encode", recorded)
    asyncio.run(ask_all())
    assert events.count("work") == 20
    assert ("work", "work") not in set(itertools.pairwise(events))


@pytest.mark.parametrize("n", [0, 1, SLICE, SLICE + 1, 3 * SLICE])
def test_json_in_slices_is_the_same_json(n):
    rows = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    value = {"data": [{"row": row, "no": i} for i, row in enumerate(rows)], "rows": rows, "a": "b"}
    expected = {
        "data": [{"row": row, "no": i} for i, row in enumerate(rows.tolist())],
        "rows": rows.tolist(),
        "a": "b",
    }
    assert json.loads(write_json(value)) == expected


def test_a_connection_too_many_is_told_so_in_json(start):
    client = start(Limits(connections=3))
    client.app.app.traffic.connections = 4
    refused = client.get("/v1/models")
    assert refused.status_code == 503
    assert refused.json()["error"]["type"] == "server_error"
    assert refused.headers["Retry-After"] == "1"
    assert client.get("/health").status_code == 200


def test_a_limit_that_lets_nothing_through_is_refused():
    with pytest.raises(InputError, match="texts must be at least 1, not 0"):
        Limits(texts=0)
