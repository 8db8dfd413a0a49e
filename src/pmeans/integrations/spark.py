"""Spark: vectors or labels beside the columns of a data frame, and folders of parts made by Spark.

`mapInArrow` hands batches to Python processes beside Spark's executors. Each opens a model once,
shares its pages with the others, and has one thread: Spark runs as many of them as it has cores.
"""

from __future__ import annotations

import contextlib
import os
import sys
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST = 10_000  # tasks that Spark is given: of more, each does several pieces


@spread(EmbedOptions)
def embed(
    frame: DataFrame,
    *,
    options: EmbedOptions,
    model: str | Path = "default",
    column: str = "embedding",
) -> DataFrame:
    """Return a frame with one more column, ``embedding array<float>``: the vectors of its texts.

    Options are as of `pmeans.arrow.embed`, with one thread if ``n_threads`` is not given; ``model``
    is opened in every worker, by name or path. Of ``dtype="int8"`` the column is
    ``array<tinyint>``. Spark has no float16: such numbers are rounded, and stored as float.
    """
    return _mapped(frame, partial(batches.embed, model=model, column=column), options)


@spread(PredictOptions)
def predict(
    frame: DataFrame,
    *,
    options: PredictOptions,
    classifier: str | Path,
) -> DataFrame:
    """Return a frame with four columns more, as `pmeans.arrow.predict` adds them.

    Options are as of there, with one thread if ``n_threads`` is not given.
    """
    return _mapped(frame, partial(batches.predict, classifier=classifier), options)


def available() -> Any:
    """Import Spark, or say how to get it."""
    return optional("pyspark.sql", "spark", "engine='spark'")


def run(tasks: list[str]) -> list[str]:
    """Do the tasks of `pmeans.jobs` in Spark's workers, and return their outcomes.

    They are done by the active session. If there is none, Spark is started here, and stopped. They
    are no rows of a frame, for which Spark would plan and compile a query.
    """
    pyspark, java = available(), optional("py4j.protocol", "spark", "engine='spark'")
    with _started(pyspark) as session:
        rdd = session.sparkContext.parallelize(tasks, min(len(tasks), _MOST))
        try:
            return rdd.map(jobs.perform).collect()
        except (java.protocol.Py4JError, pyspark.errors.PySparkException) as error:
            raise jobs.gave_up("Spark", error) from error


def _mapped(frame: DataFrame, function: Callable[..., Any], options: RowOptions) -> DataFrame:
    pyspark, pyarrow = available(), optional("pyarrow", "spark", "engine='spark'")
    # Doubts would be told for every batch.
    options = replace(options, n_threads=options.n_threads or 1)
    make = partial(function, options=options, doubts=Doubts())
    none = pyarrow.schema([(name, pyarrow.string()) for name in frame.columns]).empty_table()
    added = list(make(none).schema)[len(frame.columns) :]
    names = [f.name.replace("`", "``") for f in added]
    new = [f"`{name}` {_sql_type(f.type)}" for name, f in zip(names, added, strict=True)]
    struct = pyspark.sql.types.StructType
    schema = struct([*frame.schema, *struct.fromDDL(", ".join(new))])

    def of_rows(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in map(make, batches):
            columns = batch.columns
            if str(columns[-1].type).startswith("fixed_size_list"):  # Spark has none of these
                kind = columns[-1].type.value_type
                half = pyarrow.types.is_float16(kind)
                columns[-1] = columns[-1].cast(pyarrow.list_(pyarrow.float32() if half else kind))
            yield type(batch).from_arrays(columns, batch.schema.names)

    return frame.mapInArrow(of_rows, schema)


def _sql_type(kind: Any) -> str:
    """Return how SQL writes a type of Arrow."""
    if "list" in str(kind):
        return f"array<{_sql_type(kind.value_type)}>"
    return {
        "string": "string", "float": "float", "halffloat": "float", "int8": "tinyint",
        "int64": "bigint", "bool": "boolean",
    }[str(kind)]  # fmt: skip


@contextlib.contextmanager
def _started(pyspark: Any) -> Iterator[Any]:
    """Have Spark at work: the session that is there, or one on this machine, for this machine."""
    session = pyspark.sql.SparkSession.getActiveSession()
    if session is not None:
        yield session
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.log.level": "FATAL",  # `run` says what it gives up at
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        # It hands out work, and does none: what Java would compile thoroughly is run once.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.master": f"local[{available_threads()},4]",  # tries, as on a cluster: else one
    }  # fmt: skip
    session = pyspark.sql.SparkSession.builder.config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
