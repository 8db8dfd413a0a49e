"""What a row is, in every format, and what is said about one that cannot be read."""

import contextlib
import io
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from row_files import texts, write

from pmeans.errors import FormatError, InputError, StorageError
from pmeans.tables import Fields, formats, open_source, sources
from pmeans.tables import lines as lines_module
from pmeans.tables.fields import Place


def test_lines_end_at_newlines_and_at_no_other_separator(tmp_path):
    path = write(tmp_path / "a.txt", "one\u2028still one\x85\x0b\x0c\x1d\r\ntwo\rstill two\n\nlast")
    expected = ["one\u2028still one\x85\x0b\x0c\x1d", "two\rstill two", "", "last"]
    assert texts(open_source(path)) == expected


def test_an_empty_file_has_no_rows(tmp_path):
    assert texts(open_source(write(tmp_path / "a.txt", ""))) == []


def test_a_quoted_csv_cell_may_hold_newlines_and_commas(tmp_path):
    path = write(tmp_path / "a.csv", 'id,text\r\n1,"a, b\nc"\r\n2,d\r\n')
    assert texts(open_source(path)) == ["a, b\nc", "d"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("text\na\nb\n", [2, 3]),
        ('text\n"a"\nb', [2, 3]),
        ("text\na\n\nb\n", [2, 4]),
        ('text\na\n"b\nc"\nd\n', [2, 4, 5]),
        ('text\n"a\n\nb"\n\nc\n', [4, 6]),
    ],
)
def test_a_row_is_numbered_by_the_line_it_ends_with(tmp_path, content, lines):
    source = open_source(write(tmp_path / "a.csv", content))
    for n_rows in (1, 10):
        blocks = source.blocks(n_rows=n_rows)
        assert [line for block in blocks for line in block.lines] == lines


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


def test_after_an_open_quote_reading_goes_on_with_the_next_line(tmp_path):
    path = write(tmp_path / "a.csv", 'text\nfine\n"never closed\nmore\n"x"y\n"last"\n')
    assert texts(open_source(path, Fields(on_error="skip"))) == ["fine", None, "more", None, "last"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('"text\nfine\nmore\n', 1),
        ('text\n"never closed\nmore\n', 2),
        ('text\nfine\n"never closed', 3),
        ('id,text\n"1\n2","closed, and ""then""\nnot\n', 3),
    ],
)
def test_an_open_quote_is_reported_with_the_line_that_it_opens_in(tmp_path, content, line):
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(FormatError, match=f"line {line}: .* a quote opens here and is not closed"):
        texts(open_source(path))


def test_an_open_quote_is_not_read_to_the_end_of_a_long_file(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "LONGEST_ROW", 100)
    monkeypatch.setattr(lines_module, "_HEAD", 50)
    monkeypatch.setattr(lines_module, "_CHUNK", 50)
    rows = [f"row {i}" for i in range(1000)]
    path = write(tmp_path / "a.csv", "\n".join(["text", *rows[:10], f'"{rows[10]}', *rows[11:]]))
    with pytest.raises(FormatError, match=r"line 12: .* not closed within 100 characters"):
        texts(open_source(path))
    read = []
    with open(path, "rb") as file, monkeypatch.context() as patched:
        stream = SimpleNamespace(read=lambda n: read.append(n) or file.read(n), damage=None)
        patched.setattr(sources, "opened", lambda path: contextlib.nullcontext(stream))
        blocks = open_source(path).blocks()
        with pytest.raises(FormatError, match="line 12"):
            list(blocks)
    assert sum(read) < 500  # of 8,000 bytes
    skipped = texts(open_source(path, Fields(on_error="skip")))
    assert skipped == [*rows[:10], None, *rows[11:]]


def test_a_row_that_begins_lines_before_its_mistake_says_so(tmp_path):
    path = write(tmp_path / "a.csv", 'text\n"never closed\n"fine"')
    with pytest.raises(FormatError, match=r"line 3: .* \(the row begins 1 line before\)"):
        texts(open_source(path))


