"""Words that a model teaches itself, when a language is added to it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models
from pmeans.building import new_language
from pmeans.building.new_language import NewLanguage, SampledWarning
from pmeans.errors import FormatError, LanguageError
from pmeans.spaces import edit
from pmeans.spaces.space import Subwords
from pmeans.spaces.store import open_space, save_space
from pmeans.tensors import map_tensors, write_tensors
from pmeans.training.corpus import PairFile
from pmeans.training.new_words import typical_lengths

ENGLISH = ["dog", "cat", "runs", "sleeps", "good", "morning", "good morning", "!", "ice", "cream"]
SPANISH = {
    "dog": "perro", "cat": "gato", "runs": "corre", "sleeps": "duerme", "good": "bueno",
    "morning": "mañana",
}  # fmt: skip


@pytest.fixture
def english():
    """Return a space with a phrase and n-grams; the words of a sentence are far from each other."""
    vectors = np.random.default_rng(0).standard_normal((len(ENGLISH), 16)).astype(np.float32)
    ngrams = np.random.default_rng(1).standard_normal((50, 16)).astype(np.float32)
    subwords = Subwords(ngrams, 3, 4)
    return WordSpace.from_words("toy", {"en": ENGLISH}, vectors, subwords=subwords)


def encoder(space, powers=(1,)):
    return PowerMeanEncoder(Recipe((Part("toy", powers),), "toy", "words"), {"toy": space})


def pairs(folder, lines):
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in lines), encoding="utf-8")
    return PairFile(str(folder / "pairs.tsv"), "en", "es")


def dictionary(folder, entries, name="dictionary.tsv"):
    (folder / name).write_text("".join(f"{a}\t{b}\n" for a, b in entries), encoding="utf-8")
    return (str(folder / name),)


def sentences(n):
    """Return n pairs of two words each."""
    rng, words = np.random.default_rng(2), list(SPANISH)
    both = (rng.choice(words, 2, replace=False) for _ in range(n))
    return [(f"{a} {b}", f"{SPANISH[a]} {SPANISH[b]}") for a, b in both]


def extended(old, lang="es", **rest):
    return NewLanguage(lang, **rest).add_to(old, progress=lambda share, words: None)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_a_sentence_points_where_its_translation_does(english, tmp_path):
    grown = extended(encoder(english), pairs=pairs(tmp_path, sentences(5000)))
    texts = (("dog runs", "en"), ("perro corre", "es"))
    assert cosine(*(grown.encode(text, lang=lang) for text, lang in texts)) > 0.95


def test_a_wrong_entry_of_a_dictionary_is_mended_by_pairs(english, tmp_path):
    wrong = dictionary(tmp_path, [*SPANISH.items(), ("ice", "perro"), ("cream", "perro")])
    alone = extended(encoder(english), dictionaries=wrong)
    both = extended(encoder(english), dictionaries=wrong, pairs=pairs(tmp_path, sentences(5000)))
    dog = english.vector("dog", "en")
    near = [cosine(each.spaces["toy"].vector("perro", "es"), dog) for each in (alone, both)]
    assert near[1] > near[0] + 0.1


def test_a_word_without_a_translation_has_a_vector_where_means_are_all_that_is_taken(
    english, tmp_path
):
    # One occurrence is no translation for the aligner.
    lines = [("dog cat", "perro minino"), *sentences(300)]
    taught = extended(encoder(english), pairs=pairs(tmp_path, lines))
    others = extended(encoder(english, (1, np.inf)), pairs=pairs(tmp_path, lines))
    rows = [each.spaces["toy"].row("minino", "es") for each in (taught, others)]
    assert rows[0] >= 0 > rows[1]


def lengths(space, words, lang="es"):
    return [float(np.linalg.norm(space.vector(word, lang))) for word in words]


def test_words_are_as_long_as_their_translations(english, tmp_path):
    longer = np.linspace(1, 20, len(ENGLISH), dtype=np.float32)[:, None]  # as rare words are
    old = replace(english, matrix=english.matrix * longer)
    listed = dictionary(tmp_path, [*SPANISH.items(), ("dog", "chucho"), ("morning", "chucho")])
    space = extended(encoder(old), dictionaries=listed).spaces["toy"]
    own = lengths(old, SPANISH, "en")
    np.testing.assert_allclose(lengths(space, SPANISH.values()), own, rtol=1e-5)
    between = (own[0] + own[5]) / 2
    np.testing.assert_allclose(lengths(space, ["chucho"]), between, rtol=1e-5)


def test_vectors_of_a_space_four_times_as_long_become_four_times_as_long(english, tmp_path):
    lines = pairs(tmp_path, [("dog cat", "perro minino"), *sentences(300)])
    longer = replace(english, matrix=english.matrix * 4)
    one, four = (extended(encoder(each), pairs=lines).spaces["toy"] for each in (english, longer))
    assert list(one.words("es")) == list(four.words("es"))
    rows = [each.rows(each.find(list(each.words("es")), "es")) for each in (one, four)]
    # Multiplying by four changes no digit, but a step adds 1e-8 to a length.
    np.testing.assert_allclose(rows[1], 4 * rows[0], rtol=1e-3, atol=1e-4)


def test_a_word_without_a_translation_is_as_long_as_others_that_are_as_frequent():
    known = np.array([1, 2, 3, 0, 7, 8, 9, 0], np.float32)
    shares = np.array([0.2, 0.3, 0.1, 0.15, 0.03, 0.02, 0.01, 0.001])
    filled = typical_lengths(known, shares, nearest=3)
    # Three frequent words about place 1 with a median of 2, three rare ones about place 5 with 8.
    np.testing.assert_allclose(filled, [1, 2, 3, 2 + 1 / 4 * 6, 7, 8, 9, 8])


def test_an_entry_of_several_words_is_a_phrase_as_text_has_it(english, tmp_path):
    entries = [*SPANISH.items(), ("good morning", "buenos-dias amigo")]
    grown = extended(encoder(english), dictionaries=dictionary(tmp_path, entries))
    row = grown.encode("Buenos-dias amigo", lang="es")
    assert cosine(row, english.vector("good morning", "en")) == pytest.approx(1)


def test_entries_are_split_as_text_of_the_language_is(english, tmp_path):
    listed = dictionary(tmp_path, [("morning", "bom"), ("runs", "mover-se"), ("dog", "Cão")])
    grown = extended(encoder(english), "pt", dictionaries=listed)
    assert list(grown.spaces["toy"].words("pt")) == ["bom", "cão", "!", "mover -se"]
    row = grown.encode("MOVER-SE", lang="pt")
    assert cosine(row, english.vector("runs", "en")) == pytest.approx(1)


def test_an_entry_of_the_pivot_that_it_lacks_stands_for_its_words(english, tmp_path):
    listed = dictionary(tmp_path, [("ice cream", "helado"), ("good morning", "hola")])
    space = extended(encoder(english, (1, np.inf)), dictionaries=listed).spaces["toy"]
    mean = (english.vector("ice", "en") + english.vector("cream", "en")) / 2
    np.testing.assert_allclose(space.vector("helado", "es"), mean, rtol=1e-6)
    assert (space.vector("hola", "es") == english.vector("good morning", "en")).all()


@pytest.mark.parametrize("powers", [(1,), (1, np.inf)])
def test_a_language_has_as_many_words_as_the_others_the_frequent_ones(english, tmp_path, powers):
    rare = [("dog", f"raro{i}") for i in range(50)]
    listed = dictionary(tmp_path, [*rare, *SPANISH.items()])
    old = encoder(english, powers)
    grown = extended(old, dictionaries=listed, pairs=pairs(tmp_path, sentences(300)))
    words = list(grown.spaces["toy"].words("es"))
    assert len(words) == len(ENGLISH)
    assert set(words) > set(SPANISH.values())


CYRILLIC = [("dog", "собака"), ("cat", "кошка"), ("runs", "бежит"), ("sleeps", "спит")]


def test_a_language_in_a_new_script_has_ngrams_of_its_own(english, tmp_path):
    old = encoder(english)
    grown = extended(old, "ru", dictionaries=dictionary(tmp_path, CYRILLIC))
    space = grown.spaces["toy"]
    assert space.subwords.own == {"ru": 16_000}
    near = cosine(space.vector("собаки", "ru"), space.vector("собака", "ru"))
    assert near > 0.9
    unknown = ["unknown words", "doggy"]
    assert (grown.encode(unknown, lang="en") == old.encode(unknown, lang="en")).all()


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_own_ngrams_are_stored_as_the_others(english, tmp_path, precision):
    old = encoder(edit.quantise(english, precision))
    grown = extended(old, "ru", dictionaries=dictionary(tmp_path, CYRILLIC))
    before, after = (each.spaces["toy"].subwords for each in (old, grown))
    assert after.ngrams.dtype == before.ngrams.dtype
    assert len(after.scale) == len(before.scale) + 16_000


def test_folded_ngrams_are_shared_with_cyrillic_and_not_with_greek(english, tmp_path):
    toy = replace(english, subwords=replace(english.subwords, folded=True))
    once = extended(encoder(toy), "ru", dictionaries=dictionary(tmp_path, CYRILLIC))
    assert once.spaces["toy"].subwords is toy.subwords
    pairs = [("dog", "σκύλος"), ("cat", "γάτα"), ("runs", "τρέχει"), ("sleeps", "κοιμάται")]
    twice = extended(once, "el", dictionaries=dictionary(tmp_path, pairs, "greek.tsv"))
    space = twice.spaces["toy"]
    assert space.subwords.own == {"el": 16_000}
    assert cosine(space.vector("τρέχεις", "el"), space.vector("τρέχει", "el")) > 0.9


def test_a_language_in_a_known_script_shares_the_ngrams(english, tmp_path):
    grown = extended(encoder(english), dictionaries=dictionary(tmp_path, SPANISH.items()))
    space = grown.spaces["toy"]
    assert space.subwords is english.subwords
    assert (space.vector("perros", "es") == english.vector("perros", "en")).all()


def test_two_languages_in_new_scripts_keep_their_own(english, tmp_path):
    once = extended(encoder(english), "ru", dictionaries=dictionary(tmp_path, CYRILLIC))
    greek = dictionary(tmp_path, [("dog", "σκύλος"), ("cat", "γάτα")], "greek.tsv")
    twice = extended(once, "el", dictionaries=greek)
    for text, lang in (("собаки", "ru"), ("doggy", "en")):
        assert (twice.encode(text, lang=lang) == once.encode(text, lang=lang)).all()
    space = twice.spaces["toy"]
    assert cosine(space.vector("σκύλο", "el"), space.vector("σκύλος", "el")) > 0.9


def test_own_ngrams_are_stored_and_opened(english, tmp_path):
    grown = extended(encoder(english), "ru", dictionaries=dictionary(tmp_path, CYRILLIC))
    models.save(grown, tmp_path / "model")
    back = models.load(tmp_path / "model")
    assert (back.encode("собаки", lang="ru") == grown.encode("собаки", lang="ru")).all()
    assert back.fingerprint() == grown.fingerprint()


@pytest.mark.parametrize("own", ['{"ru": 0}', '{"ru": 16050}', '{"ru": "many"}', "[3]", "{"])
def test_own_ngrams_that_do_not_fit_are_refused(english, tmp_path, own):
    grown = extended(encoder(english), "ru", dictionaries=dictionary(tmp_path, CYRILLIC))
    save_space(grown.spaces["toy"], tmp_path / "toy.safetensors")
    tensors, metadata = map_tensors(tmp_path / "toy.safetensors")
    write_tensors(tmp_path / "hurt.safetensors", tensors, {**metadata, "own_ngrams": own})
    with pytest.raises(FormatError, match="damaged"):
        open_space(tmp_path / "hurt.safetensors")


def test_of_a_long_file_a_part_is_drawn_and_said(english, tmp_path, monkeypatch):
    monkeypatch.setattr(new_language, "READ", 200)
    lines = pairs(tmp_path, sentences(300))
    with pytest.warns(SampledWarning, match=r"288 pairs; 200 of them, drawn at random, are used"):
        extended(encoder(english), pairs=lines)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        extended(encoder(english), pairs=pairs(tmp_path, sentences(200)))


def test_a_language_without_spaces_is_refused(english, tmp_path):
    listed = dictionary(tmp_path, [("dog", "狗")])
    with pytest.raises(LanguageError, match=r"Chinese \('zh'\) is written without spaces"):
        extended(encoder(english), "zh", dictionaries=listed)
