"""A third language for a toy model of two, with vectors one can average in the head."""

import numpy as np
import pytest
from typer.testing import CliRunner

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models
from pmeans.building import new_language
from pmeans.building.new_language import NewLanguage
from pmeans.cli.main import app
from pmeans.encoder.translations import Translations
from pmeans.errors import InputError, LanguageError, PmeansError
from pmeans.spaces import edit
from pmeans.spaces.space import Subwords
from pmeans.training.corpus import Pair, PairFile
from toy_identifier import make_identifier

WORDS = {"en": ["dog", "house", "home", "runs", "42", "."], "de": ["hund", "haus", "rennt"]}
VECTORS = [[4, 0], [0, 4], [8, 8], [-4, 2], [1, 3], [2, -2], [4, 1], [3, 5], [-4, 1]]
DICTIONARY = "dog\tchien\nhouse\tMaison\nhome\tmaison\nruns\tcourt\nunknown\tinconnu\n"
TEXT = "le chien court .\nla maison\nchien maison\n\ncourt 42\n"
ENGLISH = ["dog runs", "house", "dog house", "runs home", "the dog .", "house runs", "home 42"]
FRENCH = ["chien court", "maison", "chien maison", "court maison", "le chien .", "maison court"]
GERMAN = ["hund rennt", "haus", "hund haus", "rennt haus", "der hund", "haus rennt", "haus"]
# Twice each, as what is linked once is not trusted.
PAIRS = [*zip(ENGLISH, FRENCH, strict=False)] * 2


def space(name="toy", sign=1, **rest):
    return WordSpace.from_words(name, WORDS, sign * np.array(VECTORS, np.float32), **rest)


def toy(*spaces, align=None, znorm="per_language", powers=(1, np.inf)):
    spaces = spaces or (space(),)
    recipe = Recipe(tuple(Part(s.name, powers) for s in spaces), "toy", "words", znorm=znorm)
    encoder = PowerMeanEncoder(recipe, {s.name: s for s in spaces})
    if znorm != "none":
        encoder = encoder.fit_znorm(ENGLISH, lang="en")
    if znorm == "per_language":
        encoder = encoder.fit_znorm(GERMAN, lang="de")
    if align is None:
        return encoder
    pairs = {"de": list(zip(ENGLISH, GERMAN, strict=True))}
    return encoder.fit_alignment(pairs, pivot="en", method=align, penalty=1.0)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "en-fr.tsv").write_text(DICTIONARY)
    (tmp_path / "fr.txt").write_text(TEXT)
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    return tmp_path


def french(folder, dictionary="en-fr.tsv", text="fr.txt", pairs=None, **rest):
    return NewLanguage(
        "fr",
        (str(folder / dictionary),) if dictionary else (),
        PairFile(str(folder / pairs), "en", "fr") if pairs else None,
        str(folder / text) if text else None,
        **rest,
    )


def quiet(share, words):
    assert 0 <= share <= 1


def test_a_word_is_the_mean_of_its_translations_in_every_space(folder):
    grown = french(folder).add_to(toy(space(), space("minus", -1)), progress=quiet)
    assert grown.languages == ("de", "en", "fr")
    assert grown.spaces["toy"].vector("maison", "fr").tolist() == [4, 6]
    assert grown.spaces["minus"].vector("maison", "fr").tolist() == [-4, -6]


def test_numbers_and_punctuation_are_taken_as_they_are(folder):
    grown = french(folder).add_to(toy(), progress=quiet)
    assert list(grown.spaces["toy"].words("fr")) == ["chien", "maison", "court", "42", "."]
    assert grown.spaces["toy"].vector("42", "fr").tolist() == [1, 3]


def test_words_come_from_pairs_of_sentences_as_well(folder):
    grown = french(folder, None, None, "pairs.tsv").add_to(toy(), progress=quiet)
    assert grown.spaces["toy"].vector("chien", "fr").tolist() == [4, 0]


@pytest.mark.parametrize("pairs", [None, "pairs.tsv"])
@pytest.mark.parametrize("align", [None, "canonical", "cca"])
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("powers", [(1,), (1, np.inf)])
def test_rows_of_other_languages_keep_every_bit(folder, powers, precision, align, pairs):
    old = toy(edit.quantise(space(), precision), align=align, powers=powers)
    if align:
        stored = old.alignment.stored_as(precision)
        old = PowerMeanEncoder(old.recipe, old.spaces, old.znorm, stored)
    grown = french(folder, pairs=pairs).add_to(old, progress=quiet)
    for lang, sentences in (("en", ENGLISH), ("de", GERMAN)):
        assert np.array_equal(grown.encode(sentences, lang=lang), old.encode(sentences, lang=lang))


