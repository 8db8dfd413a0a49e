"""The code page of a text that is not UTF-8, by its letters or by its language."""

import random
import warnings

import pytest
from row_files import texts, write

from pmeans.errors import FormatError
from pmeans.tables import GuessedEncodingWarning, open_source, read_lines
from pmeans.tables.code_pages import PAGES

SENTENCES = {
    "cs": ["Příliš žluťoučký kůň úpěl ďábelské ódy.", "Včera večer jsme šli do města."],
    "da": ["Rødgrød med fløde er på bordet.", "Hvorfor åbner hun døren så sent på året?"],
    "de": ["Die Mädchen größen über die Straße.", "Für Äpfel und Öl ist es zu spät."],
    "fr": ["Où est la bibliothèque, s'il vous plaît ?", "Le garçon a été très fâché."],
    "hu": ["Az időjárás ma szép és meleg.", "Hűvös őszi reggel köszöntött a városra."],
    "pl": ["Zażółć gęślą jaźń.", "Wczoraj poszliśmy do miasta, żeby kupić książkę."],
    "ro": ["Mâine dimineaţă plecăm la ţară.", "Fata şi băiatul îşi caută pisica."],
    "ru": ["Съешь же ещё этих мягких французских булок.", "ВЧЕРА МЫ ХОДИЛИ В ГОРОД."],
}
WRITTEN = [(lang, page) for page, langs in PAGES.items() for lang in langs.split()]


@pytest.mark.parametrize(
    ("lang", "page"), [(lang, page) for lang, page in WRITTEN if lang in SENTENCES]
)
def test_a_text_is_read_in_the_code_page_that_its_letters_tell(tmp_path, lang, page):
    path = write(tmp_path / "a.txt", "\n".join(SENTENCES[lang]).encode(page))
    with pytest.warns(GuessedEncodingWarning, match=r"a\.txt: not UTF-8, and read as .* encoding="):
        assert texts(open_source(path)) == SENTENCES[lang]
    with pytest.warns(GuessedEncodingWarning):
        assert list(read_lines(path)) == SENTENCES[lang]


def test_the_warning_names_the_code_page(tmp_path):
    path = write(tmp_path / "a.txt", SENTENCES["pl"][1].encode("windows-1250"))
    with pytest.warns(GuessedEncodingWarning, match="read as windows-1250"):
        texts(open_source(path))


def test_an_encoding_that_is_named_is_not_doubted(tmp_path):
    path = write(tmp_path / "a.txt", SENTENCES["ru"][0].encode("koi8-r"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert texts(open_source(path, encoding="koi8-r")) == SENTENCES["ru"][:1]


@pytest.mark.parametrize("lang", ["cs", "CS", "Czech", "čeština"])
def test_a_language_that_is_named_decides_where_letters_do_not(tmp_path, lang):
    # One letter, which is common in Italian as windows-1252 and in Czech as windows-1250.
    path = write(tmp_path / "a.txt", "dne v roce: čin".encode("windows-1250"))
    with pytest.warns(GuessedEncodingWarning, match="windows-1252"):
        assert texts(open_source(path)) == ["dne v roce: èin"]
    with pytest.warns(GuessedEncodingWarning, match="windows-1250"):
        assert texts(open_source(path, lang=lang)) == ["dne v roce: čin"]


FOREIGN = {
    "shift_jis": "昨日は町へ本を買いに行って、それから魚を食べました。カタカナも。",
    "cp866": "Вчера мы ходили в город, чтобы купить книгу, а потом ели рыбу.",
}


@pytest.mark.parametrize("lang", [None, "auto", "ja"])
@pytest.mark.parametrize("encoding", FOREIGN)
def test_letters_that_fit_no_code_page_are_refused(tmp_path, encoding, lang):
    path = write(tmp_path / "a.txt", FOREIGN[encoding].encode(encoding))
    with pytest.raises(FormatError, match=r"a\.txt: not UTF-8.* Name it with encoding="):
        texts(open_source(path, lang=lang))
    assert texts(open_source(path, encoding=encoding)) == [FOREIGN[encoding]]


def test_signs_alone_are_read_as_before(tmp_path):
    path = write(tmp_path / "a.txt", "½ + ¼ = ¾, ±5 µm² ©".encode("windows-1252"))
    with pytest.warns(GuessedEncodingWarning, match="windows-1252"):
        assert texts(open_source(path)) == ["½ + ¼ = ¾, ±5 µm² ©"]


@pytest.mark.data
@pytest.mark.parametrize("n_lines", [3, 300])
@pytest.mark.parametrize(
    ("lang", "page"), [pair for pair in WRITTEN if pair[0] in ("cs", "de", "fr", "pl", "ru")]
)
def test_real_sentences_come_back_as_they_were_written(data_dir, tmp_path, lang, page, n_lines):
    news = list(read_lines(data_dir / "tasks" / "ntrex" / f"{lang}.txt.gz"))
    rng = random.Random(0)
    for _ in range(20):
        drawn = [line.encode(page, "ignore").decode(page) for line in rng.sample(news, n_lines)]
        path = write(tmp_path / "a.txt", "\n".join(drawn).encode(page))
        with pytest.warns(GuessedEncodingWarning):
            assert texts(open_source(path)) == drawn
