"""Canonical correlation, by closed form and on aligned text."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans import open_space, save_space
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile
from pmeans_lab.training.word_map import Cca, MappedLanguage, canonical

N, DIM = 60, 5


def quiet(share, words):
    assert 0 <= share <= 1


@pytest.fixture
def files(tmp_path):
    """English, German and French that are linear images of each other; German text in order."""
    rng = np.random.default_rng(0)
    english = rng.normal(size=(N, DIM))
    for lang, vectors in (
        ("en", english),
        ("de", english @ rng.normal(size=(DIM, DIM)) + 1),
        ("fr", english @ rng.normal(size=(DIM, DIM)) - 2),
    ):
        words = [f"{lang}{i}" for i in range(N)]
        save_space(
            WordSpace.from_words(lang, {lang: words}, vectors), tmp_path / f"{lang}.safetensors"
        )
        listed = [f"en{i}\t{lang}{i}\n" for i in range(N)]
        (tmp_path / f"en-{lang}.tsv").write_text("".join(listed))
        lines = []
        for _ in range(200):
            chosen = rng.integers(0, N, size=4)
            lines.append(" ".join(f"en{i}" for i in chosen))
            lines[-1] += "\t" + " ".join(f"{lang}{i}" for i in chosen) + "\n"
        (tmp_path / f"text-{lang}.tsv").write_text("".join(lines))
    return tmp_path


def trainer(folder, langs=("de",), dim=DIM, **rest):
    others = tuple(
        MappedLanguage(f"{lang}.safetensors", lang, (f"en-{lang}.tsv",)) for lang in langs
    )
    return Cca("made", "en.safetensors", others, dim, **rest).beside(folder)


def from_text(folder):
    others = (MappedLanguage("de.safetensors", "de", text=PairFile("text-de.tsv", "en", "de")),)
    return Cca("made", "en.safetensors", others, DIM).beside(folder)


def rows(space, lang):
    table = space.tables[lang]
    return space.rows(slice(table.start, table.start + len(table)))


def test_correlations_agree_with_scikit_learn():
    decomposition = pytest.importorskip("sklearn.cross_decomposition")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 3))
    y = x @ rng.normal(size=(3, 4)) + rng.normal(size=(200, 4))
    found = canonical(x, y, np.ones(200), 2, 1e-9).correlations
    a, b = decomposition.CCA(2, scale=False, max_iter=5000, tol=1e-12).fit_transform(x, y)
    expected = [np.corrcoef(a[:, i], b[:, i])[0, 1] for i in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_canonical_directions_are_uncorrelated_and_of_variance_1():
    rng = np.random.default_rng(2)
    x, y, weights = rng.normal(size=(80, 3)), rng.normal(size=(80, 3)), rng.uniform(1, 9, size=80)
    maps = canonical(x, y, weights, 3, 1e-9)
    mapped = (x - maps.x_mean) @ maps.a
    covariance = (mapped * weights[:, None]).T @ mapped / weights.sum()
    np.testing.assert_allclose(covariance, np.eye(3), atol=1e-6)


def test_a_weight_of_2_is_a_pair_given_twice():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    twice = np.arange(20).repeat([2] * 10 + [1] * 10)
    weighted = canonical(x, y, np.repeat([2.0, 1.0], 10), 2, 1e-3)
    repeated = canonical(x[twice], y[twice], np.ones(30), 2, 1e-3)
    np.testing.assert_allclose(weighted.correlations, repeated.correlations)


def test_two_languages_meet_in_their_canonical_space(files):
    space = trainer(files, dim=3, ridge=1e-9).train(progress=quiet)
    assert (space.dim, space.languages) == (3, ("en", "de"))
    # What is a linear image correlates perfectly; float32 vectors leave 1e-6.
    np.testing.assert_allclose(rows(space, "de"), rows(space, "en"), atol=1e-4)


def test_several_languages_meet_in_the_unchanged_space_of_the_pivot(files):
    space = trainer(files, ("de", "fr"), ridge=1e-9).train(progress=quiet)
    np.testing.assert_array_equal(rows(space, "en"), open_space(files / "en.safetensors").matrix)
    for lang in ("de", "fr"):
        np.testing.assert_allclose(rows(space, lang), rows(space, "en"), atol=1e-4)


def test_aligned_text_does_as_well_as_a_dictionary(files):
    aligned = from_text(files).train(progress=quiet)
    a, b = rows(aligned, "en"), rows(aligned, "de")
    nearest = (a @ b.T / np.linalg.norm(b, axis=1)).argmax(axis=1)
    assert (nearest == np.arange(N)).mean() > 0.95


class KilledError(Exception):
    pass


@pytest.mark.parametrize("after", [1, 7])
def test_a_killed_alignment_goes_on_to_the_same_bytes(files, after):
    whole = from_text(files).train(progress=quiet, checkpoint=files / "whole")
    calls = []

    def kill(share, words):
        calls.append(share)
        if len(calls) == after:
            raise KilledError

    with pytest.raises(KilledError):
        from_text(files).train(progress=kill, checkpoint=files / "state")
    steps = []
    resumed = from_text(files).train(
        progress=lambda share, words: steps.append(words), checkpoint=files / "state"
    )
    assert resumed.matrix.tobytes() == whole.matrix.tobytes()
    assert (files / "state").read_bytes() == (files / "whole").read_bytes()
    assert sum("aligning" in words for words in steps) == 10 - after


def test_too_few_pairs_are_refused(files):
    (files / "en-de.tsv").write_text("".join(f"en{i}\tde{i}\n" for i in range(DIM)))
    with pytest.raises(InputError, match=r"5 word pairs .* too few for 5 canonical directions"):
        trainer(files).train(progress=quiet)


def test_more_directions_than_columns_are_refused(files):
    with pytest.raises(InputError, match="dim is 6, and the narrowest space has 5 columns"):
        trainer(files, dim=6).train(progress=quiet)


def test_settings_are_refused_before_any_text_is_aligned(files):
    steps = []
    with pytest.raises(InputError, match="ridge"):
        replace(from_text(files), ridge=0.0).train(progress=lambda *step: steps.append(step))
    assert not steps


def test_a_ridge_of_0_is_refused(files):
    with pytest.raises(InputError, match="ridge is 0"):
        trainer(files, ridge=0.0).train(progress=quiet)
