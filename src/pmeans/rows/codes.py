"""The codes of languages, as people write them: ``EN``, ``en-US``, ``German``, ``Deutsch``."""

from __future__ import annotations

from collections.abc import Sequence

from pmeans.errors import LanguageError, did_you_mean

_NAMES = {
    "ar": "arabic العربية", "bg": "bulgarian български", "ca": "catalan català",
    "cs": "czech čeština tschechisch", "da": "danish dansk dänisch",
    "de": "german deutsch allemand", "el": "greek ελληνικά griechisch",
    "en": "english englisch anglais", "es": "spanish español spanisch espagnol",
    "et": "estonian eesti", "fa": "persian farsi فارسی", "fi": "finnish suomi finnisch",
    "fr": "french français francais französisch", "he": "hebrew עברית", "hi": "hindi हिन्दी",
    "hr": "croatian hrvatski", "hu": "hungarian magyar", "id": "indonesian indonesia",
    "it": "italian italiano italienisch italien", "ja": "japanese 日本語", "ko": "korean 한국어",
    "lt": "lithuanian lietuvių", "lv": "latvian latviešu",
    "nl": "dutch nederlands niederländisch néerlandais", "no": "norwegian norsk",
    "pl": "polish polski polnisch polonais",
    "pt": "portuguese português portugues portugiesisch portugais", "ro": "romanian română",
    "ru": "russian русский russisch russe", "sk": "slovak slovenčina",
    "sl": "slovenian slovenščina", "sr": "serbian српски",
    "sv": "swedish svenska schwedisch suédois", "tr": "turkish türkçe türkisch",
    "uk": "ukrainian українська", "vi": "vietnamese", "zh": "chinese 中文 chinesisch",
}  # fmt: skip
_CODES = {name: code for code, names in _NAMES.items() for name in names.split()}


def language_code(given: str, known: Sequence[str]) -> str:
    """Return the code that is meant.

    Args:
        given: A code in any case, also with a country, or a name in English or the language itself.
        known: The codes to choose among; if there are none, every code is as it is given.
    """
    if given in known or not known:
        return given
    lowered = given.strip().casefold()
    plain = lowered.replace("_", "-").partition("-")[0]
    by_case = {code.casefold(): code for code in known}
    for code in (lowered, plain, _CODES.get(lowered), _CODES.get(plain)):
        if code in by_case:
            return by_case[code]
    names = {name: code for name, code in _CODES.items() if code in known}
    near = did_you_mean(lowered, [*known, *names])
    raise LanguageError(f"no language {given!r} among {', '.join(known)}.{near}")
