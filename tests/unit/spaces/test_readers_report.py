"""Policies, reports, and the choice of a reader."""

import io

import pytest

from pmeans.errors import FormatError, InputError, StorageError
from pmeans.spaces.readers import detect_format, read_space
from pmeans.spaces.readers.entries import Policy, ReadReport
from pmeans.streams import Stream


def test_a_policy_refuses_by_default_but_keeps_the_first_of_equal_words():
    assert Policy() == Policy("fail", "fail", "fail", "fail", "first")
    assert Policy.skipping() == Policy("skip", "skip", "skip", "skip", "first")


@pytest.mark.parametrize("wrong", [{"malformed": "ignore"}, {"duplicates": "skip"}])
def test_a_policy_knows_its_words(wrong):
    with pytest.raises(InputError, match="is none of"):
        Policy(**wrong)


def test_a_report_reads_as_a_sentence():
    report = ReadReport(
        "v.txt", 1_005, 1_000, duplicates=3, malformed=2, examples=("line 7: what",)
    )
    assert str(report) == (
        "v.txt: 1,000 of 1,005 entries kept; left out: 3 duplicate, 2 malformed.\n  line 7: what"
    )
    assert str(ReadReport("v.txt", 5, 5)) == "v.txt: 5 of 5 entries kept."


def test_only_a_few_examples_are_kept(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"101 2\nthe 1 2\n" + b"bad 1\n" * 100)
    _, report = read_space(tmp_path / "v.txt", policy=Policy.skipping())
    assert (report.malformed, len(report.examples)) == (100, 5)


def test_an_unknown_format_is_corrected(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'model2vec'"):
        read_space(tmp_path, format="model2vek")


@pytest.mark.parametrize("lang", ["", "Klingon", "e n"])
def test_a_language_must_be_a_code(tmp_path, lang):
    (tmp_path / "v.txt").write_bytes(b"the 1 2\n")
    with pytest.raises(InputError, match="language code"):
        read_space(tmp_path / "v.txt", lang=lang)


def test_a_space_of_several_languages_is_mul(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"the 1 2\n")
    space, _ = read_space(tmp_path / "v.txt", lang="mul")
    assert space.covers("de")


def test_a_store_is_opened_and_not_read(tmp_path):
    with pytest.raises(FormatError, match="opened, not read"):
        read_space(tmp_path / "v.safetensors")


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(StorageError, match="model2vec folder"):
        read_space(tmp_path)
    with pytest.raises(StorageError):
        read_space(tmp_path, format="text")


def test_a_search_without_end_does_not_read_everything():
    raw = io.BytesIO(b"x" * (8 << 20))
    assert Stream(raw).read_until(b" ", 100) is None
    assert raw.tell() < 3 << 20


@pytest.mark.parametrize(
    ("name", "stem"),
    [("glove.6B.100d.txt.gz", "glove.6B.100d"), ("cc.de.300.bin", "cc.de.300"), ("v", "v")],
)
def test_a_space_is_named_after_its_file(tmp_path, name, stem):
    (tmp_path / name).write_bytes(b"the 1 2\n")
    assert read_space(tmp_path / name)[0].name == stem


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"2 2\nthe 1 2\nof 3 4\n", "text"),
        (b"2 2\nthe \x00\x00\x80\x3f\x00\x00\x00\x40\n", "word2vec-binary"),
        (b"2 2\nNew York 1 2\n\x01 3 4\n", "text"),
        (b"the_en 1 2\nder_de 3 4\n", "mapped"),
        (b"the_end 1 2\nof 3 4\n", "text"),
    ],
)
def test_formats_are_told_apart(tmp_path, data, kind):
    (tmp_path / "v").write_bytes(data)
    assert detect_format(tmp_path / "v") == kind
