"""How near the rules of `pmeans.transfer.explain` come to leaving each word out.

    python benchmarks/explain.py glove-6b-100d ../shared/data

A logistic regression on movie reviews (MR); for 150 sentences the correlation, over their words,
of the contribution with the change of the decision when the word is taken away, and the sum of
magnitudes of the one divided by that of the other. Medians over sentences. The rules: as they
are, with other values of CANCELLED, and with the means of the z-norm moved into the constant.
"""

import sys
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.linear_model import LogisticRegression

from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.encoder.znorm import Statistics, ZNorm
from pmeans.spaces.library import find_space
from pmeans.transfer import explain as rules
from pmeans_lab.evaluation import tasks

INF = float("inf")
space, task = find_space(sys.argv[1]), tasks.find("MR")
rows = tasks.load(task, Path(sys.argv[2]), ["en"]).rows["en"]["all"]


def without_means(encoder: PowerMeanEncoder) -> PowerMeanEncoder:
    """Return an encoder whose columns keep their means, with the same weights before them."""
    (key, fitted), *_ = encoder.znorm.statistics.items()
    # The factor of the z-norm looks at the mean, to tell a constant column: none is here.
    still = Statistics(np.zeros_like(fitted.mean), fitted.std, fitted.count)
    return PowerMeanEncoder(encoder.recipe, encoder.spaces, ZNorm("train", {key: still}))


def nearness(encoder, shown, model) -> str:
    """Return correlation and size against leaving a word out, for contributions of ``shown``."""
    weights, bias = (np.float32([[0], [1]]) * part for part in (model.coef_, model.intercept_))
    found = []
    for sentence in [s for s in rows.sentences[5::70] if len(set(s.split())) > 3][:150]:
        told = rules.explain(shown, weights, bias[:, 0], ("0", "1"), sentence, lang="en", label="1")
        pushes = np.array([token.contribution for token in told.tokens])
        words = sentence.split()
        fewer = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        decisions = encoder.encode([sentence, *fewer], lang="en") @ weights[1]
        change = decisions[0] - decisions[1:]
        found.append(
            (np.corrcoef(pushes, change)[0, 1], np.abs(pushes).sum() / np.abs(change).sum())
        )
    correlation, size = np.median(found, axis=0)
    return f"{correlation:5.2f} {size:5.2f}"


for powers in [(1,), (-INF, 1, INF), (3,), (1, 3), (-INF, 1, 3, INF)]:
    recipe = Recipe((Part(space.name, powers),), znorm="train")
    encoder = PowerMeanEncoder(recipe, {space.name: space}).fit_znorm(rows.sentences, lang="en")
    model = LogisticRegression(C=0.001, max_iter=500)
    model.fit(encoder.encode(rows.sentences, lang="en"), rows.labels)
    print(powers, "as it is:", nearness(encoder, encoder, model), flush=True)
    print("  means in the constant:", nearness(encoder, without_means(encoder), model))
    for threshold in (0.0, 0.02, 0.1, 0.2) if 3 in powers else ():
        with mock.patch.object(rules, "CANCELLED", threshold):
            print(f"  CANCELLED = {threshold}:", nearness(encoder, encoder, model), flush=True)
