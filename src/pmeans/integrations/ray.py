"""Ray: vectors or labels beside the columns of a Ray dataset, and folders of parts made by Ray.

A model is opened once by each of Ray's worker processes, which share its pages. Each has one
thread, because Ray starts as many of them as there are cores. Ray restarts failed workers.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmeans import jobs
from pmeans.files import optional
from pmeans.jobs import batches
from pmeans.jobs.options import EmbedOptions, PredictOptions, RowOptions, spread
from pmeans.kernels import available_threads
from pmeans.languages.resolution import Doubts
from pmeans.tables.fields import BLOCK

if TYPE_CHECKING:
    import ray.data

_MOST = 10_000  # tasks that Ray is given at once


@spread(EmbedOptions)
def embed(
    dataset: ray.data.Dataset,
    *,
    options: EmbedOptions,
    model: str | Path = "default",
    column: str = "embedding",
) -> ray.data.Dataset:
    """Return a dataset with one more column, ``embedding``: the vectors of its texts.

    Options are as of `pmeans.arrow.embed`, with one thread if ``n_threads`` is not given; ``model``
    is opened in every worker, by name or path.
    """
    return _mapped(dataset, partial(batches.embed, model=model, column=column), options)


@spread(PredictOptions)
def predict(
    dataset: ray.data.Dataset,
    *,
    options: PredictOptions,
    classifier: str | Path,
) -> ray.data.Dataset:
    """Return a dataset with the four columns more that `pmeans.arrow.predict` adds.

    ``classifier`` is a folder that `TransferClassifier.save` wrote; options are as of
    `pmeans.arrow.predict`, with one thread if ``n_threads`` is not given.
    """
    return _mapped(dataset, partial(batches.predict, classifier=classifier), options)


def available() -> Any:
    """Import Ray with its telemetry off, and listening on this machine only."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # of all systems, by its name
    return optional("ray", "ray", "engine='ray'")


def run(tasks: list[str]) -> Iterator[str]:
    """Do the tasks of `pmeans.jobs` in Ray's workers, and yield their outcomes.

    If this process is connected to a cluster, by ``ray.init``, they are done there. If not, Ray is
    started on this machine, and stopped afterwards. They are tasks of Ray, too: a dataset of them
    would rest a third of a second after each.
    """
    ray = available()
    with _started(ray):
        do = ray.remote(num_cpus=1, max_retries=3, retry_exceptions=[OSError])(jobs.perform)
        left = iter(tasks)
        begun: list[Any] = []
        while begun := [*begun, *map(do.remote, itertools.islice(left, _MOST - len(begun)))]:
            try:
                done, begun = ray.wait(begun, num_returns=len(begun), timeout=1)
                yield from ray.get(done)
            except ray.exceptions.RayError as error:
                raise jobs.gave_up("Ray", error) from error


def _mapped(
    dataset: ray.data.Dataset, function: Callable[..., Any], options: RowOptions
) -> ray.data.Dataset:
    optional("ray.data", "ray", "pmeans.integrations.ray")
    pyarrow = optional("pyarrow", "ray", "pmeans.integrations.ray")
    # Doubts would be told for every batch.
    options = replace(options, n_threads=options.n_threads or 1)
    make = partial(function, options=options, doubts=Doubts())
    # What does not fit is said here and now, and not by a worker.
    names = [options.text, options.lang_column]
    named = [(name, pyarrow.string()) for name in dict.fromkeys(names) if name is not None]
    make(pyarrow.schema(named).empty_table())
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
            raise jobs.gave_up("Ray", error) from error
        try:
            yield
        finally:
            ray.shutdown()
