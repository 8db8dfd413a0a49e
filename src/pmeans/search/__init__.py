"""Semantic search: the rows of a file nearest to a query, across languages.

`exact` finds the largest cosines in one pass over rows of any number, `files` opens what ``pmeans
embed`` wrote, `approximate` keeps a graph beside it (the extra ``[search]``), and `finding` joins
them with an encoder.
"""

from pmeans.search.approximate import ApproximateIndex
from pmeans.search.exact import top_k
from pmeans.search.files import Index, open_index
from pmeans.search.finding import Hit, find

__all__ = ["ApproximateIndex", "Hit", "Index", "find", "open_index", "top_k"]
