"""``pmeans fit``, ``predict`` and the like: files in, files out, and what is said about them."""

import csv
import errno
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from opinions import GERMAN, make_canonical, opinions
from typer.testing import CliRunner

import pmeans
from pmeans import TransferClassifier
from pmeans.cli.main import app
from pmeans.encoder.translations import Translations
from pmeans.transfer import AlikeLabelsWarning
from toy_identifier import make_identifier


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(app, line.split())


def write_csv(path, lang, n=40, extra=""):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "text", "label"])
        writer.writerows([i, *row] for i, row in enumerate(zip(*opinions(n, lang), strict=True)))
        file.write(extra)


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def files(encoder, tmp_path):
    pmeans.save(encoder, tmp_path / "enc")
    for lang in ("en", "de"):
        write_csv(tmp_path / f"{lang}.csv", lang)
    TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en").save(tmp_path / "model")
    return tmp_path


def test_fit_then_evaluate_in_another_language(run, files):
    result = run("fit en.csv --lang en --model enc --out made")
    assert result.exit_code == 0, result.stderr
    assert "2 classes learned from 40 rows, in made." in result.stderr
    result = run("evaluate made de.csv --lang de --json")
    assert json.loads(result.stdout)["accuracy"] == 1
    assert "neg\t1.000" in run("evaluate made de.csv --lang de").stdout


def test_labels_that_are_numbers_are_written_and_compared_as_text(run, files, encoder):
    texts, labels = opinions(60, "en")
    numbers = [int(label == "pos") for label in labels]
    TransferClassifier(encoder).fit(texts, numbers, lang="en").save("numbers")
    assert run("predict numbers en.csv --lang en --text text --out out.csv").exit_code == 0
    predicted = [row["predicted_label"] for row in read_csv("out.csv")]
    assert set(predicted) == {"0", "1"}
    assert run("predict numbers out.csv --lang en --out out.parquet").exit_code == 0
    shown = run("evaluate numbers out.csv --label predicted_label --lang en")
    assert (shown.exit_code, "\n0\t1.000" in shown.stdout) == (0, True)
    said = run("explain numbers good --lang en --label 0 --json").stdout
    assert json.loads(said)["label"] == "0"
    said = CliRunner().invoke(app, ["classify", "numbers", "bad", "--lang", "en"]).stdout
    assert said.split("\t")[0] == "0"


def test_what_was_chosen_is_said(run, files):
    pmeans.save(make_canonical(rank=1), "canonical")
    said = run("fit en.csv --lang en --model enc --out made").stderr
    assert "chosen: powers -inf, 1, inf, scaling none, penalty 0.01." in said
    assert "accuracy 1.000 on 17 held-out texts, between 0.816 and 1.000 with 95 %" in said
    assert "probabilities are rough: 17 held-out texts are too few to calibrate them by." in said
    said = run("fit en.csv --lang en --model canonical --out made").stderr
    assert "chosen: the first 1 of 1 column, scaling none, penalty" in said
    assert TransferClassifier.load("made").chosen.powers is None


def test_of_one_text_per_class_nothing_is_promised(run, files):
    (files / "two.csv").write_text("text,label\ngood,pos\ngood,pos\nbad,neg\n")
    result = run("fit two.csv --lang en --model enc --out made")
    assert "how good it is cannot be told: no class has two different texts" in result.stderr
    assert "accuracy" not in result.stderr
    assert "calibrated" not in result.stderr


def test_languages_that_translations_calibrate_are_said(run, files, encoder, monkeypatch):
    pairs = list(zip(opinions(100, "en")[0], opinions(100, "de")[0], strict=True))
    pmeans.save(encoder.replace(translations=Translations("en", {"de": pairs})), "told")
    said = "probabilities are calibrated for de as well."
    assert said not in run("fit en.csv --lang en --model told --out made").stderr
    monkeypatch.setattr("pmeans.transfer.learned.FEWEST_CALIBRATED", 17)
    assert said in run("fit en.csv --lang en --model told --out made").stderr
    assert said not in run("fit en.csv --lang en --model enc --out made").stderr


