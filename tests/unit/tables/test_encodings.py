"""Encodings, compression, delimiters and line ends are found, or named."""

import bz2
import csv
import gzip
import lzma

import pytest
from row_files import texts, write

from pmeans.errors import FormatError, InputError
from pmeans.tables import Fields, open_source, read_lines
from pmeans.tables import lines as lines_module


def test_a_byte_order_mark_is_not_part_of_the_first_sentence(tmp_path):
    assert texts(open_source(write(tmp_path / "a.txt", "\ufeffhi\n\ufeffho\n"))) == [
        "hi",
        "\ufeffho",
    ]


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl"])
def test_gzipped_text_reads_like_plain_text(tmp_path, name):
    content = {
        "a.txt": "ein Haus\nein Hund\n",
        "a.csv": "text,n\nein Haus,1\nein Hund,2\n",
        "a.tsv": "text\tn\nein Haus\t1\nein Hund\t2\n",
        "a.jsonl": '{"text": "ein Haus"}\n{"text": "ein Hund"}\n',
    }[name]
    plain = write(tmp_path / name, content)
    packed = write(tmp_path / f"{name}.gz", gzip.compress(content.encode(), mtime=0))
    assert texts(open_source(plain)) == texts(open_source(packed)) == ["ein Haus", "ein Hund"]


