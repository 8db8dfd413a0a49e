"""What `studies/train_elsewhere.py` does in three steps is what a trainer does at once."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import training

pytestmark = pytest.mark.integrations
pytest.importorskip("torch", reason="pip install 'pmeans[train]'")

STUDY = Path(__file__).parents[2] / "studies" / "train_elsewhere.py"
TEXTS = 'texts = [{ path = "text.txt", lang = "en" }]'
PAIRS = 'pairs = [{ path = "pairs.tsv", first = "en", second = "de" }]'
SMALL = "dim = 4\nepochs = 1\nmin_count = 1"
RECIPES = {
    "infersent": f'space = "toy.safetensors"\nhidden = 3\nlayer = 4\nepochs = 1\n{PAIRS}',
    "sent2vec": f"{SMALL}\n{TEXTS}",
    "siamese-cbow": f"{SMALL}\n{TEXTS}",
    "cvm-add": f"{SMALL}\n{PAIRS}",
}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    words = {"en": [f"e{c}" for c in "abcdefgh"], "de": [f"d{c}" for c in "abcdefgh"]}
    vectors = rng.standard_normal((16, 5)).astype(np.float32)
    pmeans.save_space(
        pmeans.WordSpace.from_words("toy", words, vectors), tmp_path / "toy.safetensors"
    )
    sides = [[" ".join(rng.choice(some, 4)) for _ in range(200)] for some in words.values()]
    lines = map("\t".join, zip(*sides, strict=True))
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "text.txt").write_text(". ".join(sides[0]) + ".\n")
    for kind, rest in RECIPES.items():
        (tmp_path / f"{kind}.toml").write_text(f'kind = "{kind}"\nname = "{kind}"\n{rest}\n')
    return tmp_path


def content(made):
    if isinstance(made, pmeans.WordSpace):
        return made.digest(), made.source, made.licence
    return made.fingerprint(), made.settings().get("weights")


@pytest.mark.parametrize("kind", RECIPES)
def test_what_is_fitted_elsewhere_is_what_is_trained_here(kind, folder, capsys):
    main, recipe = runpy.run_path(str(STUDY))["main"], str(folder / f"{kind}.toml")
    samples, fitted = str(folder / "samples"), str(folder / "fitted")
    of_space = kind in training.kinds()
    target = str(folder / ("made.safetensors" if of_space else "made"))
    main("samples", recipe, samples)
    main("fit", recipe, samples, fitted)
    main("join", recipe, samples, fitted, target)
    read = training.from_toml if of_space else training.read_baseline
    here = read(recipe).train(progress=lambda share, words: None)
    assert content((pmeans.open_space if of_space else pmeans.load)(target)) == content(here)
    assert sorted(path.name for path in Path(fitted).iterdir()) == [
        "fitted.safetensors.0", "report.json",
    ]  # fmt: skip
    report = Path(fitted, "report.json")
    report.write_text(json.dumps(json.loads(report.read_text()) | {"sha256": "0"}))
    with pytest.raises(SystemExit, match="not those of the report"):
        main("join", recipe, samples, fitted, str(folder / "other"))
    assert not (folder / "other").exists()
