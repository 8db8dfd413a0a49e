"""Build files, on a toy space of two languages."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from pmeans import WordSpace, kernels, models, save_space
from pmeans.building import identifier_fit
from pmeans.building.build_file import Build
from pmeans.cli.main import app
from pmeans.errors import ConfigError, InputError, StorageError
from pmeans.spaces.library import find_space
from pmeans.spaces.space import Subwords

PAIRS = [
    ("the cat sat", "die katze sass"),
    ("the cat", "die katze"),
    ("cat sat", "katze sass"),
    ("sat", "sass"),
    ("the the cat", "die die katze"),
    ("the sat", "die sass"),
]
BUILD = """
card = "words.md"

[[parts]]
space = "./toy.safetensors"
powers = [1, inf]
words = 3
precision = "int8"

[[texts]]
path = "pairs.tsv"
first = "en"
second = "de"

[align]
method = "ridge"
penalty = 1.0
rank = 2
precision = "int8"

[[materials]]
name = "by hand"
licence = "CC0"
use = "everything"
"""


@pytest.fixture
def folder(tmp_path):
    """Write a space whose commonest words come last, pairs, a card's text and a build file."""
    words = {"en": ["rare", "odd", "the", "cat", "sat"], "de": ["selten", "die", "katze", "sass"]}
    matrix = np.random.default_rng(0).standard_normal((9, 2)).astype(np.float32)
    save_space(WordSpace.from_words("toy", words, matrix), tmp_path / "toy.safetensors")
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    (tmp_path / "words.md").write_text("# A toy\n\nFor tests.\n")
    (tmp_path / "small.toml").write_text(BUILD)
    return tmp_path


def made(folder, out="out", change=lambda text: text):
    path = folder / "small.toml"
    path.write_text(change(path.read_text()))
    Build.from_toml(path).make(folder / out, progress=lambda share, text: None)
    return models.load(folder / out)


def test_a_built_encoder_is_fitted_and_named_after_its_file(folder):
    encoder = made(folder)
    assert (encoder.name, encoder.languages) == ("small", ("de", "en"))
    assert set(encoder.znorm.statistics) == {"en", "de"}
    assert encoder.alignment.precision == "int8"
    assert [f.shape for f in encoder.alignment.maps["de"].factors] == [(4, 2), (2, 4)]
    assert encoder.encode("die Katze", lang="de").any()


def test_a_build_may_have_an_identifier_which_its_card_tells_of(folder, monkeypatch):
    for name in ("_WITH_TEXT", "_WITHOUT", "_HELD_OUT"):
        monkeypatch.setattr(identifier_fit, name, 100)
    (folder / "list.txt").write_text("en\tthe cat sat\nde\tdie katze sass\nfi\tkissa ja\n")
    pairs = "".join(f"{a} {c}\t{b} {d}\n" for a, b in PAIRS for c, d in PAIRS for _ in range(2))
    (folder / "more.tsv").write_text(pairs)
    table = """
[identify]
words = "list.txt"
[[identify.texts]]
path = "more.tsv"
first = "en"
second = "de"
"""
    encoder = made(folder, change=lambda text: text + table)
    found = encoder.detect(["the cat", "die katze", "kissa"])
    assert [each.lang for each in found] == ["en", "de", None]
    card = (folder / "out" / "MODEL.md").read_text()
    assert "found, also if it is one of these others: fi." in card
    assert "identifier.safetensors" in card


def test_the_commonest_words_of_the_texts_are_kept(folder):
    space = made(folder).spaces["toy"]
    assert list(space.words("en")) == ["the", "cat", "sat"]
    assert list(space.words("de")) == ["die", "katze", "sass"]


@pytest.mark.parametrize("words", ["words = 3", ""])
def test_languages_that_no_text_is_of_are_left_out_and_shared_n_grams_stay(folder, words):
    plain = find_space(str(folder / "toy.safetensors"))
    listed = {"fr": ["le", "chat"], "ru": ["и"]} | {
        lang: list(plain.words(lang)) for lang in plain.tables
    }
    rows = np.concatenate([np.ones((3, 2), np.float32), plain.matrix])
    ngrams = np.random.default_rng(1).standard_normal((20, 2)).astype(np.float32)
    own = np.concatenate([ngrams, np.full((5, 2), 9, np.float32)])
    for path, space in (
        ("toy", replace(plain, subwords=Subwords(ngrams, 2, 3), path="")),
        (
            "more",
            WordSpace.from_words(
                "toy", listed, rows, subwords=Subwords(own, 2, 3, None, {"ru": 5})
            ),
        ),
    ):
        save_space(space, folder / f"{path}.safetensors")
    text = BUILD.replace("words = 3\n", f"{words}\n")
    of_two = made(folder, "two", lambda _: text)
    of_four = made(folder, "four", lambda _: text.replace("toy.safetensors", "more.safetensors"))
    assert of_four.languages == ("de", "en")
    assert set(of_four.spaces["toy"].tables) == {"de", "en"}
    assert of_four.fingerprint() == of_two.fingerprint()


