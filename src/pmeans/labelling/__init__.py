"""Classifiers and files: labelled rows come in, predictions go out beside the rows they are for.

`inputs` reads texts, labels and languages, `tables` writes rows with named columns, and `job`
predicts a file block by block, in memory that does not grow with it.
"""

from pmeans.labelling.inputs import Columns, read_adaptation, read_labelled
from pmeans.labelling.job import Counts, predict_file

__all__ = [
    "Columns",
    "Counts",
    "predict_file",
    "read_adaptation",
    "read_labelled",
]
