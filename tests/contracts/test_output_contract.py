"""No command writes over what it reads: every output of every command, against every input.

The commands of the laboratory are held to it as well.

`ROLES` says of each argument that may name a file whether it is read or written. A command with an
argument that it does not list fails the first test, and an output without a line to try it with
fails the second.
"""

import gzip
import os
import re
import shutil
import typing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier, WordSpace
from pmeans.cli.main import app

# What an argument is called in the help, if it is no file.
NO_FILE = {
    "A", "ADDRESS", "B", "CHAR", "CODE", "CODES", "LANGUAGE", "N", "NAME", "ORIGIN", "OTHER", "P",
    "QUERY", "S", "SENTENCE", "TEXT", "VERSION", "WORD", "X", "[KIND]...",
}  # fmt: skip
ROLES = {
    "embed": "model < input_ < out >",
    "search": "index < queries < model < texts <",
    "index": "files < out >",
    "dedupe": "file < model < out > report >",
    "mine": "first < second < model < out > report >",
    "label": "file < labels < model < out > save >",
    "serve": "model < classifier < index < texts < token_file <",
    "train": "files < data < out >",
    "build": "source < data < out > package >",
    "extend": "model < dictionary < pairs < text < out >",
    "models": "model <",
    "classify": "folder <",
    "detect": "model <",
    "similarity": "model <",
    "spaces info": "name <",
    "spaces neighbours": "name <",
    "spaces convert": "file < prune < out >",
    "spaces export": "name < file >",
    "spaces merge": "names < out >",
    "eval run": "experiment < data < results >",
    "eval prune": "experiments < results <",
    "eval space": "name < data < picture >",
    "eval tasks": "data <",
    "eval table": "experiment < results < output >",
    "eval compare": "results <",
    "eval plot": "experiment < results < output >",
    "fit": "train < model < adapt < out >",
    "predict": "folder < file < adapt < out >",
    "evaluate": "folder < file < adapt <",
    "explain": "folder < html >",
}


def roles(command, sign):
    words = ROLES.get(command, "").split()
    return {name for name, each in zip(words[::2], words[1::2], strict=True) if each == sign}


def commands(group=None, path=()):
    """Yield all commands by the words that call them."""
    group = group or typer.main.get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if command.hidden:  # the old name of another
            continue
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def kinds(command, param):
    """Return the types that a command takes as an argument, as text."""
    return str(typing.get_type_hints(command.callback).get(param.name))


@dataclass
class Case:
    """How to try an output: a line, and files of the world for each input of the command."""

    line: str
    inputs: dict[str, list[str]]
    new: str = "new"  # a name that is fine


