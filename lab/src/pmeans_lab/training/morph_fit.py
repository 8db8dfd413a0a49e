"""Morph-fitting (Vulić et al. 2017): Attract-Repel by forms of words and negations that rules find.

The rules are of English, German and French, and find words of one stem in a list of words.

A rule never makes up a word; it says how two words of the list may differ. ``*`` stands for what
they share: ``*y`` and ``*ies`` are *city* and *cities*, ``*`` and ``un*`` are *kind* and *unkind*.
The tables prefer missing a pair to a wrong one: a base must have some length (*car* and *care*), an
ending that other words share by chance must come with more forms of the same paradigm (``least``),
and what is still wrong and common is named (``never``).

The kinds of affixes are the paper's; which stems and endings each may meet was
found by reading what the rules bring up from lists of common words. Left out, because too much of
what it finds is wrong: the German umlaut, strong verbs, the French *a-* and *dé-* on stems that are
not named, the English *in-* on words without an ending of adjectives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from pmeans.errors import ConfigError
from pmeans.spaces.space import WordSpace
from pmeans.training.attract_repel import NO_PAIRS, Constraints, Specialiser, clean


@dataclass(frozen=True)
class Rule:
    """One base and its forms.

    Attributes:
        base: A pattern, such as ``"*e"``.
        forms: Patterns with the same stem, such as ``("*ed", "*ing")``.
        least: How many of the forms must be in the list before any counts.
        length: Characters that the base must have at least.
    """

    base: str
    forms: tuple[str, ...]
    least: int = 1
    length: int = 4

    def pairs(self, words: Iterable[str], known: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the bases among some words, each with its known forms."""
        before, after = self.base.split("*")
        forms = [form.split("*") for form in self.forms]
        for word in words:
            if len(word) < self.length or not word.startswith(before) or not word.endswith(after):
                continue
            stem = word[len(before) : len(word) - len(after)]
            found = [made for head, tail in forms if (made := head + stem + tail) in known]
            if len(found) >= self.least:
                yield from ((word, form) for form in found)


@dataclass(frozen=True)
class Morphology:
    """What is known of one language.

    Attributes:
        inflections: Forms of one word, which attract each other.
        oppositions: Words and their negations, which repel each other.
        never: Beginnings of forms that only look negated, such as *under*, split by blanks.
    """

    inflections: tuple[Rule, ...]
    oppositions: tuple[Rule, ...]
    never: str

    def attract(self, words: Iterable[str]) -> list[tuple[str, str]]:
        """Return the pairs of inflected forms in a list of words, sorted."""
        return _found(self.inflections, words)

    def repel(self, words: Iterable[str]) -> list[tuple[str, str]]:
        """Return the pairs of a word and its negation in a list of words, sorted."""
        never = tuple(self.never.split())
        return [pair for pair in _found(self.oppositions, words) if not pair[1].startswith(never)]


def _found(rules: Iterable[Rule], words: Iterable[str]) -> list[tuple[str, str]]:
    # A digit or a dot inside is a name or a number, and no rule is meant for it.
    known = {word for word in words if word.replace("'", "").replace("-", "").isalpha()}
    bases = [word for word in known if "'" not in word and "-" not in word]
    return sorted({pair for rule in rules for pair in rule.pairs(bases, known)})


def _negated(prefix: str, stems: str) -> tuple[Rule, ...]:
    """Put a prefix before words that begin with one of these stems."""
    return tuple(Rule(f"{stem}*", (f"{prefix}{stem}*",)) for stem in stems.split())


def _latin(endings: str) -> tuple[Rule, ...]:
    """Put in-, im-, il-, ir- before words of one of these endings, by their first letter."""
    return tuple(
        Rule(f"{first}*{ending}", (f"{prefix}{first}*{ending}",), length=5)
        for (first, prefix), ending in product(_IN.items(), endings.split())
    )


