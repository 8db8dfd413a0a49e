"""Spaces and powers that a request chooses."""

import numpy as np
import pytest

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

TEXTS = ["Der Hund schläft im Garten.", "Die Bank erhöht die Zinsen."]


@pytest.fixture(scope="module")
def default(start):
    return start(model="default", index=None, texts=None)


def embed(client, parts, **fields):
    body = {"inputs": TEXTS, "lang": "de", "normalize": False, "parts": parts, **fields}
    answer = client.post("/embed", json=body)
    assert answer.status_code == 200, answer.text
    return np.array(answer.json(), np.float32)


def test_the_models_own_parts_are_the_model(default):
    own = default.get("/info").json()["parts"]
    np.testing.assert_array_equal(embed(default, own), embed(default, None))


def test_columns_that_the_model_does_not_map_stay_as_they_are(default):
    # The model keeps its first part, z-normed, in front of the mapped columns.
    found = embed(default, [["taught", [1]]])
    np.testing.assert_array_equal(found, embed(default, None)[:, : found.shape[1]])


def test_chosen_means_of_the_model_are_z_normed_by_its_statistics(default):
    from pmeans import load

    encoder = load().replace(alignment=None)
    whole = encoder.encode(TEXTS, lang="de")
    found = embed(default, [["attracted", ["inf"]], ["bivcd", [1, "-inf"]]])
    # taught has 256 columns, then come 100 for each of -inf, 1, inf of bivcd and of attracted.
    expected = [whole[:, 756:856], whole[:, 356:456], whole[:, 256:356]]
    np.testing.assert_array_equal(found, np.concatenate(expected, axis=1))


def test_a_power_that_the_model_does_not_take_leaves_all_means_plain(default):
    from pmeans import Part, Recipe, load

    encoder = load()
    parts = (Part("taught", (1.0,)), Part("bivcd", (3.0,)))
    recipe = Recipe(parts, tokenizer="words")
    plain = encoder.replace(recipe=recipe, znorm=None, alignment=None)
    found = embed(default, [["taught", [1]], ["bivcd", [3]]])
    np.testing.assert_array_equal(found, plain.encode(TEXTS, lang="de"))


def test_chosen_parts_may_be_cut_and_have_their_language_found(default):
    found = embed(default, [["bivcd", [1, 2]]], dimensions=7, lang=None)
    np.testing.assert_array_equal(found, embed(default, [["bivcd", [1, 2]]])[:, :7])


@pytest.mark.parametrize("p", [0, 0.001, -1, -0.01, 1e300, "-inf", 10**18])
def test_any_power_gives_numbers(default, p):
    assert np.isfinite(embed(default, [["bivcd", [p]]], normalize=True)).all()


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([], "1 to 16 pairs"),
        ("taught", "1 to 16 pairs"),
        ([["taught", [1]]] * 17, "1 to 16 pairs"),
        ([["taught"]], "a word space and 1 to 16 powers"),
        ([["taught", []]], "a word space and 1 to 16 powers"),
        ([["taught", 1]], "a word space and 1 to 16 powers"),
        ([["taught", list(range(1, 18))]], "a word space and 1 to 16 powers"),
        ([[1, [1]]], "a word space and 1 to 16 powers"),
        ([["taught", ["max"]]], "got 'max'"),
        ([["taught", [True]]], "expected a power"),
        ([["taught", [None]]], "expected a power"),
        ([["taught", [[1]]]], "needs root = 'shifted'"),
        ([["taught", [[[1]]]]], "expected a power"),
        ([["taught", [1, 1.0]]], "stands twice"),
        ([["taught", [1e-9]]], "not a usable power"),
        ([["taugth", [1]]], "Did you mean 'taught'?"),
        ([["../../etc/passwd", [1]]], "no word space '../../etc/passwd'"),
        ([["taught", [1, 2, 3]], ["taught", list(range(1, 15))]], "at most 4,096"),
    ],
)
def test_parts_that_there_cannot_be_are_refused(default, parts, why):
    answer = default.post("/embed", json={"inputs": "Hund", "lang": "de", "parts": parts})
    assert answer.status_code == 422
    assert why in answer.json()["error"]


def test_only_embed_takes_parts(default):
    body = {"inputs": "Hund", "lang": "de", "parts": [["taught", [1]]]}
    assert default.post("/classify", json=body).status_code == 422


def test_a_model_may_have_a_power_of_its_own_for_each_dimension(start, encoder, tmp_path):
    import pmeans
    from pmeans import Part, Recipe

    powers = ((1.0, 2.5, -3.0, float("inf")), 1.0)
    recipe = Recipe((Part("words", powers),), "learned", tokenizer="words", root="shifted")
    pmeans.save(encoder.replace(recipe=recipe), tmp_path / "model")
    client = start(model=str(tmp_path / "model"), classifier=None, index=None, texts=None)
    own = client.get("/info").json()["parts"]
    assert own == [["words", [[1, 2.5, -3, "inf"], 1]]]
    expected = pmeans.load(tmp_path / "model").encode(["good dog"], lang="en")
    body = {"inputs": ["good dog"], "lang": "en", "normalize": False, "parts": own}
    np.testing.assert_allclose(client.post("/embed", json=body).json(), expected)
    body["parts"] = [["words", [[1, 2]]]]
    assert "2 powers for 4 dimensions" in client.post("/embed", json=body).text
    body["parts"] = [["words", [0.5]]]
    answer = client.post("/embed", json=body)
    assert (answer.status_code, "0.5 is not a power" in answer.text) == (422, True)