def test_of_words_that_are_equally_common_the_first_are_kept(folder):
    space = made(folder, change=lambda text: text.replace("words = 3", "words = 4")).spaces["toy"]
    assert list(space.words("en")) == ["rare", "the", "cat", "sat"]


def test_general_frequencies_count_as_much_as_the_texts(folder):
    pytest.importorskip("wordfreq", reason="pip install 'pmeans[train]'")
    space = find_space(str(folder / "toy.safetensors"))
    words = {"en": ["odd", "rare", "the", "cat", "sat"], "de": list(space.words("de"))}
    save_space(WordSpace.from_words("toy", words, space.matrix), folder / "toy.safetensors")
    text = BUILD.replace("words = 3", "words = 4")
    by_texts = made(folder, change=lambda _: text).spaces["toy"]
    assert list(by_texts.words("en")) == ["odd", "the", "cat", "sat"]
    general = made(folder, change=lambda _: 'common = "texts+wordfreq"' + text).spaces["toy"]
    assert list(general.words("en")) == ["rare", "the", "cat", "sat"]


def test_a_language_without_general_frequencies_is_named(folder):
    pytest.importorskip("wordfreq", reason="pip install 'pmeans[train]'")
    (folder / "small.toml").write_text('common = "texts+wordfreq"\n' + BUILD)
    odd = WordSpace.from_words("toy", {"en": ["the"], "xx": ["die"]}, np.eye(2, dtype=np.float32))
    save_space(odd, folder / "toy.safetensors")
    with pytest.raises(ConfigError, match="wordfreq has no list of 'xx'"):
        made(folder, change=lambda text: text.replace('"de"', '"xx"'))


def test_words_that_their_n_grams_make_well_are_not_kept(folder):
    space = find_space(str(folder / "toy.safetensors"))
    ngrams = np.random.default_rng(1).standard_normal((500, 2)).astype(np.float32)
    matrix = space.matrix.copy()
    the, _ = kernels.compose(["the"], ngrams, 2, 3)
    matrix[2] = the[0]  # the commonest word, which is composed to the bit
    spelled = {lang: list(space.words(lang)) for lang in space.tables}
    made_well = replace(
        WordSpace.from_words("toy", spelled, matrix), subwords=Subwords(ngrams, 2, 3)
    )
    save_space(made_well, folder / "toy.safetensors")
    assert list(made(folder).spaces["toy"].words("en")) == ["rare", "cat", "sat"]


def test_subwords_are_packed_as_the_words_are_and_answer_for_those_left_out(folder):
    space = find_space(str(folder / "toy.safetensors"))
    ngrams = np.random.default_rng(1).standard_normal((20, 2)).astype(np.float32)
    save_space(replace(space, subwords=Subwords(ngrams, 2, 3), path=""), folder / "toy.safetensors")
    packed = made(folder).spaces["toy"]
    assert (packed.matrix.dtype, packed.subwords.ngrams.dtype) == (np.int8, np.int8)
    assert packed.row("selten", "de") == -1
    composed, _ = kernels.compose(["selten"], ngrams, 2, 3)
    # atol: half a step of the coarsest row.
    atol = np.abs(ngrams).max() / 254
    np.testing.assert_allclose(packed.vector("selten", "de"), composed[0], atol=atol)
    assert made(folder).encode("selten", lang="de").any()


