"""Folders of parts: many Parquet files through an encoder or a classifier, on an engine's workers.

The rows of all files are cut into pieces of some ten thousand. What becomes of a piece is a task,
and its result a file in the folder, the part, written whole or not at all. Its name is a hash of
all that it depends on: the piece, the file that it is of, the model, the options. So a part that is
there is finished, and a job that is run again has only the others left to do.

An engine, such as Ray or Spark, has `perform` done to tasks in its processes, and does so again
where a process died. It sees names and counts; rows go from a file to a file within one worker.
Errors of ours come back as outcomes, because a second try would fail as the first.

`pieces` cuts what is given into pieces, `running` keeps the folder and the count, `workers` is what
workers do.
"""

from pmeans.parts.pieces import embed_parts, index_parts, predict_parts
from pmeans.parts.running import Engine, Tally, here, run_parts
from pmeans.parts.workers import gave_up, perform

__all__ = [
    "Engine", "Tally", "embed_parts", "gave_up", "here", "index_parts", "perform", "predict_parts",
    "run_parts",
]  # fmt: skip
