"""Attract-Repel: the objective against a plain loop, and what the trainer promises."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import ConfigError, FormatError, InputError, LanguageError, StorageError
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import save_space
from pmeans.training import from_toml
from pmeans.training.attract_repel import AttractRepel, WordPairFile, _Learning, gather

WORDS = [f"w{i}" for i in range(12)]


@pytest.fixture
def made(tmp_path):
    """A trainer over twelve random words: w0 w1, w2 w3, w4 w5 attract, w6 w7, w8 w9 repel."""
    vectors = np.random.default_rng(1).normal(size=(12, 6)).astype(np.float32)
    save_space(WordSpace.from_words("start", {"en": WORDS}, vectors), tmp_path / "s.safetensors")
    (tmp_path / "near").write_text("w0 w1\nw2 w3\nw4 w5\n")
    (tmp_path / "far").write_text("w6 w7\nw8 w9\n")
    return AttractRepel(
        name="new",
        space=str(tmp_path / "s.safetensors"),
        attract=(WordPairFile(str(tmp_path / "near"), ("en",)),),
        repel=(WordPairFile(str(tmp_path / "far"), ("en",)),),
        epochs=4,
    )


def quiet(share, words):
    pass


def cost(vectors, original, batch, kind, how):
    """The paper's cost of one batch, word by word."""
    unit = {w: vectors[w] / np.linalg.norm(vectors[w]) for pair in batch for w in pair}
    sign, margin = ((1, how.attract_margin), (-1, how.repel_margin))[kind]
    total = 0.0
    for pair in batch:
        for word, partner in (pair, pair[::-1]):
            others = [sign * unit[word] @ unit[t] for t in unit if t not in pair]
            total += max(0, margin + max(others) - sign * unit[word] @ unit[partner])
    return total + how.regularisation * sum(((unit[w] - original[w]) ** 2).sum() for w in unit)


@pytest.mark.parametrize("margin", [0.0, 1.0])  # at 0, some pairs cost nothing
@pytest.mark.parametrize("kind", [0, 1])
def test_a_step_goes_down_the_gradient_of_the_papers_cost(kind, margin):
    rng = np.random.default_rng(2)
    vectors, original = rng.normal(size=(2, 8, 5))
    vectors[3] += 2 * vectors[2]  # a partner is the closest word of all, another the farthest,
    vectors[6] -= 2 * vectors[5]  # and neither may be the negative of its own pair
    batch = np.array([[0, 1], [2, 3], [0, 4], [5, 6]])  # word 0 twice, word 7 never
    margins = {"attract_margin": margin, "repel_margin": margin}
    how = AttractRepel(name="", space="", attract=(), regularisation=0.3, rate=1.0, **margins)
    learning = _Learning(original, vectors.copy(), [np.zeros((8, 5)) + 1e12 for _ in range(2)], how)
    learning.step(kind, batch)
    gradient = (vectors - learning.vectors) * 1e6  # accounts of 1e12 divide each step by 1e6

    def slope(i, j, h=1e-6):
        nudge = np.zeros_like(vectors)
        nudge[i, j] = h
        up, down = (cost(vectors + s * nudge, original, batch, kind, how) for s in (1, -1))
        return (up - down) / (2 * h)

    expected = [[slope(i, j) for j in range(5)] for i in range(8)]
    # atol: slopes are single precision counts, and differences of 1e-6 keep about six digits.
    np.testing.assert_allclose(gradient, expected, atol=1e-4)


def test_attracted_words_come_closer_and_repelled_ones_move_apart(made):
    before, after = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (
            np.random.default_rng(1).normal(size=(12, 6)),
            made.train(progress=quiet).rows(slice(None)),
        )
    )
    for a, b in ((0, 1), (2, 3), (4, 5)):
        assert after[a] @ after[b] > before[a] @ before[b]
    for a, b in ((6, 7), (8, 9)):
        assert after[a] @ after[b] < before[a] @ before[b]
    # Words of no pair keep their direction, to single precision.
    np.testing.assert_allclose(after[10:], before[10:], atol=1e-6)


