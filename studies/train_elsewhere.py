"""Train Siamese-CBOW, CVM-add or Sent2Vec on another machine, with an accelerator and without text.

    python studies/train_elsewhere.py samples RECIPE.toml SAMPLES
    python studies/train_elsewhere.py fit RECIPE.toml SAMPLES FITTED
    python studies/train_elsewhere.py join RECIPE.toml SAMPLES FITTED TARGET

``samples`` and ``join`` run here, ``fit`` there: it needs torch, NumPy and ``src``. SAMPLES may be
compressed (``xz``) on the way; ``fit`` unpacks ``SAMPLES.xz`` where SAMPLES is missing. FITTED is a
folder with the vectors as they are stored, in pieces of 15 MiB, and ``report.json``; until it is
done also the state of the training, from which the same command goes on. ``join`` compares
checksums. TARGET is a ``.safetensors`` file of a word space, or the folder of an encoder.
"""

import json
import lzma
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pmeans
from pmeans import config, training
from pmeans.files import sha256
from pmeans.tensors import map_tensors, write_tensors
from pmeans.training.sentence_ids import Sentences
from pmeans.training.trainer import BaselineTrainer

VECTORS, REPORT, STATE = "vectors.safetensors", "report.json", "state.training"
PIECE = 15 << 20


def recipe(path: str) -> Any:
    """Read a trainer of one of the three kinds."""
    baseline = config.read_toml(path).get("kind") in training.BASELINES
    trainer = training.read_baseline(path) if baseline else training.from_toml(path)
    if not hasattr(trainer, "samples") or not hasattr(trainer, "joined"):
        sys.exit(f"{path} is not of the kinds siamese-cbow, cvm-add and sent2vec.")
    return trainer


def told(share: float, words: str) -> None:
    """Print progress, a line at a time."""
    print(f"{share:4.0%} {words}", flush=True)


def opened(samples: str) -> Sentences:
    """Read samples, unpacked first if need be."""
    path, packed = Path(samples), Path(f"{samples}.xz")
    if not path.exists() and packed.exists():
        with lzma.open(packed) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
    return Sentences.load(path)


def fit(trainer: Any, samples: str, folder: Path) -> None:
    """Fit the vectors, and write them in pieces."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    vectors = trainer.fit(opened(samples), progress=told, checkpoint=folder / STATE)
    write_tensors(folder / VECTORS, vectors, {})
    cuda = torch.cuda.is_available()
    report = {
        "vectors": sha256(folder / VECTORS),
        "seconds": round(time.monotonic() - began, 1),
        "device": torch.cuda.get_device_name() if cuda else "cpu",
    }
    data = (folder / VECTORS).read_bytes()
    for number, low in enumerate(range(0, len(data), PIECE)):
        (folder / f"{VECTORS}.{number}").write_bytes(data[low : low + PIECE])
    (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n")
    (folder / VECTORS).unlink()
    (folder / STATE).unlink()
    print(json.dumps(report, indent=1))


def join(trainer: Any, samples: str, folder: Path, target: str) -> None:
    """Join the pieces with their words."""
    report = json.loads((folder / REPORT).read_text())
    pieces = sorted(folder.glob(f"{VECTORS}.*"), key=lambda each: int(each.suffix[1:]))
    whole = Path(f"{target}.{VECTORS}")
    whole.write_bytes(b"".join(each.read_bytes() for each in pieces))
    if sha256(whole) != report["vectors"]:
        sys.exit(f"{folder}: the vectors are not those of the report.")
    vectors, _ = map_tensors(whole)
    made = trainer.joined(opened(samples), vectors)
    if isinstance(trainer, BaselineTrainer):
        pmeans.save(made, target)
    else:
        pmeans.save_space(made, target)
    whole.unlink()
    print(f"{made} in {target}")


def main(what: str, file: str, samples: str, *rest: str) -> None:
    """Do one of the three steps."""
    trainer = recipe(file)
    if what == "samples":
        found = trainer.samples(told)
        found.save(samples)
        print(f"{len(found):,} sentences, {len(found.ids):,} words in {samples}")
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