_IN = dict.fromkeys("acdefghjoqstuv", "in") | dict.fromkeys("mpb", "im") | {"l": "il", "r": "ir"}
_ENGLISH = Morphology(
    inflections=(
        Rule("*", ("*s", "*'s", "*s'")),
        Rule("*", ("*ed", "*ing"), least=2),
        Rule("*e", ("*ed", "*ing"), least=2),
        Rule("*y", ("*ies", "*ied")),
        *(Rule(f"*{end}", (f"*{end}es",)) for end in ("s", "x", "z", "ch", "sh", "o")),
        *(
            Rule(f"*{end}", (f"*{2 * end}ed", f"*{2 * end}ing"), least=2, length=3)
            for end in "bdglmnprt"
        ),
    ),
    oppositions=(
        Rule("*", ("un*", "non*", "non-*", "anti*", "anti-*")),
        Rule("*", ("mis*",), length=5),
        *_negated("dis", "a e i o u h belie comfort connect conten continu courag credit like"),
        *_negated("dis", "loyal proportion qualif regard respect satisf similar trust"),
        *_latin("able ably ible ibly ility ive ively ent ently ence ency ant antly ance"),
        *_latin("al ally ality ate ately acy ite itely ete etely ect ectly ous ously"),
        *_latin("ane ure ured urity ar arly arity ess fect fectly fection proper"),
        Rule("*ful", ("*less",), length=6),
        Rule("*fully", ("*lessly",), length=8),
    ),
    never=(
        "under unless union unit antics disease disaster mistaken inhabit invaluabl inflammab "
        "immigra important importance interna inform inherit instant intent invest implant impress "
        "incense antibodies missions mistress mission dishes miscarriage disappoint"
    ),
)  # fmt: skip

_ADJECTIVE = ("e", "en", "em", "er", "es")

_GERMAN = Morphology(
    inflections=(
        Rule("*", tuple(f"*{end}" for end in _ADJECTIVE), least=4),
        Rule("*e", ("*en", "*em", "*er", "*es"), least=4, length=5),
        Rule("*", ("*s", "*es"), length=5),
        Rule("*e", ("*en",), length=5),
        *(Rule(f"*{end}", (f"*{end}n",), length=5) for end in ("er", "el")),
        *(
            Rule(f"*{end}", (f"*{end}en",), length=6)
            for end in ("ung", "heit", "keit", "schaft", "ion", "tät", "ist", "ent")
        ),
        Rule("*in", ("*innen",), length=6),
        Rule("*nis", ("*nisse", "*nissen", "*nisses"), length=6),
        Rule("*en", ("*e", "*t", "*st", "*te", "*ten", "*test", "*end", "ge*t"), 3, 5),
        Rule("*en", ("*e", "*et", "*est", "*ete", "*eten", "*end", "ge*et"), 3, 5),
    ),
    oppositions=(
        Rule("*", ("un*", "nicht*", "nicht-*", "miss*", "miß*", "anti*", "anti-*"), length=5),
        *_negated("in", "akti akzeptab direkt diskret effizien formell homogen human kompatib"),
        *_negated("in", "kompeten konsequen konsisten korrekt offiziell stabil toleran varian"),
        *_negated("in", "transparen"),
        *_negated("il", "legal legitim liberal loyal"),
        *_negated("ir", "rational regulär relevan real reversib reparab"),
        *_negated("im", "materiell mobil potent"),
        *(Rule(f"*voll{end}", (f"*los{end}",), length=7) for end in ("", *_ADJECTIVE)),
    ),
    never=(
        "unter unfall unfäll ungar unwetter unkosten unmenge union unzahl ungeheuer unserer "
        "unseren unsere unisono unrat untat unkraut unheimlich mission"
    ),
)  # fmt: skip

