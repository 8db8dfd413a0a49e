import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.kernels import Splitting, index, split
from pmeans.kernels.machine import available_threads
from pmeans.kernels.reference import power_mean
from pmeans.types import TokenBatch

MATRIX = np.array([[1.0, -1.0], [3.0, 5.0]], dtype=np.float32)


def batch(ids, offsets) -> TokenBatch:
    return TokenBatch(
        np.array(ids, np.int32), np.array(offsets), np.zeros(len(offsets) - 1, np.int32)
    )


def test_min_mean_max_stand_side_by_side_in_the_order_of_the_powers():
    got = kernels.power_means(MATRIX, batch([0, 1], [0, 2]), [np.inf, 1, -np.inf])
    assert got.tolist() == [[3, 5, 2, 2, 1, -1]]


def test_a_sentence_without_words_is_zero_and_z_norm_does_not_move_it():
    shift = factor = np.full(2, 2, np.float32)
    got = kernels.power_means(MATRIX, batch([0], [0, 0, 1]), [1], shift=shift, factor=factor)
    assert got.tolist() == [[0, 0], [-2, -6]]


# Worked out by hand; p=3 over (-2, -2) is the example of docs/numerics.md.
@pytest.mark.parametrize(
    ("values", "p", "root", "expected"),
    [
        ([-2, -2], 3, "signed", -2),
        ([-2, -2], 3, "principal", 1),
        ([-2, -2], 2, "signed", 2),
        ([-2, -2], 2, "principal", 2),
        ([4, 9], 0.5, "signed", 6.25),
        ([-4, -9], 0.5, "signed", -6.25),
        ([-4, -9], 0.5, "principal", -6.25),
        ([-4, 9], 0.5, "principal", (3**2 - 2**2) / 4),
        ([2, 8], 0, "signed", 4),
        ([-2, -8], 0, "signed", -4),
        ([-2, 8], 0, "signed", 0),
        ([-2, 8], 0, "principal", 0),
        ([2, 6], -1, "signed", 3),
        ([2, 0], -1, "signed", 0),
        ([2, -2], -1, "signed", 0),
        ([2, 0], 0, "principal", 0),
    ],
)
def test_roots_of_mixed_signs_follow_the_registered_conventions(values, p, root, expected):
    column = np.array(values, dtype=np.float32)[:, None]
    got = kernels.power_means(column, batch([0, 1], [0, 2]), [p], root=root)
    # atol: cos(pi/2) is 6e-17 in float64.
    assert got[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-15)
    assert power_mean(column, p, root)[0] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("dim", [1, 40])
def test_sums_beyond_float32_are_taken_in_float64(dim):
    huge = np.full((2, dim), 3e38, dtype=np.float32)
    huge[1] *= -1
    for ids, mean in [([0, 0], 3e38), ([0] * 64 + [1] * 64, 0.0), ([1] * 200, -3e38)]:
        got = kernels.power_means(huge, batch(ids, [0, len(ids)]), [1, np.inf])
        # rtol: float32.
        np.testing.assert_allclose(got[0, :dim], mean, rtol=1e-6)
        np.testing.assert_array_equal(got[0, dim:], huge[min(ids)])


@pytest.mark.parametrize("dim", [1, 40])
def test_what_z_norm_drives_beyond_float32_is_cut_off(dim):
    huge = np.full((1, dim), 3e38, dtype=np.float32)
    shift, factor = (np.full(2 * dim, value, dtype=np.float32) for value in (-3e38, 2))
    got = kernels.power_means(huge, batch([0], [0, 1]), [1, 2], shift=shift, factor=factor)
    np.testing.assert_array_equal(got, np.finfo(np.float32).max)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("powers", [[1], [-np.inf], [np.inf, -np.inf], [3], [0], [-1], [2.5]])
