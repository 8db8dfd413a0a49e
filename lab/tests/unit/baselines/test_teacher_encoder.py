"""A teacher that says how long a sentence is, as an encoder."""

import numpy as np
import pytest

from pmeans import models
from pmeans.errors import FormatError, InputError, LanguageError, StorageError
from pmeans_lab.baselines.teacher import encoder as teacher_encoder
from pmeans_lab.baselines.teacher.encoder import TeacherEncoder
from pmeans_lab.baselines.teacher.trainer import AsEncoder


@pytest.fixture
def model(tmp_path, monkeypatch):
    def open_model(path, pooling, tokens):
        return lambda texts: np.array([[len(text), 1] for text in texts], dtype=np.float32)

    monkeypatch.setattr(teacher_encoder, "open_model", open_model)
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path / "model.onnx"


def test_it_says_what_its_model_says_and_nothing_of_nothing(model):
    made = AsEncoder(str(model), "mine").train(progress=print)
    assert (made.dim, made.languages) == (2, ("en",))
    expected = [[0.9486833, 0.3162278], [0, 0], [0.7071068, 0.7071068]]  # at length 1
    np.testing.assert_allclose(made.encode(["abc", " ", "x"]), expected, rtol=1e-6)
    assert made.coverage(["abc"]).by_space == {}
    with pytest.raises(LanguageError, match="no language 'de' among en"):
        made.encode(["abc"], lang="de")


def test_a_folder_knows_its_model_by_the_content(model, tmp_path):
    made = TeacherEncoder.of_path("mine", str(model))
    models.save(made, tmp_path / "x")
    back = models.load(tmp_path / "x")
    assert back.fingerprint() == made.fingerprint()
    np.testing.assert_array_equal(back.encode(["abc"]), made.encode(["abc"]))
    assert TeacherEncoder.of_path("mine", str(model), tokens=64).fingerprint() != made.fingerprint()
    model.write_bytes(b"other weights")
    with pytest.raises(FormatError, match=r"model.onnx' is not there, or not the one"):
        models.load(tmp_path / "x")


def test_what_is_not_a_model_is_refused(model, tmp_path):
    with pytest.raises(StorageError, match="is not a model"):
        TeacherEncoder.of_path("mine", str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match="tokens must be at least 3"):
        TeacherEncoder.of_path("mine", str(model), tokens=1)