_FRENCH = Morphology(
    inflections=(
        Rule("*", ("*s",)),
        Rule("*é", ("*ée", "*és", "*ées"), least=2),
        *(
            Rule(f"*{end}", (f"*{end}e", f"*{end}es"), length=5)
            for end in ("ant", "ent", "ain", "ais", "ois", "and", "ard", "al", "in", "ct", "ert")
        ),
        *(
            Rule(f"*{end}", (f"*{feminine}", f"*{feminine}s"), length=5)
            for end, feminine in (
                ("el", "elle"), ("en", "enne"), ("eux", "euse"), ("if", "ive"), ("teur", "trice"),
                ("eur", "euse"), ("er", "ère"), ("et", "ète"), ("on", "onne"),
            )
        ),
        Rule("*al", ("*aux",), length=5),
        Rule("*eau", ("*eaux",)),
        Rule("*er", ("*e", "*es", "*ent", "*ons", "*ez", "*ais", "*ait", "*aient", "*a", "*èrent",
                     "*é", "*ée", "*és", "*ées", "*ant", "*era", "*erait", "*eront"), 4, 5),
        Rule("*ger", ("*geait", "*geant", "*geons", "*gea"), 1, 5),
        Rule("*cer", ("*çait", "*çant", "*çons", "*ça"), 1, 5),
        Rule("*ir", ("*i", "*is", "*it", "*issent", "*issait", "*issant", "*ira"), 3, 5),
        Rule("*dre", ("*d", "*ds", "*du", "*due", "*dait", "*dent", "*dant", "*dra"), 3, 6),
    ),
    oppositions=(
        Rule("*", ("non-*", "anti*", "anti-*")),
        Rule("*", ("mal*",), length=5),
        *_negated("dés", "a e é h i o u œ"),
        *_negated("dé", "bloqu centralis charg chiffr class coll connect courag croiss favorab"),
        *_negated("dé", "favoris form mobilis moralis peupl plais plaire raisonnab stabilis"),
        *_negated("dé", "valoris"),
        *_latin("able ables ible ibles if ifs ive ives ité itude ence ance ement amment"),
        *_latin("ent ente ents entes ant ante ants antes el elle els elles al ale aux ales"),
        *_negated("in", "achev attendu certain complet complèt connu correct direct discret exact"),
        *_negated("in", "fidèl humain juste justice soumis suffisa utile égal habitué"),
        *_negated("im", "mobil moral parfait poli populaire pur précis prévu"),
        *_negated("il", "légal légitim limité logique lisib"),
        *_negated("ir", "rationnel régul réel responsab respect"),
        *_negated("a", "normal moral politique symétri typique"),
    ),
    never=(
        "inhabit inflammab immigra important importance impression incident instant intent inform "
        "invent désert désastre désign désir désol imposa impose immobili invers indifféren "
        "anticorps malentend malaise incite implant inval incess"
    ),
)  # fmt: skip

MORPHOLOGY = {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH}
"""Rules by language."""


@dataclass(frozen=True, kw_only=True)
class MorphFit(Specialiser):
    """Specialise a space by the morphology of its languages; nothing but the space is needed.

    Attributes:
        languages: Whose rules to apply: ``"en"``, ``"de"``, ``"fr"``.
    """

    languages: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for lang in self.languages:
            if lang not in MORPHOLOGY:
                raise ConfigError(f"no morphology of {lang!r}; there is {', '.join(MORPHOLOGY)}.")

    def _constraints(self, space: WordSpace) -> Constraints:
        return morphological(space, self.languages)


def morphological(space: WordSpace, languages: Sequence[str]) -> Constraints:
    """Return what the rules of some languages find among the words of a space."""
    near, far = [NO_PAIRS], [NO_PAIRS]
    for lang in languages:
        rules, words = MORPHOLOGY[lang], list(space.words(lang))
        for found, pairs in ((near, rules.attract(words)), (far, rules.repel(words))):
            flat = space.find([word for pair in pairs for word in pair], lang)
            found.append(flat.reshape(-1, 2))
    return clean(len(space), np.concatenate(near), np.concatenate(far), NO_PAIRS)
