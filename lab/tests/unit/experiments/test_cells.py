import errno
import json
import multiprocessing
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from some_results import result, splits

from pmeans.errors import FormatError, InputError, StorageError
from pmeans_lab.evaluation import cells
from pmeans_lab.evaluation.cells import append, claim, keep, read

# Not forked: a process with threads, as NumPy starts them, must not be.
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def path(folder):
    return folder / "cells.jsonl"


def predicting(**changes):
    """A cell of two folds with its predictions."""
    return splits([50, 100], **{"gold": ("01", "0z"), "predicted": ("00", "0z")} | changes)


def test_what_is_appended_is_read_back_to_the_last_digit(folder):
    ours = [splits([100 / 3, 2e-17]), result(1.0, id="feed", dev=None), predicting(id="fade")]
    for cell in ours:
        append(folder, cell)
    assert list(read(folder).values()) == ours


def test_a_line_carries_raw_floats_and_what_all_splits_share_once(folder, path):
    append(folder, splits([100 / 3, 50]))
    line = json.loads(path.read_text())
    assert line["values"] == [100 / 3, 50]
    assert (line["n_train"], line["chosen"], line["seeds"]) == (900, {"l2": 0.001}, [0, 1])


def test_true_classes_are_kept_once_for_all_that_were_tested_on_them(folder):
    for cell in ("feed", "fade"):
        append(folder, predicting(id=cell))
    append(folder, predicting(id="other", gold=("11", "00")))
    assert len((folder / "gold.jsonl").read_text().splitlines()) == 2
    assert read(folder)["fade"].gold == ("01", "0z")


def test_true_classes_that_are_lost_are_an_error(folder):
    append(folder, predicting())
    (folder / "gold.jsonl").unlink()
    with pytest.raises(FormatError, match=r"line 1: gold\.jsonl has no true classes"):
        read(folder)


def test_a_torn_last_line_is_not_there_yet(folder, path):
    append(folder, result())
    with open(path, "a") as file:
        file.write('{"id": "fee')
    assert list(read(folder).values()) == [result()]


@pytest.mark.parametrize("torn", ['{"id": "fee', "x" * 200_000])
def test_a_torn_last_line_is_cut_off_before_the_next_is_added(folder, path, torn):
    append(folder, result())
    with open(path, "a") as file:
        file.write(torn)
    append(folder, result(id="feed"))
    assert list(read(folder)) == ["c0ffee000000", "feed"]


def test_a_file_of_one_torn_line_starts_anew(folder, path):
    folder.mkdir()
    path.write_text("{")
    append(folder, result())
    assert list(read(folder).values()) == [result()]


def test_a_cell_that_two_runs_finished_counts_once(folder):
    append(folder, splits([1, 2]))
    append(folder, splits([3, 4]))
    assert list(read(folder).values()) == [splits([3, 4])]


def test_where_nothing_was_kept_there_is_nothing(folder):
    assert read(folder) == {}


def test_keys_of_a_later_version_are_ignored(folder, path):
    append(folder, result())
    line = json.loads(path.read_text()) | {"device": "cuda"}
    path.write_text(json.dumps(line) + "\n")
    assert list(read(folder).values()) == [result()]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: "garbage", "not valid JSON"),
        (lambda line: "[1]", "expected an object"),
        (lambda line: line.replace('"task": "MR", ', ""), "the key 'task' is missing"),
        (lambda line: line.replace("80.0", "NaN"), "values: 'nan'"),
        (lambda line: line.replace("80.0", "true"), "values: 'True'"),
        (lambda line: line.replace("[80.0]", "[]"), "has no score"),
        (lambda line: line.replace('"dev": [81.0]', '"dev": [1.0, 2.0]'), "dev: '[1.0, 2.0]'"),
        (lambda line: line.replace('"dim": 300', '"dim": 1.5'), "dim: '1.5'"),
        (lambda line: line.replace("0.95", '"much"'), "coverage.googlenews: 'much'"),
        (lambda line: line.replace('{"l2": 0.001}', "3"), "chosen: '3'"),
        (lambda line: "[" * 100_000, "not valid JSON"),
    ],
)
def test_a_malformed_line_is_named_by_its_number(folder, path, change, said):
    append(folder, result())
    line = path.read_text()
    path.write_text(line + change(line.rstrip()) + "\n" + line)
    with pytest.raises(FormatError, match="line 2") as raised:
        read(folder)
    assert said in str(raised.value)


