"""``pmeans spaces``: lists, looks into and converts word spaces."""

from dataclasses import replace

import numpy as np
import pytest

import pmeans
from pmeans.spaces.edit import quantise
from pmeans.spaces.space import Subwords


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_list_shows_what_is_installed_with_tabs_in_a_pipe(run, tiny):
    assert run("spaces", "merge", tiny, "--name", "both").exit_code == 0
    header, row, *_ = run("spaces", "list").stdout.splitlines()
    assert header.split("\t")[:3] == ["NAME", "STATE", "WORDS"]
    assert row.split("\t")[:6] == ["both", "installed", "5", "2", "float32", "en de"]


def test_list_shows_what_can_be_fetched_unless_it_is_here(run, tiny):
    def states():
        lines = run("spaces", "list").stdout.splitlines()
        return [line.split("\t")[1] for line in lines if line.startswith("glove-840b\t")]

    assert states() == ["to fetch"]
    run("spaces", "merge", tiny, "--name", "glove-840b")
    assert states() == ["installed"]


def test_a_damaged_space_does_not_hide_the_others(run, tiny, tmp_path):
    run("spaces", "merge", tiny, "--name", "good")
    (tmp_path / "home" / "spaces" / "bad.safetensors").write_bytes(b"damaged")
    result = run("spaces", "list")
    assert result.exit_code == 0
    assert "good" in result.stdout
    assert "warning: " in result.stderr
    assert "bad.safetensors" in result.stderr


def test_info_prints_keys_and_values(run, tiny):
    result = run("spaces", "info", tiny)
    values = dict(line.split("\t") for line in result.stdout.splitlines())
    assert values["words"] == "en 2, de 3"
    assert values["file"] == str(tiny)


@pytest.mark.parametrize(("folded", "shown"), [(False, "7 n-grams"), (True, "7 folded n-grams")])
def test_info_says_which_ngrams_a_space_has(run, tmp_path, folded, shown):
    ngrams = Subwords(np.ones((7, 1), np.float32), 3, 4, folded=folded)
    space = pmeans.WordSpace.from_words("toy", {"en": ["x"]}, [[1]], subwords=ngrams)
    pmeans.save_space(space, tmp_path / "toy.safetensors")
    assert f"subwords\t{shown}\n" in run("spaces", "info", tmp_path / "toy.safetensors").stdout


def test_info_verifies_a_sound_space(run, tiny):
    assert "verified" in run("spaces", "info", tiny, "--verify").stderr


@pytest.mark.parametrize("checked", [0, 1 << 26])
def test_info_finds_numbers_that_are_not_finite(run, tmp_path, monkeypatch, checked):
    monkeypatch.setattr("pmeans.spaces.store.CHECKED", checked)
    rows = np.array([[1], [2]], dtype=np.float32)
    space = pmeans.WordSpace.from_words("bad", {"en": ["x", "y"]}, rows)
    damaged = replace(space, matrix=rows * np.float32([[1], [np.inf]]))
    pmeans.save_space(damaged, tmp_path / "bad.safetensors")
    result = run("spaces", "info", tmp_path / "bad.safetensors", "--verify")
    assert result.exit_code == 1
    late = "1 vectors have numbers that are not finite, first in row 1"
    assert ("NaN or infinity in row 1" if checked else late) in result.stderr


@pytest.mark.parametrize("spelled", [b"haushundein", b"houseDog", b"housedog"])
def test_info_finds_a_flipped_bit_in_the_words(run, tiny, spelled):
    content = tiny.read_bytes()
    damaged = content.replace(spelled, b"\xff" + spelled[1:])
    tiny.write_bytes(damaged)
    found = run("spaces", "info", tiny, "--verify").exit_code == 1
    assert found == (damaged != content)


def test_neighbours_are_printed_nearest_first(run, tiny):
    result = run("spaces", "neighbours", tiny, "house", "--lang", "en", "--into", "de", "-k", "1")
    assert result.stdout == "COSINE\tLANGUAGE\tWORD\n0.9939\tde\thaus\n"


