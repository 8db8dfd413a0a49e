"""One rule for the codes of languages, and everything that takes a language goes by it."""

import numpy as np
import pyarrow
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, arrow
from pmeans.building.new_language import NewLanguage
from pmeans.cli.main import app
from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.errors import InputError, LanguageError
from pmeans.estimators import PowerMeanVectorizer, ZNormTransformer
from pmeans.languages.codes import language_code, main_code, match, tidy_code
from pmeans.languages.resolution import Detection
from pmeans.languages.tokenizers import tokenize
from pmeans.serve.service import Service, Settings
from pmeans.spaces import edit
from pmeans.spaces.neighbours import neighbours
from pmeans.spaces.readers import read_space
from pmeans.spaces.space import Subwords
from pmeans.spaces.store import open_space, save_space
from pmeans.tables import Fields, open_source
from pmeans.transfer import TransferClassifier
from toy_identifier import make_identifier

GERMAN = ["de", "DE", "de-AT", "de_CH", "de_DE.UTF-8", "German", "deutsch", " Deutsch ", "allemand",
          "deu", "ger", "GER", "deu-Latn", "deu_Latn_AT"]  # fmt: skip
FRENCH = ["fr", "FR", "fr-CA", "fr_CA", "fra", "fre", "French", "français"]


@pytest.mark.parametrize("given", GERMAN)
def test_a_language_may_be_written_as_people_write_it(given):
    assert language_code(given, ("en", "de")) == "de"


def test_an_unknown_language_is_refused_with_a_suggestion():
    with pytest.raises(LanguageError, match=r"'germn' among en, de\. Did you mean 'german'\?"):
        language_code("germn", ("en", "de"))
    with pytest.raises(LanguageError, match="'French' among en, de"):
        language_code("French", ("en", "de"))


def test_a_long_language_is_not_shown_whole():
    with pytest.raises(LanguageError) as error:
        language_code("x" * 3_000_000, ("en", "de"))
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("given", [5, None, b"de", ["de"], 1.5])
def test_what_is_no_string_is_no_language(given):
    for known in (("de", "en"), ()):
        with pytest.raises(InputError, match="a language is a str"):
            language_code(given, known)


@pytest.mark.parametrize(
    ("given", "tidy"),
    [
        ("fr_CA", "fr-CA"), ("ZH_hans_cn", "zh-Hans-CN"), ("eng", "en"), ("German", "de"),
        ("yue", "yue"), ("mul", "mul"), ("Klingon", "Klingon"), ("", ""), ("es-419", "es-419"),
    ],
)  # fmt: skip
def test_codes_are_put_in_order(given, tidy):
    assert tidy_code(given) == tidy
    assert tidy_code(tidy) == tidy


def test_the_code_of_a_language_has_no_region():
    assert main_code("por_br") == "pt"


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("pt-BR", ("pt", "pt-BR"), "pt-BR"),
        ("pt-AO", ("pt", "pt-BR"), "pt"),
        ("pt", ("pt-BR",), "pt-BR"),
        ("pt", ("pt-BR", "pt-PT"), None),
        ("pt-AO", ("pt-BR", "pt-PT"), None),
        ("sr-Latn-RS", ("sr-Latn", "sr-Cyrl"), "sr-Latn"),
        ("en", ("EN", "de"), "EN"),
        ("En", ("EN", "en"), "en"),
        ("de", ("deu", "eng"), "deu"),
        ("klingon", ("Klingon",), "Klingon"),
        ("", ("de",), None),
    ],
)
def test_the_nearest_of_the_known_codes_is_meant_unless_there_are_two(given, known, meant):
    assert match(given, known) == meant


def test_every_language_is_known_where_none_is_told_apart():
    assert language_code("fr_CA", ()) == "fr"
    with pytest.raises(LanguageError, match="two or three letters"):
        language_code("nonsense", ())


@pytest.mark.parametrize("given", FRENCH)
def test_every_spelling_has_the_rules_of_its_language(given):
    assert tokenize("l'eau d'Evian", "words", given) == tokenize("l'eau d'Evian", "words", "fr")
    assert tokenize("l'eau", "words", "fr") != tokenize("l'eau", "words", "de")


