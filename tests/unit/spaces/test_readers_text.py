"""Text files: layouts, messages, and files of several languages."""

import gzip
import zipfile

import numpy as np
import pytest

from pmeans.errors import FormatError
from pmeans.spaces.readers import detect_format, read_space, text
from pmeans.spaces.readers.entries import Policy, Tally

SKIP = Policy.skipping()


@pytest.fixture
def read(tmp_path):
    def read(data, **options):
        path = tmp_path / "v.txt"
        path.write_bytes(data)
        return read_space(path, **options)

    return read


@pytest.mark.parametrize(
    ("data", "words", "dim"),
    [
        (b"the 1 2\nof 3 4\n", ["the", "of"], 2),
        (b"2 2\nthe 1 2\nof 3 4\n", ["the", "of"], 2),
        (b"2 2 \r\nthe 1 2 \r\nof 3 4 \r\n", ["the", "of"], 2),
        (b"the 1 2\nof 3 4", ["the", "of"], 2),
        (b". . . 1 2\nat 7 3 4\nof 5 6\n", [". . .", "at 7", "of"], 2),
        (b"7 1 2\n8 3 4\n", ["7", "8"], 2),
        (b"2 3\n4 5\n", ["2", "4"], 1),
        (b"2 1\na 3\nb 5\n", ["a", "b"], 1),
        (b"\n\nthe 1 2\n\n", ["the"], 2),
    ],
)
def test_the_layout_is_found(read, data, words, dim):
    space, report = read(data, format="text")
    assert (list(space.words("en")), space.dim) == (words, dim)
    assert report.seen == report.kept == len(words)


def test_blank_lines_are_counted_and_are_no_entries(read):
    _, report = read(b"the 1 2\n\n \t\nof 3 4\n")
    assert (report.seen, report.blank) == (2, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"of 3", "line 2: 1 value after 'of' where 2 are expected"),
        (b"of 3.5 4 5", "line 2: 3 values after 'of' where 2 are expected"),
        (b"of 3 four", "line 2: 'four', after 'of', is not a number"),
        (b" 3 4", "line 2: no word before the first space"),
        (b"of 3 nan", "line 2: 'of' has a value that is nan or infinite"),
        (b"\xff 3 4", r"line 2: the word b'\xff' is not UTF-8"),
    ],
)
def test_a_message_says_where_and_what_and_the_way_out(read, line, message):
    data = b"the 1 2\n" + line + b"\nin 5 6\n"
    with pytest.raises(FormatError) as caught:
        read(data)
    assert message in str(caught.value)
    assert "v.txt" in str(caught.value)
    assert "policy=Policy(" in str(caught.value)
    space, report = read(data, policy=SKIP)
    assert list(space.words("en")) == ["the", "in"]
    assert report.examples[0].startswith(message)


def test_one_policy_does_not_speak_for_another(read):
    data = b"the 1 2\nof 3\nin nan 6\n"
    with pytest.raises(FormatError, match="'in' has a value"):
        read(data, policy=Policy(malformed="skip"))


def test_a_message_is_whole_even_when_there_are_many(read):
    bad = b"of 3\n" * 20
    with pytest.raises(FormatError, match="'in' has a value"):
        read(b"22 2\nthe 1 2\n" + bad + b"in nan 6\n", policy=Policy(malformed="skip"))


def test_lines_are_numbered_with_the_header_and_across_blocks(read, monkeypatch):
    monkeypatch.setattr(text, "_BLOCK", 64)
    lines = [b"w%d %d %d\n" % (i, i, -i) for i in range(100)]
    lines[70] = b"bad x 1\n"
    with pytest.raises(FormatError, match="line 72: 'x'"):
        read(b"100 2\n" + b"".join(lines))
    lines[70] = b"w3 0 0\n"
    with pytest.raises(FormatError, match="line 72: the word 'w3' came before"):
        read(b"100 2\n" + b"".join(lines), policy=Policy(duplicates="fail"))
    space, _ = read(b"100 2\n" + b"".join(lines))
    expected = [i for i in range(100) if i != 70]
    np.testing.assert_array_equal(space.matrix, [[i, -i] for i in expected])


def test_a_line_that_never_ends_is_refused(read, monkeypatch):
    monkeypatch.setattr(text, "_BLOCK", 64)
    with pytest.raises(FormatError, match="no line ends"):
        read(b"the 1 2\n" + b"x" * 100, format="text")


def test_a_last_line_without_its_values_is_cut_off(read):
    data = b"the 1 2\nof 3"
    with pytest.raises(FormatError, match="line 2: the file is cut off after 1 words"):
        read(data)
    _, report = read(data, policy=SKIP)
    assert (report.truncated, report.malformed, report.kept) == (1, 0, 1)


