"""Teachers: what they say, that it is kept and never mixed, and what they refuse."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from pmeans.errors import FormatError, InputError, StorageError
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import save_space
from pmeans.training import teacher
from pmeans.training.teacher import OnnxSpeaker, Teacher

SAID = {"a dog": [3, 4], "the cat": [0, 2], "dog": [1, 0]}


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model that says how long a sentence is, and a list of what it was asked."""
    asked = []

    def speak(sentences):
        asked.append(list(sentences))
        return np.array([[len(sentence), 1] for sentence in sentences], dtype=np.float32)

    monkeypatch.setattr(teacher, "open_model", lambda *settings: speak)
    monkeypatch.setattr(teacher, "KEPT_AT_ONCE", 2)
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_text("{}")
    return SimpleNamespace(path=str(tmp_path / "model.onnx"), asked=asked)


def silent(share, words):
    """No progress."""


def said(path, sentences, **settings):
    return Teacher(str(path), **settings).vectors(sentences, "en", silent)


def kept(tmp_path):
    return sorted((tmp_path / "home" / "teachers").glob("*/*.safetensors"))


def test_a_table_gives_its_vectors_at_length_one_and_says_which_it_lacks(tmp_path):
    np.save(tmp_path / "t.npy", np.array(list(SAID.values()), dtype=np.float32))
    (tmp_path / "t.words.txt").write_text("\n".join(SAID))
    vectors, known = said(tmp_path / "t.npy", ["the cat", "nobody", "a dog"])
    # Float16 has three digits.
    np.testing.assert_allclose(vectors, [[0, 1], [0, 0], [0.6, 0.8]], atol=1e-3)
    assert known.tolist() == [True, False, True]


def test_a_word_space_whose_words_are_sentences_is_a_table(tmp_path):
    table = WordSpace.from_words("t", {"en": list(SAID)}, list(SAID.values()), case="cased")
    save_space(table, tmp_path / "t.safetensors")
    vectors, known = said(tmp_path / "t.safetensors", ["the cat", "The cat"])
    np.testing.assert_array_equal(vectors, [[0, 1], [0, 0]])
    assert known.tolist() == [True, False]


def test_a_model_is_asked_once_for_each_sentence_ever(model):
    first = said(model.path, ["bb", "a", "bb", "ccc"])[0]
    assert model.asked == [["bb", "a"], ["ccc"]]
    again = said(model.path, ["ccc", "dddd", "a"])[0]
    assert model.asked[2:] == [["dddd"]]
    np.testing.assert_array_equal(again[[0, 2]], first[[3, 1]])
    # Float16 has three digits.
    np.testing.assert_allclose(first[1], [0.5**0.5, 0.5**0.5], atol=1e-3)


def test_an_interrupted_computation_goes_on_with_what_is_missing(model, monkeypatch):
    def interrupt(share, words):
        if share > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Teacher(model.path).vectors(["a", "bb", "ccc"], "en", interrupt)
    assert said(model.path, ["a", "bb", "ccc"])[0].shape == (3, 2)
    assert model.asked == [["a", "bb"], ["ccc"]]


def test_other_weights_another_pooling_or_length_is_another_teacher(model, tmp_path):
    said(model.path, ["a"])
    said(model.path, ["a"], pooling="mean")
    said(model.path, ["a"], tokens=64)
    (tmp_path / "tokenizer.json").write_text("{ }")
    said(model.path, ["a"])
    (tmp_path / "model.onnx").write_bytes(b"other weights")
    said(model.path, ["a"])
    assert len(model.asked) == len(kept(tmp_path)) == 5


def test_vectors_of_another_teacher_are_refused(model, tmp_path):
    said(model.path, ["a"])
    (first,) = kept(tmp_path)
    said(model.path, ["a"], tokens=64)
    (second,) = set(kept(tmp_path)) - {first}
    second.rename(first.with_name("moved.safetensors"))
    with pytest.raises(StorageError, match=r"moved\.safetensors is not of this teacher\. Delete"):
        said(model.path, ["a"])


def test_kept_vectors_of_another_width_are_refused(model, tmp_path):
    said(model.path, ["a"])
    (path,) = kept(tmp_path)
    identity = path.parent.name.rpartition("-")[2]
    arrays = {
        "keys": np.arange(1, dtype=np.uint64),
        "vectors": np.zeros((1, 3), np.int8),
        "scale": np.ones(1, np.float32),
    }
    teacher.write_tensors(path.with_name("zzz.safetensors"), arrays, {"teacher": identity})
    message = r"zzz\.safetensors has vectors \(1, 3\), where \(1, 2\) is expected"
    with pytest.raises(StorageError, match=message):
        said(model.path, ["a"])


def test_what_is_not_a_number_is_not_kept(model, tmp_path, monkeypatch):
    monkeypatch.setattr(teacher, "open_model", lambda *_: lambda s: np.full((len(s), 2), np.nan))
    with pytest.raises(InputError, match="hold NaN or infinity"):
        said(model.path, ["a"])
    assert not kept(tmp_path)


