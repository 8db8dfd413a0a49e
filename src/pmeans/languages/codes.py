"""The codes of languages, as people write them: ``EN``, ``en-US``, ``eng``, ``German``.

There is one rule for all of them, and whatever takes a language goes by it. A code is that of ISO
639-1 where there is one, else of ISO 639-3, in lower case. A script or a region may follow it, as
in ``pt-BR``. `match` finds the code that is meant among those that a space or a model has:

1. the very code;
2. the same after case, ``_`` and names are put in order, the region included;
3. the same without its region, then without its script;
4. a code of the same language with any region, if there is just one.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from pmeans.errors import InputError, LanguageError, did_you_mean, shown

_LONGEST = 64  # characters of a code or a name
_LANGUAGES = """
af afr afrikaans | ar ara arabic العربية arabisch arabe | az aze azerbaijani | be bel belarusian
bg bul bulgarian български bulgarisch bulgare | bn ben bengali | bo bod tib tibetan
bs bos bosnian bosanski | ca cat catalan català katalanisch | cs ces cze czech čeština tschechisch
cy cym wel welsh cymraeg | da dan danish dansk dänisch danois | de deu ger german deutsch allemand
dz dzo dzongkha | el ell gre greek ελληνικά griechisch grec | en eng english englisch anglais
eo epo esperanto | es spa spanish español spanisch espagnol | et est estonian eesti estnisch
eu eus baq basque euskara baskisch | fa fas per persian farsi فارسی persisch
fi fin finnish suomi finnisch finnois | fil filipino
fr fra fre french français francais französisch
ga gle irish gaeilge | gl glg galician galego | he heb hebrew עברית hebräisch hébreu
hi hin hindi हिन्दी | hr hrv croatian hrvatski kroatisch
hu hun hungarian magyar ungarisch hongrois
hy hye arm armenian | id ind indonesian indonesia indonesisch
is isl ice icelandic íslenska isländisch
it ita italian italiano italienisch italien | ja jpn japanese 日本語 japanisch japonais
ka kat geo georgian | kk kaz kazakh | km khm khmer | ko kor korean 한국어 koreanisch coréen
la lat latin | lo lao | lt lit lithuanian lietuvių litauisch | lv lav latvian latviešu lettisch
mk mkd mac macedonian македонски mazedonisch | ms msa may malay melayu | mt mlt maltese
my mya bur burmese | nb nob bokmål | nl nld dut dutch nederlands niederländisch néerlandais
nn nno nynorsk | no nor norwegian norsk norwegisch norvégien
pl pol polish polski polnisch polonais
pt por portuguese português portugues portugiesisch portugais
ro ron rum romanian română rumänisch roumain | ru rus russian русский russisch russe
sh hbs | shn shan | sk slk slo slovak slovenčina slowakisch slovaque
sl slv slovenian slovenščina slowenisch slovène | sq sqi alb albanian shqip
sr srp serbian српски serbisch serbe | sv swe swedish svenska schwedisch suédois
sw swa swahili | ta tam tamil | te tel telugu | th tha thai | tl tgl tagalog
tr tur turkish türkçe türkisch turc | uk ukr ukrainian українська ukrainisch | ur urd urdu
vi vie vietnamese | zh zho chi chinese 中文 chinesisch chinois
"""
_CODES = {
    name: line.split()[0]
    for line in re.split(r"[|\n]", _LANGUAGES.strip())
    for name in line.split()
}


def tidy_code(name: str) -> str:
    """Return a code in order, with its script and region: ``pt-BR`` for ``POR_br``.

    What is neither a code nor a known name is returned as it is.
    """
    _check(name)
    return _tidied(name) if len(name) <= _LONGEST else name


def _check(name: object) -> None:
    if not isinstance(name, str):
        raise InputError(
            f"a language is a str such as 'en', not {type(name).__name__}: {shown(name)}."
        )


@lru_cache(maxsize=4096)
def _tidied(name: str) -> str:
    main, *rest = re.split("[-_]", name.strip())
    main = _CODES.get(main.casefold(), main.casefold())
    if not re.fullmatch("[a-z]{2,3}", main):
        return name
    cased = [tag.title() if len(tag) == 4 else tag.upper() for tag in rest]
    return "-".join([main, *cased])


def main_code(name: str) -> str:
    """Return the code of the language alone: ``pt`` for ``pt-BR``."""
    return tidy_code(name).partition("-")[0]


def match(name: str, known: Collection[str]) -> str | None:
    """Return the code among the known ones that is meant, or None."""
    _check(name)
    if name in known:
        return name
    tidied = {code: tidy_code(code).casefold() for code in known}
    tag = tidy_code(name).strip().casefold()
    main = tag.partition("-")[0]
    while tag:
        same = [code for code, tidy in tidied.items() if tidy == tag]
        if same:
            return min(same, key=lambda code: code != tag)
        tag = tag.rpartition("-")[0]
    regional = [code for code, tidy in tidied.items() if tidy.partition("-")[0] == main]
    return regional[0] if len(regional) == 1 else None


def language_code(name: str, known: Collection[str]) -> str:
    """Return the code that is meant, or say which there are.

    Args:
        name: A language as people write it.
        known: The codes to choose among. If there are none, it is any language's `main_code`.
    """
    meant = match(name, known) if known else main_code(name)
    if meant is None:
        listed = ", ".join(known)
        raise LanguageError(f"no language {shown(name)} among {listed}.{near(name, known)}")
    if not known and not re.fullmatch("[a-z]{2,3}", meant):
        raise LanguageError(f"no language {shown(name)}: give its code of two or three letters.")
    return meant


def near(text: str, known: Collection[str]) -> str:
    """Return a question after the known language that is spelled most like this, or nothing."""
    names = [name for name, code in _CODES.items() if match(code, known)]
    return did_you_mean(text.strip().casefold(), [*known, *names])