CASES = {
    ("embed", "out"): Case(
        "embed m in.txt --lang en --format npy --out {}",
        {"model": ["m", "m/recipe.toml", "m/spaces/tiny.safetensors"], "input_": ["in.txt"]},
    ),
    ("index", "out"): Case(
        "index vectors --out {}", {"files": ["vectors", "vectors/a.parquet"]},
    ),
    ("label", "out"): Case(
        "label in.csv --labels labels.tsv --labels-lang en --model m --lang en --format csv "
        "--out {}",
        {"file": ["in.csv"], "labels": ["labels.tsv"], "model": ["m", "m/recipe.toml"]},
    ),
    ("label", "save"): Case(
        "label in.csv --labels labels.tsv --labels-lang en --model m --lang en --save {}",
        {"file": ["in.csv"], "labels": ["labels.tsv"], "model": ["m", "m/recipe.toml"]},
    ),
    ("dedupe", "out"): Case(
        "dedupe in.csv --model m --lang en --format csv --out {}",
        {"file": ["in.csv"], "model": ["m", "m/recipe.toml"]},
    ),
    ("dedupe", "report"): Case(
        "dedupe in.csv --model m --lang en --report {}",
        {"file": ["in.csv"], "model": ["m", "m/recipe.toml"]},
        "new.csv",
    ),
    ("mine", "out"): Case(
        "mine in.txt de.txt --langs en,de --threshold 0 --model m --out {}",
        {"first": ["in.txt"], "second": ["de.txt"], "model": ["m", "m/recipe.toml"]},
    ),
    ("mine", "report"): Case(
        "mine in.csv de.txt --langs en,de --threshold 0 --model m --report {}",
        {"first": ["in.csv"], "second": ["de.txt"], "model": ["m", "m/recipe.toml"]},
        "new.csv",
    ),
    ("train", "out"): Case(
        "train x.toml --data data --out {}",
        {"files": ["x.toml", "s.safetensors", "y.toml"], "data": ["data/v.txt"]},
        "new.safetensors",
    ),
    ("build", "out"): Case(
        "build model.toml --data data --out {}",
        {"source": ["model.toml", "s.safetensors", "card.md"], "data": ["data/pairs.tsv"]},
    ),
    ("build", "package"): Case(
        "build m --package {}", {"source": ["m", "m/recipe.toml"], "data": []},
    ),
    ("extend", "out"): Case(
        "extend m --lang fr --dictionary dict.tsv --pairs fr.tsv --text fr.txt --out {}",
        {"model": ["m", "m/recipe.toml"], "dictionary": ["dict.tsv"], "pairs": ["fr.tsv"],
         "text": ["fr.txt"]},
    ),
    ("spaces convert", "out"): Case(
        "spaces convert v.txt --prune in.txt --out {}",
        {"file": ["v.txt"], "prune": ["in.txt"]},
        "new.safetensors",
    ),
    ("spaces export", "file"): Case(
        "spaces export s.safetensors {} --suffix", {"name": ["s.safetensors"]},
    ),
    ("spaces merge", "out"): Case(
        "spaces merge s.safetensors d.safetensors --name b --out {}",
        {"names": ["s.safetensors", "d.safetensors"]},
        "new.safetensors",
    ),
    ("eval space", "picture"): Case(
        "eval space s.safetensors --data data --picture {}",
        {"name": ["s.safetensors"], "data": ["data/lexicon/en-de.bli.test.tsv"]},
        "new.svg",
    ),
    ("eval run", "results"): Case(
        "eval run e.toml --data data --results {}",
        # Beside data there is room for results.
        {"experiment": ["e.toml"], "data": []},
    ),
    ("eval table", "output"): Case(
        "eval table e.toml --results results --output {}",
        {"experiment": ["e.toml"], "results": ["results/cells.jsonl", "results/toy/rows.json"]},
    ),
    ("eval plot", "output"): Case(
        "eval plot e.toml --results results --output {}",
        {"experiment": ["e.toml"], "results": ["results/cells.jsonl", "results/toy/rows.json"]},
        "new.svg",
    ),
    ("fit", "out"): Case(
        "fit in.csv --lang en --model m --adapt de=de.txt --out {}",
        {"train": ["in.csv"], "model": ["m", "m/recipe.toml"], "adapt": ["de.txt"]},
    ),
    ("predict", "out"): Case(
        "predict tk in.csv --lang en --adapt en=in.txt --format csv --out {}",
        {"folder": ["tk", "tk/classifier.json", "tk/encoder/recipe.toml"], "file": ["in.csv"],
         "adapt": ["in.txt"]},
    ),
    ("explain", "html"): Case(
        "explain tk house --lang en --html {}",
        {"folder": ["tk", "tk/classifier.json", "tk/encoder/spaces/tiny.safetensors"]},
    ),
}  # fmt: skip
EXPERIMENT = """
name = "toy"
title = "Toy"
layout = "transfer"
tasks = ["AC"]
test = ["de"]
in_language = true
[[encoders]]
name = "mean"
parts = [{ space = "far-away", powers = [1] }]
"""


def make_world(folder):
    """Write a small one of everything that a command reads."""
    words = {"en": ["a", "the", "house", "dog"], "de": ["ein", "haus", "hund"]}
    matrix = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    space = WordSpace.from_words("tiny", words, matrix)
    recipe = Recipe((Part("tiny"),), tokenizer="words")
    encoder = PowerMeanEncoder(recipe, {"tiny": space})
    pmeans.save(encoder, folder / "m")
    texts, labels = ["house", "a house", "dog", "the dog"] * 3, ["h", "h", "d", "d"] * 3
    TransferClassifier(encoder).fit(texts, labels, lang="en").save(folder / "tk")
    pmeans.save_space(space, folder / "s.safetensors")
    french = WordSpace.from_words("fr", {"fr": ["maison"]}, matrix[:1])
    pmeans.save_space(french, folder / "d.safetensors")
    vectors = "".join(f"{word} {i} 1 2\n" for i, word in enumerate(words["en"]))
    pairs = "a house\tein haus\nthe dog\tein hund\nhouse\thaus\ndog\thund\na dog\thund\nthe\tein\n"
    for name, text in {
        "v.txt": vectors,
        "data/v.txt": vectors,
        "in.txt": "a house\nthe dog\n",
        "de.txt": "ein haus\nein hund\nhaus\n" * 5,
        "in.csv": "text,label\n"
        + "".join(f"{t},{x}\n" for t, x in zip(texts, labels, strict=True)),
        "x.toml": 'kind = "merge"\nname = "r"\nspaces = ["y.toml"]\n',
        "y.toml": 'kind = "merge"\nname = "y"\nspaces = ["{data}/v.txt", "s.safetensors"]\n',
        "model.toml": 'card = "card.md"\nparts = [{ space = "./s.safetensors" }]\n'
        'texts = [{ path = "{data}/pairs.tsv", first = "en", second = "de" }]\n',
        "card.md": "# A toy\n",
        "data/pairs.tsv": pairs,
        "labels.tsv": "label\ttext\nh\thouse\nd\tdog\nd\tthe dog\n",
        "dict.tsv": "house\tmaison\ndog\tchien\n",
        "fr.tsv": "a house\tla maison\nthe dog\tle chien\nhouse\tmaison\n" * 2,
        "fr.txt": "la maison\nle chien\nchien\n",
        "e.toml": EXPERIMENT,
        "results/cells.jsonl": "",
        "results/toy/rows.json": '{"cells": [], "absent": []}',
        "data/lexicon/en-de.bli.test.tsv": "house\thaus\ndog\thund\n",
        "data/similarity/simlex-english.txt": "word 1\tword 2\tscore\nhouse\tdog\t1\na\tdog\t2\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "data" / "parallel").mkdir()
    with gzip.open(folder / "data" / "parallel" / "en-de.tsv.gz", "wt") as file:
        file.write("a\tthe dog\tein hund\n" * 60)
    (folder / "vectors").mkdir()
    lists = pa.FixedSizeListArray.from_arrays(matrix.ravel(), 3)
    pq.write_table(pa.table({"embedding": lists}), folder / "vectors" / "a.parquet")
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def run(world, monkeypatch, tmp_path):
    monkeypatch.chdir(world)
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))
    return lambda line: CliRunner().invoke(app, line.split())


