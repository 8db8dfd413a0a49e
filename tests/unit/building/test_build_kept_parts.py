"""Build files whose first part is not mapped, on two toy spaces of two languages."""

import numpy as np
import pytest

from pmeans import WordSpace, models, save_space
from pmeans.building.build_file import Build

WORDS = {"en": ["the", "cat", "sat"], "de": ["die", "katze", "sass"]}
PAIRS = [
    ("the cat sat", "die katze sass"),
    ("the cat", "die katze"),
    ("cat sat", "katze sass"),
    ("sat", "sass"),
    ("the the cat", "die die katze"),
    ("the sat", "die sass"),
]
BUILD = """
parts = [{ space = "./first.safetensors", powers = [1] },
         { space = "./second.safetensors", powers = [1, inf] }]
texts = [{ path = "pairs.tsv", first = "en", second = "de" }]
[align]
keep = 1
penalty = 1.0
"""


def space(name, dim, langs=("en", "de"), matrix=None):
    if matrix is None:
        matrix = np.random.default_rng(dim).standard_normal((6, dim)).astype(np.float32)
    return WordSpace.from_words(
        name, {lang: WORDS.get(lang, WORDS["de"]) for lang in langs}, matrix
    )


@pytest.fixture
def folder(tmp_path):
    for name, dim in (("first", 3), ("second", 2)):
        save_space(space(name, dim), tmp_path / f"{name}.safetensors")
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    return tmp_path


def made(folder, more=""):
    (folder / "toy.toml").write_text(BUILD + more)
    Build.from_toml(folder / "toy.toml").make(folder / "out", progress=lambda share, text: None)
    return models.load(folder / "out")


@pytest.mark.parametrize(("lang", "side"), [("en", 0), ("de", 1)])
def test_mapped_columns_are_multiplied_by_their_weight_before_rows_are_one_long(folder, lang, side):
    texts = [pair[side] for pair in PAIRS]
    whole, halved = (
        encoder.encode(texts, lang=lang) * encoder.znorm.length
        for encoder in (made(folder), made(folder, "weight = 0.5"))
    )
    # 1e-5: deviations are multiplied by two different lengths in float32.
    np.testing.assert_allclose(halved[:, :3], whole[:, :3], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(halved[:, 3:], whole[:, 3:] / 2, rtol=1e-5, atol=1e-6)
    assert np.abs(whole[:, 3:]).max() > 0.1


def test_rows_are_one_long_with_a_weight(folder):
    encoder = made(folder, "weight = 0.5")
    rows = [encoder.encode([pair[k] for pair in PAIRS], lang=("en", "de")[k]) for k in (0, 1)]
    # 1e-5: rows are float32.
    assert np.median(np.linalg.norm(np.concatenate(rows), axis=1)) == pytest.approx(1, rel=1e-5)


def test_the_card_names_the_weight(folder):
    made(folder, "weight = 0.5")
    card = (folder / "out" / "MODEL.md").read_text()
    assert "| de | 6 sentences | canonical, penalty 1, 6 pairs, weight 0.5, float32 |" in card


def test_a_language_that_is_added_is_mapped_as_if_it_had_been_there(folder):
    encoder = made(folder, "weight = 0.5")
    assert encoder.znorm.length > 1.5  # or the map would be the right one by chance
    # Dutch has the words and the vectors of German.
    grown = {
        name: space(
            name, old.dim, ("en", "de", "nl"), old.rows(np.array([0, 1, 2, *[3, 4, 5] * 2]))
        )
        for name, old in encoder.spaces.items()
    }
    dutch = [second for _, second in PAIRS]
    more = encoder.replace(spaces=grown).fit_znorm(dutch, lang="nl")
    more = more.fit_alignment({"nl": PAIRS}, pivot="en", penalty=1.0)
    # 1e-4: the spread that Dutch is given is that of rows mapped in float32.
    np.testing.assert_allclose(
        more.encode(dutch, lang="nl"), encoder.encode(dutch, lang="de"), rtol=1e-4, atol=1e-5
    )
