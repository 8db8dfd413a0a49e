"""Inference corpora: three layouts, and translations laid beside each other."""

import json

import pytest

from pmeans.errors import FormatError, InputError
from pmeans_lab.baselines.infersent.nli import LABELS, Inference, NliFiles, combinations, read_nli

ROWS = [
    ("neutral", "A man sleeps.", "He dreams."),
    ("-", "A dog runs.", "It is brown."),
    ("contradiction", "She sings.", "She is silent."),
]
READ = [Inference(LABELS.index(label) if label != "-" else -1, *rest) for label, *rest in ROWS]


def as_jsonl(folder, rows=ROWS):
    keys = ("gold_label", "sentence1", "sentence2")
    lines = [json.dumps({"pairID": "1", **dict(zip(keys, row, strict=True))}) for row in rows]
    (folder / "snli.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "snli.jsonl"


def as_table(folder, rows=ROWS):
    lines = ["gold_label\tsentence1_parse\tsentence1\tsentence2\tlabel1"]
    lines += [f"{label}\t(ROOT x)\t{one}\t{other}\t{label}" for label, one, other in rows]
    (folder / "snli.txt").write_text("\n".join(lines) + "\n")
    return folder / "snli.txt"


def as_three_files(folder, rows=ROWS):
    for name, column in zip(("labels", "s1", "s2"), zip(*rows, strict=True), strict=True):
        (folder / f"{name}.train").write_text("\n".join(column) + "\n")
    return folder / "s1.train"


@pytest.mark.parametrize("write", [as_jsonl, as_table, as_three_files])
def test_every_layout_gives_the_same_pairs(write, tmp_path):
    assert read_nli(write(tmp_path)) == READ


def test_two_languages_give_four_combinations_of_the_pairs_with_a_label(tmp_path):
    translated = [(label, f"de {one}", f"de {other}") for label, one, other in ROWS]
    files = []
    for lang, rows in (("en", ROWS), ("de", translated)):
        (tmp_path / lang).mkdir()
        path = str(as_three_files(tmp_path / lang, rows))
        files.append(NliFiles(lang, path, path, path))
    made = {(one, other): pairs for one, other, pairs in combinations(files, "train")}
    assert list(made) == [("en", "en"), ("en", "de"), ("de", "en"), ("de", "de")]
    assert made["en", "de"] == [
        Inference(1, "A man sleeps.", "de He dreams."),
        Inference(2, "She sings.", "de She is silent."),
    ]
    assert made["de", "en"][0] == Inference(1, "de A man sleeps.", "He dreams.")
    assert made["de", "de"][1] == Inference(2, "de She sings.", "de She is silent.")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:2], "2 pairs, and .* has 3"),
        ([ROWS[0], ROWS[1], ("neutral", "x", "y")], "pair 3: not the label"),
    ],
)
def test_translations_that_are_not_row_by_row_are_refused(rows, message, tmp_path):
    files = []
    for lang, some in (("en", ROWS), ("de", rows)):
        (tmp_path / lang).mkdir()
        path = str(as_jsonl(tmp_path / lang, some))
        files.append(NliFiles(lang, path, path, path))
    with pytest.raises(InputError, match=message):
        list(combinations(files, "dev"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one\ttwo\n", "names no columns gold_label"),
        ('{"gold_label": "neutral"}\n', "line 1: no object with"),
        ("{broken\n", "line 1: no object with"),
        ('{"gold_label": "maybe", "sentence1": "a", "sentence2": "b"}\n', "'maybe' is none of"),
        ('{"gold_label": "neutral", "sentence1": 1, "sentence2": "b"}\n', "is not text"),
        ("gold_label\tsentence1\tsentence2\nneutral\ta\n", "line 2: 2 of 3 columns"),
    ],
)
def test_what_is_not_inference_is_refused(text, message, tmp_path):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_nli(tmp_path / "bad.txt")


def test_files_of_different_length_and_without_any_label_are_refused(tmp_path):
    path = as_three_files(tmp_path)
    (tmp_path / "s2.train").write_text("one\n")
    with pytest.raises(FormatError, match=r"labels.train 3, s1.train 3, s2.train 1"):
        read_nli(path)
    (tmp_path / "empty.jsonl").write_text("")
    for path in (as_jsonl(tmp_path, [ROWS[1]]), tmp_path / "empty.jsonl"):
        with pytest.raises(InputError, match="no pair of sentences with a label"):
            read_nli(path)