def test_predictions_stand_beside_the_rows_they_are_for(run, files):
    result = run("predict model de.csv --lang de --out out.csv")
    assert result.exit_code == 0, result.stderr
    before, after = read_csv("de.csv"), read_csv("out.csv")
    assert [{k: row[k] for k in ("id", "text", "label")} for row in after] == before
    assert [row["predicted_label"] for row in after] == [row["label"] for row in before]
    assert {row["predicted_note"] for row in after} == {""}
    assert all(0.5 <= float(row["predicted_probability"]) <= 1 for row in after)


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "ndjson", "parquet"])
def test_every_format_is_read_and_written(run, files, kind):
    (files / "in.jsonl").write_text('{"text": "die gut hund", "n": 7}\n{"text": null, "n": null}\n')
    result = run(f"predict model in.jsonl --lang de --out one.{kind}")
    assert result.exit_code == 0, result.stderr
    result = run(f"predict model one.{kind} --lang de --out two.jsonl")
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in (files / "two.jsonl").read_text("utf-8").splitlines()]
    assert [str(row["n"]) for row in rows] in (["7", "None"], ["7", ""])
    assert rows[0]["label"] == rows[0]["predicted_label"] == "pos"
    assert rows[1]["note"] == rows[1]["predicted_note"] == "no known word"


def test_labels_of_parquet_may_be_numbers(run, files):
    texts, labels = opinions(40, "en")
    columns = {"text": texts, "label": [int(label == "pos") for label in labels]}
    pq.write_table(pa.table(columns), "n.parquet")
    assert run("fit n.parquet --lang en --model enc --out made").exit_code == 0
    assert TransferClassifier.load("made").classes_.tolist() == ["0", "1"]


def test_rows_of_mixed_languages_are_told_apart_by_a_column(run, files):
    (files / "m.tsv").write_text("lang\ttext\nen\tthe bad dog\nde\tdie gut suppe\n")
    assert run("predict model m.tsv --lang-column lang --out m.csv").exit_code == 0
    assert [row["label"] for row in read_csv("m.csv")] == ["neg", "pos"]


@pytest.fixture
def finding(encoder, files):
    """A classifier whose encoder finds languages, Finnish among them."""
    words = {"en": list(GERMAN), "de": list(GERMAN.values()), "fi": ["kissa", "ja"]}
    encoder = encoder.replace(identifier=make_identifier(words))
    TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en").save(files / "finding")


@pytest.mark.usefixtures("finding")
def test_a_language_that_is_left_out_is_found_and_told(run, files):
    (files / "m.tsv").write_text("text\nthe bad dog\ndie gut suppe\nkissa ja kissa\nthe die\n")
    result = run("predict finding m.tsv --out m.csv")
    assert result.exit_code == 0, result.stderr
    rows = read_csv("m.csv")
    assert list(rows[0]) == ["text", "label", "probability", "language", "note"]
    assert [row["label"] for row in rows[:2]] == ["neg", "pos"]
    assert [row["language"] for row in rows] == ["en", "de", "", "en"]
    notes = ["", "", "no known word; no known language", "which language?"]
    assert [row["note"] for row in rows] == notes
    said = "of 4 texts, 1 in none of the model's languages, 1 doubtful"
    assert f"warning: language uncertain: {said}" in result.stderr


@pytest.mark.usefixtures("finding")
def test_the_language_that_is_found_is_the_one_that_is_named(run, files):
    assert run("predict finding de.csv --lang auto --out a.csv").exit_code == 0
    assert run("predict finding de.csv --lang de --out b.csv").exit_code == 0
    found, named = read_csv("a.csv"), read_csv("b.csv")
    assert {row.pop("predicted_language") for row in found} == {"de"}
    assert found == named


