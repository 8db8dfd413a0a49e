"""An encoder as a `SentenceTransformer`.

The rows are made where sentence-transformers would tokenise, so that they reach the device as a
finished tensor. They are the encoder's own, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pmeans import models
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.files import optional

_EXTRA = "sentence-transformers", "pmeans.integrations.sentence_transformers"
_LIBRARY = optional("sentence_transformers.base.modules", *_EXTRA)
_InputModule: Any = _LIBRARY.base.modules.InputModule
_TORCH = optional("torch", *_EXTRA)


def to_sentence_transformer(encoder: PowerMeanEncoder) -> Any:
    """Return a `SentenceTransformer` that gives an encoder's rows."""
    return _LIBRARY.SentenceTransformer(modules=[PowerMeanModule(encoder)], device="cpu")


class PowerMeanModule(_InputModule):
    """The first module of a `SentenceTransformer`: texts in, ``sentence_embedding`` out.

    ``SentenceTransformer(folder, trust_remote_code=True)`` opens what was saved. That library asks
    for the word wherever a class is not its own. No code lies in the folder: it names this class,
    and beside its ``config.json`` is an ``encoder/`` that `pmeans.load` opens as well.
    """

    save_in_root = False
    config_keys = ("languages",)
    forward_kwargs = frozenset({"lang"})
    max_seq_length = None

    def __init__(self, encoder: PowerMeanEncoder) -> None:
        """Take the encoder that makes the rows."""
        super().__init__()
        self.encoder = encoder
        self.languages = encoder.languages

    def preprocess(
        self, inputs: Sequence[str], prompt: str | None = None, lang: str | None = None, **_: Any
    ) -> dict[str, Any]:
        """Return ``sentence_embedding``, (n, dim) float32: ``encode(..., lang="de")`` names it."""
        if not (lang is None or isinstance(lang, str)):
            raise InputError(
                "lang is one language here: sentence-transformers sorts the sentences, so that one "
                "for each would be mixed up. The encoder's own encode takes a list."
            )
        rows = self.encoder.encode(inputs, prompt=prompt, lang=lang)
        return {"sentence_embedding": _TORCH.from_numpy(rows)}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the features as they are: `preprocess` has done the work."""
        return features

    def get_embedding_dimension(self) -> int:
        """Return the number of columns of a row."""
        return self.encoder.dim

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the encoder and its languages into a folder."""
        models.save(self.encoder, Path(output_path) / "encoder")
        self.save_config(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> PowerMeanModule:
        """Open what `save` wrote."""
        names = ("token", "cache_folder", "revision", "local_files_only")
        known = {name: options[name] for name in names if name in options}
        config = cls.load_config(model_name_or_path, subfolder=subfolder, **known)
        folder = cls.load_dir_path(model_name_or_path, subfolder=subfolder, **known)
        encoder = models.power_means(models.load(Path(folder) / "encoder"), "PowerMeanModule")
        return cls(encoder.replace(languages=tuple(config["languages"])))
