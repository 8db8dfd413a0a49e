"""What each language changes about the tokens of raw text."""

import unicodedata

import numpy as np
import pytest

import pmeans
from pmeans.errors import LanguageError
from pmeans.languages.tokenizers import tokenize


def words(text: str, lang: str) -> str:
    return " ".join(tokenize(text, "words", lang))


def test_italian_elisions_are_cut_after_either_apostrophe():
    text = "L'amico dell’arte: un'altra, c’è un'e-mail"
    assert words(text, "it") == "L' amico dell' arte : un' altra , c' è un' e-mail"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Disse-me", "Disse -me"),
        ("fazê-lo", "fazê -lo"),
        ("dar\u2010lhes", "dar -lhes"),
        ("SENTOU-SE", "SENTOU -SE"),
    ],
)
def test_portuguese_pronouns_are_split_off_verbs(text, tokens):
    assert words(text, "pt") == tokens


@pytest.mark.parametrize("word", ["guarda-chuva", "segunda-feira", "dia-a-dia", "dar-lhe-ei"])
def test_portuguese_compounds_stay_whole(word):
    assert words(word, "pt") == word


def test_inverted_marks_of_spanish_are_tokens_of_their_own():
    assert words("¿Dónde está? ¡Aquí!", "es") == "¿ Dónde está ? ¡ Aquí !"


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("zo'n foto's auto's", "nl"),
        ("кто-то по-русски ещё еще", "ru"),
        ("Chuck'a żółć", "pl"),
        ("chcete-li příliš", "cs"),
        ("e-postadress åäö", "sv"),
        ("Iğdır İzmir", "tr"),
    ],
)
def test_other_languages_keep_their_words_as_they_stand(text, lang):
    assert words(text, lang) == text


@pytest.mark.parametrize(
    "number", ["1,240", "1.240", "1 240", "1\xa0240", "1\u202f240", "1'240", "1’240", "１．２４０"]
)
@pytest.mark.parametrize("lang", ["en", "de", "fr", "pt"])
def test_a_number_has_the_same_tokens_however_a_language_separates_its_digits(number, lang):
    assert words(f"({number}).", lang) == "( 1 240 ) ."


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("7.5 7,5", "7 5 7 5"),
        ("1.234.567,89", "1 234 567 89"),
        ("v1.2.3-rc4 24.12.2023 10.0.0.1", "v1 2 3-rc4 24 12 2023 10 0 0 1"),
        ("1,a2 a,1 1. ,1 1,,2 1, 2 .5", "1 , a2 a , 1 1 . , 1 1 , , 2 1 , 2 . 5"),
        ("2023-24 1‐2 3:4 5/6 7;8", "2023-24 1-2 3 : 4 5 / 6 7 ; 8"),
        ("90's 3'b a'4 '5 6'", "90's 3'b a'4 ' 5 6 '"),
        ("١,٢ 1.² ½,½", "١ , ٢ 1 . ² ½ , ½"),
    ],
)
def test_only_full_stops_commas_and_apostrophes_between_two_digits_of_ascii_are_left_out(
    text, tokens
):
    assert words(text, "de") == tokens


def test_numbers_that_are_tokenised_already_stay_whole():
    assert tokenize("1,240 7.5 1'0", "whitespace", "en") == ["1,240", "7.5", "1'0"]


@pytest.mark.parametrize("text", ["está mañana", "żółć příliš", "ещё мой Йод", "Việt ngữ"])
def test_decomposed_letters_become_those_of_word_spaces(text):
    assert words(unicodedata.normalize("NFD", text), "es") == text


@pytest.mark.parametrize(
    "invisible",
    ["\xad", "\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\u2066", "\ufeff", "\U000e0001"],
)
def test_invisible_characters_are_left_out_of_words(invisible):
    plain = "The co-op doesn't cost 3.5 (more)!"
    assert words(invisible + invisible.join(plain), "en") == words(plain, "en")
    assert words(f"{invisible} a {invisible}{invisible} b", "en") == "a b"


def test_a_mark_after_an_invisible_character_is_composed_with_the_letter_before_it():
    assert words("cafe\u200b\u0301", "fr") == "café"