@pytest.mark.parametrize("given", ["zho", "zh-Hans", "Chinese", "ja_JP", "JPN", "Thai", "cmn"])
def test_a_language_without_spaces_is_refused_in_every_spelling(given):
    with pytest.raises(LanguageError, match="without spaces between words"):
        tokenize("x", "words", given)


WORDS = {"en": ["the", "cat", "water", "sat"], "fr": ["l'", "eau", "chat", "le"]}
TEXTS = ["l'eau", "le chat", "chat"]


def space(name="toy", **renamed):
    words = {renamed.get(lang, lang): listed for lang, listed in WORDS.items()}
    rng = np.random.default_rng(0)
    ngrams = rng.standard_normal((40, 3)).astype(np.float32)
    return WordSpace.from_words(
        name, words, rng.standard_normal((8, 3)).astype(np.float32),
        subwords=Subwords(ngrams, 3, 4, own={"fr": 10}),
    )  # fmt: skip


def encoder(*spaces, **options):
    recipe = Recipe(tuple(Part(each.name, (1,)) for each in spaces), "toy", "words", **options)
    return PowerMeanEncoder(recipe, {each.name: each for each in spaces})


def normed():
    made = encoder(space(), znorm="per_language")
    for lang in ("fr", "en"):
        made = made.fit_znorm([" ".join(WORDS[lang]), *WORDS[lang]], lang=lang)
    return made


def aligned():
    made = normed()
    maps = {lang: LanguageMap((np.eye(3, dtype=np.float32) * k,), "") for lang, k in
            (("en", 2), ("fr", 3))}  # fmt: skip
    return made.replace(alignment=Alignment("en", maps), identifier=make_identifier(WORDS))


@pytest.mark.parametrize("given", FRENCH)
def test_an_encoder_takes_every_spelling(given):
    made = aligned()
    expected = made.encode(TEXTS, lang="fr")
    assert expected.any(axis=1).all()
    np.testing.assert_array_equal(made.encode(TEXTS, lang=given), expected)
    np.testing.assert_array_equal(made.encode(TEXTS, lang=[given, "fr", given]), expected)
    np.testing.assert_array_equal(made.for_language(given).encode(TEXTS), expected)
    np.testing.assert_array_equal(made.encode_covered(TEXTS, lang=given)[0], expected)
    blocks = list(made.encode_batches(TEXTS, lang=given, batch_size=2))
    np.testing.assert_array_equal(np.concatenate(blocks), expected)
    known = made.coverage(TEXTS, lang="fr").known
    np.testing.assert_array_equal(made.coverage(TEXTS, lang=given).known, known)
    assert made.replace(languages=[given, "fr", "en"]).languages == ("fr", "en")


@pytest.mark.parametrize("given", FRENCH)
def test_what_is_fitted_in_one_spelling_serves_all(given):
    pairs = [("the cat", "le chat"), ("water", "eau"), ("cat", "chat"), ("water cat", "eau chat")]
    made = encoder(space(), znorm="per_language")
    made = made.fit_znorm(TEXTS, lang=given).fit_znorm(WORDS["en"], lang="English")
    assert set(made.znorm.statistics) == {"fr", "en"}
    made = made.fit_alignment({given: pairs}, pivot="EN", method="ridge", penalty=1.0)
    assert set(made.alignment.maps) == {"fr"}
    assert made.alignment.pivot == "en"
    assert made.encode(TEXTS, lang="fr").any()


@pytest.mark.parametrize("given", FRENCH)
def test_a_word_space_takes_every_spelling(given):
    toy = space()
    assert toy.covers(given)
    assert toy.table(given) is toy.table("fr")
    assert list(toy.words(given)) == WORDS["fr"]
    assert toy.row("chat", given) == toy.row("chat", "fr") == 6
    vectors, found = toy.vectors(["chat", "chaton"], given)
    assert found.all()
    np.testing.assert_array_equal(vectors, toy.vectors(["chat", "chaton"], "fr")[0])
    assert neighbours(toy, "chat", given, 2, into=given) == neighbours(toy, "chat", "fr", 2, "fr")
    assert edit.prune(toy, {given: ["chat"]}).languages == ("fr",)


