"""Rotations between languages, on spaces whose rotation is known."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans import open_space, save_space
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.spaces.space import WordSpace
from pmeans.training import from_toml
from pmeans_lab.training.word_map import MappedLanguage, Procrustes, normalised, rotation

N, DIM = 60, 5


def quiet(share, words):
    assert 0 <= share <= 1


@pytest.fixture
def files(tmp_path):
    """English, a rotated German and a wider French, and dictionaries of their first 20 words."""
    rng = np.random.default_rng(0)
    english = rng.normal(size=(N, DIM))
    rotation, _ = np.linalg.qr(rng.normal(size=(DIM, DIM)))
    wider, _ = np.linalg.qr(rng.normal(size=(DIM + 2, DIM)))
    for lang, vectors in (("en", english), ("de", english @ rotation.T), ("fr", english @ wider.T)):
        words = [f"{lang}{i}" for i in range(N)]
        save_space(
            WordSpace.from_words(lang, {lang: words}, vectors), tmp_path / f"{lang}.safetensors"
        )
        listed = [f"en{i}\t{lang}{i}\n" for i in range(20)]
        (tmp_path / f"en-{lang}.tsv").write_text("".join(listed))
    return tmp_path


def trainer(folder, langs=("de",), **rest):
    others = tuple(
        MappedLanguage(f"{lang}.safetensors", lang, (f"en-{lang}.tsv",)) for lang in langs
    )
    return Procrustes("made", "en.safetensors", others, **rest).beside(folder)


def gap(space, lang):
    return np.abs(space.rows(slice(0, N)) - space.rows(slice(*bounds(space, lang)))).max()


def bounds(space, lang):
    table = space.tables[lang]
    return table.start, table.start + len(table)


@pytest.mark.parametrize("lang", ["de", "fr"])
def test_a_rotated_language_comes_to_lie_on_its_pivot(files, lang):
    space = trainer(files, (lang,), normalise=False, refinements=0).train(progress=quiet)
    assert space.languages == ("en", lang)
    assert gap(space, lang) < 1e-5  # float32 vectors of length about 2


def test_several_languages_come_into_one_space(files):
    space = trainer(files, ("de", "fr")).train(progress=quiet)
    assert space.languages == ("en", "de", "fr")
    assert max(gap(space, "de"), gap(space, "fr")) < 1e-5


def test_a_space_that_is_bilingual_already_can_be_mapped_within(files):
    listed = {lang: open_space(files / f"{lang}.safetensors") for lang in ("en", "de")}
    words = {lang: list(space.words(lang)) for lang, space in listed.items()}
    matrix = np.concatenate([space.matrix for space in listed.values()])
    save_space(WordSpace.from_words("both", words, matrix), files / "both.safetensors")
    others = (MappedLanguage("both.safetensors", "de", ("en-de.tsv",)),)
    space = Procrustes("made", "both.safetensors", others).beside(files).train(progress=quiet)
    assert gap(space, "de") < 1e-5


def test_normalised_vectors_have_length_1(files):
    space = trainer(files).train(progress=quiet)
    np.testing.assert_allclose(np.linalg.norm(space.matrix, axis=1), 1, rtol=1e-5)


def test_normalising_takes_the_mean_direction_away():
    rows = normalised(np.random.default_rng(1).normal(size=(500, 4)) + 3)
    # The second scaling moves the mean a little again.
    assert np.abs(rows.mean(axis=0)).max() < 0.1


def test_the_map_is_orthogonal():
    rng = np.random.default_rng(2)
    w = rotation(rng.normal(size=(9, 4)), rng.normal(size=(9, 4)), np.ones(9))
    np.testing.assert_allclose(w @ w.T, np.eye(4), atol=1e-6)


def test_a_pair_counts_by_its_weight():
    x, y = np.array([[1.0, 0], [1.0, 0]]), np.array([[1.0, 0], [0, 1.0]])
    assert rotation(x, y, np.array([1.0, 100.0]))[0] @ [0, 1] > 0.9


def test_refinement_mends_a_dictionary_with_errors(files):
    wrong = "en0\tde9\nen1\tde8\nen2\tde7\n"
    right = "".join(f"en{i}\tde{i}\n" for i in range(10, 18))
    (files / "en-de.tsv").write_text(wrong + right)
    plain = trainer(files, refinements=0).train(progress=quiet)
    refined = trainer(files).train(progress=quiet)
    assert gap(refined, "de") < gap(plain, "de") / 2


def test_the_same_settings_give_the_same_bytes(files):
    first, second = (trainer(files).train(progress=quiet) for _ in range(2))
    assert first.matrix.tobytes() == second.matrix.tobytes()


def test_the_space_inherits_case_and_licences(files):
    for lang, case, licence in (("en", "cased", "CC0"), ("de", "lower", "MIT")):
        space = open_space(files / f"{lang}.safetensors")
        save_space(
            replace(space, case=case, licence=licence, path=""), files / f"{lang}.safetensors"
        )
    space = trainer(files).train(progress=quiet)
    # Spaces that treat case differently agree on trying both.
    assert (space.case, space.licence) == ("cased-then-lower", "CC0; MIT")


def test_a_toml_file_makes_the_trainer(files):
    path = files / "procrustes.toml"
    path.write_text(
        'kind = "procrustes"\nname = "made"\nspace = "en.safetensors"\n'
        'others = [{ space = "de.safetensors", lang = "de", files = ["en-de.tsv"] }]\n'
    )
    assert from_toml(path) == trainer(files.resolve())


def test_an_empty_dictionary_is_refused(files):
    (files / "en-de.tsv").write_text("")
    with pytest.raises(InputError, match="the dictionary is empty"):
        trainer(files).train(progress=quiet)


def test_a_dictionary_the_wrong_way_round_is_refused(files):
    (files / "en-de.tsv").write_text("de1\ten1\n")
    with pytest.raises(InputError, match=r"none of the 1 word pairs .* the other way round"):
        trainer(files).train(progress=quiet)


def test_a_third_column_is_refused(files):
    (files / "en-de.tsv").write_text("en1\tde1\tde2\n")
    with pytest.raises(FormatError, match="line 1: 3 columns, expected 2"):
        trainer(files).train(progress=quiet)


def test_a_language_that_the_space_lacks_is_refused(files):
    wrong = Procrustes(
        "made", "en.safetensors", (MappedLanguage("de.safetensors", "fr", ("en-de.tsv",)),)
    )
    with pytest.raises(LanguageError, match="has no language 'fr'; it has 'de'"):
        wrong.beside(files).train(progress=quiet)


def test_nothing_to_learn_from_is_refused(files):
    with pytest.raises(InputError, match="name 'files' or a 'text'"):
        Procrustes("made", "en.safetensors", (MappedLanguage("de.safetensors", "de"),)).beside(
            files
        ).train(progress=quiet)


@pytest.mark.parametrize(("langs", "message"), [((), "no language to map"), (("de", "de"), "once")])
def test_each_language_occurs_once(files, langs, message):
    with pytest.raises(InputError, match=message):
        trainer(files, langs).train(progress=quiet)
