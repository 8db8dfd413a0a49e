"""Every way from text to vectors that is measured, each as its own users would call it.

A contestant is a function that is given a corpus and the number of spaces, prepares itself, and
returns the function that is timed: ``list[str]`` in, float32 rows out. It starts with text that
no one has touched: splitting, lower-casing and look-up belong to it. Libraries are imported
where they are used, so that a missing one costs its own row and no other.

Where a library offers a choice, it gets the better one: of batches of 32, 256, 1,024 and 4,096
the size that was fastest when tried, for sentence-transformers; fse and model2vec are called in
two ways each. Where the paper's authors have float64, they get float32, half the memory to move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from corpus import Array, Corpus

Encode = Callable[[Any], Array]
POWERS = (-np.inf, 1.0, np.inf)


def pmeans(
    corpus: Corpus, n_spaces: int, n_threads: int, reuse: bool, learned: bool = False
) -> Encode:
    """Encode with this package, into a reused array or into a fresh one.

    ``learned`` takes three lists with a power per dimension, as `PowerLearner` makes them.
    """
    from pmeans import Part, PowerMeanEncoder, Recipe, open_space

    spaces = {str(i): open_space(corpus.store(i)) for i in range(n_spaces)}
    rng = np.random.default_rng(0)
    parts = tuple(
        Part(name, like_learned(space.dim, rng) if learned else POWERS)
        for name, space in spaces.items()
    )
    encoder = PowerMeanEncoder(Recipe(parts, root="shifted" if learned else "signed"), spaces)
    out = np.zeros((0, encoder.dim), dtype=np.float32)

    def encode(sentences: str | Sequence[str]) -> Array:
        nonlocal out
        if not reuse:
            return encoder.encode(sentences, n_threads=n_threads)
        if len(out) < len(sentences):
            out = np.zeros((len(sentences), encoder.dim), dtype=np.float32)
            out.fill(0)  # touches every page: calloc leaves that to the first writer
        return encoder.encode(sentences, out=out[: len(sentences)], n_threads=n_threads)

    return encode


def like_learned(dim: int, rng: np.random.Generator) -> tuple[tuple[float, ...], ...]:
    """Return powers around min, the mean and max, (3, dim)."""
    outer, middle = (4.0, 8.0, 16.0, np.inf), (-2.0, 1.0, 2.0)
    around = [[-p for p in outer], middle, outer]
    return tuple(tuple(rng.choice(some, dim).tolist()) for some in around)


def model(corpus: Corpus, n_spaces: int, n_threads: int) -> Encode:
    """Encode with the model in the package, as the README does."""
    from pmeans import load

    return partial(load().encode, lang="de", n_threads=n_threads)


def model_before(corpus: Corpus, n_spaces: int, n_threads: int) -> Encode:
    """Encode with the same model and its map as it once was.

    That was NumPy's BLAS, always 32 rows at a time, so that a row keeps its bits.
    """
    from pmeans import load

    encoder = load()
    plain = encoder.replace(alignment=None)
    (factor,) = encoder.alignment.maps["de"].factors
    kept = encoder.alignment.kept
    block = np.zeros((32, len(factor)), np.float32)

    def encode(sentences: list[str]) -> Array:
        out = np.empty((len(sentences), encoder.dim), np.float32)
        for begin in range(0, len(sentences), 4096):
            rows = plain.encode(sentences[begin : begin + 4096], lang="de", n_threads=n_threads)
            for start in range(0, len(rows), 32):
                some = rows[start : start + 32]
                block[: len(some)] = some[:, kept:]
                product = block @ factor
                assert np.isfinite(product).all(axis=1).all()
                mapped = out[begin + start :][: len(some)]
                mapped[:, :kept] = some[:, :kept]
                mapped[:, kept:] = product[: len(some)]
        return out

    return encode


def authors_loop(corpus: Corpus, n_spaces: int) -> Encode:
    """Encode as the paper's program does: a dict of vectors, and lists of them given to NumPy."""
    spaces = []
    for i in range(n_spaces):
        words, matrix = corpus.words_and_matrix(i)
        spaces.append((dict(zip(words, matrix, strict=True)), matrix.shape[1]))

    def sentence_vector(sentence: str) -> Array:
        tokens = sentence.lower().split()
        parts = []
        for vectors, dim in spaces:
            known = [vector for token in tokens if (vector := vectors.get(token)) is not None]
            if known:
                # Each mean is given the list, and makes an array of it anew, as theirs does.
                parts += [np.min(known, axis=0), np.mean(known, axis=0), np.max(known, axis=0)]
            else:
                parts += [np.zeros(len(POWERS) * dim, dtype=np.float32)]
        return np.concatenate(parts)

    return lambda sentences: np.array([sentence_vector(s) for s in sentences], dtype=np.float32)


