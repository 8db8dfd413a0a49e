"""The program ``pmeans``: its groups of commands, and what it does with an error."""

from __future__ import annotations

import errno
import importlib.util
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pmeans import plugins
from pmeans._version import __version__
from pmeans.cli import build, dedupe, embed, label, mine, search, serve, spaces, texts, transfer
from pmeans.cli.console import say, typed, warn
from pmeans.cli.options import group
from pmeans.errors import PmeansError

COMMANDS = "pmeans.commands"
"""Of `pmeans.plugins`."""


class _Commands(TyperGroup):
    """The commands, with those of other packages after our own.

    What a user can cause becomes one line and an exit code; bugs keep their traceback.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *plugins.added(COMMANDS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own, others = super().get_command(ctx, cmd_name), plugins.added(COMMANDS)
        if own or cmd_name not in others:
            return own
        return typer.main.get_command(plugins.load(others[cmd_name]))

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except PmeansError as error:
            say(f"error: {typed(str(error))}")
            try:
                sys.stdout.flush()
            except OSError:
                _drop_output()
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            say("interrupted.")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader has gone (as `head` does): leave without a word, as by SIGPIPE.
            _drop_output()
            raise typer.Exit(141) from None
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            _say_lost(error)
            raise typer.Exit(1) from error


def _say_lost(error: OSError) -> None:
    say(f"error: could not write the output: {error.strerror}.")
    _drop_output()


def _drop_output() -> None:
    """Let what is still buffered go nowhere: Python would fail once more to write it, on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=_Commands,
    help="Sentence embeddings from power means of word vectors.",
    epilog="'pmeans COMMAND --help' explains a command.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},  # also of every command below
    rich_markup_mode=None,  # plain help: the same in a pipe, and no rich to import
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[Callable[..., None], str] = {
    transfer.fit: transfer.FIT,
    transfer.predict: transfer.PREDICT,
    transfer.evaluate: transfer.EVALUATE,
    transfer.classify: transfer.CLASSIFY,
    transfer.explain: transfer.EXPLAIN,
    label.label: label.EXAMPLES,
    dedupe.dedupe: dedupe.EXAMPLES,
    mine.mine: mine.EXAMPLES,
    embed.embed: embed.EXAMPLES,
    search.search: search.EXAMPLES,
    search.index: search.INDEXING,
    texts.similarity: texts.SIMILARITY,
    texts.detect: texts.DETECT,
}
for _command, _epilog in _COMMANDS.items():
    app.command(epilog=_epilog)(_command)
app.command(epilog=serve.EXAMPLES, context_settings={"auto_envvar_prefix": "PMEANS_SERVE"})(
    serve.serve
)
app.command(epilog=build.MODELS)(build.models)
app.command(epilog=build.BUILD)(build.build)
app.command(epilog=build.EXTEND)(build.extend)
app.command(epilog=build.TRAIN)(build.train)
app.command(epilog=build.CLEAN)(build.clean)
app.add_typer(spaces.app, name="spaces")
# As these commands were called before.
_group = group("Train a classifier in one language, and use it in others.")
for _command in (transfer.fit, transfer.predict, transfer.evaluate, transfer.explain):
    _group.command()(_command)
app.add_typer(_group, name="transfer", hidden=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        # Whether the native core is there is cheap to see; loading it would load NumPy.
        native = importlib.util.find_spec("pmeans._native") is not None
        native = native and os.environ.get("PMEANS_KERNELS") != "numpy"
        print(f"pmeans {__version__} ({'native' if native else 'NumPy'} kernels)")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal or a pipe cannot show, it sees spelled out: nobody is stopped by it.
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = lambda message, *_, **__: warn(message)
    # As Ctrl-C does, so that what is half written is removed or can be resumed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        try:
            app(prog_name="pmeans")
        finally:
            sys.stdout.flush()  # help is printed before any command runs
    except BrokenPipeError:
        _drop_output()
        sys.exit(141)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _say_lost(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
