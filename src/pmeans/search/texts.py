"""The Parquet files that an index was made of: whether they are still the same, and their texts.

An index in shards has the vectors and not the texts. Those are read from the files, of the rows
that were found alone. So each file is written down with its size, its time of change and its hash.
One whose time is another is read through and compared. What has changed is refused, because its
texts would stand beside the rows of other texts.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import FormatError, StorageError
from pmeans.tables.fields import BLOCK, Fields
from pmeans.tables.folders import file_stamps, open_file, reading_address
from pmeans.tables.sources import arrow_values, check_strings, open_parquet, require_pyarrow
from pmeans.types import Ints

_CACHE = 64 << 20  # bytes of texts that stay in memory, and of what files say of themselves
_BATCH = 16 << 20  # bytes of rows whose texts are read together, vectors and all


@dataclass(frozen=True)
class SourceFile:
    """A Parquet file that rows of an index were made of.

    Attributes:
        address: Tells its file system, as of `find_parquet`.
        path: Where it is, within that.
        rows: How many it has.
        size: Its bytes.
        modified: When it was changed last, in ns.
        sha256: Of its bytes; empty if it was not computed.
    """

    address: str
    path: str
    rows: int
    size: int
    modified: int
    sha256: str = ""

    @classmethod
    def of_path(cls, path: Path, rows: int) -> SourceFile:
        """Describe a file of this machine as it is now."""
        stat = path.stat()
        return cls(str(path), path.absolute().as_posix(), rows, stat.st_size, stat.st_mtime_ns)

    def hashed(self) -> SourceFile:
        """Return the same with the hash of its bytes, which are read."""
        digest = hashlib.sha256()
        with reading_address(self.path), open_file(self.address, self.path) as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        return dataclasses.replace(self, sha256=digest.hexdigest())


def look_at(files: Sequence[SourceFile]) -> list[SourceFile | None]:
    """Return files as they are now, None for each that is gone; raise if one is not the same."""
    sources: list[SourceFile | None] = []
    for address, group in groupby(files, lambda file: file.address):
        members = list(group)
        stamps = file_stamps(address, [file.path for file in members])
        for file, stamp in zip(members, stamps, strict=True):
            if stamp is None:
                sources.append(None)
                continue
            size, modified = stamp
            now = dataclasses.replace(file, modified=modified)
            same = size == file.size and (now == file or now.hashed() == now)
            if not same:
                raise FormatError(
                    f"{file.path!r} has changed since it was indexed: put the old file back, or "
                    "run 'pmeans index' again, with restart=True."
                )
            sources.append(now)
    return sources


class ParquetTexts:
    """The texts of rows in Parquet files, read for single rows; threads may share it.

    Nothing stays in memory but a cache of limited size.
    """

    def __init__(
        self, files: Sequence[SourceFile], column: str = "text", path: str | Path = ""
    ) -> None:
        """Look at the files; ``path`` is the index, for messages."""
        self._files, self._column, self._path = look_at(files), column, path
        self._ends: Ints = np.cumsum([file.rows for file in files], dtype=np.int64)
        self._cache = _Cache(_CACHE)

    @property
    def gone(self) -> int:
        """How many files are not there any more: their rows have no texts."""
        return self._files.count(None)

    def check(self) -> bool:
        """Return whether there are texts, by the first file that is there."""
        first = next((i for i, file in enumerate(self._files) if file), None)
        return first is None or self._layout(first) is not None

    def of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows; nothing of files that are gone, or have no texts."""
        numbers = np.unique(np.fromiter((row for row in rows if row >= 0), dtype=np.int64))
        places = np.searchsorted(self._ends, numbers, side="right")
        texts: dict[int, str] = {}
        for i in np.unique(places).tolist():
            first = int(self._ends[i - 1]) if i else 0
            inside = (numbers[places == i] - first).tolist()
            texts |= {first + row: text for row, text in self._of_file(i, inside)}
        return texts

    def _of_file(self, number: int, rows: list[int]) -> Iterator[tuple[int, str]]:
        layout = self._layout(number)
        if layout is None:
            return
        starts = {row: layout.batch_of(row) for row in rows}
        batches = {start: self._cache.get((number, start)) for start in {*starts.values()}}
        absent = sorted(start for start, batch in batches.items() if batch is None)
        if absent:
            batches |= self._read(number, layout, absent)
        for row, start in starts.items():
            batch = batches[start]
            if batch is not None:
                value = arrow_values(batch.slice(row - start, 1))[0]
                yield row, value if isinstance(value, str) else ""

    def _layout(self, number: int) -> _Layout | None:
        """Return where the texts of a file lie, None if it has none."""
        file = self._files[number]
        if file is None:
            return None
        layout = self._cache.get(number)
        if layout is None:
            try:
                stream = open_file(file.address, file.path)
            except FileNotFoundError:
                return None
            with stream, open_parquet(file.path, stream) as parquet:
                metadata, schema = parquet.metadata, parquet.schema_arrow
            if self._column not in schema.names:
                return None
            check_strings(schema, Fields(self._column), file.path)
            if metadata.num_rows != file.rows:
                raise FormatError(
                    f"there are {metadata.num_rows:,} texts in {file.path!r} for {file.rows:,} "
                    f"rows of {str(self._path)!r}: give the very file that was embedded."
                )
            layout = _Layout(metadata, file.path)
            self._cache.put(number, layout, 4 * metadata.serialized_size)
        return layout

    def _read(self, number: int, layout: _Layout, starts: list[int]) -> dict[int, Any]:
        """Return the batches that begin at these rows of a file, and keep them for next time.

        There are none if the file is gone.
        """
        file, pieces = self._files[number], defaultdict[int, list[Any]](list)
        assert file is not None
        try:
            stream = open_file(file.address, file.path)
        except FileNotFoundError:
            return {}
        with stream, open_parquet(file.path, stream, layout.metadata) as parquet:
            for group, members in groupby(starts, layout.group_of):
                wanted, row, step = [*members], layout.first_of(group), layout.step(group)
                for batch in parquet.iter_batches(
                    step, row_groups=[group], columns=[self._column], use_threads=False
                ):
                    stop = row + batch.num_rows  # strings of a dictionary may come in fewer rows
                    for start in wanted:
                        first, last = max(row, start), min(stop, start + step)
                        if first < last:
                            pieces[start].append(batch.column(0).slice(first - row, last - first))
                    row = stop
                    if row >= wanted[-1] + step:
                        break
        if file_stamps(file.address, [file.path]) != [(file.size, file.modified)]:
            raise StorageError(
                f"{file.path!r} has changed since the index was opened: open it again."
            )
        pyarrow = require_pyarrow(file.path)
        batches = {start: pyarrow.chunked_array(some) for start, some in pieces.items()}
        if [len(batches.get(start, ())) for start in starts] != [*map(layout.size, starts)]:
            raise FormatError(f"{file.path!r} has fewer rows than it says: it is damaged.")
        for start, batch in batches.items():
            self._cache.put((number, start), batch, batch.get_total_buffer_size())
        return batches