@pytest.mark.usefixtures("finding")
def test_an_unreadable_row_has_no_language(run, files):
    (files / "m.jsonl").write_text('{"text": "the dog"}\n{"text": 7}\n')
    result = run("predict finding m.jsonl --on-error skip --out m.csv")
    assert result.exit_code == 0, result.stderr
    assert [row["language"] for row in read_csv("m.csv")] == ["en", ""]
    assert "none of the model's languages" not in result.stderr


@pytest.mark.usefixtures("finding")
def test_fit_and_evaluate_find_languages(run, files):
    with open("both.csv", "w") as both:
        both.write((files / "en.csv").read_text() + (files / "de.csv").read_text()[14:])
    pmeans.save(TransferClassifier.load("finding").encoder_, "found")
    assert run("fit both.csv --model found --out made").exit_code == 0
    result = run("evaluate made both.csv --json")
    assert json.loads(result.stdout)["accuracy"] == 1


def test_a_model_without_an_identifier_asks_for_the_language(run, files):
    result = run("predict model de.csv --lang auto --out m.csv")
    assert result.exit_code == 1
    assert "which language?" in result.stderr


def test_several_labels_are_split_and_joined_by_the_separator(run, files):
    rows = [f"{t}\t{'dog;' if 'dog' in t else ''}{y}\n" for t, y in zip(*opinions(60, "en"))]  # noqa: B905
    (files / "m.tsv").write_text("text\tlabel\n" + "".join(rows))
    assert run("fit m.tsv --lang en --model enc --out made --separator ;").exit_code == 0
    (files / "one.tsv").write_text("text\ndie gut hund\n")
    assert run("predict made one.tsv --lang de --separator ; --out out.csv").exit_code == 0
    (row,) = read_csv("out.csv")
    assert row["label"] == "dog;pos"
    assert len(row["probability"].split(";")) == 2
    result = run("predict made one.tsv --lang de --out out.csv --unsure 0.6")
    assert (result.exit_code, "unsure is for one label a row" in result.stderr) == (1, True)
    assert "dog rather than not dog" in run("explain made hund --lang de --label dog").stdout
    assert (
        "say which one to explain, among 'dog', 'neg', "
        in run("explain made hund --lang de").stderr
    )


@pytest.mark.parametrize("given", ["unlabelled.de.txt", "de=other.txt"])
def test_a_language_is_adapted_to_unlabelled_text(run, files, given):
    (files / given.removeprefix("de=")).write_text("\n".join(opinions(100, "de")[0]))
    result = run(f"fit en.csv --lang en --model enc --out made --adapt {given}")
    assert "de adapted to 100 lines." in result.stderr
    assert TransferClassifier.load("made").fitted.adapted.keys() == {"de"}
    assert run(f"evaluate model de.csv --lang de --adapt {given}").exit_code == 0


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("from pmeans import TransferClassifier", {"sklearn", "scipy", "pyarrow"}),
        ("from pmeans.cli.main import app", {"numpy", "sklearn"}),
    ],
)
def test_what_is_not_yet_needed_is_not_loaded(program, heavy):
    program += f"; import sys; print('loaded:', {heavy!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"loaded: set()\n"


BROKEN = '40,"open quote,pos\n41,too,many,cells\n42\n43,the dog,\n44,the good dog,pos\n'


def test_broken_rows_stop_the_training(run, files):
    write_csv("broken.csv", "en", extra=BROKEN)
    result = run("fit broken.csv --lang en --model enc --out made")
    assert result.exit_code == 1
    assert "--on-error skip" in result.stderr


def test_broken_rows_are_counted_and_no_other_is_lost(run, files):
    write_csv("broken.csv", "en", extra=BROKEN)
    result = run("fit broken.csv --lang en --model enc --out made --on-error skip")
    assert "learned from 41 rows" in result.stderr
    assert "warning: could not read 4 rows." in result.stderr
    result = run("predict model broken.csv --lang en --out out.csv --on-error skip")
    assert "warning: could not read 3 rows." in result.stderr  # here no label is needed
    notes = [row["predicted_note"] for row in read_csv("out.csv")[40:]]
    assert notes == ["unreadable", "unreadable", "unreadable", "", ""]


