"""Embed whole files: rows stream in, vectors stream out, and a killed job resumes.

`inputs` reads sentences from text, CSV, JSON lines or Parquet, `outputs` writes vectors as npy,
JSON lines or Parquet, `partial` keeps what is done on disk, and `job` joins the three. Memory
does not grow with the input.
"""

from pmeans.embedding.corpus import words_of_corpus
from pmeans.embedding.inputs import open_source
from pmeans.embedding.job import Options, embed_to_file, embed_to_stream
from pmeans.embedding.partial import State
from pmeans.embedding.rows import Fields

__all__ = [
    "Fields",
    "Options",
    "State",
    "embed_to_file",
    "embed_to_stream",
    "open_source",
    "words_of_corpus",
]
