"""What every trainer keeps to, whatever it trains."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trainer_cases
from trainer_cases import CASES

import pmeans
from pmeans import training
from pmeans.errors import PmeansError, StorageError
from pmeans.training import KINDS

PRESENT = [
    kind
    for kind, (module, _) in KINDS.items()
    if importlib.util.find_spec(f"pmeans.training.{module}")
]
KEEPING = [kind for kind in PRESENT if CASES[kind].keeps]


class Killed(BaseException):
    """As if the process had been killed at this place."""


@pytest.fixture
def folder(tmp_path):
    trainer_cases.write(tmp_path)
    return tmp_path


def trained(folder, kind, checkpoint=None, kill_at=None):
    """Train a kind; return its bytes, and the shares that it reported."""
    shares = []

    def progress(share, text):
        shares.append(share)
        if len(shares) - 1 == kill_at:
            raise Killed

    trainer = training.from_toml(folder / f"{kind}.toml")
    space = trainer.train(progress=progress, checkpoint=checkpoint)
    pmeans.save_space(space, folder / "trained.safetensors")
    return (folder / "trained.safetensors").read_bytes(), shares


def killed(folder, kind, at):
    """Kill a training at a report of progress; return its checkpoint."""
    checkpoint = folder / f"{at}.training"
    with pytest.raises(Killed):
        trained(folder, kind, checkpoint, kill_at=at)
    return checkpoint


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The folder in which another process, with its own order of sets, trained every kind."""
    folder = tmp_path_factory.mktemp("elsewhere")
    trainer_cases.write(folder)
    here = str(Path(__file__).parent)
    program = (
        "import pathlib, sys\n"
        f"sys.path.insert(0, {here!r})\n"
        "from test_trainer_contract import PRESENT, trained\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "for kind in PRESENT:\n"
        "    (folder / f'{kind}.bytes').write_bytes(trained(folder, kind)[0])\n"
    )
    command = [sys.executable, "-c", program, str(folder)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "1"})
    return folder


def test_every_kind_has_a_case():
    assert CASES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", PRESENT)
def test_the_same_seed_gives_the_same_bytes_in_another_process(kind, folder, elsewhere):
    assert trained(folder, kind)[0] == (elsewhere / f"{kind}.bytes").read_bytes()


@pytest.mark.parametrize("kind", PRESENT)
def test_a_training_resumed_after_a_kill_gives_the_same_bytes(kind, folder):
    whole, shares = trained(folder, kind)
    for at in sorted({0, len(shares) // 2, len(shares) - 1}):
        checkpoint = killed(folder, kind, at)
        assert trained(folder, kind, checkpoint)[0] == whole


@pytest.mark.parametrize("kind", KEEPING)
def test_a_resumed_training_does_not_begin_anew(kind, folder):
    shares = trained(folder, kind)[1]
    checkpoint = killed(folder, kind, len(shares) - 1)
    assert len(trained(folder, kind, checkpoint)[1]) < len(shares)


@pytest.mark.parametrize("kind", KEEPING)
def test_the_state_of_a_training_with_other_material_is_refused(kind, folder):
    checkpoint = killed(folder, kind, len(trained(folder, kind)[1]) - 1)
    trainer_cases.alter(folder, CASES[kind].material)
    with pytest.raises(StorageError, match="is the state of another training"):
        trained(folder, kind, checkpoint)


@pytest.mark.parametrize("kind", PRESENT)
def test_too_little_material_is_a_clear_error(kind, folder):
    material = CASES[kind].material
    trainer_cases.starve(folder, material)
    with pytest.raises(PmeansError, match=rf"{material.split('.')[0]}.*\w+ \w+"):
        trained(folder, kind)


@pytest.mark.parametrize("kind", PRESENT)
def test_no_number_is_nan_and_the_name_is_the_trainers(kind, folder):
    trainer = training.from_toml(folder / f"{kind}.toml")
    space = trainer.train(progress=lambda share, text: None)
    assert np.isfinite(space.rows(slice(None))).all()
    assert space.name == trainer.name == kind


@pytest.mark.parametrize("kind", PRESENT)
def test_progress_goes_from_nothing_to_everything_and_never_back(kind, folder):
    shares = trained(folder, kind)[1]
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] == pytest.approx(1)