def test_the_z_norm_is_fitted_on_the_packed_space(folder):
    encoder = made(folder, change=lambda text: text.split("[align]")[0].replace("3", "2"))
    assert len(encoder.spaces["toy"].tables["en"]) == 2
    rows = encoder.encode([first for first, _ in PAIRS], lang="en")
    known = rows[rows.any(axis=1)]
    # 1e-5: rounding of the statistics to float32.
    np.testing.assert_allclose(known.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(known.std(axis=0) * encoder.znorm.length, 1, atol=1e-5)


def test_the_typical_row_is_one_long(folder):
    encoder = made(folder)
    sides = {"en": [first for first, _ in PAIRS], "de": [second for _, second in PAIRS]}
    rows = [encoder.encode(texts, lang=lang) for lang, texts in sides.items()]
    lengths = np.linalg.norm(np.concatenate(rows), axis=1)
    # 1e-5: the maps are int8, and rows float32.
    assert np.median(lengths[lengths > 0]) == pytest.approx(1, rel=1e-5)


def test_parts_that_are_not_mapped_are_normed_halfway(folder):
    two = """
[[parts]]
space = "./other.safetensors"
powers = [1]
"""
    words = {"en": ["the", "cat", "sat"], "de": ["die", "katze", "sass"]}
    matrix = np.random.default_rng(2).standard_normal((6, 3)).astype(np.float32) * [4, 1, 0.25]
    save_space(WordSpace.from_words("other", words, matrix), folder / "other.safetensors")
    encoder = made(
        folder,
        change=lambda text: text.replace("rank = 2", "rank = 2\nkeep = 1").replace(
            'card = "words.md"', 'card = "words.md"' + two
        ),
    )
    assert encoder.znorm.halfway == 3
    rows = encoder.encode([first for first, _ in PAIRS], lang="en")[:, :3] * encoder.znorm.length
    plain = matrix[:3][[0, 1, 2]]
    means = np.array(
        [plain[[words["en"].index(w) for w in first.split()]].mean(axis=0) for first, _ in PAIRS]
    )
    spread = means.std(axis=0)
    np.testing.assert_allclose(
        rows, (means - means.mean(axis=0)) / np.sqrt(spread * spread.mean()), rtol=1e-4
    )
    # A language that is added is normed the same way.
    more = encoder.fit_znorm([second for _, second in PAIRS], lang="de", keep_alignment=True)
    np.testing.assert_array_equal(
        more.znorm.statistics["de"].std, encoder.znorm.statistics["de"].std
    )


def test_the_same_files_give_the_same_bytes(folder):
    made(folder, "one")
    made(folder, "two")
    for file in (path for path in (folder / "one").rglob("*") if path.is_file()):
        twin = folder / "two" / file.relative_to(folder / "one")
        assert file.read_bytes() == twin.read_bytes(), file.name


def test_the_checksums_are_those_of_all_other_files(folder):
    made(folder)
    lines = (folder / "out" / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert set(listed) == {
        "MODEL.md", "alignment.safetensors", "recipe.toml", "spaces/toy.safetensors",
        "znorm.safetensors",
    }  # fmt: skip
    for name, digest in listed.items():
        assert hashlib.sha256((folder / "out" / name).read_bytes()).hexdigest() == digest


def test_a_part_is_packed_into_four_bits(folder):
    encoder = made(
        folder, change=lambda t: t.replace('3\nprecision = "int8"', '3\nprecision = "int4"')
    )
    space = encoder.spaces["toy"]
    assert (space.precision, space.matrix.shape) == ("int4", (6, 1))
    assert "| toy | 1, inf | 2 | int4 | 3 | 3 |" in (folder / "out" / "MODEL.md").read_text()
    assert encoder.encode("die Katze", lang="de").any()


def test_the_card_says_what_becomes_of_unknown_words(folder):
    space = find_space(str(folder / "toy.safetensors"))
    ngrams = np.random.default_rng(1).standard_normal((1020, 2)).astype(np.float32)
    subwords = Subwords(ngrams, 3, 6, own={"de": 20}, folded=True)
    save_space(replace(space, subwords=subwords, path=""), folder / "toy.safetensors")
    made(folder, change=lambda t: t.replace('3\nprecision = "int8"', '3\nprecision = "int4"'))
    card = (folder / "out" / "MODEL.md").read_text()
    assert (
        "A word that toy lacks is composed from n-grams of 3 to 6 characters, in 1,000 rows of "
        "int4 that the languages share; de has 20 of its own. The n-grams are folded: "
    ) in card


def test_the_card_has_what_was_written_and_what_was_built(folder):
    made(folder)
    card = (folder / "out" / "MODEL.md").read_text()
    assert card.startswith("# A toy\n\nFor tests.\n\n## Parts\n")
    assert "| toy | 1, inf | 2 | int8 | 3 | 3 |" in card
    assert "| en | 6 sentences | pivot |" in card
    assert "| de | 6 sentences | ridge, penalty 1, rank 2, 6 pairs, int8 |" in card
    size = (folder / "out" / "spaces" / "toy.safetensors").stat().st_size
    assert f"| spaces/toy.safetensors | {size:,} |" in card
    assert "| by hand | CC0 | everything |" in card


def test_all_files_of_a_language_are_fitted_on_together(folder):
    text = BUILD[BUILD.index("[[texts]]") : BUILD.index("[align]")]
    (folder / "more.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS[2:]))
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS[:2]))
    apart = made(folder, change=lambda b: b.replace(text, text + text.replace("pairs", "more")))
    (folder / "small.toml").write_text(BUILD)
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    assert apart.fingerprint() == made(folder).fingerprint()


def test_two_parts_may_share_a_packed_space(folder):
    part = BUILD[BUILD.index("[[parts]]") : BUILD.index("[[texts]]")]
    more = part.replace("[1, inf]", "[-inf]")
    assert made(folder, change=lambda text: text.replace(part, part + more)).dim == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("words = 3", "wordz = 3", "unknown key 'wordz'. Did you mean 'words'"),
        ('precision = "int8"', 'precision = "int2"', "'int2' is not one of"),
        ('2\nprecision = "int8"', '2\nprecision = "int4"', "precision: 'int4' is not one of"),
        ('"ridge"', '"svd"', "'svd' is not one of 'canonical', 'ridge'"),
        ("words = 3\n", "words = 0\n", r"small\.toml: parts\[0\]: words must be at least 1, not 0"),
        ("rank = 2", "weight = 0", r"small\.toml: align: weight must be above 0, not 0\.0\."),
        (
            "rank = 2",
            "weight = 101",
            r"small\.toml: align: weight must be at most 100, not",
        ),
        (
            "rank = 2",
            "weight = nan",
            r"small\.toml: align: weight must be a finite number",
        ),
        ("rank = 2", 'weight = "2"', r"small\.toml: align: weight: expected a number, got '2'"),
        ("rank = 2", "weight = 0.5", r"small\.toml: align: weight = 0\.5 needs method = 'canon"),
        ("[[texts]]", "[[nothing]]", "unknown key 'nothing'"),
        (
            "[[texts]]",
            '[[parts]]\nspace = "./toy.safetensors"\nwords = 1\n[[texts]]',
            "two parts of 'small' use a space named 'toy'",
        ),
    ],
)
def test_a_build_file_that_makes_no_sense_is_refused(folder, old, new, message):
    with pytest.raises(ConfigError, match=message):
        made(folder, change=lambda text: text.replace(old, new))


