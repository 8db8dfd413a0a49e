"""Measure our models beside the published figures of today's encoders.

    pip install 'pmeans[mteb]'
    python studies/peers.py DATA [MODEL ...]    # measure, and write results/peers
    python studies/peers.py --render            # write the page again, from what was measured

MODEL is a folder; the model in the package and `wide` are always measured. mteb's own evaluators
score NTREX (F1 of finding translations among all 1,997 lines) and the development part of STS
(Spearman's correlation of cosines with people's grades), on the files of DATA: nothing is
downloaded. The language of every text is named. Each score is computed by the measures of pmeans
as well. `published.csv` has the figures of the other encoders, as mteb publishes them.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import peers_page

import pmeans
from pmeans.encoder.postprocess import unit_rows
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.files import optional, replacing
from pmeans.models import DEFAULT
from pmeans.tables import read_lines
from pmeans_lab.evaluation.measures.retrieval import retrieved
from pmeans_lab.evaluation.measures.similarity import spearman

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = ROOT / "results" / "peers"
WIDE = ROOT.parent / "packages" / "pmeans-model-wide" / "src" / "pmeans_model_wide" / "model"
CODES = {
    "en": "eng_Latn", "de": "deu_Latn", "fr": "fra_Latn", "es": "spa_Latn", "it": "ita_Latn",
    "nl": "nld_Latn", "pt": "por_Latn", "pl": "pol_Latn", "ru": "rus_Cyrl", "sv": "swe_Latn",
    "cs": "ces_Latn",
}  # fmt: skip
"""The languages of NTREX, as mteb names them."""
GRADED = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "ru")
"""The languages of STS."""
THREADS, RUNS = 2, 9
Texts = Mapping[str, Sequence[str]]
Pairs = Mapping[str, Sequence[tuple[float, str, str]]]
Cell = dict[str, Any]


def our_models(paths: Iterable[str]) -> dict[str, Path]:
    """Return the folders of the two models of this repository and of others, by name."""
    models = {"default": DEFAULT, "wide": WIDE}
    for path in map(Path, paths):
        name = path.resolve().name
        if not path.is_dir():
            raise InputError(f"no folder {str(path)!r}. Name the folder of a model.")
        if name in models:
            raise InputError(f"two models are named {name!r}. Rename the folder {str(path)!r}.")
        models[name] = path
    return models


def read_ntrex(data: Path) -> dict[str, list[str]]:
    """Return all lines of each language, repeated ones too, as mteb has them."""
    folder = data / "tasks" / "ntrex" / "full"
    return {lang: list(read_lines(folder / f"{lang}.txt.gz")) for lang in CODES}


def read_sts(data: Path) -> dict[str, list[tuple[float, str, str]]]:
    """Return grades and sentences of each language."""
    pairs = {}
    for lang in GRADED:
        _, *lines = read_lines(data / "tasks" / "stsb-multi" / f"dev.{lang}.tsv.gz")
        cells = (line.split("\t") for line in lines)
        pairs[lang] = [(float(grade), first, second) for grade, first, second in cells]
    return pairs


def score_ntrex(encoder: PowerMeanEncoder, texts: Texts) -> list[Cell]:
    """Return F1 and accuracy of mteb, and our accuracy, from English and into English."""
    from datasets import Dataset

    langs = [lang for lang in texts if lang in encoder.languages]
    others = [lang for lang in langs if lang != "en"]
    directions = [pair for lang in others for pair in (("en", lang), (lang, "en"))]
    names = {f"{CODES[first]}-{CODES[second]}": (first, second) for first, second in directions}
    table = Dataset.from_dict({CODES[lang]: list(texts[lang]) for lang in langs})
    scores = run_mteb(encoder, "NTREXBitextMining", "test", names, {"test": table})
    rows = {lang: encoder.encode(texts[lang], lang=lang) for lang in langs}
    # mteb takes the very line alone for right, and not one that repeats it. So does `retrieved`
    # where every line has another text: its number.
    numbers = list(map(str, range(len(table))))
    cells = []
    for name, (first, second) in names.items():
        right, _ = retrieved(rows[first], rows[second], numbers, numbers)
        own = 100 * float(right.mean())
        cells.append(cell("NTREXBitextMining", (first, second), scores[name], "accuracy", own))
    return cells


def score_sts(encoder: PowerMeanEncoder, pairs: Pairs) -> list[Cell]:
    """Return the rank correlation of mteb, and ours, within each language."""
    from datasets import Dataset

    name, measure = "STSBenchmarkMultilingualSTS", "cosine_spearman"
    sides = {lang: zip(*pairs[lang], strict=True) for lang in pairs if lang in encoder.languages}
    columns = {lang: tuple(map(list, side)) for lang, side in sides.items()}
    tables = {
        lang: {"dev": Dataset.from_dict({"score": grades, "sentence1": x, "sentence2": y})}
        for lang, (grades, x, y) in columns.items()
    }
    scores = run_mteb(encoder, name, "dev", columns, tables)
    cells = []
    for lang, (grades, *texts) in columns.items():
        x, y = (unit_rows(encoder.encode(side, lang=lang)) for side in texts)
        own = 100 * (spearman(np.einsum("ij,ij->i", x, y, dtype=np.float64), grades) or 0.0)
        cells.append(cell(name, (lang, lang), scores[lang], measure, own))
    return cells


def cell(
    task: str, langs: tuple[str, str], scores: Mapping[str, float], measure: str, own: float
) -> Cell:
    """Return the main score in per cent, and one of mteb's measures beside our own."""
    values = {"score": 100 * scores["main_score"], measure: 100 * scores[measure], "own": own}
    return {"task": task, "first": langs[0], "second": langs[1], "checked": measure, **values}