def careful_numpy(corpus: Corpus, n_spaces: int) -> Encode:
    """Encode with NumPy as well as one can, sentence by sentence: ids, one gather, no copies."""
    spaces = []
    for i in range(n_spaces):
        words, matrix = corpus.words_and_matrix(i)
        spaces.append(({word: row for row, word in enumerate(words)}, matrix))
    width = sum(len(POWERS) * matrix.shape[1] for _, matrix in spaces)

    def encode(sentences: Sequence[str]) -> Array:
        out = np.zeros((len(sentences), width), dtype=np.float32)
        for row, sentence in zip(out, sentences, strict=True):
            tokens = sentence.lower().split()
            begin = 0
            for rows, matrix in spaces:
                dim = matrix.shape[1]
                ids = [i for token in tokens if (i := rows.get(token)) is not None]
                if ids:
                    known = matrix[ids]
                    known.min(axis=0, out=row[begin : begin + dim])
                    known.mean(axis=0, out=row[begin + dim : begin + 2 * dim])
                    known.max(axis=0, out=row[begin + 2 * dim : begin + 3 * dim])
                begin += len(POWERS) * dim
        return out

    return encode


def model2vec(corpus: Corpus, n_spaces: int, **options: Any) -> Encode:
    from model2vec import StaticModel

    tokenizer = word_pieces(corpus)
    table = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 256), np.float32)
    return partial(StaticModel(table, tokenizer).encode, **options)


def static_embedding(corpus: Corpus, n_spaces: int) -> Encode:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    module = StaticEmbedding(word_pieces(corpus), embedding_dim=300)
    return partial(SentenceTransformer(modules=[module], device="cpu").encode, batch_size=4096)


def word_embeddings(corpus: Corpus, n_spaces: int) -> Encode:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    words, matrix = corpus.words_and_matrix(0)
    tokenizer = WhitespaceTokenizer(words, stop_words=(), do_lower_case=True)
    modules = [WordEmbeddings(tokenizer, matrix), Pooling(matrix.shape[1], ("max", "mean"))]
    return partial(SentenceTransformer(modules=modules, device="cpu").encode, batch_size=1024)


def gensim(corpus: Corpus, n_spaces: int) -> Encode:
    vectors = keyed_vectors(corpus)

    def mean(sentence: str) -> Array:
        return vectors.get_mean_vector(sentence.lower().split(), pre_normalize=False)

    return lambda sentences: np.array([mean(sentence) for sentence in sentences])


def fse(corpus: Corpus, n_spaces: int, train: bool) -> Encode:
    from fse import IndexedList
    from fse.models.average import FAST_VERSION, Average

    if FAST_VERSION < 0:
        raise ImportError("fse was built without its compiled part")
    vectors = keyed_vectors(corpus)
    vectors.expandos["count"] = np.arange(len(vectors), 0, -1)  # it refuses to train without
    model = Average(vectors)

    def encode(sentences: Sequence[str]) -> Array:
        words = [sentence.lower().split() for sentence in sentences]
        if not train:
            return model.infer([(listed, i) for i, listed in enumerate(words)])
        model.train(IndexedList(words))
        return model.sv.vectors

    return encode


