"""A model of twelve words in two languages, with a classifier and an index, to serve."""

from pathlib import Path

import numpy as np

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier, WordSpace

ENGLISH = ["good", "great", "bad", "awful", "dog", "soup"]
GERMAN = ["gut", "toll", "schlecht", "übel", "hund", "suppe"]
INDEXED = ["good dog", "bad soup", "great soup"]


def write_served(place: Path) -> dict[str, str]:
    """Write model, classifier and index into a folder, and return them as settings."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((len(ENGLISH), 4)).astype(np.float32)
    vectors[:2, 0] += 4
    vectors[2:4, 0] -= 4
    rows = np.concatenate([vectors, vectors])
    space = WordSpace.from_words("words", {"en": ENGLISH, "de": GERMAN}, rows)
    recipe = Recipe((Part("words"),), "tiny", tokenizer="words")
    encoder = PowerMeanEncoder(recipe, {"words": space})
    pmeans.save(encoder, place / "model")
    texts = [f"{said} {of}" for said in ENGLISH[:4] for of in ENGLISH[4:]] * 3
    labels = [("pos" if text.startswith(("good", "great")) else "neg") for text in texts]
    TransferClassifier(encoder).fit(texts, labels, lang="en").save(place / "classifier")
    np.save(place / "index.npy", encoder.encode(INDEXED, lang="en"))
    (place / "texts.txt").write_text("\n".join(INDEXED) + "\n", encoding="utf-8")
    files = {"model": "model", "classifier": "classifier", "index": "index.npy"}
    return {name: str(place / file) for name, file in {**files, "texts": "texts.txt"}.items()}
