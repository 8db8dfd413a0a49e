"""What the server answers to requests that are right."""

import base64
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pmeans

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")


def post(client, path, **body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_openai_embeddings_are_the_encoders_rows_of_length_1(client, encoder):
    found = post(client, "/v1/embeddings", input=["good dog", "soup"], lang="en", model="any")
    rows = np.array([item["embedding"] for item in found["data"]], dtype=np.float32)
    expected = encoder.encode(["good dog", "soup"], lang="en", normalize_embeddings=True)
    assert_array_equal(rows, expected)
    assert [item["index"] for item in found["data"]] == [0, 1]
    assert found["model"] == "tiny"
    assert found["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


def test_base64_is_the_same_row_in_little_endian_float32(client):
    asked = {"input": "good dog", "lang": "en"}
    plain = post(client, "/v1/embeddings", **asked)["data"][0]["embedding"]
    coded = post(client, "/v1/embeddings", **asked, encoding_format="base64")
    row = np.frombuffer(base64.b64decode(coded["data"][0]["embedding"]), dtype="<f4")
    assert_array_equal(row, np.array(plain, dtype=np.float32))


def test_dimensions_keep_the_first_columns_scaled_to_length_1(client, encoder):
    found = post(client, "/embed", inputs=["good dog"], lang="en", dimensions=3)
    expected = unit(encoder.encode(["good dog"], lang="en")[:, :3])
    # atol: one rounding of float32 in the division.
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_embed_normalises_unless_told_not_to(client, encoder):
    raw = post(client, "/embed", inputs="good dog", lang="en", normalize=False)
    assert_array_equal(np.array(raw, np.float32), encoder.encode(["good dog"], lang="en"))
    # atol: the squares of a float32 row of length 1 add up to 1 within some roundings.
    assert np.linalg.norm(post(client, "/embed", inputs="good dog", lang="en")) == pytest.approx(1)


@pytest.mark.parametrize("lang", ["de", "DE", "de-AT", "German", "deutsch"])
def test_languages_may_be_written_as_people_do(client, lang):
    asked = {"inputs": "hund", "normalize": False}
    assert post(client, "/embed", **asked, lang=lang) == post(client, "/embed", **asked, lang="de")


def test_each_text_may_have_its_language(client):
    one, other = post(client, "/embed", inputs=["dog", "hund"], lang=["en", "de"])
    assert one == other


def test_similarity_compares_the_first_text_with_the_others(client):
    inputs = {"source_sentence": "dog", "sentences": ["dog", "soup"]}
    same, another = post(client, "/similarity", inputs=inputs, lang="en")
    assert same == pytest.approx(1)
    assert another < 0.99


def test_classify_labels_texts_of_another_language(client):
    good, bad, unknown = post(
        client, "/classify", inputs=["toll hund", "übel suppe", "?"], lang="de"
    )
    assert (good["label"], bad["label"]) == ("pos", "neg")
    assert 0.5 < good["probability"] <= 1
    assert unknown["note"] == "no known word"


def test_explain_divides_the_decision_among_the_words(client):
    (found,) = post(client, "/explain", inputs="toll hund", lang="de")
    pushes = [token["contribution"] for token in found["tokens"]]
    assert [token["text"] for token in found["tokens"]] == ["toll", "hund"]
    # abs: the decision is computed in float32, the shares in float64.
    assert sum(pushes) + found["constant"] == pytest.approx(found["margin"], abs=1e-4)


def test_search_finds_rows_with_their_texts(client):
    ((first, second),) = post(client, "/search", inputs="gut hund", lang="de", k=2)
    assert first == {"row": 0, "score": pytest.approx(1), "text": "good dog"}
    assert second["row"] in (1, 2)


def test_the_authors_form_gives_lines_of_the_means_that_it_names(client, encoder):
    conversion = {
        "sentences": ["good dog", "nothing known"],
        "embedding_types": [["words", ["mean", "max"]]],
        "lang": "en",
    }
    form = {"conversion": json.dumps(conversion)}
    found = client.post("/embed", data=form)
    lines = found.text.split("\n")
    vectors = encoder.spaces["words"].vectors(["good", "dog"], "en")[0]
    expected = np.concatenate([vectors.mean(axis=0), vectors.max(axis=0)])
    # atol: the mean of two float32 numbers is rounded once.
    np.testing.assert_allclose(np.array(lines[0].split(), np.float32), expected, atol=1e-6)
    assert not np.array(lines[1].split(), np.float32).any()
    assert lines[2:] == [""]
    assert client.post("/convert", data=form).text == found.text


def test_models_and_info_say_what_is_served(client):
    assert [model["id"] for model in client.get("/v1/models").json()["data"]] == ["tiny"]
    info = client.get("/info").json()
    assert info["languages"] == ["de", "en"]
    assert info["classifier"]["classes"] == ["neg", "pos"]
    assert info["index"] == {"rows": 3, "texts": True}
    assert info["limits"]["texts"] == 2048


def test_without_a_model_the_classifiers_encoder_embeds(start):
    assert start(model=None).get("/info").json()["model"] == "tiny"


def test_languages_are_found_where_the_model_can_tell_them_apart(start):
    client = start(model="default", index=None, texts=None)
    (found,) = post(client, "/detect", inputs="Der Hund schläft in dem Garten.")
    assert found["lang"] == "de"
    assert 0.5 < found["probability"] <= 1
    asked = {"inputs": ["Der Hund schläft in dem Garten."]}
    assert post(client, "/embed", **asked) == post(client, "/embed", **asked, lang="de")
    assert post(client, "/embed", **asked) == post(client, "/embed", **asked, lang="auto")


def test_labels_are_given_with_the_texts(client):
    texts = ["gut hund", "schlecht suppe", "zzz"]
    asked = {"inputs": texts, "lang": "de", "labels_lang": "en"}
    found = post(client, "/label", **asked, labels=["good", "bad"])
    assert [each["label"] for each in found[:2]] == ["good", "bad"]
    assert [each["note"] for each in found] == ["", "", "no known word"]
    described = {"good": "good", "bad": ["bad"]}
    assert post(client, "/label", **asked, labels=described) == found


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "the field 'labels' is missing"),
        ("good,bad", "expected 2 to 1,000 different names in a list, or an object"),
        (["good"], "expected 2 to 1,000 different names"),
        (["good", "good"], "expected 2 to 1,000 different names"),
        (["good", 1], "expected texts"),
        ({"good": "good", "bad": []}, "expected at least one text"),
        ({"good": "good", "bad": {"text": "bad"}}, "expected a text or a list of texts"),
        ({"good": "good", "bad": "qqq"}, "no known word in what the label 'bad' is described by"),
        ({"good": "good", "bad": ["bad"] * 3000}, "a request has at most 2,048"),
    ],
)
def test_labels_that_are_none_are_refused(client, labels, message):
    asked = {"inputs": "dog", "lang": "en", "labels_lang": "en"}
    found = client.post("/label", json={**asked, "labels": labels})
    assert found.status_code == 422
    assert message in found.json()["error"]


