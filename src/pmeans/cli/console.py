"""What commands say, and to whom."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import typer

from pmeans.errors import count

if TYPE_CHECKING:
    from pmeans.tables.journal import State

_ARGUMENTS = (
    "access_log", "across", "adapt", "again", "approximate", "balanced", "batch_size",
    "by_name", "case", "classifier", "cors_origin", "data", "delimiter", "device", "dictionary",
    "dry_run", "dtype", "encoding", "engine", "format", "header", "host", "html", "index",
    "input_format", "into", "json", "keep_alive", "label", "labels", "labels_lang", "lang",
    "lang_column", "langs", "limit", "max_answer", "max_answers", "max_bodies", "max_body",
    "max_characters", "max_connections", "max_requests", "max_seconds", "max_texts", "model",
    "n_threads", "name", "normalize", "on_error", "only_encoder", "only_task", "out", "output",
    "package", "pairs", "phrases", "picture", "pivot", "port", "prune", "queries", "report",
    "restart", "results", "save", "seed", "separator", "set", "shards", "suffix", "text",
    "texts", "threads", "threshold", "token_file", "top_k", "unsure", "verify", "version",
    "word", "workers",
)  # fmt: skip
"""Every option of every command, as Python writes it."""


class Step(Protocol):
    """How a command says what it is at."""

    def __call__(self, done: float, text: str, total: float | None = 1) -> None:
        """Show how much is done, what to say about it, and of how much (None if unknown)."""


def say(message: str) -> None:
    """Tell people something, on standard error."""
    print(message, file=sys.stderr)


def say_waiting() -> None:
    """Say that lines are read from a terminal, where nothing happens until someone types."""
    if sys.stdin.isatty():
        say("reading from the terminal: type a text per line, and end with Ctrl-D.")


def say_lost(empty: int, skipped: int) -> None:
    """Say how many rows have no known word, and how many could not be read."""
    if empty:
        say(f"{count(empty, 'row')} without a known word.")
    if skipped:
        warn(f"could not read {count(skipped, 'row')}.")


def say_labelled(state: State, out: str, warnings: Iterable[Exception]) -> None:
    """Say what a job that labels rows has written, and where."""
    where = "" if out == "-" else f" in {out}"
    say(f"{count(state.rows, 'row')}{where}, {state.unsure:,} of them unsure.")
    say_lost(state.empty, state.skipped)
    for warning in warnings:
        warn(warning)


def warn(warning: Exception | str) -> None:
    """Tell people of a doubt."""
    say(f"warning: {typed(str(warning))}")


def typed(message: str) -> str:
    """Write arguments as they are typed: ``on_error="skip"`` in a message is ``--on-error skip``.

    The library names its arguments, and an option is called as its argument. Python code in a
    message, as ``encoder.fit_znorm(sentences, lang="de")``, stays as it is.
    """
    named = "|".join(_ARGUMENTS)

    def option(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]
        return f"--{match[1].replace('_', '-')}{f' {match[2]}' if match[2] else ''}"

    message = message.replace("class_weight='balanced'", "--balanced")
    message = re.sub(r"policy=Policy\([^)]*\)", "--on-error skip", message)
    call = r"\w\([^()]*\)"
    pattern = rf"""{call}|\b({named})=(?:True\b|["'](\w+)["'])?(?![\w/])"""
    return re.sub(pattern, option, message)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows to standard output: aligned on a terminal, with tabs between cells in a pipe."""
    if not sys.stdout.isatty():
        for cells in [header, *rows]:
            print("\t".join(cells))
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    # As `Text`: rich would take a label such as [red] for markup, and fail at [/b].
    shown = Table(*map(Column, map(Text, header)), box=None, header_style="bold", pad_edge=False)
    for cells in rows:
        shown.add_row(*map(Text, cells))
    Console().print(shown)


@contextlib.contextmanager
def progress(title: str) -> Iterator[Step]:
    """Show a bar on a terminal, and nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda done, text, total=1: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, text="")
        yield lambda done, text, total=1: bar.update(task, completed=done, total=total, text=text)


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Say on Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted: run the same command again to go on from here.")
        raise typer.Exit(130) from None


@contextlib.contextmanager
def job(title: str, total: int | None, out: str) -> Iterator[tuple[Any, Any]]:
    """Give what a job of `pmeans.jobs` writes to, and what it reports to; ``-`` is printed."""
    if out == "-":
        yield sys.stdout.buffer, lambda state: None
        return
    with resumable(), progress(title) as step:
        yield out, lambda state: step(state.offset, count(state.rows, "row"), total)
