"""What clients send who mean no good, byte by byte: each is refused, and the server goes on."""

import contextlib
import gzip
import json
import re
import socket
import time

import numpy as np
import pytest

import pmeans
from pmeans import WordSpace
from serving import connect, get, rest, serving

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

BODY = json.dumps({"inputs": ["cat"], "lang": "en"}).encode()
POST = b"POST /embed HTTP/1.1\r\nHost: localhost\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
SECONDS = 2


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    path = tmp_path_factory.mktemp("attacked") / "toy.safetensors"
    space = WordSpace.from_words("toy", {"en": ["cat"]}, np.ones((1, 3), np.float32))
    pmeans.save_space(space, path)
    with serving(path, "--max-seconds", str(SECONDS)) as (process, found):
        yield found
        assert process.poll() is None


@pytest.fixture(autouse=True)
def goes_on(port):
    """After each attack the server answers as before."""
    yield
    assert get(port, "/health") == b'{"status":"ok"}'


def sent(port, data, close=True):
    """Return the statuses of the answers to some bytes, and all that was answered."""
    with connect(port) as connection:
        with contextlib.suppress(OSError):  # it may be sent away before it has sent all
            connection.sendall(data)
            if close:
                connection.shutdown(socket.SHUT_WR)
        answer = rest(connection)
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)], answer


def error_of(answer):
    """Return the JSON of the last answer: an error is never empty, and never plain text."""
    head, _, body = answer.rpartition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    return json.loads(body)


