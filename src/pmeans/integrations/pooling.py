"""Power means over the tokens of any transformer, as a module of sentence-transformers.

The formulas are those of `pmeans.kernels.reference`, in torch, so that one can train through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pmeans.errors import InputError
from pmeans.files import optional

_EXTRA = "sentence-transformers", "pmeans.integrations.pooling"
_Module: Any = optional("sentence_transformers.base.modules", *_EXTRA).base.modules.Module
_TORCH = optional("torch", *_EXTRA)
_INF = float("inf")


class PowerMeanPooling(_Module):
    """Power means of a transformer's tokens, side by side: what `Pooling` is for mean and max.

    It reads ``token_embeddings``, (n, length, dim), and ``attention_mask``, (n, length), and adds
    ``sentence_embedding``, (n, len(powers) * dim). Tokens under the mask do not count, and a
    sentence of none is a zero row. Roots are signed. The gradient at 0 is 0.
    """

    config_keys = ("embedding_dimension", "powers")

    def __init__(
        self, embedding_dimension: int, powers: Sequence[float | str] = (-_INF, 1.0, _INF)
    ) -> None:
        """Take the width of a token, and powers above 0 or infinite: ``inf`` is max."""
        super().__init__()
        self.embedding_dimension = embedding_dimension
        self.powers = tuple(map(float, powers))
        wrong = [p for p in self.powers if not (p > 0 or p == -_INF)]
        if wrong or not self.powers:
            raise InputError(f"powers are above 0, inf or -inf, and at least one: got {powers!r}.")

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add ``sentence_embedding`` to the features."""
        tokens = features["token_embeddings"]
        attention = features.get("attention_mask")
        mask = (
            _TORCH.ones(tokens.shape[:2], device=tokens.device) if attention is None else attention
        )
        out = (mask == 0).unsqueeze(-1)
        # Half precision has neither the range nor the digits for powers.
        x = tokens.to(_TORCH.promote_types(tokens.dtype, _TORCH.float32))
        means = [_power_mean(x, out, p) for p in self.powers]
        pooled = _TORCH.cat(means, dim=-1).masked_fill(out.all(dim=1), 0)
        features["sentence_embedding"] = pooled.to(tokens.dtype)
        return features

    def get_embedding_dimension(self) -> int:
        """Return the number of columns of a row."""
        return self.embedding_dimension * len(self.powers)

    def get_config_dict(self) -> dict[str, Any]:
        """Return what `load` makes the module of; powers are texts, as JSON has no infinity."""
        return {**super().get_config_dict(), "powers": list(map(str, self.powers))}

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the configuration into a folder."""
        self.save_config(output_path)


def _power_mean(x: Any, out: Any, p: float) -> Any:
    """Return the power mean over tokens, (n, dim), of x, (n, length, dim), without those out."""
    if abs(p) == _INF:
        masked = x.masked_fill(out, -p)
        return masked.amax(dim=1) if p > 0 else masked.amin(dim=1)
    masked = x.masked_fill(out, 0)
    count = (~out).sum(dim=1).clamp(min=1)
    if p == 1:
        return masked.sum(dim=1) / count
    # SCALE as in the reference. The mean is homogeneous, so the scale needs no gradient.
    largest = masked.detach().abs().amax(dim=1)
    scale = largest.masked_fill(largest == 0, 1)
    powers = _signed_power(masked / scale.unsqueeze(1), p)
    return scale * _signed_power((powers.abs() if p % 2 == 0 else powers).sum(dim=1) / count, 1 / p)


def _signed_power(x: Any, p: float) -> Any:
    # Below p = 1 the slope at 0 is infinite, and infinity times 0 would be NaN.
    return x.sign() * x.abs().masked_fill(x == 0, 1).pow(p)
