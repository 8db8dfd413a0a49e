"""Make models that differ in what their mapped columns count, for experiments/mapped-columns.toml.

    python studies/mapped_columns.py [MODEL]
    pmeans eval run experiments/mapped-columns.toml --data DATA

MODEL is a folder, or the model in the package. Its first part stays as it is, and the others are
mapped; a weight of 1 counts a mapped column as much as its z-scores. The models are written to the
folder of models, `mapped-0`, `mapped-0.35` and so on.
"""

import sys
from pathlib import Path

import pmeans
from pmeans import config
from pmeans.models import DEFAULT
from pmeans.spaces.library import home

WEIGHTS = (0.0, 0.35, 0.7, 1.0, 1.4)


def main(source: Path = DEFAULT) -> None:
    """Write a model for each weight."""
    encoder = pmeans.load(source)
    own = config.read_toml(Path(__file__).parents[2] / "recipes" / "default.toml")
    weight = own["align"].get("weight", 1.0)
    for wanted in WEIGHTS:
        folder = home().with_name("models") / f"mapped-{wanted:g}"
        alignment = encoder.alignment.weighted(wanted / weight)
        pmeans.save(encoder.replace(alignment=alignment), folder)
        print(folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