@pytest.mark.parametrize("given", FRENCH)
def test_a_space_made_with_any_spelling_has_the_rules_of_its_language(given):
    made = encoder(space(fr=given))
    expected = encoder(space())
    for lang in ("fr", given):
        np.testing.assert_array_equal(
            made.encode(TEXTS, lang=lang), expected.encode(TEXTS, lang="fr")
        )
    assert main_code(made.languages[1]) == "fr"


def test_lists_of_one_language_under_two_names_are_refused():
    with pytest.raises(InputError, match="two lists of words of 'de'"):
        WordSpace.from_words("x", {"de": ["a"], "German": ["b"]}, np.ones((2, 1)))
    with pytest.raises(InputError, match="a language is a str"):
        WordSpace.from_words("x", {5: ["a"]}, np.ones((1, 1)))


def test_regions_that_a_space_tells_apart_stay_apart():
    both = WordSpace.from_words("x", {"pt-BR": ["a"], "pt_PT": ["b"]}, np.array([[1.0], [2.0]]))
    made = encoder(both)
    assert made.languages == ("pt-BR", "pt-PT")
    assert made.encode(["a"], lang="pt-br").tolist() == [[1]]
    with pytest.raises(LanguageError, match="no language 'pt' among pt-BR, pt-PT"):
        made.encode(["a"], lang="pt")


def test_spaces_that_name_one_language_in_two_ways_share_it():
    made = encoder(space("a", fr="fr-CA"), space("b"))
    assert made.languages == ("en", "fr")
    np.testing.assert_array_equal(
        made.encode(TEXTS, lang="fr-CA"), made.encode(TEXTS, lang="fr")
    )  # fmt: skip


def test_a_space_that_was_stored_with_an_odd_code_opens_and_is_found(tmp_path):
    toy = space()
    odd = {"EN": toy.tables["en"], "fra": toy.tables["fr"]}
    save_space(WordSpace("toy", toy.matrix, odd), tmp_path / "odd.safetensors")
    stored = open_space(tmp_path / "odd.safetensors")
    assert stored.languages == ("EN", "fra")
    made = pmeans.load(tmp_path / "odd.safetensors")
    plain = encoder(WordSpace("toy", toy.matrix, toy.tables)).replace(recipe=made.recipe)
    for lang in ("fr", "fra", "French"):
        np.testing.assert_array_equal(made.encode(TEXTS, lang=lang), plain.encode(TEXTS, lang="fr"))


def test_a_language_is_found_by_the_code_that_the_encoder_has():
    made = encoder(space(fr="fr-CA")).replace(identifier=make_identifier(WORDS))
    assert [each.lang for each in made.detect(["chat", "water"])] == ["fr-CA", "en"]
    assert isinstance(made.detect(["chat"])[0], Detection)
    np.testing.assert_array_equal(made.encode(["chat"]), made.encode(["chat"], lang="fr"))


@pytest.mark.parametrize("lang", [5, b"fr", {"fr": 1}, 1.5])
def test_what_is_no_language_is_refused(lang):
    made = aligned()
    for call in (made.encode, made.coverage, made.fit_znorm):
        with pytest.raises(InputError, match="lang is a str such as 'en', or one for each"):
            call(TEXTS, lang=lang)
    with pytest.raises(InputError, match="a language is a str"):
        made.for_language(lang)
    with pytest.raises(InputError, match="a language is a str"):
        made.spaces["toy"].table(lang)


@pytest.mark.parametrize("bad", [None, 5, b"fr", ["fr"], float("nan")])
@pytest.mark.parametrize("made", [aligned(), encoder(space()).for_language("fr")])
def test_a_list_of_languages_has_strings_alone(made, bad):
    with pytest.raises(InputError, match=f"of sentence 1 is {type(bad).__name__}, not str"):
        made.encode(TEXTS, lang=["fr", bad, "fr"])