def test_progress_tells_how_many_sentences_there_are(model):
    told = []
    Teacher(model.path).vectors(list("abcde"), "en", lambda *report: told.append(report))
    assert told == [
        (0.0, "teacher: 0 of 5 sentences"),
        (0.4, "teacher: 2 of 5 sentences"),
        (0.8, "teacher: 4 of 5 sentences"),
    ]


def test_an_onnx_file_without_its_tokenizer_is_a_clear_error(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(StorageError, match=r"tokenizer\.json'; a teacher is an ONNX file with"):
        said(tmp_path / "model.onnx", ["a"])


def test_no_tokens_are_too_few():
    with pytest.raises(InputError, match="tokens must be at least 3, not 2"):
        Teacher("t", tokens=2)


@pytest.mark.parametrize(
    ("package", "extra", "file"),
    [("onnxruntime", "teach", "model.onnx"), ("sentence_transformers", "train", "modules.json")],
)
def test_a_missing_package_is_named_with_what_brings_it(
    package, extra, file, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    for name in (file, "tokenizer.json"):
        (tmp_path / name).write_bytes(b"{}")
    message = f"needs {package}, which is not installed: pip install 'pmeans[{extra}]'"
    with pytest.raises(InputError, match=re.escape(message)):
        said(tmp_path, ["a"])


# A model whose vector of a token is (its id, 1), and a tokenizer whose ids are letters' places.


class Tokens:
    def encode_batch(self, sentences):
        return [SimpleNamespace(ids=[ord(letter) - 96 for letter in s]) for s in sentences]


class Session:
    def __init__(self, *inputs):
        self.inputs, self.shapes = inputs, []

    def get_inputs(self):
        return [SimpleNamespace(name=name) for name in self.inputs]

    def run(self, outputs, arrays):
        ids = arrays["input_ids"]
        self.shapes.append(ids.shape)
        return [np.stack([ids, np.ones_like(ids)], axis=2).astype(np.float32)]


@pytest.mark.parametrize("on_cuda", [False, True])
@pytest.mark.parametrize(("pooling", "first"), [("cls", [3, 1, 2]), ("mean", [2, 1, 2])])
def test_tokens_are_pooled_without_their_padding_and_in_the_order_of_sentences(
    on_cuda, pooling, first
):
    session = Session("input_ids", "attention_mask")
    speak = OnnxSpeaker(session, Tokens(), pooling, on_cuda=on_cuda)
    found = speak(["cba", "a", "bb"])
    np.testing.assert_array_equal(found, np.stack([first, [1, 1, 1]], axis=1))
    assert found.dtype == np.float32


def test_on_the_cpu_a_sentence_is_alone_and_on_cuda_it_shares_a_batch():
    alone, together = (Session("input_ids") for _ in range(2))
    OnnxSpeaker(alone, Tokens(), "cls", on_cuda=False)(["abc", "a"])
    OnnxSpeaker(together, Tokens(), "cls", on_cuda=True)(["abc", "a"])
    assert (sorted(alone.shapes), together.shapes) == ([(1, 1), (1, 3)], [(2, 3)])


def test_a_model_that_asks_for_something_else_than_tokens_is_refused():
    with pytest.raises(FormatError, match="asks for pixels; one of sentences asks for input_ids"):
        OnnxSpeaker(Session("input_ids", "pixels"), Tokens(), "cls", on_cuda=False)


def test_a_file_that_is_not_onnx_is_a_clear_error(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"{} no model")
    with pytest.raises(FormatError, match=r"model\.onnx: not an ONNX model that can be run"):
        said(tmp_path, ["a"])


def test_a_tiny_onnx_model_speaks(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    tokenizers = pytest.importorskip("tokenizers")
    rows = np.array([[0, 0], [3, 4], [0, 5], [1, 0]], dtype=np.float32)
    helper, numbers = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Gather", ["rows", "input_ids"], ["hidden"])],
        "tiny",
        [helper.make_tensor_value_info("input_ids", numbers.INT64, ["n", "tokens"])],
        [helper.make_tensor_value_info("hidden", numbers.FLOAT, ["n", "tokens", 2])],
        [onnx.numpy_helper.from_array(rows, "rows")],
    )
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "model.onnx")
    words = {"[UNK]": 0, "dog": 1, "cat": 2, "old": 3}
    splitter = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    splitter.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    splitter.save(str(tmp_path / "tokenizer.json"))
    vectors, known = said(tmp_path, ["dog", "old cat"], pooling="mean")
    # Half a step of the codes, 1/127 of the largest number.
    length = (1 + 25) ** 0.5
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [1 / length, 5 / length]], atol=0.5 / 127)
    assert known.all()
    (tmp_path / "tokenizer.json").write_text("[]")
    with pytest.raises(FormatError, match=r"tokenizer\.json: not a tokenizer"):
        said(tmp_path, ["dog"])


def test_the_model_of_a_folder_is_made_of_all_its_files(tmp_path):
    (tmp_path / "1_Pooling").mkdir()
    for name in ("modules.json", "model.safetensors", "1_Pooling/config.json"):
        (tmp_path / name).write_bytes(b"")
    names = [file.relative_to(tmp_path).as_posix() for file in teacher.model_files(tmp_path)]
    assert names == ["1_Pooling/config.json", "model.safetensors", "modules.json"]
