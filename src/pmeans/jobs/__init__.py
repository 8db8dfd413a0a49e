"""Rows in, rows out: vectors or labels for the rows of a file, a table in memory, a cluster.

`options` are the options, the same for all of these; `rows` is what is made of a block of rows. A
file becomes a file by a job that a kill does not undo (`files`, `resumable`), a table in memory
becomes a table (`batches`, public as `pmeans.arrow`), and many files become a folder of parts on
the workers of Ray or Spark (`parts`, `pieces`, `workers`). Memory does not grow with the input.

The names below are imported when they are first used: the command line needs only the options, to
say which there are.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from pmeans.jobs.duplicates import dedupe_to_file
    from pmeans.jobs.files import embed_to_file, predict_to_file
    from pmeans.jobs.options import DedupeOptions, EmbedOptions, PredictOptions
    from pmeans.jobs.pairs import check_pair_outputs, write_pairs
    from pmeans.jobs.parts import Engine, Tally, here
    from pmeans.jobs.pieces import embed_parts, index_parts, predict_parts
    from pmeans.jobs.workers import gave_up, perform

__all__ = [
    "DedupeOptions", "EmbedOptions", "Engine", "PredictOptions", "Tally", "check_pair_outputs",
    "dedupe_to_file", "embed_parts", "embed_to_file", "gave_up", "here", "index_parts",
    "perform", "predict_parts", "predict_to_file", "write_pairs",
]  # fmt: skip
_HOMES = {
    "DedupeOptions": "options", "EmbedOptions": "options", "PredictOptions": "options",
    "dedupe_to_file": "duplicates",
    "embed_to_file": "files", "predict_to_file": "files",
    "check_pair_outputs": "pairs", "write_pairs": "pairs",
    "Engine": "parts", "Tally": "parts", "here": "parts",
    "embed_parts": "pieces", "index_parts": "pieces", "predict_parts": "pieces",
    "gave_up": "workers", "perform": "workers",
}  # fmt: skip


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pmeans.jobs' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"pmeans.jobs.{_HOMES[name]}"), name)
    return value
