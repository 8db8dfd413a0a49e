"""Train InferSent on another machine, which has an accelerator and neither the text nor the space.

    python studies/infersent_elsewhere.py samples RECIPE.toml SAMPLES.safetensors
    python studies/infersent_elsewhere.py fit RECIPE.toml SAMPLES.safetensors FITTED
    python studies/infersent_elsewhere.py join RECIPE.toml FITTED FOLDER

``samples`` and ``join`` run here, ``fit`` there: it needs torch, NumPy and ``src``. The space of
the recipe must be installed under its name, or lie where it says. FITTED is a folder with
``weights.safetensors`` (float16), ``report.json`` and, until it is done, the state of the training,
from which the same command goes on. The other machine may give back small files only: ``split -b
15M`` there and ``cat`` here do the rest, as ``join`` compares checksums.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pmeans
from pmeans import training
from pmeans.baselines.base import checksum
from pmeans.tensors import map_tensors, write_tensors
from pmeans.training.infersent_fit import TrainInferSent
from pmeans.training.pair_samples import Samples

WEIGHTS, REPORT, STATE = "weights.safetensors", "report.json", "state.training"


def recipe(path: str) -> TrainInferSent:
    """Read the recipe; a space that a file of the project makes is taken by its installed name."""
    read = training.read_baseline(path)
    if not isinstance(read, TrainInferSent):
        sys.exit(f"{path} is not of the kind 'infersent'.")
    return replace(read, space=read.space.rpartition("#")[2])


def told(share: float, words: str) -> None:
    """Print progress, a line at a time."""
    print(f"{share:4.0%} {words}", flush=True)


def main(what: str, file: str, source: str, target: str = "") -> None:
    """Do one of the three steps."""
    trainer = recipe(file)
    if what == "samples":
        samples = trainer.samples(told)
        samples.save(source)
        print(f"{len(samples):,} samples of {len(samples.vectors):,} words in {source}")
    elif what == "fit":
        folder = Path(target)
        folder.mkdir(parents=True, exist_ok=True)
        weights, report = trainer.fit(
            Samples.load(source), progress=told, checkpoint=folder / STATE
        )
        write_tensors(folder / WEIGHTS, weights, {})
        (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n")
        (folder / STATE).unlink()
        print(json.dumps(report, indent=1))
    elif what == "join":
        report = json.loads((Path(source) / REPORT).read_text())
        weights, _ = map_tensors(Path(source) / WEIGHTS)
        if checksum(weights) != report["weights"]:
            sys.exit(f"{source}: the weights are not those of the report.")
        pmeans.save(trainer.encoder(weights, report), target)
        print(f"{pmeans.load(target)} in {target}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
