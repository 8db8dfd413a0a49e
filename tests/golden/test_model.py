"""The model in the package, a classifier on it and a small training, held to kept numbers.

These run on a plain clone. `make golden` writes the numbers again, after a change that is meant to
move them; the CHANGELOG's section *Numbers* says by how much.
"""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans.training.bivcd import Bivcd
from pmeans.training.corpus import PairFile

KEPT = Path(__file__).parent / "model"
SAMPLE = Path(__file__).parents[2] / "demo" / "sample"
SENTENCES = {
    "en": [
        "The dog runs.",
        "Health insurance isn't cheap, is it?",
        "It costs 3.50 euros in New York.",
        "A platypus xyzzied",
        "",
    ],
    "de": [
        "Der Hund rennt.",
        "Die Krankenversicherung ist nicht billig.",
        "Es kostet 3,50 Euro in München!",
        "Funktioniert einwandfrei",
        "Donaudampfschifffahrtsgesellschaft",
    ],
    "fr": [
        "Le chien court.",
        "L'assurance maladie n'est pas bon marché.",
        "Ça coûte 3,50 euros à l’hôtel.",
        "Aujourd'hui, il fait beau",
        "🙂 …",
    ],
}
PAIRS = [
    ("the dog sees the cat", "der hund sieht die katze"),
    ("a cat likes the old house", "eine katze mag das alte haus"),
    ("the old dog sleeps", "der alte hund schläft"),
    ("the house is old", "das haus ist alt"),
    ("a dog likes a cat", "ein hund mag eine katze"),
]


def vectors():
    """Return the rows of all sentences, (15, dim)."""
    encoder = pmeans.load()
    return np.concatenate([encoder.encode(texts, lang=lang) for lang, texts in SENTENCES.items()])


@cache
def classifier():
    with open(SAMPLE / "train.en.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts, labels = [row["text"] for row in rows], [row["label"] for row in rows]
    return pmeans.TransferClassifier(pmeans.load()).fit(texts, labels, lang="en")


def probabilities():
    """Return the probabilities of a classifier trained on the sample, (60, 5)."""
    found = []
    for lang in ("en", "de", "fr"):
        with open(SAMPLE / f"test.{lang}.csv", encoding="utf-8", newline="") as file:
            texts = [row["text"] for row in csv.DictReader(file)][:20]
        found.append(classifier().predict_proba(texts, lang=lang))
    return np.concatenate(found)


def trained(folder):
    """Return the vectors of a space trained on five pairs, (24, 6)."""
    path = Path(folder) / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS * 10), encoding="utf-8")
    pairs = (PairFile(str(path), "en", "de"),)
    trainer = Bivcd(name="tiny", pairs=pairs, dim=6, epochs=3, min_count=1)
    return trainer.train(progress=lambda share, text: None).matrix


def kept(name):
    return np.load(KEPT / f"{name}.npy", allow_pickle=False)


def test_the_model_in_the_package_gives_the_kept_vectors():
    # atol: numbers are of size 1. The map rounds rows to 15 bits, and where the cores' power means
    # differ in a last bit, some numbers are rounded to a neighbour. That moved 1.5e-5.
    np.testing.assert_allclose(vectors(), kept("vectors"), rtol=0, atol=5e-5)


def test_sentences_without_known_words_are_zero_rows():
    empty = ~kept("vectors").any(axis=1)
    assert empty.sum() >= 1
    np.testing.assert_array_equal(~vectors().any(axis=1), empty)


def test_a_classifier_on_the_sample_gives_the_kept_probabilities():
    # atol: L-BFGS stops at a tolerance of 1e-4, and rounding decides after which step.
    np.testing.assert_allclose(probabilities(), kept("probabilities"), rtol=0, atol=5e-3)
    np.testing.assert_array_equal(
        probabilities().argmax(axis=1), kept("probabilities").argmax(axis=1)
    )


def test_a_small_training_gives_the_kept_vectors(tmp_path):
    # atol: either core rounds on its own; three epochs over 50 pairs let that grow to about 1e-6.
    np.testing.assert_allclose(trained(tmp_path), kept("trained"), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["vectors", "probabilities", "trained"])
def test_the_kept_numbers_are_numbers(name):
    assert np.isfinite(kept(name)).all()
    assert kept(name).any()


if __name__ == "__main__":
    import tempfile

    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (
            ("vectors", vectors()),
            ("probabilities", probabilities()),
            ("trained", trained(folder)),
        ):
            np.save(KEPT / f"{name}.npy", values)
