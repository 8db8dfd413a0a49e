"""Train a classifier in one language, apply it in others.

`classifier` is the whole: it encodes, learns (`selection`, `linear`, `calibration`), predicts, says
which words decided (`explain`) and is stored (`storage`). `words` counts what the encoder does not
know, `languages` tells languages apart, `scores` is what an evaluation finds.
"""

from pmeans.transfer.classifier import Predictions, TransferClassifier
from pmeans.transfer.explain import Explanation
from pmeans.transfer.labels import AlikeLabelsWarning
from pmeans.transfer.languages import identify
from pmeans.transfer.scores import ClassScore, Evaluation
from pmeans.transfer.storage import Chosen
from pmeans.transfer.words import UnknownWordsWarning, WordCount

__all__ = [
    "AlikeLabelsWarning",
    "Chosen",
    "ClassScore",
    "Evaluation",
    "Explanation",
    "Predictions",
    "TransferClassifier",
    "UnknownWordsWarning",
    "WordCount",
    "identify",
]