def run_mteb(
    encoder: PowerMeanEncoder,
    name: str,
    split: str,
    subsets: Iterable[str],
    dataset: Mapping[str, Any],
) -> dict[str, Mapping[str, float]]:
    """Run a task of mteb on a dataset of ours, and return its scores by subset."""
    import mteb

    from pmeans.integrations.mteb import MTEBEncoder

    task = mteb.get_task(name, hf_subsets=list(subsets), eval_splits=[split])
    task.dataset, task.data_loaded = dataset, True
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "To copy construct from a tensor", UserWarning)  # mteb's
        results = mteb.evaluate(MTEBEncoder(encoder), task, cache=None, show_progress_bar=False)
    return {scores["hf_subset"]: scores for scores in results.task_results[0].scores[split]}


def costs(models: Mapping[str, Path], sentences: Sequence[str]) -> dict[str, list[Cell]]:
    """Return speed and memory of each model, of several runs in processes of their own.

    The models take turns, because other programs may slow the machine down for a while.
    """
    runs: dict[str, list[Cell]] = {name: [] for name in models}
    for _ in range(RUNS):
        for name, folder in models.items():
            program = [sys.executable, HERE / "encoding_cost.py", folder, "en", str(THREADS)]
            finished = subprocess.run(
                program, input="\n".join(sentences), stdout=subprocess.PIPE, text=True, check=True
            )
            runs[name].append(json.loads(finished.stdout))
    return runs


def measure(data: Path, models: Mapping[str, Path]) -> dict[str, Any]:
    """Return all that is measured here."""
    optional("mteb", "mteb", "studies/peers.py")
    # Whatever mteb and datasets would fetch is an error.
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
    texts, pairs = read_ntrex(data), read_sts(data)
    sentences = [text for _, *both in pairs["en"] for text in both]
    machine = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "threads": THREADS,
        "load": os.getloadavg()[0],
        "sentences": len(sentences),
        "words": sum(len(text.split()) for text in sentences) / len(sentences),
        "versions": {name: version(name) for name in ("mteb", "numpy", "torch")},
    }
    runs = costs(models, sentences)
    ours = {}
    for name, folder in models.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        encoder = pmeans.load(folder)
        files = [path for path in folder.rglob("*") if path.is_file()]
        ours[name] = {
            "fingerprint": encoder.fingerprint(),
            "size_mb": sum(path.stat().st_size for path in files) / 1e6,
            "runs": runs[name],
            "scores": score_ntrex(encoder, texts) + score_sts(encoder, pairs),
        }
    return {"machine": machine, "models": ours}


def processor() -> str:
    """Return what the processor is called."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def main(arguments: Sequence[str]) -> None:
    """Measure, unless told to render alone, and write the page."""
    store = RESULTS / "measured.json"
    if arguments != ["--render"]:
        data, *paths = arguments
        measured = measure(Path(data), our_models(paths))
        write(store, json.dumps(measured, indent=1) + "\n")
    measured = json.loads(store.read_text(encoding="utf-8"))
    published = peers_page.read_published(RESULTS / "published.csv")
    write(RESULTS / "README.md", peers_page.page(measured, published))


def write(path: Path, text: str) -> None:
    """Replace a file by a text."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
