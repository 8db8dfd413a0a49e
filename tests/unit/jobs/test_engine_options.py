"""Every option of the command line does something with an engine, or is refused; none is idle."""

import inspect
from dataclasses import fields

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from embedding_jobs import make_encoder
from typer.testing import CliRunner

import pmeans
from pmeans import TransferClassifier, arrow, jobs
from pmeans.cli.main import app
from pmeans.integrations import ray, spark
from pmeans.jobs import EmbedOptions, PredictOptions

REFUSED = "does not go with --engine"
CHANGED = "changes what is written or said"
BOTH = {
    "format": (["--format", "parquet"], REFUSED),
    "text": (["--lang", "en", "--text", "other"], CHANGED),
    "lang": (["--lang", "de"], CHANGED),
    "lang_column": (["--lang-column", "lang"], CHANGED),
    "on_error": (["--lang", "en", "--on-error", "skip"], CHANGED),
    "input_format": (["--input-format", "parquet"], REFUSED),
    "delimiter": (["--delimiter", ""], REFUSED),
    "encoding": (["--encoding", "utf-8"], REFUSED),
    "restart": (["--lang", "en", "--restart"], CHANGED),
}
COMMANDS = {
    "embed": {
        **BOTH,
        "dtype": (["--lang", "en", "--dtype", "int8"], CHANGED),
        "normalize": (["--lang", "en", "--normalize"], CHANGED),
        "n_threads": (["--n-threads", "1"], REFUSED),
        "batch_size": (["--batch-size", "8192"], REFUSED),
    },
    "predict": {
        **BOTH,
        "separator": (["--separator", "|"], REFUSED),
        "unsure": (["--lang", "en", "--unsure", "1"], CHANGED),
        "n_threads": (["--n-threads", "1"], REFUSED),
        "adapt": (["--adapt", "x.txt"], REFUSED),
    },
}
CASES = [(name, option) for name, options in COMMANDS.items() for option in options]


def declared(command):
    """Return the options of a command, but for those that every job must have."""
    group = typer.main.get_command(app)
    found = group.commands["transfer"].commands["predict"] if command == "predict" else None
    found = found or group.commands["embed"]
    options = [p.name.rstrip("_") for p in found.params if p.param_type_name == "option"]
    return {*options} - {"out", "engine", "help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_tried(command):
    assert set(COMMANDS[command]) == declared(command)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    pmeans.save(make_encoder(), folder / "model")
    texts, labels = ["house", "a house", "dog", "the dog"] * 3, ["h", "h", "d", "d"] * 3
    fitted = TransferClassifier(make_encoder()).fit(texts, labels, lang="en")
    fitted.save(folder / "classifier")
    table = {"text": ["a house", "ein hund"], "other": ["dog", "the"], "lang": ["en", "de"]}
    pq.write_table(pa.table(table), folder / "in.parquet")
    bad = pa.array([b"dog", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"text": bad}), folder / "bad.parquet")
    return folder


@pytest.fixture
def run(files, tmp_path, monkeypatch):
    """Return how to run a command, and what it wrote and said."""
    for engine in ("ray", "spark"):
        monkeypatch.setattr(f"pmeans.integrations.{engine}.available", lambda: None)
        monkeypatch.setattr(f"pmeans.integrations.{engine}.run", jobs.here)

    def outcome(command, engine, name, *more):
        what = ["embed", str(files / "model")]
        if command == "predict":
            what = ["transfer", "predict", str(files / "classifier")]
        out = tmp_path / "out"
        given = [*what, str(files / f"{name}.parquet"), "--engine", engine, "--out", str(out)]
        done = CliRunner().invoke(app, [*given, *more])
        tables = [(path.name, pq.read_table(path)) for path in sorted(out.glob("*.parquet"))]
        return done.exit_code, done.output, tables

    return outcome


@pytest.mark.parametrize("engine", ["ray", "spark"])
@pytest.mark.parametrize(("command", "option"), CASES)
def test_an_option_is_refused_with_an_engine_or_does_something(run, command, option, engine):
    given, expected = COMMANDS[command][option]
    name = "bad" if option == "on_error" else "in"
    usual = [] if option == "lang_column" else ["--lang", "en"]
    without = run(command, engine, name, *usual)
    if option == "restart":
        without = run(command, engine, name, *usual)  # the second time
    elif expected == CHANGED:
        given = [*given, "--restart"]
    code, said, tables = run(command, engine, name, *given)
    if expected == REFUSED:
        assert (code, REFUSED in said) == (1, True), said
        return
    assert code == 0, said
    assert (said, tables) != without[1:]


@pytest.mark.parametrize("module", [arrow, ray, spark])
def test_functions_name_every_option(module):
    for function, options in ((module.embed, EmbedOptions), (module.predict, PredictOptions)):
        assert {field.name for field in fields(options)} < set(
            inspect.signature(function).parameters
        )


def test_a_threshold_is_that_of_the_call_and_stays_that_of_the_classifier(files):
    batch = pa.record_batch({"text": ["a house", "the dog", "zzz"]})
    classifier = TransferClassifier.load(files / "classifier")
    found = arrow.predict(batch, classifier=classifier, lang="en", unsure=1.0)
    assert found["label"].to_pylist() == [None] * 3
    assert classifier.unsure is None
    assert arrow.predict(batch, classifier=classifier, lang="en")["label"].null_count == 0
    with pytest.raises(pmeans.PmeansError, match=r"unsure must be at most 1, not 2\.0"):
        arrow.predict(batch, classifier=classifier, lang="en", unsure=2.0)


def test_options_of_one_label_are_refused_for_several_and_the_other_way_round(files, tmp_path):
    several = TransferClassifier(make_encoder()).fit(
        ["house", "dog", "the dog", "a house"] * 3, [("h",), ("d",), ("d", "x"), ("h", "x")] * 3,
        lang="en",
    )  # fmt: skip
    several.save(tmp_path / "several")
    for folder, option, message in (
        (tmp_path / "several", ["--unsure", "0.5"], "unsure is for one label a row"),
        (files / "classifier", ["--separator", "|"], "--separator is for rows with several"),
    ):
        command = ["transfer", "predict", str(folder), str(files / "in.parquet"), "--lang", "en"]
        done = CliRunner().invoke(app, [*command, *option])
        assert (done.exit_code, message in done.output) == (1, True), done.output
