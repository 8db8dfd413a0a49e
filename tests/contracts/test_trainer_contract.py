"""What every trainer keeps to, whatever it trains."""

import dataclasses
import functools
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
from pmeans.errors import InputError, PmeansError, StorageError
from pmeans.training import kinds


def _named(wanted=lambda case: True):
    """Return the names of some cases, those that need torch marked as integrations."""
    return [
        pytest.param(name, marks=[pytest.mark.integrations] * case.heavy)
        for name, case in CASES.items()
        if wanted(case)
    ]


ALL = _named()
KEEPING = _named(lambda case: case.keeps)
LEARNING = _named(lambda case: case.learns)


class Killed(BaseException):
    """As if the process had been killed at this place."""


@pytest.fixture
def folder(tmp_path):
    trainer_cases.write(tmp_path)
    return tmp_path


def trained(folder, case, checkpoint=None, kill_at=None):
    """Train a case; return its bytes, and the shares that it reported."""
    shares = []

    def progress(share, text):
        shares.append(share)
        if len(shares) - 1 == kill_at:
            raise Killed

    trainer = training.from_toml(folder / f"{case}.toml")
    space = trainer.train(progress=progress, checkpoint=checkpoint)
    pmeans.save_space(space, folder / "trained.safetensors")
    return (folder / "trained.safetensors").read_bytes(), shares


def killed(folder, case, at):
    """Kill a training at a report of progress; return its checkpoint."""
    checkpoint = folder / f"{at}.training"
    with pytest.raises(Killed):
        trained(folder, case, checkpoint, kill_at=at)
    return checkpoint


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_seed_is_refused(folder, case):
    trainer = training.from_toml(folder / f"{case}.toml")
    if not hasattr(trainer, "seed"):
        pytest.skip("draws nothing")
    for seed in (-1, 10**30, 1.5, "1", None):
        with pytest.raises(InputError, match=r"seed( must be |: expected )"):
            dataclasses.replace(trainer, seed=seed)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Train the cases that need torch, or the others, in a process with its own order of sets."""
    return functools.cache(lambda heavy: _train_elsewhere(tmp_path_factory.mktemp("there"), heavy))


def _train_elsewhere(folder, heavy):
    trainer_cases.write(folder)
    here = str(Path(__file__).parent)
    program = (
        "import pathlib, sys\n"
        f"sys.path.insert(0, {here!r})\n"
        "from test_trainer_contract import CASES, trained\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        f"for case in [name for name, each in CASES.items() if each.heavy == {heavy}]:\n"
        "    (folder / f'{case}.bytes').write_bytes(trained(folder, case)[0])\n"
    )
    command = [sys.executable, "-c", program, str(folder)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "1"})
    return folder


def test_every_kind_has_a_case():
    assert {case.kind or name for name, case in CASES.items()} == kinds().keys()


@pytest.mark.parametrize("case", ALL)
def test_the_same_seed_gives_the_same_bytes_in_another_process(case, folder, elsewhere):
    there = elsewhere(CASES[case].heavy)
    assert trained(folder, case)[0] == (there / f"{case}.bytes").read_bytes()


@pytest.mark.parametrize("case", ALL)
def test_a_training_resumed_after_a_kill_gives_the_same_bytes(case, folder):
    whole, shares = trained(folder, case)
    for at in sorted({0, len(shares) // 2, len(shares) - 1}):
        checkpoint = killed(folder, case, at)
        assert trained(folder, case, checkpoint)[0] == whole


@pytest.mark.parametrize("case", KEEPING)
def test_a_resumed_training_does_not_begin_anew(case, folder):
    shares = trained(folder, case)[1]
    checkpoint = killed(folder, case, len(shares) - 1)
    assert len(trained(folder, case, checkpoint)[1]) < len(shares)


@pytest.mark.parametrize("case", KEEPING)
def test_the_state_of_a_training_with_other_material_is_refused(case, folder):
    checkpoint = killed(folder, case, len(trained(folder, case)[1]) - 1)
    trainer_cases.alter(folder, CASES[case].material)
    with pytest.raises(StorageError, match="is the state of another training"):
        trained(folder, case, checkpoint)


@pytest.mark.parametrize("case", LEARNING)
def test_too_little_material_is_a_clear_error(case, folder):
    material = CASES[case].material
    trainer_cases.starve(folder, material)
    with pytest.raises(PmeansError, match=rf"{material.split('.')[0]}.*\w+ \w+"):
        trained(folder, case)


@pytest.mark.parametrize("case", ALL)
def test_no_number_is_nan_and_the_name_is_the_trainers(case, folder):
    trainer = training.from_toml(folder / f"{case}.toml")
    space = trainer.train(progress=lambda share, text: None)
    assert np.isfinite(space.rows(slice(None))).all()
    assert space.name == trainer.name == case


@pytest.mark.parametrize("case", ALL)
def test_progress_goes_from_nothing_to_everything_and_never_back(case, folder):
    shares = trained(folder, case)[1]
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] == pytest.approx(1)
