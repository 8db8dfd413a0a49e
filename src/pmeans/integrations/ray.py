"""Ray: vectors or labels beside the columns of a Ray dataset, and folders of parts made by Ray.

A model is opened once by each of Ray's worker processes, which share its pages. Each has one
thread, because Ray starts as many of them as there are cores. What dies is Ray's to start again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmeans import arrow, parts
from pmeans.files import optional
from pmeans.identifier import Doubts
from pmeans.kernels import available_threads
from pmeans.rows.fields import BLOCK, OnError

if TYPE_CHECKING:
    import ray.data


def embed(
    dataset: ray.data.Dataset,
    *,
    model: str | Path = "default",
    text: str = "text",
    lang: str | None = None,
    lang_column: str | None = None,
    normalize: bool = False,
    on_error: OnError = "fail",
) -> ray.data.Dataset:
    """Return a dataset with one more column, ``embedding``: the vectors of its texts.

    Args:
        dataset: With a column of texts.
        model: What `pmeans.load` opens, in every worker.
        text: Name of the column.
        lang: Language of all texts; None or ``"auto"`` finds it, unless a column tells.
        lang_column: Name of the column with the language of each text.
        normalize: Scale every vector to length 1.
        on_error: At a row that cannot be read, ``"fail"`` stops, ``"skip"`` makes its vector null.
    """
    columns: dict[str, Any] = {"text": text, "lang": lang, "lang_column": lang_column}
    make = partial(arrow.embed, model=model, **columns, normalize=normalize, on_error=on_error)
    return _mapped(dataset, make)


def predict(
    dataset: ray.data.Dataset,
    *,
    classifier: str | Path,
    text: str = "text",
    lang: str | None = None,
    lang_column: str | None = None,
    on_error: OnError = "fail",
) -> ray.data.Dataset:
    """Return a dataset with the four columns more that `pmeans.arrow.predict` adds.

    ``classifier`` is a folder that `TransferClassifier.save` wrote; the others are as of `embed`.
    """
    columns: dict[str, Any] = {"text": text, "lang": lang, "lang_column": lang_column}
    make = partial(arrow.predict, classifier=classifier, **columns, on_error=on_error)
    return _mapped(dataset, make)


def available() -> Any:
    """Import Ray, told before to tell its makers nothing, and to listen on this machine alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # of all systems, by its name
    return optional("ray.data", "ray", "engine='ray'")


def run(tasks: list[str]) -> list[str]:
    """Do the tasks of `pmeans.parts` in Ray's workers, and return their outcomes.

    If this process is connected to a cluster, by ``ray.init``, they are done there. If not, Ray is
    started on this machine, and stopped afterwards.
    """
    ray = available()
    with _started(ray):
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = sys.stderr.isatty()
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        # Ray rests a third of a second between two blocks: up to four tasks are one, if that leaves
        # enough to keep all cores at work to the end.
        enough = max(-(-len(tasks) // 4), 8 * int(ray.cluster_resources().get("CPU", 1)))
        blocks = min(len(tasks), enough)
        rows = ray.data.from_items([{"task": t} for t in tasks], override_num_blocks=blocks)
        try:
            done = rows.map_batches(parts.work, batch_format="pyarrow", batch_size=1).take_all()
        except ray.exceptions.RayError as error:
            raise parts.gave_up("Ray", error) from error
    return [row["outcome"] for row in done]


def _mapped(dataset: ray.data.Dataset, make: Callable[..., Any]) -> ray.data.Dataset:
    optional("ray.data", "ray", "pmeans.integrations.ray")
    make = partial(make, n_threads=1, doubts=Doubts())  # else they are told for every batch
    return dataset.map_batches(make, batch_format="pyarrow", batch_size=BLOCK)


@contextlib.contextmanager
def _started(ray: Any) -> Iterator[None]:
    """Have Ray at work: the cluster that is there, or one on this machine, for this machine."""
    if ray.is_initialized():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        try:
            ray.init(
                num_cpus=available_threads(), include_dashboard=False, log_to_driver=False,
                logging_level=logging.ERROR, _temp_dir=folder,
            )  # fmt: skip
        except Exception as error:  # it raises no other kind if it cannot start
            raise parts.gave_up("Ray", error) from error
        try:
            yield
        finally:
            ray.shutdown()
