"""What is chosen by name: the same for Python, build files, HTTP and the command line.

Nothing is imported here, so that the command line can list the choices without loading NumPy.
"""

from __future__ import annotations

from typing import Literal

InputFormat = Literal["txt", "csv", "tsv", "jsonl", "parquet"]
"""Formats of texts; `pmeans.tables.formats` reads them."""
TableFormat = Literal["csv", "tsv", "jsonl", "parquet"]
"""Formats of rows with labels; `pmeans.tables.writers` writes them."""
VectorFormat = Literal["npy", "jsonl", "parquet"]
"""Formats of vectors; `pmeans.tables.writers` writes them."""
ALSO = {"ndjson": "jsonl"}
"""Other endings of files, and the formats that they stand for."""
Precision = Literal["float32", "float16", "int8", "int4"]
"""How word vectors are stored."""
RowPrecision = Literal["float32", "float16", "int8"]
"""How finished rows and maps are stored."""
Case = Literal["lower", "cased", "cased-then-lower"]
"""How a word space looks a word up."""
OnError = Literal["fail", "skip"]
"""What is done at a row or an entry that cannot be read."""
AccessLog = Literal["off", "plain", "json"]
"""How the server writes a line per request, if it does."""
