"""Tiny material for every trainer, and the TOML file that names it.

A new trainer adds one entry to `CASES`, under its kind; a second case of a kind says which.
"""

from dataclasses import dataclass, replace

import numpy as np

import pmeans

WORDS = {
    "en": [
        "walk", "walks", "walked", "walking", "happy", "unhappy", "possible", "impossible",
        "house", "houses", "dog", "dogs", "cat", "cats", "old", "new", "the", "a", "sees", "likes",
    ],
    "de": [
        "gehe", "gehst", "geht", "gehen", "glücklich", "unglücklich", "möglich", "unmöglich",
        "haus", "häuser", "hund", "hunde", "katze", "katzen", "alt", "neu", "der", "ein", "sieht",
        "mag",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """How one kind is tried out.

    Attributes:
        toml: Its file, but for ``kind`` and ``name``.
        material: The file without which there is nothing to learn from.
        keeps: Whether it has a state to go on from, or begins anew because it is quick.
        kind: Which kind, where the name of the case is another.
        learns: Whether there can be too little material.
        heavy: Whether it needs torch, which takes seconds to load.
    """

    toml: str
    material: str
    keeps: bool = True
    kind: str = ""
    learns: bool = True
    heavy: bool = False


_OTHER = """
[[others]]
space = "de.safetensors"
lang = "de"
"""
_TEXT = 'text = { path = "pairs.tsv", first = "en", second = "de" }'
CASES = {
    "convert": Case('file = "vectors.txt"', material="vectors.txt", keeps=False),
    "merge": Case(
        'spaces = ["en.safetensors", "both.safetensors"]',
        material="both.safetensors",
        keeps=False,
        learns=False,
    ),
    "random": Case(
        'space = "both.safetensors"\ndim = 7',
        material="both.safetensors",
        keeps=False,
        learns=False,
    ),
    "bivcd": Case(
        """
        dim = 4
        epochs = 3
        min_count = 1
        [[pairs]]
        path = "pairs.tsv"
        first = "en"
        second = "de"
        """,
        material="pairs.tsv",
    ),
    "bivcd-subwords": Case(
        """
        dim = 4
        epochs = 3
        min_count = 1
        buckets = 50
        minn = 2
        [[pairs]]
        path = "pairs.tsv"
        first = "en"
        second = "de"
        """,
        material="pairs.tsv",
        kind="bivcd",
    ),
    "bivcd-texts": Case(
        """
        dim = 4
        epochs = 3
        min_count = 1
        [[pairs]]
        path = "pairs.tsv"
        first = "en"
        second = "de"
        [[texts]]
        path = "text.txt"
        lang = "en"
        wrapped = true
        """,
        material="text.txt",
        kind="bivcd",
    ),
    "fasttext": Case(
        """
        lang = "en"
        dim = 4
        epochs = 3
        min_count = 1
        buckets = 50
        [[texts]]
        path = "text.txt"
        """,
        material="text.txt",
    ),
    "attract-repel": Case(
        """
        space = "both.safetensors"
        epochs = 3
        batch = 4
        attract = [{path = "lexicon.tsv", languages = ["en", "de"]}]
        repel = [{path = "antonyms.tsv", languages = ["en", "en"]}]
        """,
        material="lexicon.tsv",
    ),
    "morph-fit": Case(
        """
        space = "both.safetensors"
        languages = ["en", "de"]
        epochs = 3
        batch = 2
        """,
        material="both.safetensors",
    ),
    "projection": Case(
        """
        spaces = ["en.safetensors", "de.safetensors"]
        epochs = 3
        [[pairs]]
        path = "pairs.tsv"
        first = "en"
        second = "de"
        """,
        material="pairs.tsv",
    ),
    "cca": Case('space = "en.safetensors"\ndim = 3' + _OTHER + _TEXT, material="pairs.tsv"),
    "procrustes": Case(
        'space = "en.safetensors"\nrefinements = 2' + _OTHER + 'files = ["lexicon.tsv"]',
        material="lexicon.tsv",
        keeps=False,
    ),
    "dictionary": Case(
        """
        space = "en.safetensors"
        lang = "de"
        text = { path = "pairs.tsv", first = "en", second = "de" }
        """,
        material="pairs.tsv",
    ),
    "repair": Case(
        """
        space = "en.safetensors"
        fill = "both.safetensors"
        steps = ["remove-top:1", "whiten", "pca:3", "unit"]
        """,
        material="en.safetensors",
        keeps=False,
    ),
    "taught": Case(
        """
        teacher = { path = "said.npy" }
        dictionaries = [{ path = "lexicon.tsv", lang = "de" }]
        dim = 3
        phrases = 5
        buckets = 200
        epochs = 3
        batch = 64
        [[pairs]]
        path = "pairs.tsv"
        first = "en"
        second = "de"
        """,
        material="pairs.tsv",
        heavy=True,
    ),
    "siamese-cbow": Case(
        """
        dim = 4
        epochs = 3
        batch = 64
        min_count = 1
        texts = [{ path = "story.txt", lang = "en" }]
        """,
        material="story.txt",
        heavy=True,
    ),
    "cvm-add": Case(
        """
        dim = 4
        epochs = 3
        batch = 64
        min_count = 1
        pairs = [{ path = "pairs.tsv", first = "en", second = "de" }]
        """,
        material="pairs.tsv",
        heavy=True,
    ),
}


def write(folder):
    """Write the material of all cases into a folder, and a TOML file for each."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(20, 4)).astype(np.float32)
    # Two equal vectors and one of zeros: where a careless division would give NaN.
    vectors[1], vectors[2] = vectors[0], 0
    both = np.concatenate([vectors, vectors[:, ::-1] + np.float32(0.5)])
    _space("en", {"en": WORDS["en"]}, vectors, folder)
    _space("de", {"de": WORDS["de"]}, both[20:], folder)
    # A word more than "en", for it to be filled with.
    _space("both", {**WORDS, "en": [*WORDS["en"], "more"]}, np.insert(both, 20, 1, axis=0), folder)
    drawn = [rng.permutation(20)[:6] for _ in range(200)]
    text = {
        lang: [" ".join(words[i] for i in ids) for ids in drawn] for lang, words in WORDS.items()
    }
    _lines(folder / "text.txt", text["en"])
    _lines(folder / "story.txt", map(". ".join, zip(*[iter(text["en"])] * 3, strict=False)))
    _lines(folder / "pairs.tsv", map("\t".join, zip(text["en"], text["de"], strict=True)))
    _lines(folder / "lexicon.tsv", map("\t".join, zip(WORDS["en"], WORDS["de"], strict=True)))
    # A teacher that has said what the sentences mean, and some of the words: the sum of the words.
    means = [vectors[ids].sum(axis=0) for ids in drawn]
    np.save(folder / "said.npy", np.concatenate([means, vectors[:9]]).astype(np.float32))
    _lines(folder / "said.words.txt", [*text["en"], *WORDS["en"][:9]])
    _lines(folder / "antonyms.tsv", ["old\tnew", "happy\tunhappy"])
    _lines(folder / "vectors.txt", ["walk 1 2 3", "dog 4 5 6", "cat 7 8 9"])
    for name, case in CASES.items():
        head = [f'kind = "{case.kind or name}"', f'name = "{name}"']
        _lines(folder / f"{name}.toml", [*head, case.toml])


def starve(folder, name):
    """Leave one file without material."""
    if name.endswith(".safetensors"):
        _space(name.split(".")[0], {"en": ["walk"], "de": []}, np.ones((1, 4)), folder)
    else:
        (folder / name).write_bytes(b"")


def alter(folder, name):
    """Change one file a little: one line fewer, or other numbers."""
    path = folder / name
    if name.endswith(".safetensors"):
        space = pmeans.open_space(path)
        pmeans.save_space(replace(space, matrix=space.matrix[::-1], path=""), path)
    else:
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def _space(name, words, vectors, folder):
    space = pmeans.WordSpace.from_words(name, words, vectors)
    pmeans.save_space(space, folder / f"{name}.safetensors")


def _lines(path, lines):
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
