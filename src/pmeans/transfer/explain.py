"""Which words pushed a linear classifier's decision about one sentence.

A decision is a weighted sum of columns, and a column is a power mean over words. So nothing is
estimated: the alignment is folded into the weights, the z-norm too, and each column's term
v · (M - mean) is divided among the words that made M:

==========  ==================================================================================
p = 1       word i gets v · (xᵢ - mean) / n
p = ±inf    the first word with the largest (smallest) value gets v · (M - mean)
other p     word i gets v · (M · xᵢᵖ / Σ xⱼᵖ - mean / n); v · (M - mean) / n where the powers nearly
            cancel, see `CANCELLED`
shifted     word i gets v · ∂M/∂xᵢ · (xᵢ - mean); these derivatives are at least 0 and add up to 1
==========  ==================================================================================

where xᵖ is sign(x)·|x|ᵖ, or |x|ᵖ for even p. All but the second are Euler's rule, xᵢ · ∂M/∂xᵢ,
which adds up to M because M(s·x) = s·M(x); the second is their limit. Means stay with the words:
moved into the constant they would leave every word with a push that any other word has too.
A part that knows no word of the sentence is zero after the z-norm, and gives nothing to anyone.

`most_telling` is what a classifier has learned, in brief: each word is encoded as a sentence of its
own. That is no sentence it was trained on, so the numbers are large, but their order shows what it
listens to, in any language it covers.

Words and constant add up to the decision: `tests/property/test_explain_sums.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.sentence_encoder import CHUNK, chunks
from pmeans.errors import InputError, did_you_mean, shown
from pmeans.kernels.splitting import JOINERS, composed, digits_apart, plain_characters
from pmeans.languages.tokenizers import tokenize
from pmeans.types import Array, Floats, Power, Root, TokenBatch, Tokenizer

Doubles = npt.NDArray[np.float64]

CANCELLED = 0.05
"""Where |Σ xᵖ| is at most this share of Σ |xᵖ|, all words share a column alike: Euler's shares
would be large numbers of either sign for a column near 0. `benchmarks/explain.py` compares
thresholds with what happens when a word is left out."""

COMMONEST = 20_000
"""How many words are tried. Spaces list their words by frequency, nearly all of them."""


@dataclass(frozen=True)
class TokenPush:
    """One token of the sentence.

    Attributes:
        text: As it stands in the sentence.
        start: Its first character in the sentence.
        end: The character after its last.
        contribution: How far it pushes towards the label, or, below 0, away from it.
        known: Whether at least one word space has a vector for it; if not, it pushes nowhere.
    """

    text: str
    start: int
    end: int
    contribution: float
    known: bool


@dataclass(frozen=True)
class Explanation:
    """A decision between two classes, divided among the words of the sentence.

    Attributes:
        sentence: The text.
        lang: Its language.
        label: The class that is explained.
        against: The best other class. All contributions are differences of these two.
        decisions: The decision value of every class.
        tokens: The sentence's words, in order.
        constant: The difference of the two biases, which no word is responsible for.
    """

    sentence: str
    lang: str
    label: str
    against: str
    decisions: Mapping[str, float]
    tokens: tuple[TokenPush, ...]
    constant: float

    @property
    def margin(self) -> float:
        """How far the label is ahead: the sum of all contributions and the constant."""
        return self.decisions[self.label] - self.decisions[self.against]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, strings and numbers."""
        plain = asdict(self)
        return plain | {"margin": self.margin, "tokens": list(plain["tokens"])}

    def as_text(self, width: int = 80) -> str:
        """Return a line for the decision and one with a bar for each word, in order.

        Where the terminal has less than 40 columns, lines are longer than its width.
        """
        words = [_printable(token.text) for token in self.tokens]
        room = max(width, 40) // 3
        words = [word if len(word) <= room else word[: room - 1] + "…" for word in words]
        column = max(map(len, words), default=0)
        half = max((max(width, 40) - column - 11) // 2, 1)
        longest = max((abs(token.contribution) for token in self.tokens), default=0) or 1.0
        lines = [self.verdict()]
        for word, token in zip(words, self.tokens, strict=True):
            size = round(abs(token.contribution) / longest * half)
            away, towards = ("-" * size, "") if token.contribution < 0 else ("", "+" * size)
            number = f"{token.contribution:+.3f}" if token.known else "unknown"
            lines.append(f"{word:>{column}} {number:>8} {away:>{half}}|{towards}")
        return "\n".join(line.rstrip() for line in lines)

    def verdict(self) -> str:
        """Return the decision in one line, for people."""
        words = f"words {sum(token.contribution for token in self.tokens):+.3f}"
        if not any(token.known for token in self.tokens):
            words = "no known word"
        return (
            f"{_printable(self.label)} rather than {_printable(self.against)}: {self.margin:+.3f} "
            f"({words}, constant {self.constant:+.3f})"
        )


def explain(
    encoder: PowerMeanEncoder,
    weights: Floats,
    bias: Floats,
    classes: Sequence[str],
    sentence: str,
    *,
    lang: str,
    label: str | None = None,
) -> Explanation:
    """Divide a linear classifier's decision about one sentence among its words.

    The encoder makes the classifier's rows, z-norm and alignment included. Weights are (n_classes,
    dim), the bias (n_classes,), with at least two classes. The label is the class to explain; None
    takes the one that is predicted.
    """
    check_classifier(weights, bias, classes, encoder.dim)
    wanted = None if label is None else position(label, classes)
    decisions = encoder.encode(sentence, lang=lang) @ weights.T + bias
    chosen = int(decisions.argmax()) if wanted is None else wanted
    other = int(np.where(np.arange(len(classes)) == chosen, -np.inf, decisions).argmax())
    difference: Array = weights[chosen].astype(np.float64) - weights[other]
    tokens = tokenize(sentence, encoder.recipe.tokenizer, lang)
    spans = token_spans(sentence, tokens, encoder.recipe.tokenizer)
    pushes, known = _pushes(encoder, difference, tokens, lang)
    return Explanation(
        sentence,
        lang,
        classes[chosen],
        classes[other],
        dict(zip(classes, decisions.tolist(), strict=True)),
        tuple(
            TokenPush(sentence[start:end], start, end, push, is_known)
            for (start, end), push, is_known in zip(
                spans, pushes.tolist(), known.tolist(), strict=True
            )
        ),
        float(bias[chosen]) - float(bias[other]),
    )


def position(label: str, classes: Sequence[str]) -> int:
    """Return the number of a class."""
    if label not in classes:
        raise InputError(
            f"no class {shown(label)} among the classifier's {len(classes)}."
            f"{did_you_mean(label, classes)}"
        )
    return classes.index(label)


def check_classifier(weights: Floats, bias: Floats, classes: Sequence[str], dim: int) -> None:
    """Raise an error if weights, bias, classes and an encoder of ``dim`` columns do not fit."""
    if len(classes) < 2:
        raise InputError(f"a decision needs two classes or more, not {list(classes)}.")
    if weights.shape != (len(classes), dim) or bias.shape != (len(classes),):
        raise InputError(
            f"weights {weights.shape} and bias {bias.shape} do not fit {len(classes)} classes and "
            f"an encoder of {dim} columns: was the classifier trained on another encoder's rows?"
        )


def token_spans(
    sentence: str, tokens: Sequence[str], tokenizer: Tokenizer
) -> list[tuple[int, int]]:
    """Return where each token of `tokenize` begins and ends in the sentence.

    In plain characters, with digits apart, only white space is between the tokens. A
    character of a token is one of these, spelled otherwise perhaps, or a letter with the marks that
    follow it. Invisible characters at the edge of a token are outside its span.
    """
    forms = list(sentence if tokenizer == "whitespace" else plain_characters(sentence))
    places = [i for i, form in enumerate(forms) for _ in form]
    text = "".join(forms) if tokenizer == "whitespace" else digits_apart("".join(forms))
    spans = []
    end = 0
    for token in tokens:
        start = end
        while text[start].isspace():
            start += 1
        end = start
        for character in token:
            letter = text[end]
            end += 1
            while letter != character and letter not in JOINERS:
                letter = composed(letter + text[end])
                end += 1
        spans.append((places[start], places[end - 1] + 1))
    return spans


def _pushes(
    encoder: PowerMeanEncoder, weights: Array, tokens: list[str], lang: str
) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Return how far each token pushes along the weights, and whether a part knows it."""
    if encoder.alignment:
        weights = encoder.alignment.fold(weights[None], lang)[0]
    means = np.zeros(len(weights))
    if encoder.znorm:
        statistics = encoder.znorm.for_language(lang)
        means, weights = statistics.mean.astype(np.float64), weights * statistics.factor
    pushes, known = np.zeros(len(tokens)), np.zeros(len(tokens), dtype=np.bool_)
    begin = 0
    for part in encoder.recipe.parts:
        space = encoder.spaces[part.space]
        units = space.joined(tokens, lang) if part.phrases else tokens
        vectors, has = space.vectors(units, lang)
        end = begin + len(part.powers) * vectors.shape[1]
        lengths = [unit.count(" ") + 1 for unit in units]
        if has.any():
            shares = np.zeros(len(units))
            shares[has] = _part_pushes(
                vectors[has], part.powers, encoder.recipe.root, weights[begin:end], means[begin:end]
            )
            pushes += np.repeat(shares / lengths, lengths)
        known |= np.repeat(has, lengths)
        begin = end
    return pushes, known


def _part_pushes(
    vectors: Floats, powers: Sequence[Power], root: Root, weights: Array, means: Doubles
) -> Doubles:
    """Return how far each known word pushes, (n_known,), over all columns of a part.

    Vectors are (n_known, dim), weights those of the part's columns before the z-norm, and means
    what it subtracts from them, (len(powers) * dim,) each.
    """
    n, dim = vectors.shape
    every_word = TokenBatch(np.arange(n, dtype=np.int32), np.array([0, n]), np.zeros(1, np.int32))
    columns = kernels.power_means(vectors, every_word, powers, root=root)[0]
    pushes = np.zeros(n)
    for k, p in enumerate(powers):
        of_power = slice(k * dim, (k + 1) * dim)
        if root == "shifted":
            shares = _shifted_shares(vectors, p, means[of_power])
        else:
            assert isinstance(p, float)
            shares = _shares(vectors, p, columns[of_power], means[of_power])
        pushes += shares @ weights[of_power]
    return pushes


def _shares(vectors: Floats, p: float, values: Floats, means: Doubles) -> Doubles:
    """Divide columns minus their means among the words, (n_known, dim); see the module's table."""
    x = vectors.astype(np.float64)
    n, dim = x.shape
    if np.isinf(p):
        shares = np.zeros((n, dim))
        first = x.argmax(axis=0) if p > 0 else x.argmin(axis=0)
        shares[first, np.arange(dim)] = values - means
        return shares
    if p == 1:
        return (x - means) / n
    # As in `kernels.reference`, dividing by the largest magnitude (below p = 0 the smallest)
    # keeps every power within [0, 1]. Where a value is 0 and p <= 0, the column is 0 as well.
    sizes = np.abs(x)
    scale = sizes.max(axis=0) if p > 0 else sizes.min(axis=0)
    sizes = np.divide(sizes, scale, where=scale > 0, out=np.ones_like(x))
    powers = sizes**p if p % 2 == 0 else np.sign(x) * sizes**p
    total = powers.sum(axis=0)
    cancelled = np.abs(total) <= CANCELLED * np.abs(powers).sum(axis=0)
    fractions = np.divide(powers, total, where=~cancelled, out=np.full_like(x, 1 / n))
    return fractions * values - means / n


def _shifted_shares(vectors: Floats, p: Power, means: Doubles) -> Doubles:
    """Divide the columns of a shifted mean as `_shares` does."""
    x = vectors.astype(np.float64)
    n, dim = x.shape
    powers = np.broadcast_to(np.asarray(p, dtype=np.float64), dim)
    # Below 0, the mean is that of the negative numbers, and its derivatives are the same.
    turned = np.where(powers > 0, x, -x)
    distance = turned - turned.min(axis=0)
    limit = np.isinf(powers)
    size = np.where(limit, 1.0, np.abs(powers))
    farthest = distance.max(axis=0)
    u = np.divide(distance, farthest, where=farthest > 0, out=np.ones_like(x))
    of_distances = np.power(np.power(u, size).mean(axis=0), 1 / size)
    derivatives = np.power(u / of_distances, size - 1) / n
    first = np.arange(n)[:, None] == turned.argmax(axis=0)
    derivatives = np.where(limit, first, derivatives)
    # All other words move away from the least one when it moves: the rest of 1 is its own.
    derivatives[turned.argmin(axis=0), np.arange(dim)] += 1 - derivatives.sum(axis=0)
    return derivatives * (x - means)


def _printable(text: str) -> str:
    # A control character of the text must not steer the terminal.
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def most_telling(
    encoder: PowerMeanEncoder,
    weights: Floats,
    bias: Floats,
    classes: Sequence[str],
    *,
    lang: str,
    k: int = 10,
) -> dict[str, list[tuple[str, float]]]:
    """Return the ``k`` words that by themselves push most towards each class; see `explain`.

    Returns:
        For each class words and how far they put it ahead of the best other class, best first.
        Of the commonest words that every space knows, those that the class wins; a class may
        have none.
    """
    check_classifier(weights, bias, classes, encoder.dim)
    words = list(islice(_known_to_all(encoder, lang), COMMONEST))
    blocks = encoder.encode_batches(words, lang=lang)
    decisions = np.concatenate(
        [np.empty((0, len(classes)), np.float32), *(rows @ weights.T + bias for rows in blocks)]
    )
    winner = decisions.argmax(axis=1)
    best = np.partition(decisions, -2, axis=1)
    margin = best[:, -1] - best[:, -2]
    telling = {}
    for c, name in enumerate(classes):
        won = np.flatnonzero(winner == c)
        first = won[np.argsort(-margin[won], kind="stable")[:k]]
        telling[name] = [(words[i], float(margin[i])) for i in first]
    return telling


def _known_to_all(encoder: PowerMeanEncoder, lang: str) -> Iterator[str]:
    """Iterate over words of letters that every space has a row for, in the first one's order."""
    spaces, tokenizer = list(encoder.spaces.values()), encoder.recipe.tokenizer
    listed = (word for word in spaces[0].words(lang) if any(map(str.isalpha, word)))
    whole = (word for word in listed if tokenize(word, tokenizer, lang) == [word])
    for words, _ in chunks(whole, lang, CHUNK):
        known = np.all([space.find(words, lang) >= 0 for space in spaces], axis=0)
        yield from (word for word, is_known in zip(words, known, strict=True) if is_known)
