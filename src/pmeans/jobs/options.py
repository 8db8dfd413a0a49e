"""How rows are embedded, labelled and compared: each option once, with its help and its bounds.

The command line, jobs over files, Arrow tables and all engines take these objects whole. A function
that is `spread` over one of them takes its fields as keywords, or the object as ``options=``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, TypeVar

from pmeans.choices import OnError, RowPrecision
from pmeans.config import Help, Range, check

_R = TypeVar("_R")


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Where the texts of rows are, and how they are worked on.

    Attributes:
        text: Name of the column with the texts.
        lang: Language of all texts. None or ``"auto"`` detects it, unless ``lang_column`` names it.
        lang_column: Name of the column with the language of each text.
        on_error: At a row that cannot be read (no text, bytes that are not in the encoding, no
            language of the model), ``"fail"`` stops and names it; ``"skip"`` goes on without it.
        n_threads: Threads to use; all available ones if None.
    """

    text: Annotated[str, Help("Name of the column with the texts.", "NAME")] = "text"
    lang: Annotated[
        str | None,
        Help(
            "Language of the texts: a code or a name, such as 'de' or 'German'.",
            "LANGUAGE",
            shown="detected for each text",
        ),
    ] = None
    lang_column: Annotated[
        str | None, Help("Name of the column with the language of each text.", "NAME")
    ] = None
    on_error: Annotated[OnError, Help("At a row that cannot be read, stop or skip it.")] = "fail"
    n_threads: Annotated[
        int | None, Help("Number of threads.", "N", shown="all cores"), Range(1)
    ] = None

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class EmbedOptions(RowOptions):
    """How rows become vectors; further fields are those of `RowOptions`.

    Attributes:
        normalize: Scale every vector to length 1.
        dtype: Type of the numbers. int8 keeps the direction of a vector, not its length.
    """

    normalize: Annotated[bool, Help("Scale vectors to length 1.")] = False
    dtype: Annotated[RowPrecision, Help("Type of the numbers; int8 keeps directions only.")] = (
        "float32"
    )


@dataclass(frozen=True, kw_only=True)
class PredictOptions(RowOptions):
    """How rows get labels; further fields are those of `RowOptions`.

    Attributes:
        unsure: Give no label where its probability is below this; the classifier's own if None.
    """

    unsure: Annotated[
        float | None, Help("Give no label where its probability is below P.", "P"), Range(0, 1)
    ] = None


@dataclass(frozen=True, kw_only=True)
class DedupeOptions(RowOptions):
    """How duplicates are found; further fields are those of `RowOptions`.

    Attributes:
        threshold: The least cosine of duplicates.
        across: Whether translations of a row are duplicates of it as well.
        approximate: Look for duplicates in a graph: faster with many rows, and may miss some.
    """

    threshold: Annotated[
        float, Help("Least cosine of duplicates.", "X"), Range(above=0, high=1)
    ] = 0.9
    across: Annotated[bool, Help("Take away translations of earlier rows as well.")] = False
    approximate: Annotated[
        bool, Help("Look in a graph: faster with 100,000 rows or more, and may miss some.")
    ] = False


def spread(options: type[RowOptions]) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """Let a function with the argument ``options`` be called with their fields as keywords."""

    def over(function: Callable[..., _R]) -> Callable[..., _R]:
        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> _R:
            if given.get("options") is None:
                taken = {name: given.pop(name) for name in names & given.keys()}
                given["options"] = options(**taken)
            return function(*args, **given)

        signature = inspect.signature(function)
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [p for p in signature.parameters.values() if p.name != "options"]
        added = [
            inspect.Parameter(
                field.name,
                keyword,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=field.type,
            )
            for field in fields(options)
        ]
        call.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return call

    names = {field.name for field in fields(options)}
    return over