class _Layout:
    """Where the texts of a Parquet file lie: in row groups, and in each in batches of some rows."""

    def __init__(self, metadata: Any, path: str) -> None:
        self.metadata = metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        self._ends = np.cumsum([0, *(group.num_rows for group in groups)])
        if self._ends[-1] != metadata.num_rows or (np.diff(self._ends) < 0).any():
            raise FormatError(f"{path!r} has other rows than it says: it is damaged.")
        most = [_BATCH * group.num_rows // max(1, group.total_byte_size) for group in groups]
        self._steps = [max(1, min(BLOCK, rows)) for rows in most]

    def group_of(self, row: int) -> int:
        return int(np.searchsorted(self._ends, row, side="right")) - 1

    def first_of(self, group: int) -> int:
        return int(self._ends[group])

    def step(self, group: int) -> int:
        return self._steps[group]

    def size(self, start: int) -> int:
        """Return how many rows the batch has that begins with a row."""
        group = self.group_of(start)
        return min(self._steps[group], int(self._ends[group + 1]) - start)

    def batch_of(self, row: int) -> int:
        """Return the first row of the batch that a row is in."""
        group = self.group_of(row)
        first, step = self.first_of(group), self._steps[group]
        return first + (row - first) // step * step


class _Cache:
    """What was used last, up to a number of bytes; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        """Return what is there under a key, None if there is nothing."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Any, value: Any, size: int) -> None:
        """Keep a value of so many bytes, and forget what was not used for the longest time."""
        with self._lock:
            self._size -= self._entries.pop(key, (None, 0))[1]
            self._entries[key] = value, size
            self._size += size
            while self._size > self._most:
                self._size -= self._entries.popitem(last=False)[1][1]
