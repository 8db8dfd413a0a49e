"""Semantic search: the rows of a file nearest to a query, across languages.

`exact` finds the largest cosines in one pass over rows of any number, `finding` opens what ``pmeans
embed`` wrote and joins it with an encoder, `approximate` keeps a graph beside it (the extra
``[search]``), `shards` are many of both, searched together, and `texts` the files that have their
texts. `stored` are rows in a temporary file, `margins` pairs rows of two languages, `mining` finds
translations and `duplicates` what says the same.
"""

from pmeans.search.approximate import ApproximateIndex
from pmeans.search.duplicates import Duplicates, NearPair, dedupe
from pmeans.search.exact import top_k
from pmeans.search.finding import Hit, Index, find, open_index
from pmeans.search.mining import Mined, MinedPair, mine
from pmeans.search.shards import ApproximateShards, open_graph

__all__ = [
    "ApproximateIndex",
    "ApproximateShards",
    "Duplicates",
    "Hit",
    "Index",
    "Mined",
    "MinedPair",
    "NearPair",
    "dedupe",
    "find",
    "mine",
    "open_graph",
    "open_index",
    "top_k",
]
