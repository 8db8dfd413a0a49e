"""What operators see: request ids, the access log, metrics; and which pages a browser lets ask."""

import copy
import gc
import json
import os
import re
from functools import partial

import pytest

import pmeans

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

BODY = {"inputs": ["dog", "soup"], "lang": "en"}
PAGE = "https://page.example"


@pytest.fixture
def logged(start, monkeypatch):
    """Return how to make requests to a server that logs, and get the lines."""
    from pmeans.serve.observed import AccessLog

    def lines(form, requests):
        reader, writer = os.pipe()
        to_pipe = partial(AccessLog, descriptor=writer)
        monkeypatch.setattr("pmeans.serve.observed.AccessLog", to_pipe)
        with start(access_log=form) as client:
            for request in requests:
                client.request(**request)
        os.close(writer)  # the end of the application has written what waited
        with os.fdopen(reader) as text:
            return text.read().splitlines()

    return lines


REQUESTS = (
    {"method": "POST", "url": "/embed", "json": BODY, "headers": {"X-Request-Id": "mine-1"}},
    {"method": "GET", "url": "/nope%0A?secret=1"},
    {"method": "GET", "url": "/page/main.js"},
)


def test_a_line_of_json_says_what_was_asked_and_answered(logged):
    first, second, third = map(json.loads, logged("json", REQUESTS))
    assert (first["method"], first["path"], first["status"]) == ("POST", "/embed", 200)
    assert (first["texts"], first["request_id"], first["client"]) == (2, "mine-1", "testclient")
    assert first["bytes"] > 20
    assert 0 < first["seconds"] < 60
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
    assert (second["path"], second["status"]) == ("/nope%0A", 404)  # and no secret
    assert (third["path"], third["status"]) == ("/page/main.js", 200)


def test_a_plain_line_has_the_same_for_people(logged):
    lines = logged("plain", REQUESTS)
    assert len(lines) == 3
    assert '"POST /embed" 200' in lines[0]
    assert lines[0].endswith(" 2 texts mine-1")
    assert '"GET /nope%0A" 404' in lines[1]


def test_a_log_that_nobody_reads_holds_nothing_up_and_counts_what_it_drops(monkeypatch):
    from pmeans.serve.observed import AccessLog, Entry

    monkeypatch.setattr("pmeans.serve.observed.WAITING", 50)
    reader, writer = os.pipe()
    log = AccessLog("json", writer)
    entry = Entry(0.0, "client", "GET", "/" + "x" * 10_000, 200, 0, 0.1, 0, "id")
    for _ in range(10_000):  # a pipe holds 65,536 bytes
        log.write(entry)
    with os.fdopen(reader) as text:
        rows = [json.loads(text.readline())]
        log.write(entry)
        log.close()
        os.close(writer)
        rows += map(json.loads, text)
    dropped = sum(row.get("dropped", 0) for row in rows)
    written = sum("path" in row for row in rows)
    assert dropped > 9000
    assert dropped + written >= 10_000
    assert max(len(row.get("path", "")) for row in rows) == 300


def test_a_log_whose_reader_has_gone_ends_silently():
    from pmeans.serve.observed import AccessLog, Entry

    reader, writer = os.pipe()
    os.close(reader)
    log = AccessLog("plain", writer)
    log.write(Entry(0.0, "client", "GET", "/", None, 0, 0.1, 0, "id"))
    log.close()
    os.close(writer)
    assert not log._thread.is_alive()


@pytest.mark.parametrize("name", ["mine-1", "a.b:c/d+e=f@g_h", "x" * 128])
def test_a_sane_request_id_is_taken_over(client, name):
    answer = client.get("/health", headers={"X-Request-Id": name})
    assert answer.headers["X-Request-Id"] == name