def hashing(corpus: Corpus, n_spaces: int) -> Encode:
    """Count words with scikit-learn: sparse, without vectors; a yardstick for splitting alone."""
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(dtype=np.float32).transform


def keyed_vectors(corpus: Corpus) -> Any:
    from gensim.models import KeyedVectors

    words, matrix = corpus.words_and_matrix(0)
    vectors = KeyedVectors(matrix.shape[1], len(words))
    vectors.add_vectors(words, matrix)
    return vectors


def word_pieces(corpus: Corpus) -> Any:
    """Make a WordPiece tokeniser of BERT's size: common words whole, the others in pieces."""
    from collections import Counter

    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words, _ = corpus.words_and_matrix(0)
    endings = Counter(word[i : i + 3] for word in words[::10] for i in range(1, len(word) - 2))
    letters = sorted(set("".join(words)))
    pieces = ["[UNK]", *letters, *("##" + letter for letter in letters)]
    pieces += ["##" + piece for piece, _ in endings.most_common(4000)]
    pieces = list(dict.fromkeys(pieces + words))[:30000]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def floor(corpus: Corpus, n_spaces: int, n_threads: int) -> Encode:
    """Read and write what must be read and written, and nothing else."""
    from floor import Floor

    return Floor(corpus, n_spaces, n_threads)


OURS, FRESH = "pmeans, 2 threads, out=", "pmeans, 2 threads"
ONE_OURS, ONE_FRESH = "pmeans, 1 thread, out=", "pmeans, 1 thread"
LEARNED = "pmeans, 1 thread, out=, a power per dimension"
FLOOR, ONE_FLOOR = "floor, 2 threads", "floor, 1 thread"
MODEL, ONE_MODEL = "pmeans.load(), 2 threads", "pmeans.load(), 1 thread"
BEFORE = "pmeans.load(), 2 threads, its map by BLAS in blocks of 32"
AUTHORS, NUMPY = "authors' loop", "split + dict + NumPy"
M2V, M2V_BATCH = "model2vec", "model2vec, use_multiprocessing=False"
FSE, FSE_TRAIN = "fse Average.infer", "fse Average.train"
STATIC = "sentence-transformers StaticEmbedding"
POOLED = "sentence-transformers WordEmbeddings + Pooling"
GENSIM, HASHING = "gensim get_mean_vector", "scikit-learn HashingVectorizer"
CONTESTANTS: dict[str, Callable[[Corpus, int], Encode]] = {
    OURS: partial(pmeans, n_threads=2, reuse=True),
    FLOOR: partial(floor, n_threads=2),
    FRESH: partial(pmeans, n_threads=2, reuse=False),
    ONE_OURS: partial(pmeans, n_threads=1, reuse=True),
    LEARNED: partial(pmeans, n_threads=1, reuse=True, learned=True),
    ONE_FLOOR: partial(floor, n_threads=1),
    ONE_FRESH: partial(pmeans, n_threads=1, reuse=False),
    MODEL: partial(model, n_threads=2),
    ONE_MODEL: partial(model, n_threads=1),
    BEFORE: partial(model_before, n_threads=2),
    AUTHORS: authors_loop,
    NUMPY: careful_numpy,
    FSE: partial(fse, train=False),
    FSE_TRAIN: partial(fse, train=True),
    M2V: model2vec,
    M2V_BATCH: partial(model2vec, use_multiprocessing=False),
    STATIC: static_embedding,
    POOLED: word_embeddings,
    GENSIM: gensim,
    HASHING: hashing,
}
EXACT = (OURS, FRESH, ONE_OURS, ONE_FRESH, NUMPY)
"""Contestants whose rows must equal those of the authors' loop."""
HERE = Path(__file__).parent
