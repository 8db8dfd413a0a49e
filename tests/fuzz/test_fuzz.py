"""The fuzzer finds what it is there for, and nothing in its first few thousand inputs."""

import os
import signal
import time
import warnings

import numpy as np

from fuzz.runner import run, run_one
from fuzz.targets import TARGETS
from pmeans.errors import InputError


def test_a_few_thousand_malformed_inputs_give_results_or_our_errors():
    line, findings = run(TARGETS, seed=0, n=300 * len(TARGETS), n_workers=2)
    assert findings == 0, line  # the findings themselves are on standard error


def test_an_input_is_a_function_of_the_seed_and_its_number_alone(tmp_path):
    def files(seed, i):
        run_one(TARGETS, seed, i, tmp_path / "input")
        return {p.name: p.read_bytes() for p in (tmp_path / "input").rglob("*") if p.is_file()}

    # But for the journal, which tells when its job was begun, and graphs, which usearch builds by
    # random numbers of its own.
    varying = ("journal", "matrix", "shards")
    numbers = [i for i in range(40) if list(TARGETS)[i % len(TARGETS)] not in varying]
    first = [files(7, i) for i in numbers]
    assert first == [files(7, i) for i in numbers]
    assert first != [files(8, i) for i in numbers]


def fine(rng, folder):
    pass


def refuses(rng, folder):
    raise InputError("no")


def raises(rng, folder):
    raise KeyError("no")


def warns(rng, folder):
    warnings.warn("hm", RuntimeWarning, stacklevel=1)


def leaves_a_file_open(rng, folder):
    open(os.devnull)  # noqa: SIM115


def takes_all_memory(rng, folder):
    np.empty(1 << 33, np.uint8)


def crashes(rng, folder):
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(rng, folder):
    time.sleep(60)


def test_every_kind_of_failure_is_a_finding_of_its_own_target(capfd):
    targets = [fine, refuses, raises, warns, leaves_a_file_open, takes_all_memory, crashes, hangs]
    line, findings = run({t.__name__: t for t in targets}, 1, 2 * len(targets), 1, patience=1)
    assert findings == 12
    for told in ("fine 2 results;", "refuses 2 refusals;", "crashes 2 findings;", "hangs 2 find"):
        assert told in line
    shown = capfd.readouterr().err
    for told in ("KeyError", "ResourceWarning", "crashes: SIGSEGV", "hangs: no result after 1"):
        assert told in shown
    assert "input 14 (crashes); replay: make fuzz SEED=1 ONLY=14" in shown