def test_a_header_that_leaves_a_quote_open_is_refused_in_a_long_file(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_module, "_CHUNK", 50)
    monkeypatch.setattr(lines_module, "_HEAD", 50)
    path = write(tmp_path / "a.csv", '"text\n' + "row\n" * 1000)
    with pytest.raises(FormatError, match=r"line 1: .* a quote opens here"):
        texts(open_source(path))


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_row_may_go_over_lines(tmp_path, end):
    path = write(tmp_path / "a.csv", f'text\nfine\n"a\nb"{end}')
    assert texts(open_source(path)) == ["fine", "a\nb"]


@pytest.mark.parametrize("chunk", [50, 1 << 20])
def test_a_row_over_lines_may_be_so_long_and_no_longer(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(formats, "LONGEST_ROW", 100)
    monkeypatch.setattr(lines_module, "_HEAD", chunk)
    monkeypatch.setattr(lines_module, "_CHUNK", chunk)
    rows = [f"{'x' * 48}\n{'y' * n}" for n in (48, 49)]  # with quotes and line ends 100 and 101
    path = write(tmp_path / "a.csv", f'text\n"{rows[0]}"\nfine\n"{rows[1]}"\n{"z" * 500}\n')
    with pytest.raises(FormatError, match=r"line 5: .* not closed within 100 characters"):
        texts(open_source(path))
    # What follows the first line of the bad row is read as a row, and ends with a stray quote.
    after = ["fine", None, f'{rows[1].splitlines()[1]}"', "z" * 500]
    assert texts(open_source(path, Fields(on_error="skip"))) == [rows[0], *after]


@pytest.mark.parametrize(
    ("name", "content", "record"),
    [
        ("a.csv", "id,text\n1,Hi\n", {"id": "1", "text": "Hi"}),
        ("a.tsv", "id\ttext\n1\tHi\n", {"id": "1", "text": "Hi"}),
        ("a.jsonl", '{"text": "Hi", "id": 1}\n', {"id": 1, "text": "Hi"}),
        ("a.ndjson", '{"text": "Hi", "id": 1}\n', {"id": 1, "text": "Hi"}),
        ("a.txt", "Hi\n", {"text": "Hi"}),
    ],
)
def test_rows_come_with_all_their_columns_if_asked(tmp_path, name, content, record):
    source = open_source(write(tmp_path / name, content), Fields(whole=True))
    (block,) = source.blocks()
    assert dict(zip(block.names, block.cells[0], strict=True)) == record


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
    (block,) = open_source(path, Fields("body", "code")).blocks()
    assert (block.texts, block.langs) == (["x", "y"], ["en", "de"])


@pytest.mark.parametrize("start", range(8))
def test_parquet_goes_on_at_any_row(tmp_path, start):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": list("abcdefg")}), path, row_group_size=5)
    blocks = open_source(path).blocks(Place(start, start, start), n_rows=2)
    assert [text for block in blocks for text in block.texts] == list("abcdefg")[start:]


PLACES = {
    "a.txt": "eins\r\nzwei \U0001f600\r\n\r\nvier",
    "a.jsonl": '{"text": "eins"}\n\n{"text": "zwei \U0001f600"}\n{"text": "drei"}',
    "a.csv": 'n,text\r\n1,eins\r\n2,"zwei\r\n\U0001f600"\r\n\r\n3,drei',
    "a.tsv": "text\nÄ\nÖ\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", PLACES)
def test_a_text_goes_on_after_any_row(tmp_path, name, encoding):
    source = open_source(write(tmp_path / name, PLACES[name].encode(encoding)))
    blocks = list(source.blocks(n_rows=1))
    assert [block.place.rows for block in blocks] == list(range(1, len(blocks) + 1))
    for i, block in enumerate(blocks):
        assert list(source.blocks(block.place, 1)) == blocks[i + 1 :]


@pytest.mark.parametrize("name", PLACES)
def test_chunks_change_no_row_and_no_place(tmp_path, monkeypatch, name):
    source = open_source(write(tmp_path / name, PLACES[name]))
    blocks = list(source.blocks(n_rows=1))
    monkeypatch.setattr(lines_module, "_HEAD", 1)
    monkeypatch.setattr(lines_module, "_CHUNK", 1)
    assert list(source.blocks(n_rows=1)) == blocks


BAD = {
    # What is told to be UTF-8 by its other rows.
    "bad utf-8 in text": ("a.txt", b"f\xc3\xbcr\n\xff\nfine\n", r"line 2: not valid UTF-8"),
    "bad utf-8 in csv": ("a.csv", b"text\nf\xc3\xbcr\n\xff\nfine\n", r"line 3: not valid UTF-8"),
    "bad utf-8 in json": (
        "a.jsonl", b'{"text": "f\xc3\xbcr"}\n{"text": "\xff"}', r"line 2: not valid UTF",
    ),
    "half a character": (
        "a.jsonl", b'{"text": "a"}\n{"text": "\\ud800 ball"}\n', r"line 2: half a character",
    ),
    "half a character elsewhere": (
        "a.jsonl", b'{"text": "a"}\n{"text": "b", "x": "\\ud800"}\n', r"line 2: half a character",
    ),
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
    assert got[:2] in (["für", None], ["a", None])


def test_a_language_that_is_not_a_string_is_named_by_its_line(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "a", "code": ["en"]}\n')
    with pytest.raises(FormatError, match=r"line 1: the language is list, not a string: \['en'\]"):
        texts(open_source(path, Fields(lang_column="code")))


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_the_cells_of_a_row_with_bad_bytes_can_be_written(tmp_path, name):
    path = write(tmp_path / name, b"text\nf\xc3\xbcr\n\xff\n")
    (block,) = open_source(path, Fields(whole=True, on_error="skip")).blocks()
    assert (block.texts[-1], block.cells[-1]) == (None, ["?"])


def test_a_null_in_a_parquet_column_is_named_by_its_row(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", None]}), path)
    with pytest.raises(FormatError, match="row 2: the text is NoneType"):
        texts(open_source(path))
    assert texts(open_source(path, Fields(on_error="skip"))) == ["a", None]


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
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
        FormatError, match=r"'sentenc'\. Did you mean 'sentence'\? The columns are 'id'"
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
    with pytest.raises(FormatError, match="line 3: no language 'xx' among de, en"):
        texts(open_source(path, Fields(lang_column="lang", languages=("de", "en"))))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    for name, size in (("LONGEST", 1000), ("_HEAD", 100), ("_CHUNK", 100)):
        monkeypatch.setattr(lines_module, name, size)
    with pytest.raises(FormatError, match="line 2 is longer"):
        texts(open_source(write(tmp_path / "a.txt", "short\n" + "x" * 5000)))


def test_standard_input_is_plain_text_unless_it_is_said_to_be_something_else(monkeypatch):
    for format_, content in ((None, b"a\nb\n"), ("jsonl", b'{"text": "a"}\n{"text": "b"}\n')):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert texts(open_source("-", format=format_)) == ["a", "b"]


def test_standard_input_may_be_closed_before_its_reader_lets_go_of_it(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"one\ntwo\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    blocks = open_source("-").blocks(n_rows=1)
    assert next(blocks).texts == ["one"]
    stdin.close()
    blocks.close()


def test_parquet_from_standard_input_is_refused():
    with pytest.raises(InputError, match="name the file"):
        open_source("-", format="parquet")


def test_without_pyarrow_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pip install 'pmeans\[data\]'"):
        open_source(write(tmp_path / "a.parquet", "x"))


def test_an_unknown_ending_asks_for_the_format(tmp_path):
    with pytest.raises(InputError, match="give input_format="):
        open_source(write(tmp_path / "a.doc", "x"))


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(StorageError, match="no file"):
        open_source(tmp_path / "absent.txt")
    with pytest.raises(StorageError, match="is a folder"):
        open_source(tmp_path)


def test_a_column_of_languages_may_name_them(tmp_path):
    path = write(tmp_path / "a.csv", "text,lang\na,EN\nb,de-DE\n")
    source = open_source(path, Fields(lang_column="lang", languages=("de", "en")))
    assert [block.langs for block in source.blocks()] == [["en", "de"]]
