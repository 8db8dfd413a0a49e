"""Whole files through an encoder or a classifier: rows stream in, vectors or labels stream out.

`pipeline` runs a job: reading, working and writing overlap, and a killed job resumes. `jobs` are
what is done to a block of rows; `labelled` reads what a classifier learns from, and which words of
a space a corpus needs. Memory does not grow with the input.
"""

from pmeans.apply.jobs import EmbedOptions, PredictOptions, embed_to_file, predict_to_file

__all__ = ["EmbedOptions", "PredictOptions", "embed_to_file", "predict_to_file"]
