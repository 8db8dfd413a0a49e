"""Semantic search: the rows nearest to a query, across languages."""

from pmeans.search.exact import top_k

__all__ = ["top_k"]