def test_a_gzip_file_that_is_cut_short_is_refused(tmp_path):
    packed = gzip.compress(b"a sentence\n" * 1000, mtime=0)
    path = write(tmp_path / "a.txt.gz", packed[: len(packed) // 2])
    with pytest.raises(FormatError, match="damaged or cut short"):
        texts(open_source(path))


GERMAN = "Größe,Preis\r\nfür Äpfel und Öl,5\r\n"


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
@pytest.mark.parametrize(
    "data",
    [
        GERMAN.encode("utf-8"),
        GERMAN.encode("utf-8-sig"),
        GERMAN.encode("utf-16"),
        b"\xfe\xff" + GERMAN.encode("utf-16-be"),
        GERMAN.encode("utf-32"),
        GERMAN.encode("latin-1"),
        GERMAN.encode("cp1252"),
        gzip.compress(GERMAN.encode("utf-16"), mtime=0),
        bz2.compress(GERMAN.encode("latin-1")),
        lzma.compress(GERMAN.encode("utf-8-sig")),
        gzip.compress(GERMAN.replace(",", ";").encode("cp1252"), mtime=0),
    ],
)
def test_the_encoding_is_found_and_so_is_the_compression(tmp_path, data):
    (block,) = open_source(write(tmp_path / "a.csv", data), Fields("Größe", whole=True)).blocks()
    assert (block.names, block.cells) == (["Größe", "Preis"], [["für Äpfel und Öl", "5"]])


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
def test_no_row_of_latin_1_is_lost_with_skip(tmp_path):
    rows = [f"Nummer {i} {'fährt über die Brücke' if i % 3 else 'steht'}" for i in range(100)]
    path = write(tmp_path / "a.txt", "\n".join(rows).encode("latin-1"))
    assert texts(open_source(path, Fields(on_error="skip"))) == rows


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
def test_the_encoding_may_show_late_and_a_resumed_job_finds_the_same(tmp_path, monkeypatch):
    rows = [*["the house"] * 200, "für", *["the dog"] * 5, "Öl", "\u201eso\u201c"]
    source = open_source(write(tmp_path / "a.txt", "\n".join(rows).encode("cp1252")))
    monkeypatch.setattr(lines_module, "_HEAD", 200)
    for size in (64, 1 << 20):
        monkeypatch.setattr(lines_module, "_CHUNK", size)
        blocks = list(source.blocks(n_rows=10))
        assert [text for block in blocks for text in block.texts] == rows
        for start in (0, 5, -2):
            (*_, last) = source.blocks(blocks[start].place)
            assert last.texts[-1] == rows[-1]


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
def test_what_windows_writes_beyond_latin_1_is_read(tmp_path):
    path = write(tmp_path / "a.txt", b"\x80 5 \x84Gr\xfc\xdfe\x93 \x81")
    assert texts(open_source(path)) == ["\u20ac 5 \u201eGrüße\u201c \x81"]


def test_a_few_bad_bytes_do_not_make_utf_8_something_else(tmp_path):
    path = write(tmp_path / "a.txt", "für\n".encode() * 50 + b"\xff\n")
    with pytest.raises(FormatError, match="line 51: not valid UTF-8; encoding= names another"):
        texts(open_source(path))


def test_an_encoding_may_be_named(tmp_path):
    path = write(tmp_path / "a.txt", "日本語".encode("shift_jis"))
    assert texts(open_source(path, encoding="Shift_JIS")) == ["日本語"]
    with pytest.raises(InputError, match="no encoding 'utf-9'"):
        open_source(path, encoding="utf-9")
    with pytest.raises(FormatError, match="line 1: not valid ASCII"):
        texts(open_source(path, encoding="ascii"))


def test_utf_16_without_its_mark_asks_for_the_encoding(tmp_path):
    path = write(tmp_path / "a.txt", "house\ndog\n".encode("utf-16-le"))
    with pytest.raises(FormatError, match="UTF-16, most likely"):
        texts(open_source(path))
    assert texts(open_source(path, encoding="utf-16-le")) == ["house", "dog"]


def test_utf_16_that_is_cut_short_is_refused(tmp_path):
    with pytest.raises(FormatError, match="not valid UTF-16"):
        texts(open_source(write(tmp_path / "a.txt", "house".encode("utf-16")[:-1])))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    rows = [["id", "text", "n"], ["1", "a, b; c", "x|y"], ["2", "d", "1,5"]]
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    (block,) = open_source(tmp_path / "a.csv", Fields(whole=True)).blocks()
    assert [block.names, *block.cells] == rows


def test_a_single_column_needs_no_delimiter(tmp_path):
    assert texts(open_source(write(tmp_path / "a.csv", "text\nHi, you\nyes\n"))) == [
        "Hi, you",
        "yes",
    ]
    assert texts(open_source(write(tmp_path / "b.csv", 'text\n"Hi, you"\n'))) == ["Hi, you"]


@pytest.mark.parametrize("delimiter", [":", "tab", "\\t"])
def test_a_delimiter_may_be_named(tmp_path, delimiter):
    between = ":" if delimiter == ":" else "\t"
    path = write(tmp_path / "a.csv", f"n{between}text\n1{between}a,b\n")
    assert texts(open_source(path, delimiter=delimiter)) == ["a,b"]
    with pytest.raises(InputError, match="the delimiter is one character"):
        open_source(path, delimiter="::")


def test_a_record_over_many_lines_may_go_over_chunks(tmp_path, monkeypatch):
    long = "\n".join(f"line {i}" for i in range(300))
    path = write(tmp_path / "a.csv", f'text,n\nshort,1\n"{long}",2\nlast,3\n')
    monkeypatch.setattr(lines_module, "_HEAD", 50)
    monkeypatch.setattr(lines_module, "_CHUNK", 50)
    assert texts(open_source(path)) == ["short", long, "last"]


def test_old_macintosh_line_ends_are_understood(tmp_path):
    path = write(tmp_path / "a.csv", "text,n\reins,1\rzwei,2")
    assert texts(open_source(path)) == ["eins", "zwei"]
    assert list(read_lines(write(tmp_path / "a.txt", "a\rb\r"))) == ["a", "b"]


def test_lines_are_read_whatever_the_compression(tmp_path):
    for pack in (bytes, gzip.compress, bz2.compress, lzma.compress):
        path = write(tmp_path / "a", pack("ä\r\n\nb".encode()))
        assert list(read_lines(path)) == ["ä", "", "b"]


def test_lines_that_are_not_utf_8_are_named(tmp_path):
    path = write(tmp_path / "a", "ä\nö\n".encode() + b"\xff")
    with pytest.raises(FormatError, match="line 3: not valid UTF-8"):
        list(read_lines(path))
