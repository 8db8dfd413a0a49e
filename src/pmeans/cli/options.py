"""How options are declared, and those that several commands have, with one meaning each."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pmeans import choices
from pmeans.config import Help, Range
from pmeans.jobs.options import PredictOptions, RowOptions


def argument(metavar: str, text: str, shown: str | bool = True, **more: Any) -> Any:
    """Declare an argument: its name in the help, what it is, and what the default is called."""
    return typer.Argument(metavar=metavar, help=text, show_default=shown, **more)


def option(
    metavar: str | None, text: str, *names: str, shown: str | bool = True, **more: Any
) -> Any:
    """Declare an option in the same way; ``names`` if it is not called as its argument."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=shown, **more)


def flag(name: str, text: str) -> Any:
    """Declare an option without a value, which has no opposite."""
    return typer.Option(name, help=text)


def group(text: str) -> typer.Typer:
    """Return an empty group of commands."""
    return typer.Typer(help=text, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def examples(*commands: str) -> str:
    """Return the end of a command's help."""
    lines = "".join(f"  {command}\n" for command in commands)
    return f"\b\nExample{'s' if len(commands) > 1 else ''}:\n{lines}"


def taking(which: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command's argument ``how`` be an object, each of whose fields is an option.

    A field's type has `pmeans.config.Help` beside it, and a `Range` if it has bounds.
    """

    def over(command: Callable[..., None]) -> Callable[..., None]:
        taken = dict(_fields(which))

        @functools.wraps(command)
        def run(**given: Any) -> None:
            how = which(**{name: given.pop(asked.name) for name, asked in taken.items()})
            command(**given, how=how)

        hints = typing.get_type_hints(command, include_extras=True)
        del hints["how"], hints["return"]
        before = inspect.signature(command).parameters
        own = [p.replace(annotation=hints[p.name]) for p in before.values() if p.name in hints]
        place = [*before].index("how")
        parameters = [*own[:place], *taken.values(), *own[place:]]
        vars(run).pop("__wrapped__")
        vars(run)["__signature__"] = inspect.Signature(parameters)
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return over


def _fields(which: type) -> Iterator[tuple[str, inspect.Parameter]]:
    """Yield the fields of a dataclass, and what a command line calls each."""
    for field in dataclasses.fields(which):
        kind, help_, _ = _asked(which, field.name)
        yield field.name, inspect.Parameter(
            help_.name or field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default,
            annotation=Annotated[kind, option_of(which, field.name)],
        )  # fmt: skip


def option_of(which: type, field: str) -> Any:
    """Declare the option that a field of a dataclass is, for a command that has not all of them."""
    kind, help_, bounds = _asked(which, field)
    names = (f"--{(help_.name or field).replace('_', '-')}",) if kind is bool else ()
    return option(help_.metavar, help_.text, *names, shown=help_.shown, **bounds)


def _asked(which: type, field: str) -> tuple[Any, Help, dict[str, Any]]:
    """Return the type of a field, and what stands beside it."""
    kind, *beside = typing.get_args(typing.get_type_hints(which, include_extras=True)[field])
    (help_,) = (each for each in beside if isinstance(each, Help))
    bounds = [{"min": each.low, "max": each.high} for each in beside if isinstance(each, Range)]
    return kind, help_, dict(*bounds)


Classifier = Annotated[Path, argument("DIR", "Folder of a classifier, made by 'pmeans fit'.")]
Text = Annotated[str, option_of(RowOptions, "text")]
Lang = Annotated[str | None, option_of(RowOptions, "lang")]
LangColumn = Annotated[str | None, option_of(RowOptions, "lang_column")]
Unsure = Annotated[float | None, option_of(PredictOptions, "unsure")]
OnError = Annotated[choices.OnError, option_of(RowOptions, "on_error")]
InputFormat = Annotated[
    choices.InputFormat | None,
    option(None, "Format of the input, if its name does not show it."),
]
Delimiter = Annotated[
    str | None,
    option(
        "CHAR",
        "What separates the cells of a .csv file: a character, or the word comma, semicolon, tab "
        "or pipe.",
        shown="detected",
    ),
]
Encoding = Annotated[
    str | None, option("NAME", "Encoding of the text, such as windows-1252.", shown="detected")
]
LabelledOut = Annotated[
    str, option("FILE", "File to write: .csv, .tsv, .jsonl, .parquet; '-' prints.")
]
LabelledFormat = Annotated[
    choices.TableFormat | None,
    option(
        None,
        "Format of the output, if its name does not show it.",
        "--format",
        shown="csv for '-'",
    ),
]
Restart = Annotated[
    bool, flag("--restart", "Start from the beginning, and discard what an earlier run has done.")
]
DATA = "$PMEANS_DATA, or data beside the word spaces"
"""Where data is, if nobody says."""
Data = Annotated[Path | None, option("DIR", "Folder with the tasks' data.", shown=DATA)]
ONE_LINE = str.maketrans("\t\r\n", "   ")
"""Makes a text a cell of a table on the terminal."""
