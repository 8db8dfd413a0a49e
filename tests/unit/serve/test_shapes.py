"""Errors and answers in the shapes that OpenAI's and TEI's clients read."""

import pytest

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

WRONG = {
    "no input": ({}, "input", "missing_required_parameter"),
    "no texts": ({"input": []}, "input", "invalid_value"),
    "token ids": ({"input": [[1, 2]]}, "input", "invalid_value"),
    "an unknown field": ({"input": "dog", "size": 3}, "size", "unknown_parameter"),
    "an unknown format": ({"input": "dog", "encoding_format": "int4"}, "encoding_format", "invalid_value"),  # noqa: E501
    "no language": ({"input": "dog", "lang": "xx"}, "lang", "invalid_value"),
    "many texts": ({"input": ["dog"] * 2049}, "input", "array_above_max_length"),
    "many characters": ({"input": "x" * 1_000_001}, "input", "string_above_max_length"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "param", "code"), WRONG.values(), ids=WRONG)
def test_openais_clients_get_a_400_that_names_the_field(client, body, param, code):
    answer = client.post("/v1/embeddings", json={"lang": "en", **body})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)


def test_a_body_that_is_not_json_names_no_field(client):
    answer = client.post("/v1/embeddings", content=b"{")
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] is None


def test_openais_error_of_the_token_has_its_code(start):
    error = start(token="secret").get("/v1/models").json()["error"]
    assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")


def test_a_model_is_described_by_its_name(client):
    listed = client.get("/v1/models").json()["data"]
    assert client.get("/v1/models/tiny").json() == listed[0]
    assert client.head("/v1/models/tiny").status_code == 200


@pytest.mark.parametrize("name", ["gpt", "tin", "tiny/", "a/b", "é" * 100])
def test_another_model_is_not_found(client, name):
    answer = client.get(f"/v1/models/{name}")
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["param"], error["code"]) == ("model", "model_not_found")
    assert "'tiny'" in error["message"]


@pytest.mark.parametrize("path", ["/nope", "/v1/nope"])
def test_an_unknown_path_is_an_error_in_the_shape_of_its_neighbours(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert ("param" in answer.json()["error"]) == path.startswith("/v1/")


def test_errors_of_teis_paths_have_its_types(start):
    client = start()
    wrong = client.post("/embed", json={"inputs": []})
    assert (wrong.status_code, wrong.json()["error_type"]) == (422, "Validation")
    assert set(wrong.json()) == {"error", "error_type"}


def test_bytes_that_are_no_request_get_json_that_is_as_long_as_it_says():
    from pmeans.serve.refusals import RefusedError, closing_answer

    head, body = closing_answer("/v1/embeddings", RefusedError(422, "why.")).split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert body == (
        b'{"error":{"message":"why.","type":"invalid_request_error","param":null,"code":null}}'
    )
