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


def post(client, path, **body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_rerank_orders_texts_by_their_cosine_with_the_query(client):
    texts = ["suppe", "hund", "gut hund"]
    asked = {"query": "dog", "texts": texts, "lang": ["en", "de", "de", "de"], "truncate": True}
    ranked = post(client, "/rerank", **asked)
    inputs = {"source_sentence": "dog", "sentences": texts}
    cosines = post(client, "/similarity", inputs=inputs, lang=asked["lang"])
    assert [rank["index"] for rank in ranked] == sorted(range(3), key=lambda i: -cosines[i])
    assert ranked[0] == {"index": 1, "score": pytest.approx(1)}
    assert post(client, "/rerank", **asked, raw_scores=True) == ranked


def test_rerank_returns_texts_if_it_is_asked(client):
    ranked = post(
        client, "/rerank", query="dog", texts=["soup", "dog"], lang="en", return_text=True
    )
    assert [rank["text"] for rank in ranked] == ["dog", "soup"]


@pytest.mark.parametrize("body", [{"texts": ["a"]}, {"query": "a"}, {"query": "a", "texts": "a"}])
def test_rerank_wants_a_query_and_a_list(client, body):
    assert client.post("/rerank", json={**body, "lang": "en"}).status_code == 422


def test_the_query_counts_as_a_text(start):
    from pmeans.serve import Limits

    limited = start(Limits(texts=3))
    assert post(limited, "/rerank", query="dog", texts=["dog"] * 2, lang="en")
    asked = {"query": "dog", "texts": ["dog"] * 3, "lang": "en"}
    assert "4 texts" in limited.post("/rerank", json=asked).json()["error"]


def test_predict_gives_all_classes_of_a_text_the_likeliest_first(client):
    first, second = post(client, "/predict", inputs="toll hund", lang="de")
    assert (first["label"], second["label"]) == ("pos", "neg")
    assert first["score"] > second["score"]
    # abs: two float32 numbers, rounded once each.
    assert first["score"] + second["score"] == pytest.approx(1, abs=1e-6)
    assert post(client, "/predict", inputs=["toll hund"], lang="de") == [first, second]


def test_predict_gives_a_list_for_each_text_of_a_batch(client):
    batch = post(client, "/predict", inputs=[["toll hund"], ["übel suppe"]], lang="de")
    assert [best[0]["label"] for best in batch] == ["pos", "neg"]


def test_raw_scores_are_the_classifiers_decisions(client, folder):
    from pmeans import TransferClassifier

    classifier = TransferClassifier.load(folder / "classifier")
    first, second = post(client, "/predict", inputs="toll hund", lang="de", raw_scores=True)
    margin = classifier.decision_function(["toll hund"], lang="de")[0]
    # rel: a float32 as text and back.
    assert first["score"] - second["score"] == pytest.approx(margin, rel=1e-5)


def test_a_pair_of_texts_has_no_label(client):
    answer = client.post("/predict", json={"inputs": ["toll", "hund"], "lang": "de"})
    assert answer.status_code == 422
    assert "pairs of texts" in answer.json()["error"]


def test_hugging_faces_parameters_ask_for_a_list_of_lists(client):
    asked = {"inputs": "toll hund", "lang": "de"}
    ((only,),) = post(client, "/predict", **asked, parameters={"top_k": 1})
    assert only == post(client, "/predict", **asked)[0]
    (raw,) = post(client, "/predict", **asked, parameters={"function_to_apply": "none"})
    assert raw == post(client, "/predict", **asked, raw_scores=True)
    wrong = client.post("/predict", json={**asked, "parameters": {"top": 1}})
    assert "top_k" in wrong.json()["error"]


def test_teis_default_path_does_what_is_served(start):
    classifying, embedding = start(), start(classifier=None)
    asked = {"inputs": "toll hund", "lang": "de"}
    assert post(classifying, "/", **asked) == post(classifying, "/predict", **asked)
    assert post(embedding, "/", **asked) == post(embedding, "/embed", **asked)
    for client, path in ((classifying, "/predict"), (embedding, "/embed")):
        described = client.get("/openapi.json").json()["paths"]
        assert described["/"]["post"]["requestBody"] != {}
        assert described["/"]["post"]["summary"] == described[path]["post"]["summary"]
        assert client.get("/").headers["content-type"].startswith("text/html")


def test_a_prompt_that_the_model_has_not_is_refused(client):
    answer = client.post("/embed", json={"inputs": "dog", "lang": "en", "prompt_name": "query"})
    assert answer.status_code == 422
    assert "no prompt named 'query'" in answer.json()["error"]
    assert post(client, "/embed", inputs="dog", lang="en", prompt_name=None)


def test_info_has_what_teis_clients_read(start):
    info = start().get("/info").json()
    assert info["model_id"] == "tiny"
    assert info["model_type"]["classifier"]["id2label"] == {"0": "neg", "1": "pos"}
    assert info["model_type"]["classifier"]["label2id"] == {"neg": 0, "pos": 1}
    assert info["max_client_batch_size"] == 2048
    assert info["max_input_length"] == 1_000_000
    assert list(start(classifier=None).get("/info").json()["model_type"]) == ["embedding"]


def test_classify_names_the_language_and_as_many_classes_as_asked(client):
    asked = {"inputs": ["toll hund", "bad"], "lang": ["German", "en"]}
    good, bad = post(client, "/classify", **asked, top_k=2)
    assert (good["language"], bad["language"]) == ("de", "en")
    assert [each["label"] for each in good["classes"]] == ["pos", "neg"]
    assert good["classes"][0]["probability"] == good["probability"]
    (only,) = post(client, "/classify", inputs="toll hund", lang="de", top_k=1)
    assert only["classes"] == good["classes"][:1]
    assert "classes" not in post(client, "/classify", **asked)[0]


def test_classify_says_that_a_language_is_doubtful(tmp_path):
    from starlette.testclient import TestClient

    import pmeans
    from pmeans.serve import Settings
    from pmeans.serve.observed import create_app

    texts = ["The train was late again.", "We won the game in the last minute."] * 4
    classifier = pmeans.TransferClassifier().fit(texts, ["travel", "sport"] * 4, lang="en")
    classifier.save(tmp_path / "topics")
    client = TestClient(create_app(Settings(classifier=str(tmp_path / "topics"))))
    german, unknown = post(
        client, "/classify", inputs=["Der Zug war schon wieder zu spät.", "Поезд снова опоздал."]
    )
    assert (german["language"], german["note"]) == ("de", "")
    assert unknown["language"] is None
    assert "no known language" in unknown["note"]
