"""The command line: what goes where, and how it ends."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import typer

import pmeans
from pmeans import kernels
from pmeans.cli import main as cli
from pmeans.cli.console import typed, warn
from pmeans.cli.main import app


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_the_version_is_said_on_standard_output(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"pmeans {pmeans.__version__} (")


@pytest.mark.parametrize("args", [["--version"], ["spaces", "--help"], ["embed"]])
def test_what_needs_no_vectors_loads_no_numpy(args):
    program = (
        "import sys\n"
        "from pmeans.cli.main import main\n"
        f"sys.argv[1:] = {args!r}\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('loaded:', {'numpy', 'rich', 'pyarrow'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.endswith(b"loaded: set()\n")


def test_a_users_mistake_is_one_line_and_exit_code_1(run, tiny, tmp_path):
    result = run("embed", tiny, tmp_path / "absent.txt", "--out", tmp_path / "out.npy")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"error: no file '{tmp_path / 'absent.txt'}'.\n"


def test_a_usage_error_is_exit_code_2(run):
    assert run("embed", "model", "in.txt").exit_code == 2
    assert run("spaces", "nonsense").exit_code == 2


def test_a_bug_keeps_its_traceback(run, monkeypatch):
    def broken(*args):
        raise RuntimeError("a bug")

    monkeypatch.setattr("pmeans.models.load", broken)
    assert isinstance(run("embed", "model", "--out", "x.npy").exception, RuntimeError)


def test_embed_writes_rows_and_says_so_on_standard_error(run, tiny, tmp_path):
    sentences = write(tmp_path / "in.txt", "house\nzzz\nthe dog\n")
    out = tmp_path / "out.npy"
    result = run("embed", tiny, sentences, "--lang", "en", "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert (
        result.stderr
        == f"3 rows of 6 numbers in {out}.\n1 row without a known word: written as zeros.\n"
    )
    np.testing.assert_array_equal(np.load(out)[0], [1, 0] * 3)


def test_embed_reads_standard_input_and_prints_json_lines(run, tiny):
    result = run("embed", tiny, "--lang", "en", "--out", "-", input="dog\n")
    assert result.stdout == '{"index": 0, "embedding": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]}\n'


def test_embed_takes_the_language_from_a_column(run, tiny, tmp_path):
    table = write(tmp_path / "in.csv", "review,code\ndog,en\nhund,de\n")
    columns = ["--text", "review", "--lang-column", "code"]
    assert run("embed", tiny, table, *columns, "--out", tmp_path / "out.npy").exit_code == 0
    expected = np.array([[0, 1] * 3, [0.1, 0.9] * 3], dtype=np.float32)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_embed_warns_of_rows_that_it_skipped(run, tiny, tmp_path):
    lines = write(tmp_path / "in.jsonl", '{"text": "dog"}\n{}\n')
    args = ["embed", tiny, lines, "--lang", "en", "--out", tmp_path / "out.npy"]
    assert run(*args).exit_code == 1
    result = run(*args, "--on-error", "skip", "--restart")
    assert "warning: could not read 1 row: written as zeros." in result.stderr
    assert np.load(tmp_path / "out.npy").shape == (2, 6)


def test_ctrl_c_says_that_the_job_can_be_resumed(run, tiny, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pmeans.jobs.embed_to_file", interrupted)
    sentences = write(tmp_path / "in.txt", "house\n")
    result = run("embed", tiny, sentences, "--lang", "en", "--out", tmp_path / "out.npy")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: run the same command again to go on from here.\n"


def test_a_reader_that_has_gone_is_no_error(tiny):
    command = [sys.executable, "-m", "pmeans.cli.main", "embed", str(tiny)]
    command += ["--lang", "en", "--out", "-", "--batch-size", "100"]
    # Where the native core is missing, that would be said, and it is not what this is about.
    quiet = {"PMEANS_KERNELS": "numpy"} if kernels.backend() == "numpy" else {}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=os.environ | quiet
    ) as program:
        program.stdout.close()
        program.stdin.write(b"house\n" * 10_000)
        program.stdin.close()
        assert program.stderr.read() == b""
        assert program.wait() == 141


@pytest.mark.parametrize("args", [["embed", "--lang", "en", "--out", "-"], ["spaces", "info"]])
def test_a_full_disk_behind_standard_output_is_one_line(tiny, args):
    command, *options = args
    first = [] if command == "embed" else [options.pop(0)]
    command = [sys.executable, "-m", "pmeans.cli.main", command, *first, str(tiny), *options]
    quiet = {"PMEANS_KERNELS": "numpy"} if kernels.backend() == "numpy" else {}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command,
            input=b"house\n",
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | quiet,
            check=False,
        )
    assert done.stderr == b"error: could not write the output: No space left on device.\n"
    assert done.returncode == 1


def test_messages_name_options_as_they_are_typed():
    told = 'restart=True, on_error="skip" or lang=; x/lang=de.txt stays, as n=1 does'
    expected = "--restart, --on-error skip or --lang; x/lang=de.txt stays, as n=1 does"
    assert typed(told) == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("needs pyspark for engine='spark'", "needs pyspark for --engine spark"),
        ("ask for suffix=True.", "ask for --suffix."),
        ("class_weight='balanced' is for one label", "--balanced is for one label"),
        ('leave them out: policy=Policy(nan="skip").', "leave them out: --on-error skip."),
        ("fit_znorm(sentences, lang='de').", "fit_znorm(sentences, lang='de')."),
        ("fit(sentences, lang=...), or lang=", "fit(sentences, lang=...), or --lang"),
    ],
)
def test_what_python_calls_otherwise_is_named_as_it_is_typed(told, expected):
    assert typed(told) == expected


@pytest.mark.parametrize("command", [[], ["embed"], ["spaces"], ["spaces", "list"]])
def test_h_is_help(command, run):
    result = run(*command, "-h")
    assert result.exit_code == 0
    assert result.stdout == run(*command, "--help").stdout


def test_a_warning_names_options_as_they_are_typed(monkeypatch, capsys):
    monkeypatch.setattr(
        cli, "app", lambda **_: warnings.warn("slow: n_threads= is 1", stacklevel=1)
    )
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        cli.main()
    assert capsys.readouterr().err == "warning: slow: --n-threads is 1\n"


def options(group):
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from options(command)
        else:
            yield from (name for param in command.params for name in param.opts)


def test_every_option_is_written_as_it_is_typed():
    for name in set(options(typer.main.get_command(app))):
        if name.startswith("--"):
            assert typed(f"ask for {name[2:].replace('-', '_')}=True.") == f"ask for {name}."


def test_errors_and_warnings_name_options_and_not_arguments(run, tmp_path, capsys):
    two = pmeans.WordSpace.from_words("two", {"en": ["a"], "de": ["b"]}, np.eye(2))
    pmeans.save_space(two, tmp_path / "two.safetensors")
    result = run("spaces", "export", tmp_path / "two.safetensors", tmp_path / "two.txt")
    assert result.exit_code == 1
    assert "ask for --suffix." in result.stderr
    warn("doubtful: pass lang=.")
    assert capsys.readouterr().err == "warning: doubtful: pass --lang.\n"


@pytest.mark.parametrize(
    "args", [["--help"], ["--version"], ["spaces", "--help"], ["embed", "--help"]]
)
def test_help_that_cannot_be_written_is_one_line_and_a_failure(args):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pmeans.cli.main", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"error: could not write the output: No space left on device.\n"


def test_an_installed_space_is_a_model(run, tiny):
    run("spaces", "merge", tiny, "--name", "both")
    assert run("embed", "both", "--lang", "de", "--out", "-", input="ein\n").exit_code == 0


def test_a_missing_native_core_is_a_line_and_no_python_warning(tiny):
    program = (
        "import sys; sys.modules['pmeans._native'] = None\n"
        "from pmeans.cli.main import main\n"
        f"sys.argv[1:] = ['spaces', 'info', {str(tiny)!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env={"PATH": ""}, check=True
    )
    assert done.stderr.startswith(b"warning: pmeans runs on NumPy")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", [["-m", "pmeans"], ["-m", "pmeans.cli.main"]])
def test_the_program_is_a_module_too(command):
    done = subprocess.run([sys.executable, *command, "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"pmeans ")


def test_a_standard_output_that_knows_ascii_alone_gets_the_rest_spelled_out(tmp_path):
    space = pmeans.WordSpace.from_words("größe", {"de": ["größe"]}, np.ones((1, 2), np.float32))
    pmeans.save_space(space, tmp_path / "space.safetensors")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "pmeans", "spaces", "info", tmp_path / "space.safetensors"]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"name\tgr\\xf6\\xdfe" in done.stdout