def test_more_words_than_announced_are_kept_and_noted(read):
    space, report = read(b"1 2\nthe 1 2\nof 3 4\n")
    assert len(space) == 2
    assert report.examples == ("line 1: announces 1 words, and there are 2",)


def test_the_limit_stops_before_later_problems(read):
    space, report = read(b"the 1 2\nof 3 4\nbad\n", limit=2)
    assert (len(space), report.seen, report.malformed) == (2, 2, 0)


@pytest.mark.parametrize(
    "data", [b"just some prose\nand more\n", b"\x00\x01\x02", b"0 2\n", b"3 0\n"]
)
def test_what_is_no_vector_file_is_refused(read, data):
    with pytest.raises(FormatError):
        read(data, policy=SKIP)


def test_the_last_line_before_an_archives_damage_is_not_trusted(tmp_path):
    values = np.random.default_rng(0).integers(10**7, 10**8, 2000).tolist()
    packed = gzip.compress(b"".join(b"w 0.%d\n" % value for value in values))
    path = tmp_path / "v.gz"
    for end in range(len(packed) // 2, len(packed) // 2 + 20):
        path.write_bytes(packed[:end])
        tally = Tally(path, SKIP, "line")
        entries = text.read_lines(tally, 2000)
        expected = [float(f"0.{value}") for value in values[: len(entries)]]
        np.testing.assert_array_equal(entries.matrix[:, 0], np.array(expected, np.float32))
        assert tally.counts == {"truncated": 1, "blank": 0}


def test_a_zip_archive_is_entered_by_its_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "glove.50d.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
        archive.writestr("glove.50d.txt", "the 1 2\n")
    space, _ = read_space(tmp_path / "glove.50d.zip")
    assert (list(space.words("en")), space.name) == (["the"], "glove.50d")


def test_a_zip_archive_of_several_files_lists_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.50d.txt", "the 1 2\n")
        archive.writestr("glove.100d.txt", "the 1 2 3\n")
    with pytest.raises(FormatError, match=r"'glove\.50d\.txt', 'glove\.100d\.txt'"):
        read_space(tmp_path / "glove.zip")


@pytest.mark.parametrize(
    ("n_upper", "case"), [(0, "lower"), (1, "lower"), (2, "cased"), (500, "cased")]
)
def test_one_upper_case_word_in_a_thousand_makes_no_cased_space(read, n_upper, case):
    words = [f"{'W' if i < n_upper else 'w'}{i}" for i in range(2000)]
    data = "".join(f"{word} 1\n" for word in words).encode()
    assert read(data)[0].case == case
    assert read(data, case="cased-then-lower")[0].case == "cased-then-lower"


def test_upper_case_is_not_ascii_alone(read):
    assert read("дом 1\nДом 2\n".encode())[0].case == "cased"


MAPPED = "house_en 1 1\nHaus_de 2 2\ndog_en 3 3\nmaison_fra 4 4\nnew_york_en 5 5\nHund_de 6 6\n"


def test_mapped_words_are_grouped_by_language(read, tmp_path):
    space, report = read(MAPPED.encode())
    assert detect_format(tmp_path / "v.txt") == "mapped"
    assert {lang: list(space.words(lang)) for lang in space.languages} == {
        "en": ["house", "dog", "new_york"],
        "de": ["Haus", "Hund"],
        "fr": ["maison"],
    }
    np.testing.assert_array_equal(space.matrix[:, 0], [1, 3, 5, 2, 6, 4])
    np.testing.assert_array_equal(space.vector("Hund", "de"), [6, 6])
    assert report.kept == 6


def test_a_mapped_word_may_stand_in_two_languages(read):
    space, report = read(b"gift_en 1 1\ngift_de 2 2\n")
    np.testing.assert_array_equal(space.vector("gift", "de"), [2, 2])
    assert report.duplicates == 0


@pytest.mark.parametrize("word", ["house", "_en", "house_", "house_EN", "house_engl", "house_e"])
def test_a_mapped_word_without_a_language_is_malformed(read, word):
    data = MAPPED.encode() + f"{word} 7 7\n".encode()
    with pytest.raises(FormatError, match=f"line 7: the word '{word}' has no language"):
        read(data, format="mapped")
    _, report = read(data, format="mapped", policy=SKIP)
    assert (report.malformed, report.seen, report.kept) == (1, 7, 6)


def test_the_limit_of_a_mapped_file_counts_each_language(read):
    space, report = read(MAPPED.encode(), limit=1)
    assert [len(table) for table in space.tables.values()] == [1, 1, 1]
    assert (report.seen, report.kept) == (3, 3)