@pytest.mark.parametrize(("dim", "n"), [(1, 3), (40, 3), (40, 70)])
def test_a_word_vector_with_nan_or_infinity_is_named_and_never_passed_over(dim, n, powers, bad):
    matrix = np.ones((5, dim), np.float32)
    matrix[3, -1] = bad
    matrix[1] = 0  # for p <= 0 a zero decides, whatever the others are
    ids = [0, 1, 3] + [0] * (n - 3)
    for kind in (np.float32, np.float16):
        with pytest.raises(InputError, match="word vector 3 has NaN or infinity"):
            kernels.power_means(matrix.astype(kind), batch(ids, [0, n]), powers)
        kernels.power_means(matrix.astype(kind), batch([0, 1, 2, 4], [0, 4]), powers)


def test_a_damaged_scale_of_an_int8_word_is_found():
    scale = np.array([1, np.nan], np.float32)
    with pytest.raises(InputError, match="word vector 1 has NaN or infinity"):
        kernels.power_means(MATRIX.astype(np.int8), batch([0, 1], [0, 2]), [np.inf], scale=scale)


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("dim", [1, 3, 300])
def test_the_first_row_that_is_not_finite_is_found(kind, dim):
    matrix = np.full((9000, dim), 60000, kind)
    assert kernels.first_not_finite(matrix) is None
    for row, bad in ((8999, np.nan), (5000, -np.inf), (0, np.inf)):
        matrix[row, -1] = bad
        assert kernels.first_not_finite(matrix, n_threads=3) == row


def test_whole_numbers_and_nothing_at_all_are_finite():
    assert kernels.first_not_finite(np.ones((3, 2), np.int8)) is None
    assert kernels.first_not_finite(np.ones((0, 2), np.float32)) is None
    assert kernels.first_not_finite(np.ones((2, 0), np.float32)) is None


@pytest.mark.parametrize(("value", "error"), [("junk", "PMEANS_KERNELS is 'junk'"), ("", None)])
def test_an_unknown_choice_of_kernels_is_refused(value, error):
    env = {**os.environ, "PMEANS_KERNELS": value}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import pmeans.kernels"],
        env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert (error or "") in done.stderr
    assert bool(done.returncode) == bool(error)


def test_out_may_be_columns_of_a_wider_array():
    wide = np.full((1, 6), 9, dtype=np.float32)
    kernels.power_means(MATRIX, batch([0, 1], [0, 2]), [1], out=wide[:, 2:4])
    assert wide.tolist() == [[9, 9, 2, 2, 9, 9]]


def two_parts(n_threads, *maps):
    """Return 100 sentences' means of two spaces side by side, mapped, and the same step by step."""
    rng = np.random.default_rng(0)
    spaces = [rng.normal(size=(20, dim)).astype(np.float32) for dim in (3, 5)]
    lengths = rng.integers(0, 4, size=(2, 100))
    batches = [
        batch(rng.integers(0, 20, size=n.sum()), np.concatenate([[0], np.cumsum(n)]))
        for n in lengths
    ]
    means = [kernels.SpaceMeans(space, (1, np.inf)) for space in spaces]
    rows = np.hstack([kernels.power_means(spaces[k], batches[k], [1, np.inf]) for k in (0, 1)])
    for matrix in maps:
        rows = kernels.map_rows(rows, matrix)
    out = np.empty_like(rows)
    given = [(b, None) for b in batches]
    return kernels.join_means(means, given, maps, out, n_threads=n_threads), rows