@pytest.mark.parametrize("name", [None, "", "two words", "x" * 129, "é", '"quoted"'])
def test_any_other_gets_a_new_one(client, name):
    headers = {} if name is None else {"X-Request-Id": name.encode()}
    first, second = (client.get("/nope", headers=headers).headers["X-Request-Id"] for _ in "ab")
    assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]+", first)
    assert first != second


def test_the_log_of_an_error_names_the_request(start, monkeypatch, caplog):
    def broken(*args, **kwargs):
        raise RuntimeError("a bug")

    client = start()
    monkeypatch.setattr("pmeans.encoder.power_means.PowerMeanEncoder.encode", broken)
    answer = client.post("/embed", json=BODY, headers={"X-Request-Id": "mine-2"})
    assert (answer.status_code, answer.headers["X-Request-Id"]) == (500, "mine-2")
    (record,) = caplog.records
    assert record.getMessage() == "error in /embed, request mine-2"


def parsed(text):
    """Return the samples of a text in Prometheus's format, which every line of it must keep to."""
    samples = {}
    kinds = {}
    for line in text.splitlines():
        if about := re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line):
            if about[1] == "TYPE":
                assert about[2] not in kinds
                kinds[about[2]] = about[3]
            continue
        label = r'[a-z]+="(?:[^"\\\n]|\\.)*"'
        found = re.fullmatch(rf"([a-z_]+)(?:\{{({label}(?:,{label})*)\}})? (\S+)", line)
        assert found, line
        assert re.sub(r"_(bucket|sum|count)$", "", found[1]) in kinds or found[1] in kinds
        assert (found[1], found[2]) not in samples
        samples[found[1], found[2]] = float(found[3])
    return samples


def test_metrics_count_by_path_and_say_what_is_served(start):
    client = start()
    client.post("/embed", json=BODY)
    client.get("/v1/models/tiny")
    client.get("/nope")
    samples = parsed(client.get("/metrics").text)
    assert samples["pmeans_requests_total", 'path="/v1/models/{model}",status="200"'] == 1
    assert samples["pmeans_requests_total", 'path="other",status="404"'] == 1
    assert samples["pmeans_request_seconds_count", 'path="/embed"'] == 1
    assert 0 < samples["pmeans_request_seconds_sum", 'path="/embed"'] < 60
    assert samples["pmeans_requests_in_flight", 'path="/metrics"'] == 1
    assert samples["pmeans_requests_in_flight", 'path="/embed"'] == 0
    assert samples["pmeans_workers", None] == 1
    assert samples["pmeans_worker_restarts_total", None] == 0
    assert samples["pmeans_open_connections", None] == 0  # there are none in this test
    (build,) = (labels for name, labels in samples if name == "pmeans_build_info")
    assert f'version="{pmeans.__version__}",model="tiny"' in build


def test_prometheuss_own_parser_reads_the_metrics(start):
    parser = pytest.importorskip(
        "prometheus_client.parser", reason="pip install prometheus-client"
    ).text_string_to_metric_families
    client = start()
    client.post("/embed", json=BODY)
    families = {family.name: family for family in parser(client.get("/metrics").text)}
    assert families["pmeans_requests"].type == "counter"
    assert families["pmeans_request_seconds"].type == "histogram"
    assert families["pmeans_build_info"].samples[0].labels["model"] == "tiny"


def test_a_label_keeps_quotes_and_line_ends():
    from pmeans.serve.metrics import Metrics

    metrics = Metrics(["/a"])
    metrics.start()
    text = metrics.render({"model": 'a "b"\\\nc'})
    assert 'pmeans_build_info{model="a \\"b\\"\\\\\\nc"} 1' in text.splitlines()
    parsed(text)


@pytest.fixture
def living(monkeypatch):
    """Return the processes that are alive, to be changed by a test."""
    gc.collect()  # shared memory of other tests cannot be freed by a process that they do not know
    processes = set()
    monkeypatch.setattr("pmeans.serve.metrics._alive", lambda process: process in processes)
    return processes


