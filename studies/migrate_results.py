"""Move results of version 0.1, one line per score in every experiment, into the store of cells.

    python studies/migrate_results.py DATA

DATA has the tasks. Every ``results/NAME/results.jsonl`` and ``absent.json`` becomes lines of
``results/cells.jsonl`` and ``results/NAME/rows.json``. A cell is moved only if its old name is the
one that today's data give: otherwise its scores are of other rows.
"""

import hashlib
import json
import sys
from pathlib import Path

from pmeans.evaluation import cells, protocols, tasks
from pmeans.experiments.results import Index, read_index, write_index

RESULTS = Path(__file__).parent.parent / "results"


def moved(scores: list[dict], data: Path, loaded: dict) -> cells.Cell:
    """Return the scores of an old cell as one cell."""
    first = scores[0]
    pair = first["train_lang"], first["test_lang"]
    if (first["task"], *pair) not in loaded:
        dataset = tasks.load(tasks.find(first["task"]), data, pair)
        loaded[first["task"], *pair] = (dataset.fingerprint(*pair), dataset.parallel)
    rows, parallel = loaded[first["task"], *pair]
    version = protocols.PROTOCOLS[first["protocol"]].version
    content = (
        *(first["encoder_id"], first["task"], rows, (first["measure"], parallel)),
        *((first["protocol"], version), pair),
    )
    old = hashlib.sha256(repr((first["encoder"], *content)).encode()).hexdigest()[:12]
    if old != first["cell"] or len(scores) != first["of"]:
        sys.exit(f"{first['encoder']} on {first['task']}: not of these rows, or not whole")
    assert [score["split"] for score in scores] == list(range(len(scores)))

    def each(key: str) -> tuple:
        return tuple(score[key] for score in scores)

    kept = ("dim", "task", "protocol", "train_lang", "test_lang", "measure", "coverage")
    return cells.Cell(
        id=cells.name(content),
        encoder=first["encoder_id"],
        data=rows,
        version=version,
        settings={},
        seeds=each("seed"),
        values=each("value"),
        dev=each("dev"),
        chosen={key: tuple(s["chosen"][key] for s in scores) for key in first["chosen"]},
        n_train=each("n_train"),
        n_test=each("n_test"),
        gold=None if None in each("gold") else each("gold"),
        predicted=None if None in each("predicted") else each("predicted"),
        **{key: first[key] for key in (*kept, "seconds", "versions")},
    )


def main() -> None:
    """Move all results, and remove the old files."""
    data, loaded, n_old = Path(sys.argv[1]), {}, 0
    store = cells.read(RESULTS)
    for absent in sorted(RESULTS.glob("*/absent.json")):
        folder, named = absent.parent, dict(read_index(RESULTS, absent.parent.name).cells)
        old: dict[str, list[dict]] = {}
        path = folder / "results.jsonl"
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            score = json.loads(line)
            old.setdefault(score["cell"], []).append(score)
        for scores in old.values():
            n_old += 1
            cell = moved(scores, data, loaded)
            key = (scores[0]["encoder"], cell.task, cell.train_lang, cell.test_lang)
            named[key] = cell.id
            if cell.id not in store:
                store[cell.id] = cell
                cells.append(RESULTS, cell)
        reasons = {tuple(row[:3]): row[3] for row in json.loads(absent.read_text("utf-8"))}
        write_index(RESULTS, folder.name, Index(named, reasons))
        absent.unlink()
        path.unlink(missing_ok=True)
    print(f"{n_old} cells of experiments are {len(store)} cells")


if __name__ == "__main__":
    main()
