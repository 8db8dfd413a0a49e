"""An encoder as mteb's `AbsEncoder`, so that it runs mteb's tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import LanguageError
from pmeans.files import optional
from pmeans.languages.codes import language_code
from pmeans.types import Floats

_LIBRARY = optional("mteb.models.abs_encoder", "mteb", "pmeans.integrations.mteb")
_AbsEncoder: Any = _LIBRARY.models.abs_encoder.AbsEncoder


class MTEBEncoder(_AbsEncoder):
    """A model for ``mteb.evaluate(model, tasks)``.

    Attributes:
        mteb_model_meta: Name and fingerprint, which mteb keeps results under.
    """

    def __init__(self, encoder: PowerMeanEncoder) -> None:
        """Take the encoder."""
        self.model = encoder
        about = {
            "name": f"pmeans/{encoder.name}",
            "revision": encoder.fingerprint(),
            "embed_dim": encoder.dim,
            "framework": ["NumPy"],
            "similarity_fn_name": _LIBRARY.models.model_meta.ScoringFunction.COSINE,
            "use_instructions": False,
        }
        self.mteb_model_meta = _LIBRARY.models.ModelMeta.create_empty(about)

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **_: Any,
    ) -> Floats:
        """Return a row per text, (n, dim) float32.

        The language is that of the task's subset. Where a subset has several, as pairs of
        translations do, it is found among them, text by text; where the encoder does not cover all
        of them, among its own.

        Args:
            inputs: Batches, with the texts in ``batch["text"]``.
            task_metadata: The task's, whose ``eval_langs`` say which languages its subsets are in.
            hf_split: Changes nothing.
            hf_subset: The part of the task's data that the texts are from.
            prompt_type: Changes nothing: queries are encoded as documents are.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        named = task_metadata.hf_subsets_to_langscripts.get(hf_subset, [hf_subset])
        rows: Floats = self._encoder_of(named).encode(texts)
        return rows

    def _encoder_of(self, named: Iterable[str]) -> PowerMeanEncoder:
        """Return the encoder of some languages, as mteb names them: ``"deu-Latn"``."""
        codes = [name.replace("_", "-").partition("-")[0] for name in named]
        names = [_LIBRARY.languages.ISO_TO_LANGUAGE.get(code, code) for code in codes]
        encoder: PowerMeanEncoder = self.model
        if not encoder.languages:
            return encoder
        try:
            return encoder.replace(languages=[language_code(n, encoder.languages) for n in names])
        except LanguageError:
            return encoder
