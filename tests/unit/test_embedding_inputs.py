"""What a row is, in every format, and what is said about one that cannot be read."""

import gzip
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmeans.embedding import Fields, open_source
from pmeans.embedding import parquet as parquet_module
from pmeans.embedding import text as text_module
from pmeans.errors import FormatError, InputError, StorageError


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def texts(source):
    return [row.text for row in source.rows(0, 0, 0)]


def test_lines_end_at_newlines_and_at_no_other_separator(tmp_path):
    path = write(tmp_path / "a.txt", "one\u2028still one\x85\x0b\x0c\x1d\r\ntwo\rstill two\n\nlast")
    expected = ["one\u2028still one\x85\x0b\x0c\x1d", "two\rstill two", "", "last"]
    assert texts(open_source(path)) == expected


def test_an_empty_file_has_no_rows(tmp_path):
    assert texts(open_source(write(tmp_path / "a.txt", ""))) == []


def test_a_byte_order_mark_is_no_part_of_the_first_sentence(tmp_path):
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
    packed = write(tmp_path / f"{name}.gz", gzip.compress(content.encode()))
    assert texts(open_source(plain)) == texts(open_source(packed)) == ["ein Haus", "ein Hund"]


def test_a_gzip_file_that_is_cut_short_is_refused(tmp_path):
    packed = gzip.compress(b"a sentence\n" * 1000)
    path = write(tmp_path / "a.txt.gz", packed[: len(packed) // 2])
    with pytest.raises(FormatError, match="damaged or cut short"):
        texts(open_source(path))


def test_a_quoted_csv_cell_may_hold_newlines_and_commas(tmp_path):
    path = write(tmp_path / "a.csv", 'id,text\r\n1,"a, b\nc"\r\n2,d\r\n')
    assert texts(open_source(path)) == ["a, b\nc", "d"]


def test_a_tsv_cell_keeps_its_quotes(tmp_path):
    path = write(tmp_path / "a.tsv", 'text\tid\n"Hi" she said\t1\n"open\t2\n')
    assert texts(open_source(path)) == ['"Hi" she said', '"open']


def test_a_csv_cell_may_be_long(tmp_path):
    long = "word " * 100_000
    assert texts(open_source(write(tmp_path / "a.csv", f"text\n{long}\n"))) == [long]


def test_an_open_quote_in_a_csv_file_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", 'text\nfine\n"never closed\nmore\n')
    with pytest.raises(FormatError, match="not valid CSV"):
        texts(open_source(path))


def test_behind_an_open_quote_reading_goes_on_with_the_next_line(tmp_path):
    path = write(tmp_path / "a.csv", 'text\nfine\n"never closed\nmore\n"x"y\n"last"\n')
    assert texts(open_source(path, Fields(on_error="skip"))) == ["fine", None, "more", None, "last"]


def test_an_open_quote_is_reported_with_the_line_it_stands_in(tmp_path):
    path = write(tmp_path / "a.csv", 'text\n"never closed\nmore\n')
    with pytest.raises(FormatError, match=r"line 3: .* begins 1 lines before"):
        texts(open_source(path))


@pytest.mark.parametrize(
    ("name", "content", "record"),
    [
        ("a.csv", "id,text\n1,Hi\n", {"id": "1", "text": "Hi"}),
        ("a.tsv", "id\ttext\n1\tHi\n", {"id": "1", "text": "Hi"}),
        ("a.jsonl", '{"text": "Hi", "id": 1}\n', {"id": 1, "text": "Hi"}),
        ("a.txt", "Hi\n", {"text": "Hi"}),
    ],
)
def test_rows_come_with_all_their_columns_if_asked(tmp_path, name, content, record):
    source = open_source(write(tmp_path / name, content), Fields(whole=True))
    assert [row.record for row in source.rows(0, 0, 0)] == [record]


def test_a_whole_row_has_as_many_cells_as_the_header(tmp_path):
    path = write(tmp_path / "a.csv", "text,id\na,1,2\n")
    with pytest.raises(FormatError, match="3 columns, and the header has 2"):
        texts(open_source(path, Fields(whole=True)))


def test_two_columns_of_one_name_cannot_be_told_apart(tmp_path):
    path = write(tmp_path / "a.csv", "text,text\na,b\n")
    with pytest.raises(FormatError, match="two columns are called 'text'"):
        texts(open_source(path, Fields(whole=True)))


def test_blank_lines_between_json_objects_are_no_rows(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n\n{"text": "b"}\n\n')
    assert texts(open_source(path)) == ["a", "b"]


def test_parquet_columns_are_read_by_name(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table(
        {"n": [1, 2], "body": ["x", "y"], "code": pa.array(["en", "de"]).dictionary_encode()}
    )
    pq.write_table(table, path)
    rows = list(open_source(path, Fields("body", "code")).rows(0, 0, 0))
    assert [(row.text, row.lang) for row in rows] == [("x", "en"), ("y", "de")]


@pytest.mark.parametrize("start", range(8))
def test_parquet_goes_on_at_any_row(tmp_path, monkeypatch, start):
    monkeypatch.setattr(parquet_module, "_BATCH", 2)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": list("abcdefg")}), path, row_group_size=5)
    assert [row.text for row in open_source(path).rows(start, start, start)] == list("abcdefg")[
        start:
    ]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_plain_file_goes_on_behind_any_row(tmp_path, name):
    lines = ["eins", "zwei \U0001f600", "", "vier"]
    written = lines if name == "a.txt" else [json.dumps({"text": line}) for line in lines]
    source = open_source(write(tmp_path / name, "\r\n".join(written)))
    rows = list(source.rows(0, 0, 0))
    for i, row in enumerate(rows):
        assert list(source.rows(i + 1, row.line, row.offset)) == rows[i + 1 :]


BAD = {
    "bad utf-8 in text": ("a.txt", b"fine\n\xff\xfe\nfine\n", r"line 2: not valid UTF-8"),
    "bad utf-8 in csv": ("a.csv", b"text\nfine\n\xff\nfine\n", r"line 3: not valid UTF-8"),
    "bad utf-8 in json": ("a.jsonl", b'{"text": "a"}\n{"text": "\xff"}', r"line 2: not valid UTF"),
    "no json": ("a.jsonl", b'{"text": "a"}\n{"text": \n', r"line 2: not valid JSON: .* column"),
    "a json list": ("a.jsonl", b'{"text": "a"}\n["a"]\n', r"line 2: expected an object"),
    "another key": ("a.jsonl", b'{"text": "a"}\n{"txt": "a"}\n', r"line 2: no key 'text' among"),
    "a number": ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', r"line 2: the text is int, .*: 3"),
    "null": ("a.jsonl", b'{"text": "a"}\n{"text": null}\n', r"line 2: the text is NoneType"),
    "deep": ("a.jsonl", b'{"text": "a"}\n' + b"[" * 200_000 + b"\n", r"line 2: "),
    "a short row": ("a.csv", b"id,text\n1,a\n2\n", r"line 3: only 1 columns"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_named_by_its_line(tmp_path, case):
    name, content, message = BAD[case]
    with pytest.raises(FormatError, match=message):
        texts(open_source(write(tmp_path / name, content)))


@pytest.mark.parametrize("case", BAD)
def test_a_skipped_row_keeps_its_place(tmp_path, case):
    name, content, _ = BAD[case]
    got = texts(open_source(write(tmp_path / name, content), Fields(on_error="skip")))
    assert got[:2] in (["fine", None], ["a", None])


def test_a_null_in_a_parquet_column_is_named_by_its_row(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", None]}), path)
    with pytest.raises(FormatError, match="row 2: the text is NoneType"):
        texts(open_source(path))
    assert texts(open_source(path, Fields(on_error="skip"))) == ["a", None]


def test_bad_bytes_in_a_column_that_is_not_read_do_no_harm(tmp_path):
    path = write(tmp_path / "a.csv", b"text,other\nfine,\xff\n")
    assert texts(open_source(path)) == ["fine"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_missing_column_is_named_with_those_that_are_there(tmp_path, name):
    path = tmp_path / name
    if name == "a.csv":
        write(path, "id,sentence\n1,a\n")
    else:
        pq.write_table(pa.table({"id": [1], "sentence": ["a"]}), path)
    with pytest.raises(
        FormatError, match=r"'sentenc'\. Did you mean 'sentence'\? Choose one of 'id'"
    ):
        texts(open_source(path, Fields("sentenc")))


def test_a_parquet_column_of_numbers_is_refused_at_once(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [1, 2]}), path)
    with pytest.raises(FormatError, match="'text' holds int64, not strings"):
        open_source(path)


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        open_source(write(tmp_path / "a.parquet", "text"))


def test_a_language_that_the_encoder_does_not_have_is_a_bad_row(tmp_path):
    path = write(tmp_path / "a.csv", "text,lang\na,en\nb,xx\n")
    with pytest.raises(FormatError, match="line 3: language 'xx' is none of de, en"):
        texts(open_source(path, Fields(lang="lang", languages=("de", "en"))))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "LONGEST", 1000)
    with pytest.raises(FormatError, match="line 2 is longer"):
        texts(open_source(write(tmp_path / "a.txt", "short\n" + "x" * 5000)))


def test_standard_input_is_plain_text_unless_it_is_said_to_be_something_else(monkeypatch):
    for format_, content in ((None, b"a\nb\n"), ("jsonl", b'{"text": "a"}\n{"text": "b"}\n')):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert texts(open_source("-", format=format_)) == ["a", "b"]


def test_parquet_from_standard_input_is_refused():
    with pytest.raises(InputError, match="name the file"):
        open_source("-", format="parquet")


def test_without_pyarrow_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pip install 'pmeans\[data\]'"):
        open_source(write(tmp_path / "a.parquet", "x"))


def test_an_unknown_ending_asks_for_the_format(tmp_path):
    with pytest.raises(InputError, match="--input-format"):
        open_source(write(tmp_path / "a.doc", "x"))


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(StorageError, match="no file"):
        open_source(tmp_path / "absent.txt")
    with pytest.raises(StorageError, match="is a folder"):
        open_source(tmp_path)