FRAMED_WRONGLY = {
    "a length and chunks": POST + LENGTH + CHUNKED + b"\r\n" + CHUNKS + SMUGGLED,
    "chunks and a length": POST + CHUNKED + LENGTH + b"\r\n" + CHUNKS + SMUGGLED,
    "two lengths": POST + LENGTH + b"Content-Length: 1\r\n\r\n" + BODY + SMUGGLED,
    "a length twice": POST + LENGTH + LENGTH + b"\r\n" + BODY,
    "a list of lengths": POST + b"Content-Length: 5, 5\r\n\r\n" + BODY,
    "a negative length": POST + b"Content-Length: -1\r\n\r\n" + BODY,
    "a length in hex": POST + b"Content-Length: 0x10\r\n\r\n" + BODY,
    "a length beyond 64 bits": POST + b"Content-Length: 99999999999999999999\r\n\r\n" + BODY,
    "a space before the colon": POST + b"Content-Length : 5\r\n\r\n" + BODY,
    "chunks, then none": POST + CHUNKED + b"Transfer-Encoding: identity\r\n\r\n" + CHUNKS,
    "a negative chunk": POST + CHUNKED + b"\r\n-1\r\n" + BODY,
    "a chunk beyond 64 bits": POST + CHUNKED + b"\r\nffffffffffffffffff\r\n" + BODY,
    "chunks by bare LF": POST + CHUNKED + b"\r\n" + CHUNKS.replace(b"\r\n", b"\n"),
    "a length after the chunks": POST + CHUNKED + b"\r\n" + CHUNKS[:-2] + LENGTH + b"\r\n",
    "a folded header": POST + b"X: a\r\n b\r\n" + LENGTH + b"\r\n" + BODY,
    "a folded length": POST + b"Content-Length:\r\n 5\r\n\r\n" + BODY,
    "folded chunks": POST + b"Transfer-Encoding:\r\n chunked\r\n" + LENGTH + b"\r\n" + BODY,
    "a head by bare LF": (POST + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY,
    "a bare CR": POST + b"X: a\rTransfer-Encoding: chunked\r\n" + LENGTH + b"\r\n" + BODY,
    "a NUL in a header": POST + b"X: a\0b\r\n" + LENGTH + b"\r\n" + BODY,
    "a NUL in a header's name": POST + b"X\0: a\r\n" + LENGTH + b"\r\n" + BODY,
    "a NUL in the path": b"GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bytes beyond ASCII in the path": "GET /é HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    "a proxy's request": b"CONNECT other:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an address without a path": b"GET http://other HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "the address of a file": b"GET file:///etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("data", FRAMED_WRONGLY.values(), ids=FRAMED_WRONGLY)
def test_a_request_that_can_be_read_in_two_ways_is_a_400(port, data):
    statuses, answer = sent(port, data)
    assert statuses == [400]
    assert b"pmeans_requests_total" not in answer
    assert error_of(answer)["error"].endswith(".")


REFUSED = {
    "an unknown coding": (415, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS),
    "an upgrade to HTTP/2": (
        415,
        POST + LENGTH + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + BODY,
    ),
    "a websocket": (
        405,
        b"GET /embed HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n" + SMUGGLED,
    ),
    "TRACE": (405, b"TRACE /embed HTTP/1.1\r\nHost: localhost\r\nCookie: secret\r\n\r\n"),
    "OPTIONS": (405, b"OPTIONS /embed HTTP/1.1\r\nHost: localhost\r\nOrigin: http://other\r\n\r\n"),
    "OPTIONS of all": (404, b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "another site's name": (421, b"GET / HTTP/1.1\r\nHost: evil.example:8000\r\n\r\n"),
    "two names": (421, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"),
    "dots": (404, b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "coded dots": (404, b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "coded NUL": (404, b"GET /health%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "a bad code": (404, b"GET /%zz%c0%ae HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "another server's dots": (
        404,
        b"GET http://other/../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
}


@pytest.mark.parametrize(("status", "data"), REFUSED.values(), ids=REFUSED)
def test_what_there_is_not_is_refused_with_a_reason(port, status, data):
    statuses, answer = sent(port, data)
    assert statuses == [status]
    assert b'{"error":"' in answer
    assert b"secret" not in answer
    assert b"access-control" not in answer.lower()


def test_a_compressed_body_is_refused_unread(port):
    bomb = gzip.compress(b" " * 50_000_000)
    framing = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    statuses, answer = sent(port, POST + framing + bomb)
    assert statuses == [415]
    assert b"gzip" in answer


def test_head_has_no_body(port):
    statuses, answer = sent(port, b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert statuses == [200]
    assert answer.endswith(b"\r\n\r\n")


def test_a_body_in_a_get_is_not_a_request(port):
    data = b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED)
    statuses, answer = sent(port, data + SMUGGLED)
    assert statuses == [200]
    assert b"pmeans_requests_total" not in answer


@pytest.mark.parametrize("framing", [LENGTH + b"\r\n" + BODY, CHUNKED + b"\r\n" + CHUNKS])
def test_requests_in_one_go_are_answered_one_by_one(port, framing):
    statuses, _ = sent(port, (POST + framing) * 100)
    assert statuses == [200] * 100


def test_a_flood_of_requests_in_one_go_is_held_back(port):
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(port) as connection:
        connection.settimeout(0.5)
        with pytest.raises(OSError, match=r"timed out|reset"):
            connection.sendall(one * 1_000_000)  # who takes no answers cannot send ever more


def test_extensions_of_chunks_are_skipped_and_counted(port):
    extended = b"%x;%s\r\n%s\r\n0\r\n\r\n"
    statuses, _ = sent(port, POST + CHUNKED + b"\r\n" + extended % (len(BODY), b"a=b", BODY))
    assert statuses == [200]
    with connect(port) as connection, contextlib.suppress(OSError):
        connection.sendall(POST + CHUNKED + b"\r\n1;")
        for _ in range(100):
            connection.sendall(b"x" * 1_000_000)
        pytest.fail("a hundred megabytes of an extension were taken")


@pytest.mark.parametrize("header", [b"X: a\r\n", b"X: " + b"a" * 100 + b"\r\n"])
def test_a_flood_of_headers_is_a_431(port, header):
    statuses, answer = sent(
        port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + header * 200_000 + b"\r\n"
    )
    assert statuses in ([431], [])  # none if it was still sending when it was sent away
    assert not answer or "at most 65,536 bytes" in error_of(answer)["error"]


def test_a_client_that_waits_to_be_asked_for_the_body_is_asked(port):
    with connect(port) as connection:
        connection.sendall(POST + LENGTH + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n")
        connection.sendall(BODY)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_client_that_closes_its_side_is_answered(port):
    many = json.dumps({"inputs": ["cat"] * 2000, "lang": "en"}).encode()  # takes a thread
    statuses, answer = sent(port, POST + b"Content-Length: %d\r\n\r\n%s" % (len(many), many))
    assert statuses == [200]
    assert answer.endswith(b"]]")


@pytest.mark.parametrize("length", [b"500", b"10000000000"])
def test_a_body_shorter_than_it_says_is_a_408(port, length):
    data = POST + b"Content-Length: " + length + b"\r\n\r\n" + BODY
    statuses, answer = sent(port, data, close=False)
    assert statuses == [408]
    assert error_of(answer)["error_type"] == "Validation"
    assert sent(port, data)[0] == []  # it has left


def test_the_rest_of_a_request_after_another_has_its_seconds_too(port):
    with connect(port) as connection:
        connection.sendall(POST + LENGTH + b"\r\n" + BODY + POST + LENGTH + b"\r\n" + BODY[:3])
        began = time.monotonic()
        statuses = re.findall(rb"HTTP/1\.1 (\d{3}) ", rest(connection))
        assert statuses == [b"200", b"408"]
        assert time.monotonic() - began < 10 * SECONDS


def test_an_openai_path_that_is_too_slow_has_openais_shape(port):
    slow = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"
    statuses, answer = sent(port, slow, close=False)
    assert statuses == [408]
    assert error_of(answer)["error"]["type"] == "invalid_request_error"


def test_clients_that_take_no_answers_lose_them(port):
    texts = b'{"lang":"en","inputs":["' + b'","'.join([b"cat"] * 2000) + b'"]}'
    one = POST + b"Content-Length: %d\r\n\r\n%s" % (len(texts), texts)
    _, answer = sent(port, one)
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(port)) for _ in range(3)]
        for connection in idle:
            with contextlib.suppress(OSError):
                connection.sendall(one * 200)
        assert get(port, "/health")
        time.sleep(2 * SECONDS)
        taken = [len(rest(connection)) for connection in idle]
    assert max(taken) < 100 * len(answer)  # what the kernel keeps, and no more
