import errno
import json
import multiprocessing
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from some_results import result, splits

from pmeans.errors import FormatError, StorageError
from pmeans.experiments import results
from pmeans.experiments.results import append, claim, finished, read

# Not forked: a process with threads, as NumPy starts them, must not be.
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table2" / "results.jsonl"


def test_what_is_appended_is_read_back_to_the_last_digit(path):
    ours = [*splits([100 / 3, 2e-17]), result(1.0, cell="feed", gold="01z", predicted="010")]
    append(path, ours[:2])
    append(path, ours[2:])
    assert read(path) == ours


def test_a_line_carries_a_raw_float_and_the_size_of_its_cell(path):
    append(path, splits([100 / 3, 50]))
    line = json.loads(path.read_text().splitlines()[0])
    assert (line["value"], line["of"]) == (100 / 3, 2)


def test_a_torn_last_line_is_not_there_yet(path):
    append(path, [result()])
    with open(path, "a") as file:
        file.write('{"cell": "fee')
    assert read(path) == [result()]


@pytest.mark.parametrize("torn", ['{"cell": "fee', "x" * 200_000])
def test_a_torn_last_line_is_cut_off_before_the_next_is_added(path, torn):
    append(path, [result()])
    with open(path, "a") as file:
        file.write(torn)
    append(path, [result(cell="feed")])
    assert [r.cell for r in read(path)] == ["c0ffee000000", "feed"]


def test_a_file_of_one_torn_line_starts_anew(path):
    path.parent.mkdir()
    path.write_text("{")
    append(path, [result()])
    assert read(path) == [result()]


def test_a_cell_of_which_some_lines_are_missing_is_unfinished(path):
    append(path, splits([1, 2, 3]))
    first, second, _ = path.read_text().splitlines(keepends=True)
    path.write_text(first + second)
    assert (read(path), finished(path)) == ([], set())


def test_a_cell_begun_by_a_killed_run_and_finished_by_another_is_the_other_ones(path):
    append(path, splits([1, 2]))
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    append(path, splits([3, 4]))
    assert [r.value for r in read(path)] == [3, 4]


def test_a_cell_that_two_runs_finished_counts_once(path):
    append(path, splits([1, 2]))
    append(path, splits([1, 2]))
    assert read(path) == splits([1, 2])


def test_both_test_languages_of_a_cell_count(path):
    both = [result(test_lang="de"), result(test_lang="fr")]
    append(path, both)
    assert read(path) == both


def test_finished_cells_are_those_with_results(path):
    assert finished(path) == set()
    append(path, [result(cell="feed")])
    assert finished(path) == {"feed"}


def test_keys_of_a_later_version_are_ignored(path):
    append(path, [result()])
    line = json.loads(path.read_text()) | {"device": "cuda"}
    path.write_text(json.dumps(line) + "\n")
    assert read(path) == [result()]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: "garbage", "not valid JSON"),
        (lambda line: "[1]", "expected an object"),
        (lambda line: line.replace('"task": "MR", ', ""), "the key 'task' is missing"),
        (lambda line: line.replace("80.0", "NaN"), "value: 'nan'"),
        (lambda line: line.replace("80.0", "true"), "value: 'True'"),
        (lambda line: line.replace('"dim": 300', '"dim": 1.5'), "dim: '1.5'"),
        (lambda line: line.replace("0.95", '"much"'), "coverage.googlenews: 'much'"),
        (lambda line: line.replace('{"l2": 0.001}', "3"), "chosen: '3'"),
        (lambda line: "[" * 100_000, "not valid JSON"),
    ],
)
def test_a_malformed_line_is_named_by_its_number(path, change, said):
    append(path, [result()])
    line = path.read_text()
    path.write_text(line + change(line.rstrip()) + "\n" + line)
    with pytest.raises(FormatError, match="line 2") as raised:
        read(path)
    assert said in str(raised.value)


def test_results_that_are_not_there_are_our_error(path):
    with pytest.raises(StorageError, match="pmeans eval run"):
        read(path)


def test_a_full_disk_takes_back_what_it_could_not_hold(path, monkeypatch):
    append(path, [result()])
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(results.os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        append(path, [result(cell="feed")])
    assert path.read_bytes() == before


def test_results_beyond_the_size_limit_are_taken_back(path):
    """A limit on the file's size makes the system take a part of a write, as a full disk does."""
    append(path, [result()])
    before = path.read_bytes()
    child = SPAWN.Process(target=_append_under_limit, args=(path, len(before) + 100))
    child.start()
    child.join()
    assert (child.exitcode, path.read_bytes()) == (0, before)


def _append_under_limit(path, limit):
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with pytest.raises(StorageError, match="File too large"):
        append(path, [result(cell="feed")])


def test_processes_append_side_by_side(path):
    children = [SPAWN.Process(target=_append_cells, args=(path, i)) for i in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert len(finished(path)) == 40
    assert len(read(path)) == 2000


def _append_cells(path, number):
    for i in range(10):
        append(path, splits(range(50), cell=f"{number}-{i}"))


def test_a_claimed_cell_is_refused_to_others_and_free_afterwards(path):
    with (
        claim(path, "feed") as mine,
        claim(path, "feed") as again,
        claim(path, "fade") as other,
    ):
        assert (mine, again, other) == (True, False, True)
    with claim(path, "feed") as later:
        assert later


def test_claims_leave_nothing_behind(path):
    with claim(path, "feed"), claim(path, "fade"):
        pass
    assert list(path.parent.iterdir()) == []


def test_an_error_frees_the_claim(path):
    with pytest.raises(KeyError), claim(path, "feed"):
        raise KeyError
    with claim(path, "feed") as mine:
        assert mine


def test_a_killed_process_frees_its_claim(path):
    ready = SPAWN.Event()
    child = SPAWN.Process(target=_claim_for_ever, args=(path, ready))
    child.start()
    assert ready.wait(30)
    with claim(path, "feed") as before:
        assert not before
    child.kill()
    child.join()
    with claim(path, "feed") as after:
        assert after


def _claim_for_ever(path, ready):
    with claim(path, "feed"):
        ready.set()
        signal.pause()


def test_never_two_processes_hold_a_claim(path, tmp_path):
    children = [
        SPAWN.Process(target=_claim_often, args=(path, tmp_path / "held")) for _ in range(4)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4


def _claim_often(path, held):
    for _ in range(300):
        with claim(path, "feed") as mine:
            if mine:
                held.touch(exist_ok=False)
                held.unlink()


def test_a_folder_that_cannot_be_written_is_our_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError), claim(tmp_path / "file" / "results.jsonl", "feed"):
        pass
    with pytest.raises(StorageError):
        append(tmp_path / "file" / "results.jsonl", [result()])


def test_classes_survive_as_digits():
    classes = np.array([0, 35, 9, 10])
    digits = results.encode_classes(classes)
    assert digits == "0z9a"
    np.testing.assert_array_equal(results.decode_classes(digits), classes)


@pytest.mark.parametrize("classes", [None, np.array([0, 36])])
def test_classes_without_a_digit_are_not_kept(classes):
    assert results.encode_classes(classes) is None


def test_no_score_is_written_as_nan(path):
    with pytest.raises(ValueError, match="JSON compliant"):
        append(path, [replace(result(), value=float("nan"))])
    assert not path.exists()
