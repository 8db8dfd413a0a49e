"""Public word spaces that `pmeans.spaces.download` can fetch, as data.

`catalogue.toml` lists them; a name, URL, language or member with ``{lang}`` in it stands for one
space a language, and is filled in when such a name is asked for.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, replace
from importlib import resources
from urllib.parse import urlsplit

from pmeans.choices import Case
from pmeans.config import build
from pmeans.errors import InputError, did_you_mean, shown

_LANG = "{lang}"
_CODE = "([a-z]{2,3})"  # ISO 639


@dataclass(frozen=True)
class Entry:
    """One public word space, or one a language where the name has ``{lang}`` in it.

    Attributes:
        name: What the space is called once it is installed.
        url: Where the same file lies, to be tried in this order.
        bytes: Size of the file, 0 if unknown.
        licence: Terms of the vectors, as far as their makers say.
        homepage: Where the makers describe them.
        languages: Codes of the languages.
        case: How words are to be looked up.
        format: What `pmeans.spaces.readers.read_space` calls the format.
        approximate: Whether ``bytes`` is an estimate, good for messages only.
        sha256: Checksum of the file, in hexadecimal; empty if none is published.
        md5: The same, where it is the one that was published.
        member: The file wanted in an archive of several.
    """

    name: str
    url: tuple[str, ...]
    bytes: int
    licence: str
    homepage: str
    languages: tuple[str, ...]
    case: Case
    format: str
    approximate: bool = False
    sha256: str = ""
    md5: str = ""
    member: str = ""

    @property
    def file_name(self) -> str:
        """The name of the file that the URLs lead to."""
        return urlsplit(self.url[0]).path.rsplit("/", 1)[-1]

    def for_language(self, lang: str) -> Entry:
        """Return the entry with ``{lang}`` filled in."""
        return replace(
            self,
            name=self.name.replace(_LANG, lang),
            url=tuple(url.replace(_LANG, lang) for url in self.url),
            languages=tuple(code.replace(_LANG, lang) for code in self.languages),
            member=self.member.replace(_LANG, lang),
        )


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return the whole catalogue, in its order."""
    text = resources.files("pmeans.spaces").joinpath("catalogue.toml").read_text("utf-8")
    return tuple(build(Entry, table, "catalogue.toml") for table in tomllib.loads(text)["space"])


def names() -> list[str]:
    """Return all names, those with ``{lang}`` as they are."""
    return [entry.name for entry in entries()]


def knows(name: str) -> bool:
    """Return whether the catalogue has this name, or fills it in."""
    return _find(name) is not None


def entry(name: str) -> Entry:
    """Return the entry of a name, filled in if it is that of a language."""
    known = _find(name)
    if known is None:
        raise InputError(
            f"the catalogue has no word space {shown(name)}.{did_you_mean(name, names())} "
            f"It has: {', '.join(names())}."
        )
    return known


def _find(name: str) -> Entry | None:
    for each in entries():
        if each.name == name and _LANG not in name:
            return each
    for each in entries():
        pattern = re.escape(each.name).replace(re.escape(_LANG), _CODE)
        if _LANG in each.name and (match := re.fullmatch(pattern, name)):
            return each.for_language(match[1])
    return None
