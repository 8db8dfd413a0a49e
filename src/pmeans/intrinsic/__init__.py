"""Measures of a word space itself, before any task is trained on it.

`similarity`: do cosines order pairs of words as people do? `dictionary`: are translations nearest
neighbours? `retrieval`: and those of whole sentences? `picture` draws translation pairs, and
`report` runs everything that a folder has data for.
"""