def test_a_row_below_the_threshold_is_noted(run, files):
    (files / "in.tsv").write_text("text\ndie gut schlecht\n")
    run("predict model in.tsv --lang de --out out.csv --unsure 1")
    (row,) = read_csv("out.csv")
    assert (row["label"], row["note"]) == ("", "unsure")


def test_words_that_pushed_are_shown(run, files):
    result = run("explain model gut --lang de")
    assert result.exit_code == 0, result.stderr
    verdict, word = result.stdout.splitlines()
    assert verdict.startswith("pos rather than neg: +")
    assert word.split()[0] == "gut"
    assert word.endswith("+++")


def test_an_explanation_can_be_json_or_a_page(run, files):
    found = json.loads(run("explain model gut --lang de --label neg --json").stdout)
    assert (found["label"], [token["text"] for token in found["tokens"]]) == ("neg", ["gut"])
    result = run("explain model gut --lang de --html why.html")
    assert (result.exit_code, result.stdout) == (0, "")
    assert ">gut</span>" in (files / "why.html").read_text(encoding="utf-8")


def test_an_explanation_says_that_no_word_is_known(run, files):
    assert "(no known word, constant +0.000)" in run("explain model zebra --lang de").stdout


def test_unknown_words_are_reported_for_the_whole_file(run, files):
    (files / "in.tsv").write_text("text\n" + "gut zebra\n" * 5000)
    result = run("predict model in.tsv --lang de --out out.csv")
    assert result.stderr.count("50% of the words ('de') are unknown, most often 'zebra'") == 1


def test_labels_unseen_in_training_are_named(run, files):
    (files / "new.csv").write_text("text,label\nthe good dog,pos\nthe soup,neutral\n")
    result = run("evaluate model new.csv --lang en")
    assert "counted as wrong: 'neutral' (1)" in result.stderr


