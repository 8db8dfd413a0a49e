"""Whole files through an encoder or a classifier: rows stream in, vectors or labels stream out.

`pipeline` is the job: reading, working and writing overlap, and a killed job resumes. `embedding`
and `labelling` are what is done to a block of rows; `labelled` reads what a classifier learns from,
and which words of a space a corpus needs. Memory does not grow with the input.
"""

from pmeans.apply.embedding import EmbedOptions, embed_to_file, embed_to_stream
from pmeans.apply.labelled import LabelledRows, read_adaptation, read_labelled, words_of_corpus
from pmeans.apply.labelling import PredictOptions, predict_to_file, predict_to_stream

__all__ = [
    "EmbedOptions",
    "LabelledRows",
    "PredictOptions",
    "embed_to_file",
    "embed_to_stream",
    "predict_to_file",
    "predict_to_stream",
    "read_adaptation",
    "read_labelled",
    "words_of_corpus",
]