def test_all_vectors_of_the_result_have_length_one(made):
    lengths = np.linalg.norm(made.train(progress=quiet).matrix, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(made):
    made = replace(made, batch=2)
    first, again, other = (
        replace(made, seed=seed).train(progress=quiet).matrix.tobytes() for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_a_killed_training_resumes_to_the_same_bytes(made, tmp_path):
    def kill(share, words):
        if share == 0.5:
            raise KeyboardInterrupt

    state = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        made.train(progress=kill, checkpoint=state)
    shares = []
    resumed = made.train(progress=lambda share, words: shares.append(share), checkpoint=state)
    assert shares == [0.0, 0.75, 1.0]
    assert resumed.matrix.tobytes() == made.train(progress=quiet).matrix.tobytes()


def test_a_state_of_other_pairs_is_refused(made, tmp_path):
    made.train(progress=quiet, checkpoint=tmp_path / "state")
    (tmp_path / "near").write_text("w0 w1\nw2 w4\n")
    with pytest.raises(StorageError, match="another training"):
        made.train(progress=quiet, checkpoint=tmp_path / "state")


def test_too_few_pairs_are_an_error(made, tmp_path):
    (tmp_path / "near").write_text("unheard of\n")
    (tmp_path / "far").write_text("w6 w7\nunheard of\n")
    with pytest.raises(InputError, match="0 attract and 1 repel pairs between words of 'start'"):
        made.train(progress=quiet)


def test_a_pair_alone_in_its_batch_and_a_zero_vector_give_no_nan(made, tmp_path):
    vectors = np.ones((12, 3), dtype=np.float32)
    vectors[0] = 0
    save_space(WordSpace.from_words("start", {"en": WORDS}, vectors), tmp_path / "s.safetensors")
    (tmp_path / "far").write_text("w6 w7\n")
    assert np.isfinite(made.train(progress=quiet).matrix).all()


def test_subwords_are_dropped_and_the_source_tells_the_pairs(made, tmp_path):
    subwords = Subwords(np.ones((4, 6), dtype=np.float32), 3, 4)
    start = WordSpace.from_words("start", {"en": WORDS}, np.eye(12, 6) + 1, subwords=subwords)
    save_space(start, tmp_path / "s.safetensors")
    space = made.train(progress=quiet)
    assert space.subwords is None
    assert space.name == "new"
    assert "3 attract and 2 repel pairs" in space.source


def test_languages_are_tied_together_by_translations(tmp_path):
    rng = np.random.default_rng(0)
    words = {"en": ["cat", "dog", "cup"], "de": ["katze", "hund", "tasse"]}
    start = WordSpace.from_words("both", words, rng.normal(size=(6, 8)))
    save_space(start, tmp_path / "s.safetensors")
    (tmp_path / "p").write_text("cat\tkatze\ndog\thund\ncup\ttasse\n")
    pairs = WordPairFile(str(tmp_path / "p"), ("en", "de"))
    path = str(tmp_path / "s.safetensors")
    rows = AttractRepel(name="n", space=path, attract=(pairs,), epochs=20).train(progress=quiet)
    nearest = (rows.matrix[:3] @ rows.matrix[3:].T).argmax(axis=1)
    assert nearest.tolist() == [0, 1, 2]


def test_a_toml_file_names_its_files_relative_to_itself(made, tmp_path):
    (tmp_path / "t.toml").write_text(
        'kind = "attract-repel"\nname = "new"\nspace = "s.safetensors"\nepochs = 4\n'
        'attract = [{ path = "near", languages = ["en"] }]\n'
        'repel = [{ path = "far", languages = ["en"] }]\n'
    )
    assert from_toml(tmp_path / "t.toml") == made


@pytest.mark.parametrize("wrong", [{"batch": 1}, {"epochs": 0}, {"seed": -1}, {"rate": np.inf}])
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises((ConfigError, InputError), match=next(iter(wrong))):
        AttractRepel(name="", space="", attract=(), **wrong)


@pytest.fixture
def space() -> WordSpace:
    words = {"en": ["big", "large", "small", "Paris"], "de": ["groß", "klein"]}
    return WordSpace.from_words("s", words, np.eye(6), case="cased-then-lower")


def pair_file(tmp_path, name, text, *languages):
    (tmp_path / name).write_bytes(text.encode())
    return WordPairFile(str(tmp_path / name), languages or ("en",))


def as_set(pairs):
    return {tuple(sorted(pair)) for pair in pairs.tolist()}


def test_tabs_blanks_and_bare_carriage_returns_all_separate(tmp_path):
    assert pair_file(tmp_path, "tabs", "a b\tc\n").read() == [("a b", "c")]
    assert pair_file(tmp_path, "blanks", "big large \n").read() == [("big", "large")]
    assert pair_file(tmp_path, "mac", "a\tb\t1\rc\td\t2\n").read() == [("a", "b"), ("c", "d")]


def test_a_compressed_file_is_read(tmp_path):
    (tmp_path / "p.gz").write_bytes(gzip.compress(b"a\tb\n"))
    assert WordPairFile(str(tmp_path / "p.gz"), ("en",)).read() == [("a", "b")]


def test_a_line_of_one_word_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FormatError, match=r"line 2.*'lonely'"):
        pair_file(tmp_path, "p", "a\tb\nlonely\n").read()


def test_three_languages_for_two_columns_are_refused():
    with pytest.raises(ConfigError, match="one for both columns, or two"):
        WordPairFile("p", ("en", "de", "fr"))


def test_unknown_and_identical_words_and_second_mentions_are_dropped(space, tmp_path):
    text = "big\tlarge\nlarge\tbig\nbig\tbig\nbig\tunheard-of\nBIG\tsmall\n"
    found = gather(space, [pair_file(tmp_path, "p", text)], [])
    assert as_set(found.attract) == {(0, 1), (0, 2)}
    assert len(found.attract) == 2


def test_a_pair_that_attracts_and_repels_repels(space, tmp_path):
    attract = pair_file(tmp_path, "a", "big\tsmall\nbig\tlarge\n")
    found = gather(space, [attract], [pair_file(tmp_path, "r", "small\tbig\n")])
    assert as_set(found.attract) == {(0, 1)}
    assert as_set(found.repel) == {(0, 2)}


def test_columns_of_two_languages_are_looked_up_in_each(space, tmp_path):
    found = gather(space, [pair_file(tmp_path, "p", "big\tgroß\ngroß\tbig\n", "en", "de")], [])
    assert as_set(found.attract) == {(0, 4)}


def test_pairs_to_do_without_leave_both_kinds_and_are_counted(space, tmp_path):
    attract = pair_file(tmp_path, "a", "big\tlarge\nlarge\tsmall\n")
    repel = pair_file(tmp_path, "r", "big\tsmall\n")
    test = pair_file(tmp_path, "t", "word1\tword2\tscore\nlarge\tbig\t9\nsmall\tbig\t0\n")
    found = gather(space, [attract], [repel], [test])
    assert as_set(found.attract) == {(1, 2)}
    assert len(found.repel) == 0
    assert found.left_out == 2
    assert str(found) == "1 attract and 0 repel pairs, 2 left out"


def test_an_empty_file_is_an_error(space, tmp_path):
    with pytest.raises(InputError, match="no pairs of words"):
        gather(space, [pair_file(tmp_path, "p", "\n")], [])


def test_a_language_that_the_space_lacks_is_an_error(space, tmp_path):
    with pytest.raises(LanguageError, match="'fr'"):
        gather(space, [pair_file(tmp_path, "p", "a\tb\n", "fr")], [])


def test_rows_are_found_as_the_space_treats_case(space):
    assert space.find(["Paris", "paris", "Big", "no"], "en").tolist() == [3, -1, 0, -1]