def test_a_full_disk_takes_back_what_it_could_not_hold(folder, path, monkeypatch):
    append(folder, result())
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cells.os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        append(folder, result(id="feed"))
    assert path.read_bytes() == before


def test_results_beyond_the_size_limit_are_taken_back(folder, path):
    """A limit on the file's size makes the system take a part of a write, as a full disk does."""
    append(folder, result())
    before = path.read_bytes()
    child = SPAWN.Process(target=_append_under_limit, args=(folder, len(before) + 100))
    child.start()
    child.join()
    assert (child.exitcode, path.read_bytes()) == (0, before)


def _append_under_limit(folder, limit):
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with pytest.raises(StorageError, match="File too large"):
        append(folder, result(id="feed"))


def test_processes_append_side_by_side(folder, path):
    children = [SPAWN.Process(target=_append_cells, args=(folder, i)) for i in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    found = read(folder)
    assert len(found) == 40
    assert {len(cell) for cell in found.values()} == {50}


def _append_cells(folder, number):
    some = {"gold": ("01",) * 50, "predicted": ("01",) * 50}
    for i in range(10):
        append(folder, splits(range(50), id=f"{number}-{i}", **some))


def test_a_claimed_cell_is_refused_to_others_and_free_afterwards(folder, path):
    with (
        claim(folder, "feed") as mine,
        claim(folder, "feed") as again,
        claim(folder, "fade") as other,
    ):
        assert (mine, again, other) == (True, False, True)
    with claim(folder, "feed") as later:
        assert later


def test_claims_leave_nothing_behind(folder, path):
    with claim(folder, "feed"), claim(folder, "fade"):
        pass
    assert list(folder.iterdir()) == []


def test_an_error_frees_the_claim(folder, path):
    with pytest.raises(KeyError), claim(folder, "feed"):
        raise KeyError
    with claim(folder, "feed") as mine:
        assert mine


def test_a_killed_process_frees_its_claim(folder, path):
    ready = SPAWN.Event()
    child = SPAWN.Process(target=_claim_for_ever, args=(folder, ready))
    child.start()
    assert ready.wait(30)
    with claim(folder, "feed") as before:
        assert not before
    child.kill()
    child.join()
    with claim(folder, "feed") as after:
        assert after


def _claim_for_ever(folder, ready):
    with claim(folder, "feed"):
        ready.set()
        signal.pause()


def test_never_two_processes_hold_a_claim(folder, path, tmp_path):
    children = [
        SPAWN.Process(target=_claim_often, args=(folder, tmp_path / "held")) for _ in range(4)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4


def _claim_often(folder, held):
    for _ in range(300):
        with claim(folder, "feed") as mine:
            if mine:
                held.touch(exist_ok=False)
                held.unlink()


def test_a_folder_that_cannot_be_written_is_our_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError), claim(tmp_path / "file" / "results", "feed"):
        pass
    with pytest.raises(StorageError):
        append(tmp_path / "file" / "results", result())


def test_classes_survive_as_digits():
    classes = np.array([0, 35, 9, 10])
    digits = cells.encode_classes([classes, classes[:2]])
    assert digits == ("0z9a", "0z")
    np.testing.assert_array_equal(cells.decode_classes(digits[0]), classes)


@pytest.mark.parametrize("classes", [None, np.array([0, 36])])
def test_classes_without_a_digit_are_not_kept(classes):
    assert cells.encode_classes([np.array([1]), classes]) is None


def test_no_score_is_written_as_nan(folder, path):
    with pytest.raises(ValueError, match="JSON compliant"):
        append(folder, replace(result(), values=(float("nan"),)))
    assert not path.exists()


def test_cells_and_classes_that_nobody_wants_are_dropped_and_others_stay_to_the_byte(folder, path):
    for cell, gold in (("feed", ("01", "0z")), ("fade", ("11", "00")), ("cafe", ("01", "0z"))):
        append(folder, predicting(id=cell, gold=gold))
    lines = path.read_bytes().splitlines()
    assert keep(folder, {"feed", "other"}) == 2
    assert path.read_bytes().splitlines() == lines[:1]
    assert read(folder)["feed"].gold == ("01", "0z")
    assert len((folder / "gold.jsonl").read_text().splitlines()) == 1
    assert keep(folder, {"feed"}) == 0


def test_nothing_is_dropped_while_a_run_is_at_work(folder):
    append(folder, predicting(id="feed"))
    with claim(folder, "cafe"), pytest.raises(InputError, match="a run is at work"):
        keep(folder, set())
    assert list(read(folder)) == ["feed"]