@pytest.mark.parametrize(
    "emoji",
    ["👩\u200d", "🏴\U000e0067\U000e0062\U000e007f", "❤\ufe0f\u200d", "ℹ\ufe0f"],
)
def test_emoji_keep_what_joins_and_modifies_them(emoji):
    assert tokenize(f"a {emoji}🔥b", "words", "en") == ["a", emoji, "🔥", "b"]


def test_joiners_of_persian_and_hindi_are_left_out():
    assert words("می\u200cخواهم क्\u200dष", "fa") == "میخواهم क्ष"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ﬁne ﬂat eﬀect oﬃce baﬄe moﬅ beﬆ", "fine flat effect office baffle most best"),
        ("ĳs Ĳs ǆep ǅep ǈ ǌ ǳ", "ijs IJs džep Džep Lj nj dz"),
        ("Waſſer ϑ ϐ ℝ ℏ", "Wasser θ β R ħ"),
        ("Ｆｕｌｌ－ｗｉｄｔｈ １２", "Full-width 12"),
        ("𝐁𝐨𝐥𝐝 𝓢𝓬𝓻𝓲𝓹𝓽 𝔉𝔯 𝟚𝟛 𝛝", "Bold Script Fr 23 θ"),
        ("Louis ⅩⅣ Ⅷ ⅲ", "Louis XIV VIII iii"),
        ("ｶﾀｶﾅ", "カタカナ"),
    ],
)
def test_compatibility_forms_become_their_letters(text, plain):
    assert words(text, "de") == plain


def test_full_width_punctuation_is_that_of_ascii():
    assert words("Ｉ　ｄｏｎ＇ｔ （ｋｎｏｗ）： ３．５！", "en") == "I do n't ( know ) : 3 5 !"


def test_a_full_width_letter_is_composed_with_its_mark():
    assert words("ｅ\u0301te\u0301", "fr") == "été"


@pytest.mark.parametrize(
    "word", ["x²", "H₂O", "½", "①", "№", "℃", "ª", "™", "և", "ㅋㅋ", "…", "col·lega", "ŀ", "ŉ"]
)
def test_other_forms_mean_something_else_and_stay(word):
    assert "".join(tokenize(word, "words", "de")) == word


def test_text_that_is_tokenised_already_keeps_its_characters():
    text = unicodedata.normalize("NFD", "está disse-me") + " ﬁ x\xad ！ \ufeffA"
    assert tokenize(text, "whitespace", "pt") == text.split()


@pytest.mark.parametrize("lang", ["zh", "ja", "th", "lo", "km", "my", "bo", "zh-TW", "zh_CN"])
def test_a_language_without_spaces_is_refused_by_name(lang):
    with pytest.raises(LanguageError, match=rf"'{lang}'\) is written without spaces"):
        tokenize("text", "words", lang)


def test_a_language_without_spaces_is_taken_when_it_is_split_already():
    assert tokenize("我 爱 你", "whitespace", "zh") == ["我", "爱", "你"]


@pytest.mark.parametrize(
    "text",
    [
        "The of\xadfice staff were very help\xadful and friendly.",
        "The off\u200bice staff\u200b were very help\u200bful and friendly.",
        "\ufeffThe office staff were very helpful and friendly.",
        "The oﬃce staﬀ were very helpful and friendly.",
        "Ｔｈｅ　ｏｆｆｉｃｅ　ｓｔａｆｆ　ｗｅｒｅ ｖｅｒｙ helpful and ｆｒｉｅｎｄｌｙ．",
        "𝐓𝐡𝐞 𝐨𝐟𝐟𝐢𝐜𝐞 𝐬𝐭𝐚𝐟𝐟 𝘸𝘦𝘳𝘦 𝘷𝘦𝘳𝘺 𝓱𝓮𝓵𝓹𝓯𝓾𝓵 𝚊𝚗𝚍 𝖋𝖗𝖎𝖊𝖓𝖉𝖑𝖞.",
    ],
    ids=["soft hyphen", "zero-width space", "byte order mark", "ligature", "full-width", "font"],
)
@pytest.mark.parametrize("lang", ["en", None], ids=["given", "found"])
def test_the_spelling_of_a_sentence_does_not_move_its_row(text, lang):
    encoder = pmeans.load()
    rows = encoder.encode([text, "The office staff were very helpful and friendly."], lang=lang)
    np.testing.assert_array_equal(rows[0], rows[1])
