"""Search in what ``pmeans embed`` wrote: rows, and the texts they were made of."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pmeans.encoder.identity import ModelIdentity, model_of
from pmeans.encoder.sentence_encoder import SentenceEncoder, chunks
from pmeans.errors import FormatError, InputError, StorageError, did_you_mean, naming, shown
from pmeans.files import check_regular, reading
from pmeans.languages.resolution import Doubts
from pmeans.mapped import MappedFile
from pmeans.search.exact import ArrayVectors, Vectors, top_k
from pmeans.search.texts import ParquetTexts, SourceFile
from pmeans.tables import Fields, Source, open_source, texts_of
from pmeans.tables.sources import ParquetSource, open_parquet
from pmeans.types import Array

if TYPE_CHECKING:
    from pmeans.search.approximate import ApproximateIndex
    from pmeans.search.shards import ApproximateShards

VECTORS = "embedding"
"""The column of a Parquet file that has the vectors."""
_TEXT = "text"
_NO_MATRIX = (
    ValueError,
    TypeError,
    ArithmeticError,
    EOFError,
    SyntaxError,
    TokenError,
    MemoryError,
)
"""What NumPy raises for a file that is none of its own; absurd shapes overflow."""
_BATCH = 1024  # queries answered in one pass over the rows


class Texts(Protocol):
    """Where the texts of rows are."""

    def of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows."""


class StreamedTexts:
    """Texts of a file that is read from its beginning each time: memory does not grow with them."""

    def __init__(self, source: Source, n_rows: int, path: Path) -> None:
        self._source, self._n_rows, self._path = source, n_rows, path

    def of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows, after counting all."""
        wanted, texts, count = set(rows), {}, 0
        for count, text in enumerate(texts_of(self._source), 1):
            if count - 1 in wanted:
                texts[count - 1] = text or ""
        if count != self._n_rows:
            raise FormatError(
                f"there are {count:,} texts for the {self._n_rows:,} rows of "
                f"{str(self._path)!r}: give the very file that was embedded."
            )
        return texts

    def held(self) -> HeldTexts:
        """Read all texts into memory."""
        return HeldTexts(self.of(range(self._n_rows)))


class HeldTexts:
    """Texts in memory."""

    def __init__(self, texts: dict[int, str]) -> None:
        self._texts = texts

    def of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows."""
        return {row: self._texts[row] for row in rows if row in self._texts}


@dataclass(frozen=True)
class Index:
    """Rows on disk, and where their texts are. Threads may share it.

    Attributes:
        path: The file of the rows, or the folder.
        rows: Read block by block.
        texts: A sentence for every row, if it is known where they are.
        model: What made the rows, if that is known.
    """

    path: Path
    rows: Vectors
    texts: Texts | None = None
    model: ModelIdentity | None = None

    def texts_of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows, nothing if they are not known."""
        return {} if self.texts is None else self.texts.of(rows)

    def check_model(self, encoder: SentenceEncoder) -> None:
        """Raise if the rows are of another model than this one, as far as that is known."""
        dim, path = self.rows.shape[1], str(self.path)
        if dim != encoder.dim:
            raise InputError(
                f"{path!r} has rows of {dim} numbers and the model {encoder.name!r} makes "
                f"{encoder.dim}: name the model= that made them."
            )
        if self.model is not None and self.model.fingerprint != encoder.fingerprint():
            raise InputError(
                f"{path!r} has rows of the model {self.model}, and this is "
                f"{ModelIdentity.of(encoder)}: name the model= that made them, or embed again."
            )

    def with_texts_at_hand(self) -> Index:
        """Return the same index for many questions: what can only be streamed is in memory."""
        if isinstance(self.texts, StreamedTexts):
            return dataclasses.replace(self, texts=self.texts.held())
        return self


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
    for name, value in (("delimiter", delimiter), ("encoding", encoding)):
        if texts is None and value is not None:
            raise InputError(f"{name}= is that of a file of texts: name it, texts=.")
    if path.is_dir():
        from pmeans.search.shards import open_shards  # which is made of this

        if texts is not None:
            raise InputError(f"{str(path)!r} knows its texts: leave out texts=.")
        return open_shards(path, text)
    if not path.is_file():
        raise StorageError(f"no file {str(path)!r}.")
    if path.suffix == ".npy":
        if texts is None and text is not None:
            raise InputError(f"{str(path)!r} has no columns: name the file of texts, texts=.")
        rows: Vectors = map_vectors(path)
        model = None
    elif path.suffix == ".parquet":
        rows = ParquetVectors(path)
        model = rows.model
        if texts is None and (text is not None or _TEXT in rows.columns):
            texts = path
    else:
        raise InputError(f"cannot search {str(path)!r}: it ends with neither .npy nor .parquet.")
    if texts is None:
        return Index(path, rows, None, model)
    fields = Fields(text or _TEXT, on_error="skip")  # embed may have been told to skip, too
    source = open_source(texts, fields, delimiter=delimiter, encoding=encoding)
    n_rows = rows.shape[0]
    if not isinstance(source, ParquetSource):
        return Index(path, rows, StreamedTexts(source, n_rows, path), model)
    listed = ParquetTexts([SourceFile.of_path(Path(texts), n_rows)], fields.text, path)
    listed.check()
    return Index(path, rows, listed, model)


def map_vectors(path: Path) -> ArrayVectors:
    """Map a matrix, (n, dim)."""
    check_regular(path)
    try:
        with reading(path), np.errstate(over="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")  # of what looks as if Python 2 had written it
            array = np.lib.format.open_memmap(path, mode="r")
    except StorageError:
        raise
    except (*_NO_MATRIX, Warning) as error:
        raise FormatError(f"{str(path)!r} cannot be read as .npy: {error}.") from error
    with naming(repr(str(path))):
        ArrayVectors(array)
    if not array.flags.c_contiguous:
        raise FormatError(
            f"{str(path)!r} is stored by columns (Fortran order), where a row lies scattered: save "
            "numpy.ascontiguousarray(rows) instead."
        )
    if not array.size:
        return ArrayVectors(array)
    # Mapped by ourselves, so that it can be pickled.
    return ArrayVectors(MappedFile.open(path).array(array.dtype, array.shape, array.offset))


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
            self.model = model_of(file.metadata.metadata, path)

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
    index.check_model(encoder)
    doubts = Doubts()
    for texts, _ in chunks(queries, None, _BATCH):
        vectors = encoder.encode(texts, lang=encoder.languages_of(texts, lang, doubts=doubts))
        answer = approximate.top_k(vectors, k) if approximate else top_k(vectors, index.rows, k)
        numbers, scores = answer
        known = index.texts_of(np.unique(numbers).tolist())
        for query, *best in zip(texts, numbers.tolist(), scores.tolist(), strict=True):
            hits = zip(*best, strict=True)
            yield query, [Hit(row, score, known.get(row)) for row, score in hits if row >= 0]
    doubts.warn(stacklevel=2)