MISTAKES = {
    "fit en.csv --lang en --model enc --out x --text txt": "no column 'txt'. Did you mean 'text'?",
    "fit en.csv --lang en --model enc --out x --label lable": "Did you mean 'label'?",
    "fit en.csv --lang it --model enc --out x": "no language 'it'",
    "fit en.csv --model enc --out x": "which language?",
    "fit empty.csv --lang en --model enc --out x": "no rows",
    "predict model empty.csv --lang de --out x.csv": "no rows",
    "predict model de.csv --lang de --out x.xlsx": "its name must end in .csv",
    "predict enc de.csv --lang de --out x.csv": "is not a saved classifier",
    "evaluate model de.csv --lang de --lang-column id": "exclude each other",
    "explain model gut": "which language?",
    "explain model gut --lang de --label poss": "Did you mean 'pos'?",
    "explain model gut --lang de --json --html why.html": "exclude each other",
    "predict model de.csv --lang de --out x.csv --unsure 0": "unsure is a probability above 0",
    "evaluate model de.csv --lang de --adapt absent.txt": "no file 'absent.txt'",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_do(run, files, line):
    (files / "empty.csv").write_text("text,label\n")
    result = run(line)
    assert result.exit_code == 1
    assert MISTAKES[line] in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.filterwarnings("ignore::pmeans.tables.GuessedEncodingWarning")
def test_excels_csv_is_read_as_it_is(run, files):
    rows = [f'{text};"{label}"' for text, label in zip(*opinions(40, "en"), strict=True)]
    for encoding in ("utf-8-sig", "cp1252", "utf-16"):
        content = "Text;Größe\r\n" + "".join(f"{row}\r\n" for row in rows)
        (files / "excel.csv").write_bytes(content.encode(encoding))
        line = "fit excel.csv --lang EN --model enc --out made --text Text --label Größe"
        result = run(line)
        assert "2 classes learned from 40 rows" in result.stderr


def test_a_delimiter_and_an_encoding_may_be_named(run, files):
    (files / "odd.csv").write_bytes("text:n\ndie gut suppe:ü\n".encode("cp850"))
    line = "predict model odd.csv --lang de --delimiter : --encoding cp850"
    assert run(line).stdout.splitlines()[1].startswith("die gut suppe,ü,pos,")


@pytest.mark.parametrize("lang", ["de", "DE", "de-AT", "German", "deutsch"])
def test_a_language_is_understood_as_people_write_it(run, files, lang):
    result = run(f"evaluate model de.csv --lang {lang} --json")
    assert json.loads(result.stdout)["accuracy"] == 1


def test_predictions_go_to_standard_output_if_no_file_is_named(run, files):
    assert run("predict model de.csv --lang de --out out.csv").exit_code == 0
    result = run("predict model de.csv --lang de")
    assert result.stdout == (files / "out.csv").read_text(encoding="utf-8")
    assert result.stderr == "40 rows, 0 of them unsure.\n"
    lines = run("predict model de.csv --lang de --out - --format jsonl").stdout.splitlines()
    assert json.loads(lines[0])["predicted_label"] == "neg"


def test_an_output_that_names_the_input_or_the_classifier_is_refused(run, files):
    before = (files / "de.csv").read_bytes()
    for out in ("de.csv", "./de.csv", "model", "model/encoder/recipe.toml"):
        result = run(f"predict model de.csv --lang de --format csv --out {out}")
        assert (result.exit_code, "would overwrite" in result.stderr) == (1, True), out
    assert (files / "de.csv").read_bytes() == before
    result = run("predict model de.csv --lang de --out model/out.csv")
    assert (result.exit_code, "would write into 'model'" in result.stderr) == (1, True)


def test_a_classifier_is_not_saved_over_what_it_is_made_from(run, files):
    assert run("fit en.csv --lang en --model enc --out made").exit_code == 0
    (files / "made" / "train.csv").write_bytes((files / "en.csv").read_bytes())
    for line in (
        "fit made/train.csv --lang en --model enc --out made",
        "fit en.csv --lang en --model made/encoder --out made",
        "fit en.csv --lang en --model enc --out made --adapt en=made/train.csv",
    ):
        result = run(line)
        assert (result.exit_code, "would overwrite" in result.stderr) == (1, True), line
    assert (files / "made" / "train.csv").exists()


def test_a_full_disk_while_a_classifier_is_saved_is_one_line(run, files, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("fit en.csv --lang en --model enc --out made")
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert not (files / "made").exists()


def test_half_a_character_in_a_label_is_named_by_its_line_or_passed_over(run, files):
    rows = [json.dumps({"text": t, "label": y}) for t, y in zip(*opinions(40, "en"), strict=True)]
    rows.append(r'{"text": "the good dog", "label": "\ud800"}')
    (files / "half.jsonl").write_text("\n".join(rows))
    result = run("fit half.jsonl --lang en --model enc --out made")
    assert result.exit_code == 1
    assert "half.jsonl, line 41: half a character" in result.stderr
    result = run("fit half.jsonl --lang en --model enc --out made --on-error skip")
    assert "learned from 40 rows" in result.stderr
    assert "warning: could not read 1 row." in result.stderr


def test_labels_that_differ_in_case_alone_are_pointed_out(run, files):
    write_csv("en.csv", "en", extra="40,the good dog,POS\n41,the bad dog, neg \n")
    with pytest.warns(AlikeLabelsWarning, match="'POS' and 'pos' are two classes") as told:
        result = run("fit en.csv --lang en --model enc --out made")
    assert result.exit_code == 0
    alike = [each for each in told if each.category is AlikeLabelsWarning]
    assert len(alike) == 1  # white space around a label is dropped


def test_the_encoding_that_was_guessed_is_said(files):
    (files / "old.txt").write_bytes("die übel suppe\n".encode("windows-1252"))
    command = ["-m", "pmeans", "predict", "model", "old.txt", "--lang", "German"]
    done = subprocess.run(
        [sys.executable, *command], cwd=files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "übel" in done.stdout
    assert "warning: old.txt: not UTF-8, and read as windows-1252" in done.stderr
    assert "name the --encoding." in done.stderr
