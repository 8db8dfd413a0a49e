"""``pmeans search`` from end to end."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import pmeans.models
from pmeans.cli.main import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Embed three sentences with a space of two languages, and return how to search them."""
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    words = {"en": ["house", "dog"], "de": ["haus", "hund"]}
    rows = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=np.float32)
    pmeans.save_space(pmeans.WordSpace.from_words("s", words, rows), tmp_path / "s.safetensors")
    (tmp_path / "in.txt").write_text("house\n?\na dog\twith a house\n")

    def invoke(*args, input=None):  # noqa: A002
        return CliRunner().invoke(app, list(args), input=input)

    made = invoke("embed", "s.safetensors", "in.txt", "--lang", "en", "--out", "in.npy")
    assert made.exit_code == 0
    return lambda *args, **kwargs: invoke(
        "search", "in.npy", "--model", "s.safetensors", "--lang", "de", *args, **kwargs
    )


def test_rank_score_row_and_text_are_printed_between_tabs(run):
    result = run("Haus", "--texts", "in.txt")
    # The third sentence is min (0, 0), mean (.5, .5), max (1, 1): cosine 1.5 / sqrt(3 * 2.5).
    assert result.stdout == "1\t1.0000\t0\thouse\n2\t0.5477\t2\ta dog with a house\n"
    assert result.stderr == ""


def test_without_texts_there_is_no_column_for_them(run):
    assert run("haus", "-k", "1").stdout == "1\t1.0000\t0\n"


def test_queries_of_a_file_are_numbered_and_unknown_ones_counted(run):
    result = run("--queries", "-", "-k", "1", input="haus\n\nhund\n")
    assert result.stdout == "0\t1\t1.0000\t0\n2\t1\t0.5477\t2\n"
    assert result.stderr.startswith("warning: nothing found for 1 query")


def test_json_has_a_line_for_every_query(run):
    result = run("--queries", "-", "-k", "1", "--json", "--texts", "in.txt", input="haus\nzzz\n")
    assert list(map(json.loads, result.stdout.splitlines())) == [
        {"query": "haus", "hits": [{"rank": 1, "row": 0, "score": 1.0, "text": "house"}]},
        {"query": "zzz", "hits": []},
    ]


def test_half_a_character_in_a_text_or_a_query_is_no_traceback(run, tmp_path):
    texts = ['{"text": "house"}', '{"text": "\\ud800"}', '{"text": "dog"}']
    (tmp_path / "half.jsonl").write_text("\n".join(texts))
    result = run("haus", "-k", "1", "--texts", "half.jsonl")
    assert (result.exit_code, result.stdout) == (0, "1\t1.0000\t0\thouse\n")
    result = run("--queries", "half.jsonl")
    assert (result.exit_code, "half.jsonl, line 2: half a character" in result.stderr) == (1, True)
    assert "is not valid text" in run("haus \udcff").stderr


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
def test_texts_may_be_in_excels_own_form(run, tmp_path):
    (tmp_path / "excel.csv").write_bytes("Nr;Text\r\n1;Häuser\r\n2;?\r\n3;x\r\n".encode("cp1252"))
    result = run("haus", "-k", "1", "--texts", "excel.csv", "--text", "Text")
    assert result.stdout == "1\t1.0000\t0\tHäuser\n"


def test_an_approximate_search_prints_the_same(run):
    pytest.importorskip("usearch", reason="needs the extra [search]")
    assert run("haus", "--approximate").stdout == run("haus").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "what to look for?"),
        (["haus", "--queries", "in.txt"], "either a query or --queries"),
        ([" "], "the query is empty"),
        (["zzz"], "knows no word of 'zzz'"),
        (["haus", "--lang", "fr"], "no language 'fr'"),
        (["haus", "--texts", "absent.txt"], "no file 'absent.txt'"),
        (["haus", "--delimiter", ";"], "--delimiter is that of a file of texts: name it, --texts"),
        (["haus", "--encoding", "utf-8"], "--encoding is that of a file of texts"),
        (["--queries", "in.txt", "--delimiter", ";"], "--delimiter is that of a file of texts"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_1(args, message, run):
    result = run(*args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_a_model_the_packages_own_is_asked_for(run, monkeypatch):
    asked = []
    load = pmeans.models.load
    monkeypatch.setattr(
        "pmeans.models.load", lambda name: asked.append(name) or load("s.safetensors")
    )
    assert CliRunner().invoke(app, ["search", "in.npy", "haus", "--lang", "de"]).exit_code == 0
    assert asked == [None]


def test_the_encoding_is_that_of_the_queries_where_there_are_no_texts(run, tmp_path):
    (tmp_path / "fragen.txt").write_bytes("Häuser haus\n".encode("cp1252"))
    result = run("--queries", "fragen.txt", "--encoding", "windows-1252", "-k", "1")
    assert (result.exit_code, result.stdout) == (0, "0\t1\t1.0000\t0\n")


def test_rows_of_another_model_are_refused_by_both_names(run, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra [data]")
    other = pmeans.WordSpace.from_words("o", {"de": ["haus"]}, np.array([[1, 2]], np.float32))
    pmeans.save_space(other, tmp_path / "o.safetensors")
    made = ["embed", "o.safetensors", "in.txt", "--lang", "de", "--out", "o.parquet"]
    assert CliRunner().invoke(app, made).exit_code == 0
    asked = ["search", "o.parquet", "haus", "--lang", "de", "--model", "s.safetensors"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 1
    assert "has rows of the model 'o' (" in result.stderr
    assert "and this is 's' (" in result.stderr
    assert "name the --model that made them" in result.stderr