@pytest.mark.parametrize("n_threads", [1, 3])
def test_joined_means_are_those_of_each_space_and_maps_follow(n_threads):
    rng = np.random.default_rng(1)
    first, last = (rng.normal(size=size).astype(np.float32) for size in ((16, 4), (4, 7)))
    codes = rng.integers(-127, 128, size=(16, 20), dtype=np.int8)
    coded = kernels.CodedMatrix.of(codes, np.ones(16, np.float32))
    for maps in ((), (first,), (coded,), (first, last)):
        np.testing.assert_array_equal(*two_parts(n_threads, *maps))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"maps": [np.ones((3, 1), np.float32)]}, "3 columns does not fit rows of 2"),
        ({"maps": [np.ones((2, 1))]}, "matrix must be .* float32, not .* float64"),
        ({"out": np.ones((1, 3), np.float32)}, r"out must be \(1, 2\)"),
        ({"means": 2}, "a batch of 2 sentences beside one of 1"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change, message):
    means = [kernels.SpaceMeans(MATRIX, (1,))] * change.get("means", 1)
    batches = [(batch([0], [0, 1]), None), (batch([0], [0, 0, 1]), None)][: len(means)]
    out = np.ones((1, 2 * len(means)), np.float32)
    with pytest.raises(InputError, match=message):
        kernels.join_means(means, batches, change.get("maps", ()), change.get("out", out))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"powers": []}, "empty"),
        ({"powers": [np.nan]}, "not a usable power"),
        ({"powers": [1e-9]}, "not a usable power"),
        ({"powers": [1, 1]}, "twice"),
        ({"root": "real"}, "root 'real' is not 'signed'"),
        ({"matrix": MATRIX.astype(np.float64)}, "float64"),
        ({"matrix": MATRIX.T}, "ascontiguousarray"),
        ({"matrix": MATRIX.astype(np.int8)}, "scale"),
        ({"scale": np.ones(2, np.float32)}, "only they do"),
        ({"batch": batch([2], [0, 1])}, "there are 2"),
        ({"batch": batch([-1], [0, 1])}, "row -1"),
        ({"batch": batch([0, 1], [0, 2, 1, 2])}, "offsets must rise"),
        ({"out": np.zeros((1, 3), np.float32)}, "out must be"),
        ({"out": np.zeros((1, 2))}, "float64"),
        ({"out": np.zeros((1, 4), np.float32)[:, ::2]}, "side by side"),
        ({"shift": np.zeros(2, np.float32)}, "go together"),
        ({"shift": np.zeros(3, np.float32), "factor": np.zeros(3, np.float32)}, "must be"),
        ({"composed": np.zeros((1, 3), np.float32)}, "composed"),
        ({"n_threads": 0}, "at least 1, not 0"),
        ({"n_threads": 2.5}, "whole number, at least 1, not 2.5"),
        ({"n_threads": True}, "not True"),
        ({"n_threads": "2"}, "not '2'"),
    ],
)
def test_bad_arguments_are_refused_before_compiled_code_sees_them(change, message):
    arguments = {"matrix": MATRIX, "batch": batch([0], [0, 1]), "powers": [1]} | change
    with pytest.raises(InputError, match=message):
        kernels.power_means(
            arguments.pop("matrix"), arguments.pop("batch"), arguments.pop("powers"), **arguments
        )


def test_read_only_out_is_refused():
    out = np.zeros((1, 2), np.float32)
    out.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        kernels.power_means(MATRIX, batch([0], [0, 1]), [1], out=out)


def test_a_sentence_that_is_no_string_is_named():
    with pytest.raises(InputError, match="sentence 1 is float"):
        kernels.lookup(["a", np.nan], [], Splitting.WHITESPACE)


def test_composed_rows_follow_the_matrix_in_every_number_format():
    composed = np.array([[10.0, 20.0]], dtype=np.float32)
    for matrix, scale in [
        (MATRIX, None),
        (MATRIX.astype(np.float16), None),
        (MATRIX.astype(np.int8), np.ones(2, np.float32)),
    ]:
        got = kernels.power_means(
            matrix, batch([1, 2], [0, 2]), [1, np.inf], scale=scale, composed=composed
        )
        assert got.tolist() == [[6.5, 12.5, 10, 20]]


# Hashes by the published FNV-1a constants, with the sign extension of C's signed char.
def test_subword_vectors_are_the_mean_of_the_hashed_rows():
    def fnv(piece: bytes) -> int:
        h = 2166136261
        for byte in piece:
            signed = byte - 256 if byte > 127 else byte
            h = ((h ^ (signed & 0xFFFFFFFF)) * 16777619) % 2**32
        return h

    rows = np.random.default_rng(0).normal(size=(97, 4)).astype(np.float32)
    pieces = ["<ä", "<äb", "äb", "äb>", "b>"]
    vectors, counts = kernels.compose(["äb", ""], rows, 2, 3)
    expected = np.mean([rows[fnv(p.encode()) % 97] for p in pieces], axis=0)
    # rtol: five float32 additions.
    np.testing.assert_allclose(vectors[0], expected, rtol=1e-6)
    # "" is "<>": one n-gram of two characters.
    assert counts.tolist() == [5, 1]