def contents(folder):
    """Return all that a folder holds, links as such."""
    return {
        path.relative_to(folder).as_posix(): (
            path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
        )
        for path in folder.rglob("*")
    }


def names_of(path, suffix):
    """Make further names of a file or folder, and yield all."""
    yield path
    yield f"results/../{path}"
    Path(f"soft{suffix}").symlink_to(path)
    yield f"soft{suffix}"
    if Path(path).is_dir():
        yield f"{path}/new{suffix}"
    else:
        os.link(path, f"hard{suffix}")
        yield f"hard{suffix}"


def test_every_argument_that_may_be_a_file_is_known_as_read_or_written():
    found = {
        name: {
            param.name
            for param in command.params
            if (param.metavar and param.metavar not in NO_FILE) or "Path" in kinds(command, param)
        }
        for name, command in commands()
    }
    listed = {name: roles(name, "<") | roles(name, ">") for name in ROLES}
    assert {name: params for name, params in found.items() if params} == listed


def test_every_output_is_tried_with_every_input_of_its_command():
    outputs = {(name, out) for name in ROLES for out in roles(name, ">")}
    assert CASES.keys() == outputs
    for (command, _), case in CASES.items():
        assert case.inputs.keys() == roles(command, "<"), command


@pytest.mark.parametrize("case", CASES.values(), ids=map(" ".join, CASES))
def test_with_a_name_of_its_own_an_output_is_written(case, run, world, tmp_path, monkeypatch):
    shutil.copytree(world, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    before = contents(tmp_path / "copy")
    result = run(case.line.format(case.new))
    if case is CASES["eval plot", "output"]:  # without results there is nothing to draw
        assert "would" not in result.stderr
        return
    assert result.exit_code == 0, result.output
    after = contents(tmp_path / "copy")
    assert {path: after.get(path) for path in before} == before
    assert {path.split("/")[0] for path in after.keys() - before.keys()} == {case.new}


TRIED = [
    pytest.param(case, path, id=f"{' '.join(key)} = {path}")
    for key, case in CASES.items()
    for paths in case.inputs.values()
    for path in paths
]


@pytest.mark.parametrize(("case", "path"), TRIED)
def test_an_output_that_is_an_input_by_any_name_is_refused(case, path, run, world):
    suffix = Path(case.new).suffix
    try:
        for out in names_of(path, suffix):
            before = contents(world)
            result = run(case.line.format(out))
            assert result.exit_code == 1, (out, result.output)
            assert re.fullmatch(r"(.*\n)*error: .*\n", result.stderr), (out, result.stderr)
            assert contents(world) == before, out
    finally:
        for left in (world / f"soft{suffix}", world / f"hard{suffix}"):
            left.unlink(missing_ok=True)


def test_results_are_not_written_over_the_experiment(run, world, tmp_path):
    for name in ("cells.jsonl", "toy/rows.json"):
        results = tmp_path / name.replace("/", "-") / "results"
        (results / name).parent.mkdir(parents=True)
        shutil.copy(world / "e.toml", results / name)
        result = run(f"eval run {results / name} --data data --results {results}")
        assert (result.exit_code, "would overwrite" in result.stderr) == (1, True), result.stderr
        assert (results / name).read_text() == EXPERIMENT
