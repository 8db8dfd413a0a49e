"""Text and word vectors to measure with, made from a seed: nothing is downloaded.

A corpus is a folder that every contestant reads for itself::

    corpus/
        sentences.txt            one sentence a line
        space0.safetensors ...   word spaces, as `pmeans.save_space` writes them

What decides the speed of look-up and gather is copied from English:

- ranks follow Zipf and Mandelbrot, with the exponent at which the 4,000 commonest words make up
  87 % of running text (that many rows lie in cache, the others do not); the commonest word has
  about 6 %;
- frequent words are short (4 to 5 letters in running text) and rare ones long (8 to 9);
- each space knows its own 400,000 of 440,000 words, and all of the commonest; rows lie
  roughly in the order of frequency, as in published files, in each space a little different;
- sentences are 20 words long and begin with a capital, so that lower-casing is real work.

Vectors are normally distributed; no contestant's speed depends on their values.

Only NumPy is needed to read a corpus, because one peer lives in an environment of its own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
COMMON, SHARE = 4000, 0.87
WORDS_A_SENTENCE = 20
_CONSONANTS = np.array(list("bbccddffgghhhjkllllmmnnnnnnppqrrrrrrsssssstttttttvwwxyz"))
_VOWELS = np.array(list("aaaaeeeeeeeiiiioooouu"))


class Corpus:
    """A folder with sentences and word spaces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lines(self) -> Iterator[str]:
        """Iterate over the sentences without holding them."""
        with open(self.folder / "sentences.txt", encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file)

    def sentences(self, limit: int | None = None) -> list[str]:
        """Return the first sentences, or all."""
        return list(islice(self.lines(), limit))

    def store(self, i: int) -> Path:
        """Return the file of space i."""
        return self.folder / f"space{i}.safetensors"

    def words_and_matrix(self, i: int) -> tuple[list[str], Array]:
        """Read space i into memory: its words, and its matrix, (n_words, dim) float32."""
        path = self.store(i)
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))

        def tensor(name: str, dtype: str) -> Array:
            begin, end = header[name]["data_offsets"]
            size = np.dtype(dtype).itemsize
            flat = np.fromfile(path, dtype, (end - begin) // size, offset=8 + length + begin)
            return flat.reshape(header[name]["shape"])

        text, offsets = tensor("words.en", "u1").tobytes(), tensor("offsets.en", "<i8").tolist()
        words = [text[begin:end].decode("utf-8") for begin, end in pairwise(offsets)]
        return words, tensor("matrix", "<f4")


def synthetic(
    folder: Path, n_words: int, n_sentences: int, n_spaces: int = 4, dim: int = 300
) -> Corpus:
    """Make a corpus that is like English in all that decides the speed."""
    corpus = Corpus(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1111)
    pool = make_words(n_words + n_words // 10, rng)
    probabilities = zipf(len(pool))
    drawn = np.searchsorted(np.cumsum(probabilities), rng.random((n_sentences, WORDS_A_SENTENCE)))
    with open(folder / "sentences.txt", "w", encoding="utf-8") as file:
        for row in np.minimum(drawn, len(pool) - 1).tolist():
            file.write(" ".join([pool[row[0]].capitalize(), *(pool[i] for i in row[1:])]) + "\n")
    for i in range(n_spaces):
        words = [pool[rank] for rank in known_ranks(len(pool), n_words, rng).tolist()]
        matrix = rng.standard_normal((n_words, dim), dtype=np.float32) * np.float32(0.3)
        save(corpus.store(i), words, matrix)
    return corpus


def real(folder: Path, data: Path, limit: int) -> Corpus:
    """Make a corpus of film reviews and plot summaries, with the vectors that lie beside them."""
    corpus = Corpus(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tasks = data / "tasks" / "senteval"
    names = [
        "MR/rt-polarity.neg",
        "MR/rt-polarity.pos",
        "SUBJ/subj.objective",
        "SUBJ/subj.subjective",
    ]
    with open(folder / "sentences.txt", "w", encoding="utf-8") as file:
        for name in names:
            text = (tasks / name).read_text(encoding="utf-8", errors="replace")
            lines = (line.strip() for line in text.split("\n")[: limit // len(names)])
            file.writelines(line + "\n" for line in lines if line)
    for i, name in enumerate(["googlenews-w2v-300d.en", "glove-6b-100d.en"]):
        words = (data / "vectors" / f"{name}.words.txt").read_text(encoding="utf-8").split("\n")
        matrix = np.load(data / "vectors" / f"{name}.f16.npy").astype(np.float32)
        # One spelling a word: a space that is looked up in lower case cannot tell more apart.
        rows = {word.lower(): row for row, word in reversed(list(enumerate(words[: len(matrix)])))}
        order = sorted(rows.items(), key=lambda item: item[1])
        save(corpus.store(i), [word for word, _ in order], matrix[[row for _, row in order]])
    return corpus


def german(folder: Path, data: Path, limit: int) -> Corpus:
    """Make a corpus of German everyday sentences, with the words of the model in the package."""
    import pmeans

    corpus = Corpus(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(data / "parallel" / "en-de.tsv.gz", "rt", encoding="utf-8") as pairs:
        fields = (line.rstrip("\n").split("\t") for line in pairs)
        texts = islice((text for source, _, text in fields if source == "tatoeba"), limit)
        with open(folder / "sentences.txt", "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in texts)
    space = next(iter(pmeans.load().spaces.values()))
    words = list(space.words("de"))
    first = space.table("de").start
    save(corpus.store(0), words, space.rows(slice(first, first + len(words))))
    return corpus


def save(path: Path, words: list[str], matrix: Array) -> None:
    import pmeans

    pmeans.save_space(pmeans.WordSpace.from_words(path.stem, {"en": words}, matrix), path)


def zipf(n: int) -> Array:
    """Return the probability of every rank, (n,), such that the commonest make up their share."""
    ranks = np.arange(1, n + 1)
    common = min(COMMON, n // 100)  # as many in a hundred if the vocabulary is a small one
    low, high = 0.5, 3.0
    for _ in range(50):
        exponent = (low + high) / 2
        weights = (ranks + 2.7) ** -exponent
        if weights[:common].sum() < SHARE * weights.sum():
            low = exponent
        else:
            high = exponent
    return weights / weights.sum()


def make_words(n: int, rng: np.random.Generator) -> list[str]:
    """Make n distinct words, the frequent ones first and short, a few with accents."""
    ranks = np.arange(1, n + 1)
    lengths = np.rint(rng.normal(2.2 + 1.15 * np.log10(ranks), 0.4 + 0.3 * np.log10(ranks)))
    lengths = np.clip(lengths, 1, 20).astype(int)
    letters = np.empty((n, 24), dtype="<U1")
    letters[:, 0::2] = rng.choice(_CONSONANTS, (n, 12))
    letters[:, 1::2] = rng.choice(_VOWELS, (n, 12))
    letters[rng.random(n) < 0.02, 1] = "é"
    # A letter more until the word is new. Later letters then differ, so this ends soon.
    words: dict[str, None] = {}
    for row, length, start in zip(letters, lengths, rng.integers(0, 2, n), strict=True):
        word = "".join(row[start : start + length])
        while word in words:
            word += rng.choice(_VOWELS) + rng.choice(_CONSONANTS)
        words[word] = None
    return list(words)


def known_ranks(n_pool: int, n_words: int, rng: np.random.Generator) -> Array:
    """Choose the words of one space, in its order: ranks in the pool, (n_words,)."""
    ranks = np.arange(n_pool)
    # The smallest keys are kept: common words always, of the others ten in eleven.
    key = rng.random(n_pool) + np.where(ranks < COMMON, -0.9, 0)
    kept = np.argsort(key, kind="stable")[:n_words]
    return kept[np.argsort((kept + 1) * rng.lognormal(0, 0.3, n_words), kind="stable")]