@pytest.mark.parametrize("given", FRENCH)
def test_a_classifier_takes_every_spelling(given):
    texts, labels = ["l'eau", "eau", "chat", "le chat"] * 5, ["water", "water", "cat", "cat"] * 5
    classifier = TransferClassifier(aligned()).fit(texts, labels, lang=given)
    same = TransferClassifier(aligned(), lang=given).fit(texts, labels)
    expected = classifier.predict_proba(TEXTS, lang="fr")
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS, lang=given), expected)
    np.testing.assert_array_equal(same.predict_proba(TEXTS), expected)
    classifier.adapt(texts, lang=given)
    assert set(classifier.fitted.adapted) == {"fr"}
    np.testing.assert_array_equal(classifier.weights_for(given)[0], classifier.weights_for("fr")[0])
    assert classifier.explain("l'eau", lang=given).label
    with pytest.raises(InputError, match="lang is a str"):
        classifier.predict(TEXTS, lang=5)


@pytest.mark.parametrize("given", FRENCH)
def test_transformers_take_every_spelling(given):
    rows = PowerMeanVectorizer(aligned(), lang=given).fit_transform(TEXTS)
    np.testing.assert_array_equal(rows, aligned().encode(TEXTS, lang="fr"))
    fitted = ZNormTransformer().fit(rows, lang=given)
    expected = ZNormTransformer().fit_transform(rows, lang="fr")
    np.testing.assert_array_equal(fitted.transform(rows, lang=["fr", given, "fr"]), expected)


@pytest.mark.parametrize("given", FRENCH)
def test_files_and_arrow_batches_take_every_spelling(given, tmp_path):
    made = aligned()
    expected = made.encode(TEXTS, lang="fr")
    batch = pyarrow.table({"text": TEXTS, "lang": [given, "fr", given]})
    for options in ({"lang": given}, {"lang_column": "lang"}):
        rows = arrow.embed(batch, model=made, **options)["embedding"].to_pylist()
        np.testing.assert_array_equal(np.array(rows, np.float32), expected)
    (tmp_path / "rows.csv").write_text(f"text,lang\nchat,{given}\n")
    (block,) = open_source(
        tmp_path / "rows.csv", Fields(lang_column="lang", languages=("en", "fr"))
    ).blocks()
    assert block.langs == ["fr"]


@pytest.mark.parametrize("given", FRENCH)
def test_a_converted_file_has_the_rules_of_its_language(given, tmp_path):
    (tmp_path / "v.txt").write_text("l' 1 2\neau 3 4\nchat 5 6\n")
    made, _ = read_space(tmp_path / "v.txt", lang=given)
    assert main_code(made.languages[0]) == "fr"
    assert made.row("eau", "fr") == 1
    assert encoder(made).encode("l'eau", lang="fr").tolist() == [2, 3]


@pytest.mark.parametrize("given", FRENCH)
def test_the_command_line_and_the_server_take_every_spelling(given, tmp_path):
    pmeans.save(aligned(), tmp_path / "model")
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    command = ["embed", str(tmp_path / "model"), str(tmp_path / "in.txt")]
    command += ["--lang", given, "--out", str(tmp_path / "out.npy")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    expected = aligned().encode(TEXTS, lang="fr")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    service = Service(Settings(model=str(tmp_path / "model")))
    np.testing.assert_array_equal(service.embed(TEXTS, given, normalize=False), expected)


def test_a_further_language_may_be_written_in_any_way(tmp_path):
    (tmp_path / "en-it.tsv").write_text("cat\tgatto\nwater\tacqua\nthe\til\n")
    new = NewLanguage("Italian", (str(tmp_path / "en-it.tsv"),), pivot="ENG")
    grown = new.add_to(encoder(space()), progress=lambda share, words: None)
    assert grown.languages == ("en", "fr", "it")
    assert grown.encode("gatto", lang="ita").any()
    with pytest.raises(InputError, match="has 'fr-CA' already"):
        NewLanguage("fr_CA", new.dictionaries).add_to(grown, progress=lambda share, words: None)