def test_new_words_are_stored_as_the_others_are(folder):
    grown = french(folder).add_to(toy(edit.quantise(space(), "int8")), progress=quiet)
    assert grown.spaces["toy"].matrix.dtype == np.int8
    # 6 / 127: a step of the row's scale.
    np.testing.assert_allclose(grown.spaces["toy"].vector("maison", "fr"), [4, 6], atol=6 / 127 / 2)


def test_new_words_of_a_space_in_four_bits_are_stored_so_too(folder):
    old = toy(edit.quantise(space(), "int4"))
    grown = french(folder).add_to(old, progress=quiet)
    assert grown.spaces["toy"].precision == "int4"
    # 6 / 7: a step of the row's scale.
    np.testing.assert_allclose(grown.spaces["toy"].vector("maison", "fr"), [4, 6], atol=6 / 7 / 2)
    np.testing.assert_array_equal(grown.encode(ENGLISH, lang="en"), old.encode(ENGLISH, lang="en"))


def test_a_space_with_subwords_answers_for_unknown_words_of_the_new_language(folder):
    subwords = Subwords(np.ones((5, 2), dtype=np.float32), 3, 3)
    grown = french(folder).add_to(toy(space(subwords=subwords)), progress=quiet)
    assert grown.spaces["toy"].vector("chienne", "fr").tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "pairs", "sentences"),
    [
        ("fr.txt", None, TEXT.splitlines()),
        (None, "pairs.tsv", [second for _, second in PAIRS]),
        ("fr.txt", "pairs.tsv", [*TEXT.splitlines(), *(second for _, second in PAIRS)]),
    ],
)
def test_the_z_norm_is_fitted_on_all_text_of_the_language(folder, text, pairs, sentences):
    grown = french(folder, text=text, pairs=pairs).add_to(toy(), progress=quiet)
    rows = grown.encode([each for each in sentences if each], lang="fr")
    # 1e-6: rounding of the statistics to float32.
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-6)


@pytest.mark.parametrize("align", ["canonical", "cca"])
def test_the_map_is_fitted_on_the_pairs(folder, align):
    grown = french(folder, pairs="pairs.tsv").add_to(toy(align=align), progress=quiet)
    assert grown.alignment.maps["fr"].origin == f"{align}, penalty 3000, {len(PAIRS)} pairs"
    firsts, seconds = zip(*PAIRS[: len(FRENCH)], strict=True)
    cosines = grown.similarity(grown.encode(firsts, lang="en"), grown.encode(seconds, lang="fr"))
    assert np.mean(np.diag(cosines)) > np.mean(cosines) + 0.5


def test_of_many_pairs_the_shortest_are_aligned_and_some_are_drawn_for_the_map(folder, monkeypatch):
    seen = []

    def spied(file, langs, state, progress, pairs):
        seen.append(pairs)
        return aligned_words(file, langs, state, progress, pairs)

    aligned_words = new_language.aligned_words
    monkeypatch.setattr(new_language, "aligned_words", spied)
    # Two pairs of one word each, and two of two words; one more would be four links too many.
    monkeypatch.setattr(new_language, "LINKS", 11)
    monkeypatch.setattr(new_language, "LEARNED", 8)
    for _ in range(2):
        grown = french(folder, pairs="pairs.tsv").add_to(toy(align="cca"), progress=quiet)
    assert grown.alignment.maps["fr"].origin == "cca, penalty 3000, 8 pairs"
    assert grown.znorm.for_language("fr").count == len(PAIRS) + 4
    assert seen == [[Pair("", *PAIRS[i]) for i in (0, 1, 2, 7)]] * 2


@pytest.mark.parametrize("align", ["canonical", "cca"])
def test_without_pairs_rows_are_mapped_as_those_of_the_pivot(folder, align):
    grown = french(folder).add_to(toy(align=align), progress=quiet)
    assert "as en" in grown.alignment.maps["fr"].origin
    rows = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    mapped = [grown.alignment.apply(rows, lang) for lang in ("en", "fr")]
    # An identity matrix takes another way than no map, by at most a rounding.
    np.testing.assert_allclose(mapped[0], mapped[1], rtol=1e-6)


