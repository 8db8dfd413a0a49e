"""How options are declared, and those that several commands have, with one meaning each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def argument(metavar: str, text: str, shown: str | bool = True) -> Any:
    """Declare an argument: its name in the help, what it is, and what the default is called."""
    return typer.Argument(metavar=metavar, help=text, show_default=shown)


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
    return typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)


def examples(*commands: str) -> str:
    """Return the end of a command's help."""
    lines = "".join(f"  {command}\n" for command in commands)
    return f"\b\nExample{'s' if len(commands) > 1 else ''}:\n{lines}"


Classifier = Annotated[Path, argument("DIR", "A folder that 'transfer fit' wrote.")]
Text = Annotated[str, option("NAME", "Column with the texts.")]
Lang = Annotated[
    str | None,
    option(
        "LANGUAGE",
        "Of all texts: a code or a name, as 'de' or 'German'.",
        shown="found for each text",
    ),
]
LangColumn = Annotated[str | None, option("NAME", "Column with the language of each text.")]
Unsure = Annotated[
    float | None, option("P", "Predict nothing below this probability.", min=0, max=1)
]
OnError = Annotated[
    Literal["fail", "skip"], option(None, "At a row that cannot be read, stop or go on.")
]
InputFormat = Annotated[
    Literal["txt", "csv", "tsv", "jsonl", "parquet"] | None,
    option(None, "Of the input, if its name does not tell."),
]
Delimiter = Annotated[
    str | None,
    option("CHAR", "Between cells: a character, comma, semicolon, tab or pipe.", shown="found"),
]
Encoding = Annotated[
    str | None, option("NAME", "Of the text, as utf-8 or windows-1252.", shown="found")
]
Restart = Annotated[bool, flag("--restart", "Discard what earlier runs have done, and begin anew.")]
Precision = Literal["float32", "float16", "int8"]
DATA = "$PMEANS_DATA, or data beside the word spaces"
"""Where data is, if nobody says."""
Data = Annotated[Path | None, option("DIR", "Folder with the tasks' data.", shown=DATA)]
ONE_LINE = str.maketrans("\t\r\n", "   ")
"""Makes a text a cell of a table on the terminal."""
