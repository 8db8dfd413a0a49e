"""A world of thirteen words in two languages, in which the first column tells good from bad."""

import numpy as np

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace

GERMAN = {
    "good": "gut", "great": "toll", "nice": "nett", "bad": "schlecht", "awful": "übel",
    "sad": "traurig", "house": "haus", "dog": "hund", "soup": "suppe", "the": "die",
}  # fmt: skip
GOOD, BAD, OTHER = ("good", "great", "nice"), ("bad", "awful", "sad"), ("house", "dog", "soup")


def opinions(n, lang, seed=0):
    """Return texts of three words, and whether they are good."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        words = ["the", rng.choice(GOOD if i % 2 else BAD), rng.choice(OTHER)]
        texts.append(" ".join(words if lang == "en" else [GERMAN[word] for word in words]))
        labels.append("pos" if i % 2 else "neg")
    return texts, labels


def make_encoder(znorm="per_language"):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((len(GERMAN), 4)).astype(np.float32)
    vectors[:3, 0] += 3
    vectors[3:6, 0] -= 3
    words = {"en": list(GERMAN), "de": list(GERMAN.values())}
    space = WordSpace.from_words("opinions", words, np.concatenate([vectors, vectors + 1]))
    recipe = Recipe((Part("opinions"),), "opinions", tokenizer="words", znorm=znorm)
    encoder = PowerMeanEncoder(recipe, {"opinions": space})
    if znorm == "none":
        return encoder
    for lang in ("en", "de"):
        encoder = encoder.fit_znorm(opinions(40, lang, seed=9)[0], lang=lang)
    return encoder


def make_canonical(rank=8):
    """Return an encoder whose rows are canonical directions of the two languages."""
    pairs = zip(opinions(60, "en", seed=5)[0], opinions(60, "de", seed=5)[0], strict=True)
    return make_encoder().fit_alignment({"de": pairs}, pivot="en", penalty=1.0, rank=rank)
