"""Where the files of an experiment lie, and what is read from them.

::

    results/paper-table2/
        results.jsonl    one line a score
        absent.json      why the other cells are empty, as the last run found it

Both are all that a table is made of. A table can therefore be made anew where neither data nor
word spaces are, and comes out the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from pmeans.errors import FormatError, InputError, StorageError, did_you_mean
from pmeans.evaluation.tasks import known
from pmeans.experiments import results
from pmeans.experiments.plan import Experiment
from pmeans.experiments.results import Result
from pmeans.files import replacing
from pmeans.spaces.library import home

Key = tuple[str, str, str]
"""Encoder, task and test language of a cell."""
Reasons = Mapping[Key, str]
"""Why cells are empty."""


def data_folder(given: Path | None = None, names: Collection[str] | None = None) -> Path:
    """Return the folder with the tasks' data, or say where it was sought.

    Args:
        given: Chosen by the user.
        names: Tasks that it is for; a user's own say themselves where they lie.
    """
    if given is None and names is not None and not set(names) & set(known()):
        return Path()
    chosen = os.environ.get("PMEANS_DATA")
    usual = home().parent / "data"
    folder = given or (Path(chosen).expanduser() if chosen else usual)
    if not folder.is_dir():
        raise StorageError(
            f"no folder {str(folder)!r} with the data of the tasks. It is sought in --data, then "
            f"in $PMEANS_DATA ({chosen or 'not set'}), then in {usual}."
        )
    return folder


def results_file(folder: Path, experiment: Experiment) -> Path:
    """Return the file of an experiment's results, in the folder of all results."""
    return folder / experiment.name / "results.jsonl"


def read_results(path: Path) -> list[Result]:
    """Read the results of an experiment; none if it has not been run."""
    return results.read(path) if path.exists() else []


def note_reasons(results_path: Path, run: Collection[Key], reasons: Reasons) -> None:
    """Keep why cells are empty.

    Args:
        results_path: The file of results; the note lies beside it.
        run: The cells that a run looked at; what was noted about others is kept.
        reasons: Why some of them cannot be computed.
    """
    kept = {key: text for key, text in read_reasons(results_path).items() if key not in run}
    rows = [[*key, text] for key, text in sorted({**kept, **reasons}.items())]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    with replacing(_note(results_path)) as file:
        file.write(f"[\n{lines}\n]\n".encode())


def of_encoder(source: str) -> list[Result]:
    """Return the results of one encoder.

    Args:
        source: A file of results, and if it holds several encoders also which, as in
            ``results/monolingual/results.jsonl:GN mean``.
    """
    file, colon, wanted = source, "", ""
    if not Path(source).exists():
        file, colon, wanted = source.partition(".jsonl:")
        file += ".jsonl" if colon else ""
    found = results.read(file)
    names = list(dict.fromkeys(result.encoder for result in found))
    if not colon and len(names) == 1:
        return found
    if wanted not in names:
        problem = (
            f"no encoder {wanted!r} in {file}.{did_you_mean(wanted, names)}"
            if colon
            else f"which encoder? {file} has {len(names)}: write {file}:NAME."
        )
        raise InputError(f"{problem} It has: {'; '.join(names) or 'none'}.")
    return [result for result in found if result.encoder == wanted]


def _note(results_path: Path) -> Path:
    return results_path.with_name("absent.json")


def read_reasons(results_path: Path) -> dict[Key, str]:
    """Return why cells were empty when the experiment was last run; nothing if it never was."""
    path = _note(results_path)
    if not path.exists():
        return {}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {(encoder, task, lang): str(text) for encoder, task, lang, text in rows}
    except (ValueError, TypeError) as error:
        raise FormatError(
            f"{path}: not a list of encoder, task, language and reason: {error}. "
            "Delete it; the next 'pmeans eval run' writes it anew."
        ) from error