def test_neighbours_ask_for_a_language_where_there_are_several(run, tiny):
    result = run("spaces", "neighbours", tiny, "house")
    assert result.exit_code == 2
    assert "en, de" in result.stderr


def test_a_space_goes_out_as_text_and_comes_back(run, tiny, tmp_path):
    text = tmp_path / "out.txt"
    assert run("spaces", "export", tiny, text, "--suffix").exit_code == 0
    assert text.read_text().splitlines()[:2] == ["5 2", "house_en 1.0 0.0"]
    back = tmp_path / "back.safetensors"
    assert run("spaces", "convert", text, "--out", back).exit_code == 0
    assert pmeans.open_space(back).languages == ("en", "de")


def test_export_writes_word2vecs_binary_by_its_ending(run, tiny, tmp_path):
    assert run("spaces", "export", tiny, tmp_path / "out.bin", "--suffix").exit_code == 0
    assert (tmp_path / "out.bin").read_bytes().startswith(b"5 2\nhouse_en \x00\x00\x80?")


VECTORS = "the 1 2\nhouse 3 4\nDog 5 6\nbad 1 nan\n"


def test_convert_stops_at_a_bad_entry_or_leaves_it_out(run, tmp_path):
    file, out = write(tmp_path / "v.txt", VECTORS), tmp_path / "v.safetensors"
    assert run("spaces", "convert", file, "--out", out).exit_code == 1
    assert not out.exists()
    result = run("spaces", "convert", file, "--out", out, "--on-error", "skip", "--lang", "fr")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "3 of 4 entries kept" in result.stderr
    assert list(pmeans.open_space(out).words("fr")) == ["the", "house", "Dog"]


def test_convert_installs_under_a_name(run, tmp_path):
    file = write(tmp_path / "v.txt", VECTORS)
    args = ["--name", "mine", "--limit", "2", "--case", "lower", "--dtype", "float16"]
    assert run("spaces", "convert", file, *args).exit_code == 0
    space = pmeans.open_space(tmp_path / "home" / "spaces" / "mine.safetensors")
    assert (space.name, len(space), space.case, space.matrix.dtype) == (
        "mine",
        2,
        "lower",
        "float16",
    )


def test_convert_keeps_the_words_of_a_corpus(run, tmp_path):
    file = write(tmp_path / "v.txt", VECTORS)
    corpus = write(tmp_path / "corpus.txt", "A house!\nthe,\n")
    args = ["--out", tmp_path / "v.safetensors", "--prune", corpus, "--limit", 3]
    assert "2 of 3 words kept" in run("spaces", "convert", file, *args).stderr
    assert list(pmeans.open_space(tmp_path / "v.safetensors").words("en")) == ["the", "house"]


def test_merge_stores_numbers_as_asked(run, tiny, tmp_path):
    out = tmp_path / "merged.safetensors"
    assert (
        run("spaces", "merge", tiny, "--name", "m", "--dtype", "int8", "--out", out).exit_code == 0
    )
    expected = quantise(pmeans.open_space(tiny), "int8")
    np.testing.assert_array_equal(pmeans.open_space(out).matrix, expected.matrix)


def test_a_space_is_converted_to_four_bits_and_shown(run, tmp_path):
    file, out = write(tmp_path / "v.txt", "a 1 -2\nb 3 4\n"), tmp_path / "v.safetensors"
    assert run("spaces", "convert", file, "--dtype", "int4", "--out", out).exit_code == 0
    assert pmeans.open_space(out).precision == "int4"
    shown = run("spaces", "info", out, "--verify").stdout
    assert "int4" in shown
    assert "uint8" not in shown


def test_three_columns_do_not_fit_into_four_bits(run, tmp_path):
    file = write(tmp_path / "v.txt", "a 1 -2 3\n")
    args = ["--dtype", "int4", "--out", tmp_path / "v.safetensors"]
    assert "even number of columns, not 3" in run("spaces", "convert", file, *args).stderr


def test_fetch_refuses_a_name_that_the_catalogue_does_not_have(run):
    result = run("spaces", "fetch", "no-such-space")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the catalogue has no word space 'no-such-space'.")