def test_a_missing_file_is_named_before_any_work(folder):
    (folder / "words.md").unlink()
    with pytest.raises(StorageError, match=r"cannot read .*words\.md"):
        made(folder)


def test_a_folder_that_is_no_encoder_is_refused_before_any_work(folder):
    (folder / "out").mkdir()
    (folder / "out" / "photo").touch()
    (folder / "toy.safetensors").unlink()
    with pytest.raises(InputError, match="exists and is no encoder"):
        made(folder)


def test_a_failed_build_leaves_nothing_behind(folder):
    before = sorted(folder.iterdir())
    with pytest.raises(StorageError, match="no file"):
        made(folder, change=lambda text: text.replace("pairs.tsv", "gone.tsv"))
    assert sorted(folder.iterdir()) == before


def test_the_command_prints_the_size_of_each_file(folder):
    out = folder / "out"
    result = CliRunner().invoke(app, ["build", str(folder / "small.toml"), "--out", str(out)])
    assert result.exit_code == 0
    printed = dict(line.split("\t") for line in result.stdout.splitlines()[1:])
    sizes = {p.relative_to(out).as_posix(): p.stat().st_size for p in out.rglob("*.*")}
    assert {name: int(printed[name].replace(",", "")) for name in sizes} == sizes
    assert f"in {out}." in result.stderr


TRANSLATIONS = """
[[translations]]
path = "sentences.tsv"
first = "en"
second = "de"
"""


@pytest.fixture
def carrying(folder):
    """Add 10,000 pairs: 9,600 to 9,799 are held out for development, one of them is too short."""
    lines = [f"the cat sat {i}\tdie katze sass {i}\n" for i in range(10_000)]
    lines[9700] = "the cat\tdie katze\n"
    (folder / "sentences.tsv").write_text("".join(lines))
    return folder


def test_a_model_carries_translations_that_nothing_was_fitted_on(carrying):
    encoder = made(carrying, change=lambda text: text + TRANSLATIONS)
    assert encoder.translations.pivot == "en"
    expected = [(f"the cat sat {i}", f"die katze sass {i}") for i in range(9600, 9800)]
    assert encoder.translations.pairs == {"de": [*expected[:100], *expected[101:]]}


def test_of_many_translations_some_are_drawn_always_the_same(carrying):
    limited = TRANSLATIONS + "limit = 50\n"
    first = made(carrying, change=lambda text: text + limited).translations
    again = made(carrying, "again").translations
    assert len(first.pairs["de"]) == 50
    assert first == again


def test_a_model_carries_no_translations_unless_it_is_told_which(folder):
    made(folder)
    assert not (folder / "out" / "translations.tsv").exists()