def test_threads_compose_the_same_vectors():
    rows = np.random.default_rng(0).normal(size=(97, 4)).astype(np.float32)
    words = [f"word{i}" for i in range(200)]
    alone, _ = kernels.compose(words, rows, 2, 3, n_threads=1)
    np.testing.assert_array_equal(kernels.compose(words, rows, 2, 3, n_threads=4)[0], alone)


def test_ids_of_another_type_or_order_in_memory_are_taken():
    ids = np.array([0, 9, 1, 9])[::2]
    got = kernels.power_means(MATRIX, TokenBatch(ids, np.array([0, 2], np.int32), ids), [1])
    assert got.tolist() == [[2, 2]]


def test_words_keep_hyphens_and_apostrophes_inside_and_numbers_are_groups_of_digits():
    text = "Don’t pay $3.50 for e-mail: it's 1,000 €!"
    assert split(text, Splitting.WORDS) == [
        "Don't", "pay", "$", "3", "50", "for", "e-mail", ":", "it's", "1", "000", "€", "!",
    ]  # fmt: skip


def test_english_clitics_are_split_as_in_the_penn_treebank():
    assert split("It's DON'T we’ll", Splitting.WORDS_ENGLISH) == [
        "It", "'s", "DO", "N'T", "we", "'ll",
    ]  # fmt: skip


def test_french_elisions_are_cut_behind_the_apostrophe():
    assert split("L'homme qu’il aujourd'hui", Splitting.WORDS_ELISION) == [
        "L'", "homme", "qu'", "il", "aujourd'hui",
    ]  # fmt: skip


def system(root, own, **files):
    for name, text in {"proc/self/cgroup": own, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "50000 100000\n"}),
        ("0::/a/b\n", {"sys/fs/cgroup/a/cpu.max": "1 100000\n"}),
        (
            "5:memory:/x\n4:cpu,cpuacct:/y\n",
            {
                "sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_quota_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_period_us": "100000\n",
            },
        ),
    ],
)
def test_a_quota_of_the_control_group_limits_the_threads(tmp_path, own, files):
    assert available_threads(system(tmp_path, own, **files)) == 1


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}),
        ("4:cpu:/\n", {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"}),
        ("5:memory:/x\n", {}),
    ],
)
def test_no_quota_leaves_the_affinity_mask(tmp_path, own, files):
    root = system(tmp_path, own, **files)
    assert available_threads(root) == len(os.sched_getaffinity(0))


def test_calls_from_many_threads_do_not_disturb_each_other():
    table = index.word_table([f"w{i}" for i in range(1000)])
    matrix = np.random.default_rng(0).normal(size=(1000, 33)).astype(np.float32)
    sentences = [" ".join(f"w{(i * j) % 1000}" for j in range(20)) for i in range(500)]

    def encode():
        (found,) = kernels.lookup(sentences, [(table, "lower", -1)], Splitting.WHITESPACE, 2)
        return kernels.power_means(matrix, found, [1, np.inf], n_threads=2)

    expected = encode()
    results = [None] * 8

    def work(k):
        results[k] = encode()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_a_forked_child_can_work_after_its_parent_did():
    code = """
import os, numpy as np
from pmeans import kernels
from pmeans.types import TokenBatch
n = 1000
batch = TokenBatch(np.zeros(n, np.int32), np.arange(n + 1), np.zeros(n, np.int32))
work = lambda: kernels.power_means(np.ones((1, 8), np.float32), batch, [1], n_threads=4).sum()
assert work() == 8 * n
child = os.fork()
if child == 0:
    os._exit(0 if work() == 8 * n else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_missing_core_is_said_once_and_numpy_takes_over():
    code = """
import sys, warnings
sys.modules["pmeans._native"] = None
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import pmeans, pmeans.kernels
print(len(said), said[0].category.__name__, pmeans.kernels.backend())
"""
    env = {k: v for k, v in os.environ.items() if k != "PMEANS_KERNELS"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "SlowKernelsWarning", "numpy"]
