"""Search in what ``pmeans embed`` wrote: rows, and the texts they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pmeans.errors import FormatError, InputError, StorageError, did_you_mean, shown
from pmeans.identifier import Doubts
from pmeans.mapped import MappedFile
from pmeans.rows import Fields, Source, open_source, texts_of
from pmeans.rows.sources import open_parquet
from pmeans.search.exact import ArrayVectors, Vectors, top_k
from pmeans.sentence_encoder import SentenceEncoder, chunks
from pmeans.types import Array

if TYPE_CHECKING:
    from pmeans.search.approximate import ApproximateIndex
    from pmeans.search.shards import ApproximateShards

VECTORS = "embedding"
"""The column of a Parquet file that has the vectors."""
_TEXT = "text"
_BATCH = 1024  # queries answered in one pass over the rows


@dataclass(frozen=True)
class Index:
    """Rows on disk, and where their texts are.

    Attributes:
        path: The file of the rows.
        rows: Read block by block.
        texts: A sentence for every row, if it is known where they are.
    """

    path: Path
    rows: Vectors
    texts: Source | None = None

    def texts_of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows, nothing if they are not known.

        The texts are read as a stream, and counted: memory does not grow with them.
        """
        if self.texts is None:
            return {}
        wanted, found, count = set(rows), {}, 0
        for count, text in enumerate(texts_of(self.texts), 1):
            if count - 1 in wanted:
                found[count - 1] = text or ""
        if count != self.rows.shape[0]:
            raise FormatError(
                f"there are {count:,} texts for the {self.rows.shape[0]:,} rows of "
                f"{str(self.path)!r}: give the very file that was embedded."
            )
        return found


def open_index(
    path: str | Path,
    *,
    texts: str | Path | None = None,
    text: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Index:
    """Open rows to search in.

    Args:
        path: A matrix ``.npy``, a ``.parquet`` with the vectors in the column ``embedding``, or a
            folder of shards, which know where their texts are.
        texts: The file that was embedded, with its delimiter and encoding as of `open_source`.
        text: The column that has the text in ``texts`` or, without it, in the ``.parquet`` itself;
            ``"text"`` if not given.
        delimiter: Of ``texts``.
        encoding: Of ``texts``.
    """
    path = Path(path)
    if path.is_dir():
        from pmeans.search.shards import ShardedIndex, ShardVectors  # which is made of this

        if texts is not None:
            raise InputError(f"{str(path)!r} knows its texts: leave out texts=.")
        return ShardedIndex(path, ShardVectors(path), text=text or _TEXT)
    if not path.is_file():
        raise StorageError(f"no file {str(path)!r}.")
    fields = Fields(text or _TEXT, on_error="skip")  # embed may have been told to skip, too
    source = None
    if texts is not None:
        source = open_source(texts, fields, delimiter=delimiter, encoding=encoding)
    if path.suffix == ".npy":
        if source is None and text is not None:
            raise InputError(f"{str(path)!r} has no columns: name the file of texts, texts=.")
        return Index(path, ArrayVectors(map_rows(path)), source)
    if path.suffix != ".parquet":
        raise InputError(f"cannot search {str(path)!r}: it ends with neither .npy nor .parquet.")
    rows = ParquetVectors(path)
    if source is None and (text is not None or _TEXT in rows.columns):
        source = open_source(path, fields)
    return Index(path, rows, source)


def map_rows(path: Path) -> Array:
    """Map a matrix, (n, dim)."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.size and array.flags.c_contiguous:  # mapped by ourselves, which can be pickled
            return MappedFile.open(path).array(array.dtype, array.shape, array.offset)
        return array
    except (ValueError, EOFError) as error:
        raise FormatError(f"{str(path)!r} cannot be read as .npy: {error}.") from error
    except OSError as error:
        raise StorageError(f"cannot read {str(path)!r}: {error.strerror}.") from error


class ParquetVectors:
    """Vectors in a column of lists, which all have the same length."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_parquet(self._path) as file:
            self.columns: list[str] = file.schema_arrow.names
            if VECTORS not in self.columns:
                raise FormatError(
                    f"{path}: no column {VECTORS!r} with vectors among "
                    f"{', '.join(map(shown, self.columns))}.{did_you_mean(VECTORS, self.columns)}"
                )
            first = next(file.iter_batches(1, columns=[VECTORS]), None)
            value = first.column(0)[0].as_py() if first is not None else []
            if not isinstance(value, list):
                kind = file.schema_arrow.field(VECTORS).type
                raise FormatError(f"{path}: the column {VECTORS!r} holds {kind}, not vectors.")
            self.shape: tuple[int, int] = (file.metadata.num_rows, len(value))

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield the vectors, checked."""
        import pyarrow.compute

        n_seen, dim = 0, self.shape[1]
        with open_parquet(self._path) as file:
            for batch in file.iter_batches(n_rows, columns=[VECTORS]):
                lists = batch.column(0)
                lengths = pyarrow.compute.list_value_length(lists).fill_null(-1).to_numpy()
                other = np.flatnonzero(lengths != dim)
                if len(other):
                    raise FormatError(
                        f"{self._path}, row {n_seen + int(other[0]):,}: no vector of {dim} numbers."
                    )
                values = lists.flatten().to_numpy(zero_copy_only=False)
                yield ArrayVectors(values.reshape(len(lists), dim)).array
                n_seen += len(lists)


@dataclass(frozen=True)
class Hit:
    """A row that was found: its number, its cosine to the query, and its text if that is known."""

    row: int
    score: float
    text: str | None = None


def find(
    encoder: SentenceEncoder,
    index: Index,
    queries: Iterable[str],
    *,
    lang: str | None = None,
    k: int = 10,
    approximate: ApproximateIndex | ApproximateShards | None = None,
) -> Iterator[tuple[str, list[Hit]]]:
    """Find the rows nearest to each of a stream of queries.

    Args:
        encoder: The model that the rows were made with.
        index: Where to look.
        queries: In any language that the model covers, as the rows.
        lang: The queries' language; if it is left out, or ``"auto"``, it is found for each.
        k: How many rows to find for each query.
        approximate: The approximate index of ``index``, to look there first.

    Yields:
        Each query with its hits, best first. One without a known word has none.
    """
    if index.rows.shape[1] != encoder.dim:
        raise InputError(
            f"{str(index.path)!r} has rows of {index.rows.shape[1]} numbers and the model "
            f"{encoder.name!r} makes {encoder.dim}: name the model= that made them."
        )
    doubts = Doubts()
    for texts, _ in chunks(queries, None, _BATCH):
        vectors = encoder.encode(texts, lang=encoder.found(texts, lang, doubts=doubts))
        answer = approximate.top_k(vectors, k) if approximate else top_k(vectors, index.rows, k)
        found, scores = answer
        known = index.texts_of(np.unique(found).tolist())
        for query, *best in zip(texts, found.tolist(), scores.tolist(), strict=True):
            hits = zip(*best, strict=True)
            yield query, [Hit(row, score, known.get(row)) for row, score in hits if row >= 0]
    doubts.warn(stacklevel=2)
