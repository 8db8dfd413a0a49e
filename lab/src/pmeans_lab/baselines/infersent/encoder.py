"""InferSent (Conneau et al. 2017): an LSTM reads the words both ways, and the maximum is kept.

::

    x_1 … x_n   vectors of the sentence's known words, which training does not change
    h_t         state of an LSTM after x_1 … x_t, beside that of another one after x_n … x_t
    row         the maximum of h_1 … h_n, column by column

The two LSTMs are one `torch.nn.LSTM`, with its gates in its order: input, forget, cell, output.

Conventions. The maximum is over the words of the sentence alone: in the authors' first program,
the zeros that fill a batch up took part, so that a row depended on its neighbours. Unknown words
are skipped, and a sentence without known words is a zero row; theirs has marks for begin and end
of a sentence, which these word spaces have no vectors for. A text of more than `LONGEST` words is
read in pieces of so many, each from the beginning, and the maximum is over all.

A row in a batch and the same row alone agree to about 1e-6, and not to the bit: products of
matrices add up in another order where there are other numbers of rows, and only rows of power
means are added up by our own kernels. Float32 is used on either device.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from pmeans import kernels
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import FormatError
from pmeans.files import optional
from pmeans.languages.tokenizers import splitting
from pmeans.models.baselines import MeanBaseline, Parts, Settings, array, checksum
from pmeans.spaces.space import WordSpace
from pmeans.types import Array, Floats, Ints, TokenBatch, Tokenizer

LONGEST = 1024
"""Words of a piece of a text."""
ROWS, WORDS = 128, 8192
"""Sentences of a batch, at most, and words if they were all as long as the longest one."""


class InferSent(MeanBaseline):
    """A bidirectional LSTM with max pooling over the words of one space.

    It uses CUDA where torch finds it, and else the CPU.
    """

    kind: ClassVar[str] = "infersent"

    def __init__(
        self,
        name: str,
        words: PowerMeanEncoder,
        weights: Mapping[str, Array],
        trained: Settings,
    ) -> None:
        """Join weights with the words that they are for.

        Args:
            name: For result rows and tables.
            words: What `pmeans.models.baselines.word_mean` makes of a space.
            weights: ``input`` (2, 4 * hidden, dim_words), ``state`` (2, 4 * hidden, hidden) and
                ``bias`` (2, 4 * hidden), forwards and backwards; stored in float16.
            trained: How they came about: numbers, strings and lists. They reach no row.
        """
        super().__init__(name, words)
        self.trained = dict(trained)
        self._weights = _checked(weights, self.space.dim)
        self.dim = 2 * self._weights["state"].shape[2]

    def settings(self) -> Settings:
        """Return how the weights came about."""
        return dict(self.trained)

    def arrays(self) -> dict[str, Array]:
        """Return the weights."""
        return dict(self._weights)

    @classmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Join the stored weights with the stored words."""
        return cls(name, parts.encoder(), parts.arrays, parts.settings)

    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits over everything that reaches a row, and no name."""
        weights = checksum(self._weights)
        found = hashlib.sha256(repr((self.kind, self.format, weights)).encode())
        found.update(self.encoder.fingerprint().encode())
        return found.hexdigest()[:12]

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings of one language, which is covered, into rows, (n, dim) float32."""
        batch = word_ids(texts, self.space, lang, self.encoder.recipe.tokenizer, n_threads)
        with _threads(n_threads):
            return self._pooled(batch)

    def _pooled(self, batch: TokenBatch) -> Floats:
        """Return the maximum over the words of each sentence, (n, dim)."""
        n_words: Ints = np.diff(batch.offsets)
        n_pieces = -(-n_words // LONGEST)
        first = np.cumsum(n_pieces) - n_pieces
        owner = np.repeat(np.arange(len(batch)), n_pieces)
        begins = batch.offsets[owner] + LONGEST * (np.arange(len(owner)) - first[owner])
        lengths = np.minimum(batch.offsets[owner + 1] - begins, LONGEST)
        pieces = np.empty((len(owner), self.dim), dtype=np.float32)
        # Sentences of about the same length together: few words wait for a longer neighbour.
        order = np.argsort(-lengths, kind="stable")
        at = 0
        while at < len(order):
            some = order[at : at + max(1, min(ROWS, WORDS // int(lengths[order[at]])))]
            pieces[some] = self._states(batch.ids, begins[some], lengths[some])
            at += len(some)
        rows = np.zeros((len(batch), self.dim), dtype=np.float32)
        known = n_pieces > 0
        if known.any():
            rows[known] = np.maximum.reduceat(pieces, first[known], axis=0)
        return rows

    def _states(self, ids: Array, begins: Ints, lengths: Ints) -> Floats:
        torch = _torch()
        places, sizes = packed(begins, lengths)
        words = torch.from_numpy(self.space.rows(ids[places])).to(self._lstm.bias_ih_l0.device)
        with torch.inference_mode(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            found: Floats = max_pooled(self._lstm, words, sizes).cpu().numpy()
        return found

    @cached_property
    def _lstm(self) -> Any:
        torch = _torch()
        n_words, hidden = self.space.dim, self.dim // 2
        lstm = torch.nn.LSTM(n_words, hidden, bidirectional=True, device="meta")
        lstm = lstm.to_empty(device="cuda" if torch.cuda.is_available() else "cpu")
        weights = lstm_weights(self._weights)
        lstm.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
        return lstm


def word_ids(
    texts: Sequence[str],
    space: WordSpace,
    lang: str,
    tokenizer: Tokenizer,
    n_threads: int | None = None,
) -> TokenBatch:
    """Return the rows of the known words of texts of one language, in their order."""
    space.check_whole()
    table = replace(space.table(lang), phrases=None), space.case, -1
    return kernels.lookup(texts, [table], splitting(tokenizer, lang), n_threads)[0]


_NAMES = {"input": "weight_ih", "state": "weight_hh", "bias": "bias_ih"}
_DIRECTIONS = ("", "_reverse")


def stored_weights(parameters: Mapping[str, Array]) -> dict[str, Array]:
    """Return torch's parameters of an LSTM as they are stored, float16; its two biases are one."""
    found = {}
    for key, name in _NAMES.items():
        both = [parameters[f"{name}_l0{ending}"] for ending in _DIRECTIONS]
        if key == "bias":
            hidden = (parameters[f"bias_hh_l0{ending}"] for ending in _DIRECTIONS)
            both = [one + other for one, other in zip(both, hidden, strict=True)]
        found[key] = np.stack(both).astype(np.float16)
    return found


def lstm_weights(stored: Mapping[str, Array]) -> dict[str, Floats]:
    """Return stored weights as torch's parameters of an LSTM, float32."""
    found: dict[str, Floats] = {}
    for direction, ending in enumerate(_DIRECTIONS):
        for key, name in _NAMES.items():
            found[f"{name}_l0{ending}"] = stored[key][direction].astype(np.float32)
        found[f"bias_hh_l0{ending}"] = np.zeros_like(found[f"bias_ih_l0{ending}"])
    return found


def packed(begins: Ints, lengths: Ints) -> tuple[Ints, Any]:
    """Return the places of words in the order of torch's packed sequences.

    Args:
        begins: Where the words of each sentence begin, (n,).
        lengths: How many they are, (n,), at least one, the longest sentence first.

    Returns:
        First the places of all first words, then those of all second words, and so on, (n_tokens,);
        and how many words there are at each step, a tensor (longest,).
    """
    steps = np.arange(lengths[0])[:, None]
    inside = steps < lengths
    return (begins + steps)[inside], _torch().from_numpy(inside.sum(axis=1))


def max_pooled(lstm: Any, words: Any, sizes: Any) -> Any:
    """Return the maximum of each sentence's states, a tensor (n, 2 * hidden).

    Args:
        lstm: A bidirectional `torch.nn.LSTM` of one layer.
        words: Vectors in packed order, (n_tokens, dim_words).
        sizes: Number of words at each step, (longest,), on the CPU.
    """
    rnn = _torch().nn.utils.rnn
    states, _ = lstm(rnn.PackedSequence(words, sizes))
    # Padding of -inf is never the maximum, as every sentence has a word.
    return rnn.pad_packed_sequence(states, padding_value=-math.inf)[0].max(dim=0).values


def _torch() -> Any:
    return optional("torch", "train", "InferSent")


def _checked(weights: Mapping[str, Array], dim: int) -> dict[str, Array]:
    """Return the weights alone, (2, …) each, or say what is wrong with them."""
    state = array(weights, "state", (2, None, None))
    hidden = state.shape[2]
    found = {
        "input": array(weights, "input", (2, 4 * hidden, dim)),
        "state": array(weights, "state", (2, 4 * hidden, hidden)),
        "bias": array(weights, "bias", (2, 4 * hidden)),
    }
    if not state.size:
        raise FormatError("the array 'state' is empty.")
    return found


@contextlib.contextmanager
def _threads(n_threads: int | None) -> Iterator[None]:
    """Let torch use so many threads of the CPU meanwhile; all that it has if None."""
    torch = _torch()
    before = torch.get_num_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