@pytest.mark.parametrize("pairs", [None, "pairs.tsv"])
def test_mapped_columns_of_the_new_language_have_the_weight_of_the_others(folder, pairs):
    both = toy(space(), space("minus", -1)).fit_alignment(
        {"de": list(zip(ENGLISH, GERMAN, strict=True))}, pivot="en", penalty=1.0, keep=1
    )
    light = both.replace(alignment=both.alignment.weighted(0.5))
    whole, halved = (french(folder, pairs=pairs).add_to(e, progress=quiet) for e in (both, light))
    rows, half = whole.encode(FRENCH, lang="fr"), halved.encode(FRENCH, lang="fr")
    np.testing.assert_array_equal(half[:, :4], rows[:, :4])
    # 1e-5: the products of the fit are of rows that were mapped in float32.
    np.testing.assert_allclose(half[:, 4:], rows[:, 4:] / 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pairs", [None, "pairs.tsv"])
def test_a_map_is_stored_as_the_others_are(folder, pairs):
    old = toy(align="canonical")
    small = PowerMeanEncoder(old.recipe, old.spaces, old.znorm, old.alignment.stored_as("int8"))
    assert french(folder, pairs=pairs).add_to(small, progress=quiet).alignment.precision == "int8"


@pytest.mark.parametrize("znorm", ["none", "train"])
def test_a_model_without_statistics_of_each_language_needs_no_text(folder, znorm):
    grown = french(folder, text=None).add_to(toy(znorm=znorm), progress=quiet)
    assert grown.encode("le chien", lang="fr").any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dictionary": None}, InputError, "nothing to learn 'fr' from: give a dictionary, or"),
        ({"text": None}, InputError, "z-norm of 'fr' has to be fitted on text"),
        ({"pivot": "it"}, LanguageError, "'it' need a model that has it; 'toy' has de, en"),
        ({"pivot": "de"}, InputError, "aligned with 'en': give translations from it"),
        ({"dictionary": "fr.txt"}, PmeansError, "expected 2"),
        ({"dictionary": "odd.tsv"}, InputError, "none of the words learned for 'fr' in 'toy'"),
        ({"dictionary": "turned.tsv"}, InputError, "columns the other way round"),
        ({"pairs": "few.tsv"}, InputError, "3 pairs .* are too few for a map of 4 columns"),
    ],
)
def test_what_cannot_work_is_said(folder, change, error, message):
    (folder / "odd.tsv").write_text("dog\tcane\n")
    (folder / "turned.tsv").write_text("chien\tdog\n")
    (folder / "few.tsv").write_text("dog\tchien\n" * 3)
    with pytest.raises(error, match=message):
        french(folder, **change).add_to(toy(align="canonical"), progress=quiet)


def test_a_language_that_the_model_has_is_refused(folder):
    grown = french(folder).add_to(toy(), progress=quiet)
    with pytest.raises(InputError, match=r"'toy' has 'fr' already; it has de, en, fr\."):
        french(folder).add_to(grown, progress=quiet)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_command_writes_a_model_and_leaves_the_old_one_alone(folder):
    models.save(toy(align="canonical"), folder / "old")
    (folder / "old" / "MODEL.md").write_text("# Toy\n\nTerms: ask first.\n")
    before = contents(folder / "old")
    options = ["--lang", "fr", "--dictionary", folder / "en-fr.tsv", "--text", folder / "fr.txt"]
    command = ["extend", folder / "old", *options, "--out", folder / "new"]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert (result.exit_code, result.stdout) == (0, "SPACE\tWORDS fr\tWORDS en\ntoy\t5\t6\n")
    assert contents(folder / "old") == before
    assert models.load(folder / "new").encode("le chien", lang="fr").any()
    card = (folder / "new" / "MODEL.md").read_text()
    assert card.startswith("# Toy\n\nTerms: ask first.\n\n## Added: fr")
    assert "en-fr.tsv, fr.txt" in card


def test_where_it_fails_no_folder_is_left(folder):
    models.save(toy(), folder / "old")
    with pytest.raises(InputError):
        french(folder, text=None).make(folder / "old", folder / "new", progress=quiet)
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"old"}


def test_pairs_that_were_held_out_are_carried_along(folder):
    lines = [f"the dog runs {i}\tle chien court {i}\n" for i in range(200)]
    (folder / "many.tsv").write_text("".join(lines))
    old = Translations("en", {"de": [("the dog runs home", "der hund rennt heim")]})
    encoder = toy(align="canonical").replace(translations=old)
    grown = french(folder, pairs="many.tsv").add_to(encoder, progress=quiet)
    held = [(f"the dog runs {i}", f"le chien court {i}") for i in range(192, 196)]
    assert grown.translations == Translations("en", {**old.pairs, "fr": held})


def test_without_pairs_the_translations_stay_as_they_are(folder):
    old = Translations("en", {"de": [("the dog runs home", "der hund rennt heim")]})
    encoder = toy(align="canonical").replace(translations=old)
    assert french(folder).add_to(encoder, progress=quiet).translations == old


@pytest.mark.parametrize(
    ("known", "said"), [("fr", "is found, also if it"), ("it", "must be named")]
)
def test_the_card_says_whether_texts_of_the_new_language_are_recognised(folder, known, said):
    identifier = make_identifier(WORDS | {known: ["chien", "court"]})
    models.save(toy().replace(identifier=identifier), folder / "old")
    grown = french(folder).make(folder / "old", folder / "new", progress=quiet)
    assert f"- The language of a text {said}" in (folder / "new" / "MODEL.md").read_text()
    if known == "fr":
        langs = [each.lang for each in grown.detect(["chien court", "dog runs"])]
        assert langs == ["fr", "en"]
    else:
        with pytest.raises(LanguageError, match="does not know fr"):
            grown.detect(["dog runs"])
