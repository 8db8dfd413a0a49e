"""Train InferSent, Sent2Vec, Siamese-CBOW or CVM-add on another machine, which has no text.

    python studies/train_elsewhere.py samples RECIPE.toml SAMPLES
    python studies/train_elsewhere.py fit RECIPE.toml SAMPLES FITTED
    python studies/train_elsewhere.py join RECIPE.toml SAMPLES FITTED TARGET

``samples`` and ``join`` run here, ``fit`` there, on its accelerator: it needs torch, NumPy and
``src``. A word space of the recipe must be installed here under its name, or lie where it says.
SAMPLES may be compressed (``xz``) on the way; ``fit`` unpacks ``SAMPLES.xz`` where SAMPLES is
missing. FITTED is a folder with what was fitted as it is stored, in pieces of 15 MiB, and
``report.json``; until it is done also the state of the training, from which the same command goes
on. ``join`` compares checksums. TARGET is the folder of an encoder, or, for Siamese-CBOW and
CVM-add, the ``.safetensors`` file of a word space.
"""

import json
import lzma
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pmeans
from pmeans import config, training
from pmeans.files import sha256
from pmeans.models.baselines import Baseline
from pmeans.tensors import map_tensors, write_tensors
from pmeans_lab.baselines.infersent.pair_samples import Samples
from pmeans_lab.baselines.infersent.trainer import TrainInferSent
from pmeans_lab.baselines.row_descent import SentenceTrainer
from pmeans_lab.baselines.sentence_ids import Sentences

WHOLE, REPORT, STATE = "fitted.safetensors", "report.json", "state.training"
PIECE = 15 << 20

AnyTrainer = TrainInferSent | SentenceTrainer


def recipe(path: str) -> AnyTrainer:
    """Read a trainer; a space that a file of the project makes is taken by its installed name."""
    baseline = config.read_toml(path).get("kind") in training.baseline_kinds()
    trainer = training.read_baseline(path) if baseline else training.from_toml(path)
    if isinstance(trainer, TrainInferSent):
        return replace(trainer, space=trainer.space.rpartition("#")[2])
    if not isinstance(trainer, SentenceTrainer):
        sys.exit(f"{path} is not of the kinds infersent, sent2vec, siamese-cbow and cvm-add.")
    return trainer


def told(share: float, words: str) -> None:
    """Print progress, a line at a time."""
    print(f"{share:4.0%} {words}", flush=True)


def opened(trainer: AnyTrainer, samples: str) -> Samples | Sentences:
    """Read samples, unpacked first if need be."""
    path, packed = Path(samples), Path(f"{samples}.xz")
    if not path.exists() and packed.exists():
        with lzma.open(packed) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
    return (Samples if isinstance(trainer, TrainInferSent) else Sentences).load(path)


def fit(trainer: AnyTrainer, samples: str, folder: Path) -> None:
    """Fit to the samples, and write what was fitted in pieces."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    fitted = trainer.fit(opened(trainer, samples), progress=told, checkpoint=folder / STATE)
    if isinstance(trainer, TrainInferSent):
        arrays, report = fitted
    else:
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        arrays, report = fitted, {"seconds": round(time.monotonic() - began, 1), "device": device}
    write_tensors(folder / WHOLE, arrays, {})
    data = (folder / WHOLE).read_bytes()
    for number, low in enumerate(range(0, len(data), PIECE)):
        (folder / f"{WHOLE}.{number}").write_bytes(data[low : low + PIECE])
    report |= {"sha256": sha256(folder / WHOLE)}
    (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n")
    (folder / WHOLE).unlink()
    (folder / STATE).unlink()
    print(json.dumps(report, indent=1))


def join(trainer: AnyTrainer, samples: str, folder: Path, target: str) -> None:
    """Join the pieces with their words, and save the result."""
    report = json.loads((folder / REPORT).read_text())
    pieces = sorted(folder.glob(f"{WHOLE}.*"), key=lambda each: int(each.suffix[1:]))
    with tempfile.TemporaryDirectory() as temporary:
        whole = Path(temporary) / WHOLE
        whole.write_bytes(b"".join(each.read_bytes() for each in pieces))
        if sha256(whole) != report.pop("sha256"):
            sys.exit(f"{folder}: the pieces are not those of the report.")
        arrays, _ = map_tensors(whole)
        if isinstance(trainer, TrainInferSent):
            made = trainer.encoder(arrays, report)
        else:
            made = trainer.joined(opened(trainer, samples), arrays)
        (pmeans.save if isinstance(made, Baseline) else pmeans.save_space)(made, target)
    print(f"{made} in {target}")


def main(what: str, file: str, samples: str, *rest: str) -> None:
    """Do one of the three steps."""
    trainer = recipe(file)
    if what == "samples" and not rest:
        found = trainer.samples(told)
        found.save(samples)
        print(f"{len(found):,} samples in {samples}")
    elif what == "fit" and len(rest) == 1:
        fit(trainer, samples, Path(rest[0]))
    elif what == "join" and len(rest) == 2:
        join(trainer, samples, Path(rest[0]), rest[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5, 6):
        sys.exit(__doc__)
    main(*sys.argv[1:])
