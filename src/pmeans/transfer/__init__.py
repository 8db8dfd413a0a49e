"""Train a classifier in one language, apply it in others.

`classifier` is the whole: it encodes and learns (`fitting`, `selection`, `linear`), predicts by
what it has `learned`, says which words decided (`explain`) and is stored (`storage`). Without
training rows, labels are described (`describing`). `estimator` makes it one of scikit-learn's, and
`scores` is what an evaluation finds.
"""

from pmeans.transfer.adapting import FewTextsWarning
from pmeans.transfer.classifier import TransferClassifier
from pmeans.transfer.describing import label
from pmeans.transfer.explain import Explanation
from pmeans.transfer.labels import AlikeLabelsWarning, FewRowsWarning
from pmeans.transfer.learned import Chosen
from pmeans.transfer.scores import (
    ClassScore,
    Evaluation,
    Predictions,
    UnknownWordsWarning,
    WordCount,
)

__all__ = [
    "AlikeLabelsWarning",
    "Chosen",
    "ClassScore",
    "Evaluation",
    "Explanation",
    "FewRowsWarning",
    "FewTextsWarning",
    "Predictions",
    "TransferClassifier",
    "UnknownWordsWarning",
    "WordCount",
    "label",
]
