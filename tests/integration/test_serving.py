"""``pmeans serve`` as a process of its own: real connections, signals, workers, clients."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pmeans
from libraries import DE, EN, library
from serving import connect, get, head, maps, rest, servers, serving, wait_for

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

BODY = json.dumps({"inputs": ["cat"], "lang": "en"}).encode()


@pytest.fixture
def model(tmp_path, toy):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    return tmp_path / "toy.safetensors"


def embed(port, body=BODY):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/embed", body, timeout=20) as answer:
        return json.load(answer)


def test_a_stop_finishes_what_was_accepted(model):
    with serving(model) as (process, port), contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(port)) for _ in range(20)]
        for connection in connections:
            connection.sendall(head(len(BODY)) + BODY[:5])
        # An answer on a connection made later: those before it were accepted.
        get(port, "/health")
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: not reachable(port))
        for connection in connections:
            connection.sendall(BODY[5:])
        answers = [rest(connection) for connection in connections]
        assert all(answer.startswith(b"HTTP/1.1 200 OK\r\n") for answer in answers)
        assert all(b"\r\nconnection: close\r\n" in answer for answer in answers)
        assert process.wait(20) == 0


def reachable(port):
    with contextlib.suppress(ConnectionRefusedError), connect(port):
        return True
    return False


@pytest.mark.parametrize("begin", [b"POST /emb", head(100), head(100) + b"{"])
def test_a_client_that_sends_a_byte_now_and_then_is_sent_away(model, begin):
    with serving(model, "--max-seconds", "0.5") as (_, port), connect(port) as connection:
        connection.sendall(begin)
        started = time.monotonic()
        with contextlib.suppress(OSError):
            for _ in range(10):
                time.sleep(0.2)
                connection.sendall(b"x")
        assert rest(connection).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 10


def test_an_endless_head_is_refused(model):
    with serving(model) as (_, port), connect(port) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /health HTTP/1.1\r\n")
            for _ in range(200):
                connection.sendall(b"X-Filler: " + b"x" * 1000 + b"\r\n")
        assert rest(connection)[:13] in (b"HTTP/1.1 431 ", b"HTTP/1.1 400 ", b"")
        assert get(port, "/health")


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding : chunked",
        "Content-Length: +5",
    ],
)
def test_a_request_is_not_smuggled_in_the_body_of_another(model, framing):
    smuggled = "0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with serving(model) as (_, port), connect(port) as connection:
        connection.sendall(
            f"POST /embed HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n{smuggled}".encode()
        )
        connection.shutdown(socket.SHUT_WR)
        answer = rest(connection)
        assert b"pmeans_requests_total" not in answer
        assert answer.count(b"HTTP/1.1 ") <= 1


def test_a_body_over_the_limit_is_heard_out_and_refused(model):
    long = b'{"inputs":"' + b"x" * 10_000_000 + b'"}'
    with (
        serving(model, "--max-body", "1000000") as (_, port),
        pytest.raises(urllib.error.HTTPError, match="413"),
    ):
        embed(port, long)


def test_answers_that_nobody_takes_are_dropped(model):
    many = json.dumps({"inputs": ["cat"] * 200_000, "lang": "en"}).encode()
    limits = ("--max-texts", "200000", "--max-seconds", "1")
    with serving(model, *limits) as (process, port), connect(port) as connection:
        connection.sendall(head(len(many)) + many)
        wait_for(lambda: counted(port) == 1)
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert len(rest(connection)) < 20_000_000


def counted(port, path="/embed"):
    lines = get(port, "/metrics").decode().splitlines()
    label = f'pmeans_requests_total{{path="{path}",status="200"}}'
    return sum(int(line.split()[-1]) for line in lines if line.startswith(label))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads the processes of Linux")
def test_a_killed_worker_costs_its_own_requests_alone(model):
    with serving(model, "--workers", "2") as (process, port):
        with ThreadPoolExecutor(4) as threads:
            before = list(threads.map(lambda _: embed(port), range(40)))
        assert all(row == before[0] for row in before)
        assert counted(port) == 40  # over both workers
        workers = servers(process.pid)
        wait_for(lambda: all(str(model) in maps(worker) for worker in workers))
        os.kill(workers[0], signal.SIGKILL)
        wait_for(lambda: len(set(servers(process.pid)) - {workers[0]}) == 2)
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(lambda _: embed(port), range(40))) == before
        wait_for(lambda: counted(port) == 80)


def test_a_taken_port_is_one_line_and_no_traceback(model):
    with serving(model) as (_, port):
        done = subprocess.run(
            [sys.executable, "-m", "pmeans", "serve", str(model), "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: cannot listen at 127.0.0.1, port {port}: ")


def test_openais_client_talks_to_the_server(model, tmp_path):
    openai = library("openai")
    (tmp_path / "token").write_text("secret\n")
    encoder = pmeans.load(model)
    expected = encoder.encode(["cat", "sat"], lang="en", normalize_embeddings=True)
    with serving(model, "--token-file", str(tmp_path / "token")) as (_, port):
        url = f"http://127.0.0.1:{port}/v1"
        with openai.OpenAI(base_url=url, api_key="secret", max_retries=0) as client:
            asked = {"model": "toy", "input": ["cat", "sat"], "extra_body": {"lang": "en"}}
            for more in ({}, {"encoding_format": "float"}):  # base64 is what it asks for by itself
                found = client.embeddings.create(**asked, **more)
                rows = np.array([item.embedding for item in found.data], np.float32)
                np.testing.assert_array_equal(rows, expected)
            short = client.embeddings.create(**asked, dimensions=2)
            assert len(short.data[0].embedding) == 2
            assert [model.id for model in client.models.list()] == [encoder.name]
            assert client.models.retrieve(encoder.name).owned_by == "pmeans"
            with pytest.raises(openai.NotFoundError) as missing:
                client.models.retrieve("text-embedding-3-small")
            assert missing.value.code == "model_not_found"
            with pytest.raises(openai.BadRequestError, match="at least one text") as wrong:
                client.embeddings.create(model="toy", input=[])
            assert (wrong.value.param, wrong.value.code) == ("input", "invalid_value")
            assert wrong.value.type == "invalid_request_error"
        with (
            openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as client,
            pytest.raises(openai.AuthenticationError, match="bearer token") as unknown,
        ):
            client.models.list()
        assert unknown.value.code == "invalid_api_key"


def test_langchains_client_of_openai_talks_to_the_server(model):
    langchain = library("langchain_openai")
    expected = pmeans.load(model).encode(["cat", "sat"], lang="en", normalize_embeddings=True)
    with serving(model) as (_, port):
        client = langchain.OpenAIEmbeddings(
            model="toy",
            base_url=f"http://127.0.0.1:{port}/v1",
            api_key="anything",
            check_embedding_ctx_length=False,  # or it sends token ids
            model_kwargs={"extra_body": {"lang": "en"}},
        )
        rows = client.embed_documents(["cat", "sat"])
        np.testing.assert_array_equal(np.array(rows, np.float32), expected)
        assert client.embed_query("cat") == rows[0]


def test_hugging_faces_client_of_tei_talks_to_the_server(monkeypatch):
    hub, langchain = library("huggingface_hub"), library("langchain_huggingface")
    monkeypatch.setattr(
        "huggingface_hub.constants.HF_HUB_OFFLINE", False
    )  # or it asks nobody at all
    encoder = pmeans.load()
    rows = encoder.encode(EN, normalize_embeddings=True)
    with serving("default") as (_, port):
        client = hub.InferenceClient(f"http://127.0.0.1:{port}/embed")
        np.testing.assert_array_equal(client.feature_extraction(EN), rows)
        asked = {"normalize": False, "truncate": True, "truncation_direction": "right"}
        row = client.feature_extraction(EN[0], dimensions=3, **asked)
        np.testing.assert_array_equal(row, encoder.encode(EN[:1], truncate_dim=3))
        # LangChain's class takes no address, but it takes the client.
        embeddings = langchain.HuggingFaceEndpointEmbeddings(model="pmeans/default")
        embeddings.client = client
        np.testing.assert_array_equal(np.array(embeddings.embed_documents(EN), np.float32), rows)
        client = hub.InferenceClient(f"http://127.0.0.1:{port}/similarity")
        found = client.sentence_similarity(EN[0], other_sentences=DE)
    # rtol: numbers are sent as text, and their sums may be of another order.
    expected = encoder.similarity(rows[0], encoder.encode(DE))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("path", ["/predict", ""])
def test_hugging_faces_client_labels_texts(monkeypatch, tmp_path, path):
    hub = library("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    labels = ["home", "politics", "home", "food"]
    classifier = pmeans.TransferClassifier().fit(EN * 2, labels * 2, lang="en")
    classifier.save(tmp_path / "topics")
    expected = dict(zip(classifier.classes_, classifier.predict_proba(DE[1]), strict=True))
    with serving("default", "--classifier", str(tmp_path / "topics")) as (_, port):
        client = hub.InferenceClient(f"http://127.0.0.1:{port}{path}")
        classes = client.text_classification(DE[1])
        (best,) = client.text_classification(DE[1], top_k=1)
        similar = hub.InferenceClient(f"http://127.0.0.1:{port}/similarity")
        assert len(similar.sentence_similarity(EN[0], other_sentences=DE)) == 4
    assert [each.label for each in classes] == sorted(expected, key=lambda k: -expected[k])
    # rel: numbers are sent as text, and one text is computed by another order of sums than many.
    assert [each.score for each in classes] == pytest.approx(
        sorted(expected.values())[::-1], rel=1e-5
    )
    assert best == classes[0]


def test_hugging_faces_client_embeds_at_teis_default_path(monkeypatch):
    hub = library("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    expected = pmeans.load().encode(EN, normalize_embeddings=True)
    with serving("default") as (_, port):
        client = hub.InferenceClient(f"http://127.0.0.1:{port}")
        np.testing.assert_array_equal(client.feature_extraction(EN), expected)
        with pytest.raises(hub.errors.HfHubHTTPError, match="422"):
            client.feature_extraction(EN, prompt_name="query")