@pytest.mark.parametrize(
    ("path", "option"),
    [("/classify", "--classifier"), ("/explain", "--classifier"), ("/search", "--index")],
)
def test_what_is_not_served_is_a_404_that_says_how_to_start_it(start, path, option):
    found = start(classifier=None, index=None, texts=None).post(path, json={"inputs": "dog"})
    assert found.status_code == 404
    assert option in found.json()["error"]


def test_metrics_count_requests_texts_and_characters(start):
    client = start()
    post(client, "/embed", inputs=["dog", "soup"], lang="en")
    client.post("/embed", content=b"{")
    lines = client.get("/metrics").text.splitlines()
    assert 'pmeans_requests_total{path="/embed",status="200"} 1' in lines
    assert 'pmeans_requests_total{path="/embed",status="422"} 1' in lines
    assert "pmeans_texts_total 2" in lines
    assert "pmeans_characters_total 7" in lines
    assert 'pmeans_request_seconds_bucket{path="/embed",le="+Inf"} 2' in lines


def test_the_description_has_every_path_and_field_that_is_served(client):
    from pmeans.serve.routes import served_routes

    routes = served_routes(classifier=True)
    described = client.get("/openapi.json").json()["paths"]
    assert set(described) == {route.path for route in routes}
    for route in routes:
        if route.texts and not route.form:
            content = described[route.path]["post"]["requestBody"]["content"]
            properties = content["application/json"]["schema"]["properties"]
            assert set(properties) == set(route.fields)


def test_an_index_of_another_model_is_refused_at_the_start(start, folder, tmp_path):
    np.save(tmp_path / "other.npy", np.ones((3, 5), np.float32))
    with pytest.raises(pmeans.PmeansError, match="rows of 5 numbers"):
        start(index=str(tmp_path / "other.npy"))
