import json
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.errors import FormatError, InputError, StorageError
from pmeans.spaces.edit import quantise
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import open_space, save_space
from pmeans.tensors import map_tensors, write_tensors


def stored(space, tmp_path):
    save_space(space, tmp_path / "space.safetensors")
    return open_space(tmp_path / "space.safetensors")


def test_a_space_comes_back_as_it_went(toy, tmp_path):
    back = stored(toy, tmp_path)
    assert (back.name, back.languages, back.case) == ("toy", ("en", "de"), "lower")
    assert list(back.words("de")) == ["die", "katze"]
    np.testing.assert_array_equal(back.matrix, toy.matrix)
    assert back.row("Katze", "de") == 4
    assert back.row("cat", "de") == -1


def test_int8_subwords_source_and_licence_come_back_too(tmp_path):
    space = WordSpace.from_words(
        "s", {"mul": ["ä b", "\u2028"]}, np.array([[127, 1], [2, -127]], np.int8),
        case="cased", scale=np.array([0.5, 2], np.float32), source="here", licence="CC0-1.0",
        subwords=Subwords(np.ones((5, 2), np.float32), 3, 6),
    )  # fmt: skip
    back = stored(space, tmp_path)
    assert (back.source, back.licence, back.case) == ("here", "CC0-1.0", "cased")
    assert list(back.words("xx")) == ["ä b", "\u2028"]
    assert back.vector("ä b", "xx").tolist() == [63.5, 0.5]
    assert back.vector("new", "xx").tolist() == [1, 1]
    assert (back.subwords.minn, back.subwords.maxn) == (3, 6)


def test_the_official_library_reads_a_store(toy, tmp_path):
    stored(toy, tmp_path)
    tensors = safetensors.numpy.load_file(tmp_path / "space.safetensors")
    np.testing.assert_array_equal(tensors["matrix"], toy.matrix)
    assert bytes(tensors["words.de"]) == b"diekatze"


def test_the_matrix_is_mapped_aligned_and_read_only(toy, tmp_path):
    matrix = stored(toy, tmp_path).matrix
    assert matrix.ctypes.data % 64 == 0
    assert not matrix.flags.writeable
    assert not matrix.flags.owndata


def test_equal_spaces_have_equal_bytes(toy, tmp_path):
    save_space(toy, tmp_path / "a")
    save_space(open_space(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_subwords_of_every_precision_come_back_to_the_byte(toy, tmp_path, precision):
    ngrams = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    space = quantise(replace(toy, subwords=Subwords(ngrams, 2, 3)), precision)
    save_space(space, tmp_path / "a")
    back = open_space(tmp_path / "a")
    np.testing.assert_array_equal(back.subwords.ngrams, space.subwords.ngrams, strict=True)
    assert (back.subwords.scale is None) == (precision != "int8")
    assert back.vector("unknown", "en").tolist() == space.vector("unknown", "en").tolist()
    save_space(back, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_float32_ngrams_are_not_copied(toy, tmp_path):
    back = stored(replace(toy, subwords=Subwords(np.ones((7, 3), np.float32), 2, 3)), tmp_path)
    assert back.subwords.vectors.ctypes.data == back.subwords.ngrams.ctypes.data


def test_a_store_of_int8_words_and_float32_ngrams_opens(toy, tmp_path):
    subwords = Subwords(np.ones((7, 3), np.float32), 2, 3)
    back = stored(replace(quantise(toy, "int8"), subwords=subwords), tmp_path)
    assert (back.matrix.dtype, back.subwords.ngrams.dtype) == (np.int8, np.float32)
    assert back.vector("unknown", "en").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"ngram_scale": None}, "n-grams: int8 or int4 and a scale go together"),
        ({"ngrams": np.ones((7, 3), np.float32)}, "n-grams: int8 or int4 and a scale go together"),
        ({"ngram_scale": np.ones(6, np.float32)}, "n-grams: scale misfits"),
        ({"ngram_scale": np.ones((7, 1), np.float32)}, "n-grams: scale misfits"),
        ({"ngram_scale": np.ones(7, np.float16)}, "n-grams: scale misfits"),
        ({"ngrams": np.ones((7, 3), np.int32)}, "n-grams has a strange type"),
        ({"ngrams": np.ones(7, np.int8)}, "n-grams has not two dimensions"),
        ({"ngrams": np.ones((7, 2), np.int8)}, r"n-gram vectors misfit: \(7, 2\)"),
        (
            {"ngrams": np.ones((0, 3), np.int8), "ngram_scale": np.ones(0, np.float32)},
            "n-gram vectors misfit",
        ),
    ],
)
def test_ngrams_that_misfit_are_refused(toy, tmp_path, tensors, message):
    space = replace(toy, subwords=Subwords(np.ones((7, 3), np.float32), 2, 3))
    save_space(quantise(space, "int8"), tmp_path / "a")
    old, metadata = map_tensors(tmp_path / "a")
    new = {name: array for name, array in (old | tensors).items() if array is not None}
    unpadded = {name: new[name] for name in new if not name.startswith("padding")}
    write_tensors(tmp_path / "b", unpadded, metadata)
    with pytest.raises(FormatError, match=message):
        open_space(tmp_path / "b")


