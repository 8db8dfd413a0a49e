"""What ``--engine`` is, for the commands that have it: folders of parts, made by Ray or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pmeans.cli.console import progress, resumable, say
from pmeans.cli.options import option
from pmeans.errors import count

if TYPE_CHECKING:
    from pmeans.jobs import Engine, Tally

Name = Annotated[
    Literal["ray", "spark"] | None,
    option(None, "Run on Ray or Spark. The input must be Parquet files, and --out a folder."),
]


def run(
    engine: str | None, make: Callable[..., Tally], unfit: Mapping[str, object], **given: Any
) -> Tally:
    """Have an engine make parts, and say what they are.

    Args:
        engine: Its name; None has all done here.
        make: `embed_parts`, `predict_parts` or `index_parts`.
        unfit: Options that only a file takes, by name: refused if they are given.
        given: The arguments of ``make``.
    """
    import importlib

    from pmeans.errors import InputError
    from pmeans.jobs import here

    for name, value in unfit.items():
        if value is not None:
            raise InputError(f"{name}= does not go with --engine: leave it out.")
    if "-" in (given["files"], given["out"]):
        raise InputError("--engine reads Parquet files and writes a folder: '-' is neither.")
    work: Engine = here
    if engine:
        module = importlib.import_module(f"pmeans.integrations.{engine}")
        module.available()  # else it would be missed when all files have been looked at
        work = module.run if engine == "spark" else _shown(module.run)  # Spark shows a bar itself
    with resumable():
        done = make(**given, engine=work)
    there = f", {done.found:,} of them from an earlier run" if done.found else ""
    message = f"{count(done.rows, 'row')} in {count(done.parts, 'part')}"
    say(f"{message} in {given['out']}{there}.")
    return done


def _shown(engine: Engine) -> Engine:
    def work(tasks: list[str]) -> Iterator[str]:
        with progress("parts") as step:
            for n, outcome in enumerate(engine(tasks), 1):
                step(n, f"{n:,} of {len(tasks):,}", len(tasks))
                yield outcome

    return work
