"""A job over a file: blocks of rows in, blocks of output out, a savepoint every few seconds.

Reading runs ahead in one thread and writing follows in another, while this one works. Run again
after a kill, a job goes on after its last savepoint and ends with the very bytes of a run that was
not killed, because what becomes of a row depends on that row alone.
`tests/integration/test_resume.py` kills jobs and compares.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from pmeans import kernels, models
from pmeans._version import __version__
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError, StorageError
from pmeans.files import writing_stream
from pmeans.languages.resolution import language_of_rows
from pmeans.outputs import check_output, is_stream, place_of
from pmeans.tables.fields import Block, Source
from pmeans.tables.journal import State, open_partial, own_paths, writing_errors
from pmeans.tables.writers import Writer

Report = Callable[[State], object]
_T = TypeVar("_T")


def versions() -> dict[str, str]:
    """Return the programs that the bits of a row may depend on."""
    # Another NumPy may round its products otherwise.
    return {"pmeans": f"{__version__} ({kernels.backend()})", "numpy": np.__version__}


class Job(abc.ABC):
    """What becomes of the rows of a source.

    Args:
        encoder: Whose files are read.
        source: The rows.
        lang: Their language, if it is named.
        keep: Further files and folders that must not be overwritten.
        batch_size: Rows that are read and worked on together.
        save_every: Seconds between savepoints.
    """

    may_be_empty = True
    """Whether an input without rows makes an output without rows."""

    def __init__(
        self,
        encoder: SentenceEncoder,
        source: Source,
        lang: str | None,
        keep: tuple[str, ...],
        batch_size: int,
        save_every: float,
    ) -> None:
        self.encoder, self.source = encoder, source
        if not isinstance(batch_size, int) or batch_size < 1:
            message = f"must be a whole number of at least 1, not {batch_size!r}."
            raise InputError(f"batch_size {message}")
        self.batch_size, self.save_every = batch_size, save_every
        self.lang = language_of_rows(encoder, lang, source.fields.lang_column)
        read = source.files if source.path else ("-",)
        self.inputs = (*read, *models.files_of(encoder), *keep)

    @abc.abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what must not change between the start and a resumption."""

    @abc.abstractmethod
    def work(self, block: Block, state: State) -> tuple[Any, dict[str, Any]]:
        """Return what to write for a block, and what of the state changes beside the place.

        What was returned before the last time may be overwritten: it has been written.
        """

    def check(self, written: State) -> None:
        """Raise if nothing was written, and that must not be."""
        if not written.rows and not self.may_be_empty:
            raise InputError(f"{self.source.name}: no rows.")


def run(
    job: Job, out: str | Path | IO[bytes], writer: Writer, restart: bool, report: Report
) -> State:
    """Run a job into a file, resuming where an earlier run was stopped, or into a stream."""
    if not isinstance(out, (str, Path)):
        return _run_to_stream(job, out, writer)
    if is_stream(out):
        check_output(out, job.inputs)  # before a pipe waits for its reader
        with writing_stream(out) as stream:
            return _run_to_stream(job, stream, writer)
    return _run_to_file(job, place_of(out), writer, restart, report)


def _run_to_file(job: Job, out: Path, writer: Writer, restart: bool, report: Report) -> State:
    for path in own_paths(out):
        check_output(path, job.inputs)
    begun_with = {
        **versions(),
        **job.identity(),
        **job.source.identity(),
        "writer": type(writer).__name__.strip("_"),
    }
    with open_partial(out, begun_with) as partial:
        with writing_errors(out):
            state = partial.resume(restart)
        if state.size:
            writer.resume(partial.file, state.columns)
        report(state)
        written, due = state, time.monotonic() + job.save_every

        def write(payload: Any, after: State) -> None:
            nonlocal written, due
            with writing_errors(out):
                if not written.rows:
                    writer.begin(partial.file, after.columns)
                writer.append(partial.file, payload, written.rows)
                written = after
                partial.write_back()
                if time.monotonic() >= due:
                    partial.save(written)
                    due = time.monotonic() + job.save_every
            report(written)

        try:
            _run(job, state, write)
        except (KeyboardInterrupt, SystemExit):  # by Ctrl-C or SIGTERM
            with contextlib.suppress(OSError):  # what was saved before is still there
                if written.rows > partial.saved.rows:
                    partial.save(written)
            raise
        with writing_errors(out):
            job.check(written)
            if not written.rows:
                writer.begin(partial.file, written.columns)
            writer.finish(partial.file, partial.path, out, written.rows)
            partial.discard()
    return written


def _run_to_stream(job: Job, stream: IO[bytes], writer: Writer) -> State:
    number = None
    with contextlib.suppress(OSError, AttributeError):  # what is in memory has none
        number = stream.fileno()
    if number is not None:
        check_output(number, job.inputs)
    written = State()

    def write(payload: Any, after: State) -> None:
        nonlocal written
        try:
            if not written.rows:
                writer.begin(stream, after.columns)
            writer.append(stream, payload, written.rows)
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StorageError(f"could not write the output: {error.strerror}.") from error
        written = after

    _run(job, written, write)
    job.check(written)
    return written


def _run(job: Job, state: State, write: Callable[[Any, State], None]) -> None:
    """Work on block after block; what is written next, and the state after it, go to ``write``."""
    blocks = _ahead(job.source.blocks(state, job.batch_size))
    with contextlib.closing(blocks), ThreadPoolExecutor(1) as writing:
        pending: Future[None] = writing.submit(lambda: None)
        for block in blocks:
            payload, changes = job.work(block, state)
            pending.result()
            skipped = state.skipped + block.texts.count(None)
            place = dataclasses.asdict(block.place)
            state = dataclasses.replace(state, **place, skipped=skipped, **changes)
            pending = writing.submit(write, payload, state)
        pending.result()


def _ahead(items: Iterator[_T], n: int = 2) -> Generator[_T, None, None]:
    """Yield items that another thread makes, up to ``n`` of them ahead.

    It is a daemon, because it may wait for standard input for ever.
    """
    ready: queue.Queue[_T | BaseException | None] = queue.Queue(n)
    stopped = threading.Event()

    def put(item: _T | BaseException | None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def make() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=make, daemon=True).start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