def changed(toy, tmp_path, **metadata):
    path = tmp_path / "space.safetensors"
    save_space(toy, path)
    tensors, old = map_tensors(path)
    write_tensors(tmp_path / "changed", tensors, old | metadata)
    return tmp_path / "changed"


def test_a_newer_format_asks_for_an_upgrade(toy, tmp_path):
    with pytest.raises(FormatError, match=r"version 6, this pmeans reads 1 to 5\. Upgrade"):
        open_space(changed(toy, tmp_path, version="6"))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"format": "other"}, "pmeans spaces convert"),
        ({"languages": "[]"}, "no language"),
        ({"languages": '["en"]'}, "3 words for 5 vectors"),
        ({"languages": '["en", "fr"]'}, "words.fr' is missing"),
        ({"languages": "{"}, "damaged"),
        ({"case": "upper"}, "unknown case"),
    ],
)
def test_a_store_that_contradicts_itself_is_refused(toy, tmp_path, metadata, message):
    with pytest.raises(FormatError, match=message):
        open_space(changed(toy, tmp_path, **metadata))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"no file '.*gone\.safetensors'"):
        open_space(tmp_path / "gone.safetensors")


@pytest.mark.parametrize("length", [0, 7, 8, 100, 1000])
def test_a_file_cut_short_is_refused(toy, tmp_path, length):
    path = tmp_path / "space.safetensors"
    save_space(toy, path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(FormatError):
        open_space(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]},
        {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]},
        {"dtype": "F32"},
        [],
    ],
)
def test_a_header_that_points_outside_the_file_is_refused(tmp_path, entry):
    header = json.dumps({"matrix": entry}).encode()
    header += b" " * (-len(header) % 8)
    path = tmp_path / "bad"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(FormatError, match="damaged"):
        map_tensors(path)


def test_a_full_disk_leaves_the_old_store(toy, tmp_path, monkeypatch):
    path = tmp_path / "space.safetensors"
    save_space(toy, path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"No space left on device.*untouched"):
        save_space(toy, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["space.safetensors"]


def test_offsets_that_fall_are_found_when_a_space_is_opened(toy, tmp_path):
    save_space(toy, tmp_path / "a")
    tensors, metadata = map_tensors(tmp_path / "a")
    tensors["offsets.en"] = np.array([0, 6, 3, 9])
    write_tensors(tmp_path / "b", tensors, metadata)
    with pytest.raises(FormatError, match="offsets of its words do not rise"):
        open_space(tmp_path / "b")


def test_a_file_that_is_cut_short_while_it_is_open_is_an_error_and_not_a_crash(toy, tmp_path):
    path = tmp_path / "space.safetensors"
    save_space(toy, path)
    recipe = Recipe((Part("toy"),))
    encoder = PowerMeanEncoder(recipe, {"toy": open_space(path)})
    before = encoder.encode("the cat", lang="en")
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(StorageError, match=r"has shrunk from .* to 100 bytes"):
        encoder.encode("the cat", lang="en")
    assert before.any()


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_number_that_is_not_finite_is_found_when_a_space_is_opened(toy, tmp_path, precision):
    matrix = toy.matrix.astype(precision)
    matrix[3, 1] = np.nan
    save_space(replace(toy, matrix=matrix), tmp_path / "a")
    with pytest.raises(FormatError, match="the matrix has NaN or infinity in row 3"):
        open_space(tmp_path / "a")


@pytest.mark.parametrize("scale", [np.nan, np.inf, 3e38])
def test_a_scale_that_is_not_finite_is_found_when_a_space_is_opened(toy, tmp_path, scale):
    small = quantise(toy, "int8")
    scales = small.scale.copy()
    scales[2] = scale
    save_space(replace(small, scale=scales), tmp_path / "a")
    with pytest.raises(FormatError, match="a scale is not a finite number"):
        open_space(tmp_path / "a")


def test_a_large_space_with_a_bad_number_opens_and_says_so_when_its_word_is_met(
    toy, tmp_path, monkeypatch
):
    matrix = toy.matrix.copy()
    matrix[1] = np.inf
    save_space(replace(toy, matrix=matrix), tmp_path / "a")
    monkeypatch.setattr("pmeans.spaces.store.CHECKED", 0)
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": open_space(tmp_path / "a")})
    assert encoder.encode("the", lang="en").any()
    with pytest.raises(InputError, match="word vector 1 has NaN or infinity"):
        encoder.encode("the cat", lang="en")
