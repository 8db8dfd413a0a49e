"""The component of a spaCy pipeline: documents and spans have the encoder's rows."""

import warnings

import numpy as np
import pytest

import pmeans
from pmeans.errors import InputError, LanguageError

pytest.importorskip("spacy", reason="pip install 'pmeans[spacy]'")
pytestmark = pytest.mark.integrations

import spacy  # noqa: E402

import pmeans.integrations.spacy  # noqa: E402

TEXTS = ["Der Hund rennt im Garten.", "Ein Hund läuft.", "Die Suppe ist gut.", "xqzw", ""]


@pytest.fixture(scope="module")
def german():
    nlp = spacy.blank("de")
    nlp.add_pipe("pmeans")
    return nlp


def test_documents_have_the_encoders_rows_one_by_one_and_in_batches(german):
    wanted = pmeans.load().encode(TEXTS, lang="de")
    one_by_one = [german(text).vector for text in TEXTS]
    np.testing.assert_array_equal(one_by_one, wanted)
    for batch_size in (1, 2, 100):
        piped = [doc.vector for doc in german.pipe(TEXTS, batch_size=batch_size)]
        np.testing.assert_array_equal(piped, wanted)


def test_similarity_is_the_cosine_and_zero_without_a_known_word(german):
    encoder = pmeans.load()
    rows = encoder.encode(TEXTS, lang="de")
    docs = list(german.pipe(TEXTS))
    wanted = encoder.similarity(rows, rows)
    got = [[one.similarity(other) for other in docs] for one in docs]
    # atol: cosines of float32.
    np.testing.assert_allclose(got, wanted, atol=1e-6)
    assert [doc.has_vector for doc in docs] == list(rows.any(axis=1))
    assert docs[0].vector_norm == pytest.approx(np.linalg.norm(rows[0]))


def test_a_span_has_the_row_of_its_text(german):
    doc = german("Der Hund rennt im Garten.")
    span = doc[1:3]
    np.testing.assert_array_equal(span.vector, pmeans.load().encode("Hund rennt", lang="de"))
    assert span.has_vector
    assert 0 < span.similarity(doc) < 1
    with pytest.raises(InputError, match="cannot be compared with a Token"):
        doc.similarity(doc[0])


def test_a_pipeline_on_disk_opens_with_its_model(tmp_path, toy):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    nlp = spacy.blank("en")
    config = {"model": str(tmp_path / "toy.safetensors"), "lang": "de"}
    nlp.add_pipe("pmeans", config=config)
    nlp.to_disk(tmp_path / "pipeline")
    opened = spacy.load(tmp_path / "pipeline")
    assert opened.config["components"]["pmeans"] == {"factory": "pmeans", **config}
    wanted = pmeans.load(tmp_path / "toy.safetensors").encode("die katze", lang="de")
    np.testing.assert_array_equal(opened("die katze").vector, wanted)


def test_a_pipeline_of_any_language_finds_it_and_one_that_is_not_there_is_refused():
    nlp = spacy.blank("xx")
    nlp.add_pipe("pmeans")
    text = "Le chien court dans le jardin."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(nlp(text).vector, pmeans.load().encode(text, lang="fr"))
    with pytest.raises(LanguageError, match="no language 'es' among de, en, fr"):
        spacy.blank("es").add_pipe("pmeans")