def in_process(metrics, process, monkeypatch, living):
    """Return metrics as a new worker process has them."""
    other = copy.copy(metrics)  # the table is shared
    living.add(process)
    with monkeypatch.context() as patch:
        patch.setattr("os.getpid", lambda: process)
        other.start()
    return other


def test_gauges_forget_a_worker_that_died_and_counters_do_not(monkeypatch, living):
    from pmeans.serve.metrics import Metrics

    metrics = Metrics(["/a"], workers=1)
    first = in_process(metrics, 11, monkeypatch, living)
    first.count("/a", 200, 0.01, texts=2, characters=3)
    first.connected(1)
    request = first.in_flight("/a")
    request.__enter__()
    living.clear()
    nobody = parsed(metrics.render({"version": "1"}))
    assert nobody["pmeans_open_connections", None] == 0
    assert nobody["pmeans_requests_in_flight", 'path="/a"'] == 0
    second = in_process(metrics, 12, monkeypatch, living)
    second.connected(1)
    samples = parsed(second.render({"version": "1"}))
    assert samples["pmeans_requests_total", 'path="/a",status="200"'] == 1
    assert samples["pmeans_requests_in_flight", 'path="/a"'] == 0
    assert samples["pmeans_open_connections", None] == 1
    assert samples["pmeans_workers", None] == 1
    assert samples["pmeans_worker_restarts_total", None] == 1


def test_a_new_worker_never_counts_where_a_living_one_does(monkeypatch, living):
    from pmeans.serve.metrics import Metrics

    metrics = Metrics(["/a"], workers=2)
    lasting = in_process(metrics, 1, monkeypatch, living)
    lasting.connected(5)
    for process in range(2, 100):
        in_process(metrics, process, monkeypatch, living).count("/a", 200, 0.01)
        living.remove(process)
    samples = parsed(lasting.render({"version": "1"}))
    assert samples["pmeans_requests_total", 'path="/a",status="200"'] == 98
    assert samples["pmeans_open_connections", None] == 5


def preflight(client, origin):
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return client.options("/embed", headers=asked)


def test_no_other_site_may_ask_by_default(client):
    assert preflight(client, PAGE).status_code == 405
    answer = client.post("/embed", json=BODY, headers={"Origin": PAGE})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_of_a_named_origin_may_ask_and_read(start):
    client = start(cors_origins=("https://other.example", PAGE))
    allowed = preflight(client, PAGE)
    assert allowed.status_code == 204
    assert allowed.headers["Access-Control-Allow-Origin"] == PAGE
    assert "POST" in allowed.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in allowed.headers["Access-Control-Allow-Headers"]
    for path in ("/embed", "/nope"):  # errors can be read as well
        answer = client.post(path, json=BODY, headers={"Origin": PAGE})
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        assert answer.headers["Vary"] == "Origin"
        assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", PAGE + ".evil", PAGE.upper()])
def test_a_page_of_another_origin_may_not(start, origin):
    client = start(cors_origins=(PAGE,))
    refused = preflight(client, origin)
    assert refused.status_code == 405
    assert "Access-Control-Allow-Origin" not in refused.headers
    assert refused.json()["error"]


def test_a_star_is_any_origin(start):
    client = start(cors_origins=("*",))
    assert preflight(client, "null").headers["Access-Control-Allow-Origin"] == "null"


def test_a_preflight_needs_no_token(start):
    client = start(token="secret", cors_origins=(PAGE,))
    assert preflight(client, PAGE).status_code == 204
    assert client.post("/embed", json=BODY, headers={"Origin": PAGE}).status_code == 401


@pytest.mark.parametrize("origin", ["page.example", "https://page.example/", "ftp://a", "https://"])
def test_what_is_not_an_origin_is_refused_at_the_start(start, origin):
    with pytest.raises(pmeans.PmeansError, match=r"https://example\.org"):
        start(cors_origins=(origin,))
