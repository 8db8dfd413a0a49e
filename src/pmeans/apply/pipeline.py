"""A job over a file: blocks of rows in, blocks of output out, a savepoint every few seconds.

Reading runs ahead in one thread and writing follows in another, while this one works. Run again
after a kill, a job goes on after its last savepoint and ends with the very bytes of a run that was
not killed, because what becomes of a row depends on that row alone.
`tests/integration/test_resume.py` kills jobs and compares.
"""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import numpy as np

from pmeans import kernels
from pmeans._version import __version__
from pmeans.errors import InputError, StorageError
from pmeans.rows.fields import Block, Source
from pmeans.rows.partial import State, open_partial, refuse_overwriting, writing_errors
from pmeans.rows.vectors import Writer

SAVE_EVERY = 5.0
"""Seconds between savepoints, each of which waits for the disk."""

Report = Callable[[State], object]
_T = TypeVar("_T")


class Job(Protocol):
    """What becomes of a block of rows.

    Attributes:
        inputs: Files and folders that are read beside the rows, and must not be overwritten.
        may_be_empty: Whether an input without rows makes an output without rows.
    """

    inputs: tuple[str, ...]
    may_be_empty: bool

    def identity(self) -> dict[str, Any]:
        """Return what must not change between the start and a resumption."""

    def work(self, block: Block, state: State) -> tuple[Any, dict[str, Any]]:
        """Return what to write for a block, and what of the state changes beside the place.

        What was returned before the last time may be overwritten: it has been written.
        """


def run_to_file(
    job: Job,
    source: Source,
    out: str | Path,
    writer: Writer,
    *,
    n_rows: int,
    restart: bool = False,
    report: Report = lambda state: None,
    save_every: float = SAVE_EVERY,
) -> State:
    """Run a job into a file, resuming where an earlier run was stopped.

    Args:
        job: What to do.
        source: The rows.
        out: The file to write; what is there before stays until the new one is complete.
        writer: Of the format that is wanted.
        n_rows: Rows of a block.
        restart: Discard what an earlier run did.
        report: Called at the start, and after each block.
        save_every: Seconds between savepoints.
    """
    out = Path(out)
    refuse_overwriting(out, (*source.files, *job.inputs))
    begun_with = {
        "pmeans": f"{__version__} ({kernels.backend()})",
        "numpy": np.__version__,  # another one may round its products otherwise
        **job.identity(),
        **source.identity(),
        "writer": type(writer).__name__.strip("_"),
    }
    with open_partial(out, begun_with) as partial:
        if restart:
            partial.discard()
        state = partial.resume()
        if state.size:
            writer.resume(partial.file, state.columns)
        report(state)
        written, due = state, time.monotonic() + save_every

        def write(payload: Any, after: State) -> None:
            nonlocal written, due
            with writing_errors(out):
                if not written.rows:
                    writer.begin(partial.file, after.columns)
                writer.append(partial.file, payload, written.rows)
                written = after
                if time.monotonic() >= due:
                    partial.save(written)
                    due = time.monotonic() + save_every
            report(written)

        try:
            _run(job, source, state, n_rows, write)
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # what was saved before is still there
                if written.rows > partial.saved.rows:
                    partial.save(written)
            raise
        with writing_errors(out):
            if not written.rows:
                _check_empty(job, source)
                writer.begin(partial.file, written.columns)
            writer.finish(partial.file, partial.path, out, written.rows)
            partial.discard()
    return written


def run_to_stream(
    job: Job, source: Source, stream: IO[bytes], writer: Writer, *, n_rows: int
) -> State:
    """Run a job into a stream, such as standard output; it cannot be resumed."""
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

    _run(job, source, written, n_rows, write)
    if not written.rows:
        _check_empty(job, source)
    return written


def _check_empty(job: Job, source: Source) -> None:
    if not job.may_be_empty:
        raise InputError(f"{source.name}: no rows.")


def _run(
    job: Job, source: Source, state: State, n_rows: int, write: Callable[[Any, State], None]
) -> None:
    """Work on block after block; what is written next, and the state after it, go to ``write``."""
    blocks = _ahead(source.blocks(state.place, n_rows))
    with contextlib.closing(blocks), ThreadPoolExecutor(1) as writing:
        pending: Future[None] | None = None
        for block in blocks:
            payload, changes = job.work(block, state)
            if pending is not None:
                pending.result()
            state = dataclasses.replace(
                state,
                rows=block.place.row,
                line=block.place.line,
                offset=block.place.offset,
                checksum=block.place.checksum,
                skipped=state.skipped + block.texts.count(None),
                **changes,
            )
            pending = writing.submit(write, payload, state)
        if pending is not None:
            pending.result()


def _ahead(items: Iterator[_T], n: int = 2) -> Generator[_T, None, None]:
    """Yield items that another thread makes, up to ``n`` of them ahead.

    It is a daemon, because it may wait for standard input for ever.
    """
    ready: queue.Queue[tuple[_T | None, BaseException | None]] = queue.Queue(n)
    stopped = threading.Event()

    def put(item: _T | None, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                ready.put((item, error), timeout=0.1)
                return

    def make() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(None, error)

    threading.Thread(target=make, daemon=True).start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        stopped.set()
