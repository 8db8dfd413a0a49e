"""BIVCD: languages, sources, subwords, the space that comes out, and errors."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, kernels, training
from pmeans.errors import FormatError, InputError
from pmeans.spaces.neighbours import neighbours
from pmeans.training.bivcd import Bivcd, LanguageText
from pmeans.training.corpus import PairFile

WORDS = {
    "en": ["cat", "dog", "house", "tree", "red", "green"],
    "de": ["Katze", "Hund", "Haus", "Baum", "rot", "die"],
    "fr": ["chat", "chien", "maison", "arbre", "rouge", "die"],
}


def silent(share: float, what: str) -> None:
    pass


def write_pairs(path, first, second, n=150, sources=("web", "news", "web", "news", "news")):
    rng = np.random.default_rng(0)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for i in range(n):
            chosen = [i % 6, i % 6, i % 6, rng.integers(6)]
            sides = [" ".join(WORDS[lang][k] for k in chosen) for lang in (first, second)]
            file.write("\t".join([sources[i % len(sources)], *sides]) + "\n")


@pytest.fixture
def trainer(tmp_path) -> Bivcd:
    write_pairs(tmp_path / "en-de.tsv.gz", "en", "de")
    write_pairs(tmp_path / "en-fr.tsv.gz", "en", "fr")
    files = (PairFile("en-de.tsv.gz", "en", "de"), PairFile("en-fr.tsv.gz", "en", "fr"))
    made = Bivcd("three", files, dim=10, negatives=5, epochs=1, subsample=1.0, rate=0.05)
    return made.beside(tmp_path)


def test_three_languages_share_one_space(trainer):
    space = trainer.train(progress=silent)
    assert space.languages == ("en", "de", "fr")
    assert len(space) == 18
    assert space.matrix.shape == (18, 10)


@pytest.mark.parametrize("window", [1, 10])  # in a window of 1 only shuffled sides would meet
def test_a_word_ends_up_nearest_to_its_translation(trainer, window):
    space = replace(trainer, epochs=20 if window == 1 else 8, window=window).train(progress=silent)

    def unit(word, lang):
        vector = space.vector(word, lang)
        return vector / np.linalg.norm(vector)

    for lang in ("de", "fr"):
        others = np.stack([unit(word, lang) for word in WORDS[lang]])
        assert [int((others @ unit(word, "en")).argmax()) for word in WORDS["en"]] == list(range(6))


@pytest.mark.parametrize("buckets", [0, 500])
def test_equal_spellings_of_two_languages_are_two_words(trainer, buckets):
    space = replace(trainer, buckets=buckets).train(progress=silent)
    assert not np.array_equal(space.vector("die", "de"), space.vector("die", "fr"))


def test_unknown_words_of_every_language_are_composed_from_the_shared_ngrams(trainer):
    space = replace(trainer, buckets=500).train(progress=silent)
    composed, _ = kernels.compose(["katzen"], space.subwords.ngrams, 3, 6)
    for lang in space.languages:
        assert space.row("Katzen", lang) == -1
        np.testing.assert_array_equal(space.vector("Katzen", lang), composed[0])


def test_an_unknown_word_is_nearest_to_the_translations_of_what_it_looks_like(trainer):
    space = replace(trainer, buckets=500, epochs=8).train(progress=silent)
    for word, lang in (("houses", "en"), ("hauses", "de"), ("maisons", "fr")):
        found = {
            into: neighbours(space, word, lang, k=1, into=into)[0][1] for into in space.languages
        }
        assert found == {"en": "house", "de": "haus", "fr": "maison"}


def test_sentences_of_unknown_words_are_encoded_in_every_language(trainer):
    space = replace(trainer, buckets=500).train(progress=silent)
    encoder = PowerMeanEncoder(Recipe((Part("three"),)), {"three": space})
    for lang, sentence in (("en", "cats trees"), ("de", "Katzen Bäume"), ("fr", "chats arbres")):
        assert encoder.encode([sentence], lang=lang).any()


def test_without_buckets_unknown_words_have_no_vector(trainer):
    space = trainer.train(progress=silent)
    assert space.subwords is None
    assert space.vector("katzen", "de") is None


@pytest.fixture
def more(tmp_path, trainer) -> Bivcd:
    """The same trainer with German text, in which a new word keeps the cat company."""
    (tmp_path / "de.txt").write_text("Kater Katze\n" * 100)
    text = LanguageText("de.txt", lang="de").beside(tmp_path)
    return replace(trainer, texts=(text,), epochs=8)


def test_a_word_of_the_text_alone_lies_among_the_translations_of_its_neighbours(trainer, more):
    assert trainer.train(progress=silent).row("kater", "de") == -1
    space = more.train(progress=silent)
    assert space.languages == ("en", "de", "fr")
    assert neighbours(space, "kater", "de", k=1, into="en")[0][1] == "cat"
    assert neighbours(space, "kater", "de", k=1, into="fr")[0][1] == "chat"


def test_running_text_is_cut_into_pieces_of_about_twenty_words(tmp_path):
    numbers = " ".join(map(str, range(41)))
    (tmp_path / "en.txt").write_text(f"{numbers}\none two\n")
    lines = LanguageText(str(tmp_path / "en.txt"), lang="en")
    assert [len(piece) for piece in lines.pieces()] == [14, 14, 13, 2]
    wrapped = replace(lines, wrapped=True)
    assert [len(piece) for piece in wrapped.pieces()] == [20, 20, 3]
    assert list(wrapped.pieces())[-1] == ["40", "one", "two"]


def test_text_of_a_language_without_pairs_is_refused(trainer):
    text = LanguageText("it.txt", lang="it")
    with pytest.raises(InputError, match=r"it\.txt is text in 'it', of which there are no pairs"):
        replace(trainer, texts=(text,)).train(progress=silent)


def test_a_limit_of_no_lines_is_refused():
    with pytest.raises(InputError, match="limit must be at least 1, not 0"):
        LanguageText("x", lang="en", limit=0)


def test_space_says_what_text_it_was_made_of(more):
    space = more.train(progress=silent)
    assert space.source == "BIVCD on en-de.tsv.gz, en-fr.tsv.gz (news, web), de.txt"
    assert space.licence == "terms of its material: news, web, de.txt"


def test_space_says_what_it_was_made_of(trainer):
    pairs = tuple(replace(file, sources=("web",)) for file in trainer.pairs)
    space = replace(trainer, pairs=pairs).train(progress=silent)
    assert space.source == "BIVCD on en-de.tsv.gz, en-fr.tsv.gz (web)"
    assert space.licence == "terms of its material: web"
    assert space.case == "lower"


def test_same_seed_gives_the_same_bytes(trainer):
    one, other = (trainer.train(progress=silent).matrix.tobytes() for _ in range(2))
    assert one == other


def test_toml_file_names_the_pairs(tmp_path, trainer):
    path = tmp_path / "three.toml"
    path.write_text(
        'kind = "bivcd"\nname = "three"\ndim = 10\nnegatives = 5\nepochs = 1\nsubsample = 1\n'
        'rate = 0.05\n[[pairs]]\npath = "en-de.tsv.gz"\nfirst = "en"\nsecond = "de"\n'
        '[[pairs]]\npath = "en-fr.tsv.gz"\nfirst = "en"\nsecond = "fr"\n'
    )
    assert training.from_toml(path) == trainer
    with path.open("a") as file:
        file.write('[[texts]]\npath = "fr.txt"\nlang = "fr"\nwrapped = true\nlimit = 9\n')
    text = LanguageText(str(tmp_path / "fr.txt"), wrapped=True, lang="fr", limit=9)
    assert training.from_toml(path) == replace(trainer, texts=(text,))


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"pairs": ()}, "no file"),
        ({"pairs": (PairFile("x", "English", "de"),)}, "'English' is not a language code"),
        ({"min_count": 10_000}, "too little text"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(trainer, changed, complaint):
    with pytest.raises(InputError, match=complaint):
        replace(trainer, **changed).train(progress=silent)


def test_empty_and_malformed_files_are_refused(tmp_path):
    file = tmp_path / "pairs.tsv"
    trainer = Bivcd("x", (PairFile(str(file), "en", "de"),))
    file.write_text("")
    with pytest.raises(InputError, match="no pairs"):
        trainer.train(progress=silent)
    file.write_text("one column\n")
    with pytest.raises(FormatError, match="line 1"):
        trainer.train(progress=silent)
