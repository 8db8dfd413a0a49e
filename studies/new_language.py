"""How good an added language gets: a model's French against French added to the model without it.

    python studies/new_language.py DATA [MODEL] [LANG]

DATA has ``lexicon``, ``mono`` and ``parallel``. MODEL (the package's own if none is named) has
English and LANG (French). The language's words are taken away with its statistics and its map, and
what is left is extended. Printed is the share of English sentences whose nearest sentence of LANG
is their translation, among at most 500 held-out pairs of each source, and the share of the words
of these sentences that have a row of their own in the best part. Subwords stay: in a model that has
them they still know the language, and flatter what is added.
"""

import sys
from pathlib import Path

import pmeans
from pmeans import PowerMeanEncoder
from pmeans.align import Alignment
from pmeans.building.new_language import NewLanguage
from pmeans.evaluation.measures import retrieval
from pmeans.spaces import edit
from pmeans.text import tokenize
from pmeans.training.corpus import PairFile
from pmeans.znorm import ZNorm

CANDIDATES = 500
SOURCES = ("tatoeba", "multi30k", "wmt-news", "bible")


def without(encoder: PowerMeanEncoder, lang: str) -> PowerMeanEncoder:
    """Take a language out of a model, but for what its other vectors have learned from it."""
    spaces = {
        name: edit.prune(space, {code: space.words(code) for code in space.tables if code != lang})
        for name, space in encoder.spaces.items()
    }
    statistics = encoder.znorm.statistics.items()
    znorm = ZNorm(encoder.znorm.scope, {code: each for code, each in statistics if code != lang})
    alignment = encoder.alignment
    if alignment:
        maps = {code: each for code, each in alignment.maps.items() if code != lang}
        alignment = Alignment(alignment.pivot, maps, alignment.precision)
    return PowerMeanEncoder(encoder.recipe, spaces, znorm, alignment)


def main() -> None:
    """Print a table, a row for each way to get the language."""
    data, model, lang = (*sys.argv[1:], *(None, "fr")[len(sys.argv) - 2 :])
    data = Path(data)
    own = pmeans.load(model)
    rest = without(own, lang)
    dictionaries = (str(data / "lexicon" / f"en-{lang}.translations.wiktionary.tsv.gz"),)
    text = str(data / "mono" / f"{lang}.commonvoice.txt.xz")
    parallel = str(data / "parallel" / f"en-{lang}.tsv.gz")

    def pairs(limit: int) -> PairFile:
        return PairFile(parallel, "en", lang, ("tatoeba",), limit)

    ways = {
        "a dictionary and text": NewLanguage(lang, dictionaries, text=text),
        "5,000 pairs": NewLanguage(lang, pairs=pairs(5_000)),
        "20,000 pairs": NewLanguage(lang, pairs=pairs(20_000)),
        "a dictionary and 5,000 pairs": NewLanguage(lang, dictionaries, pairs(5_000)),
        "a dictionary and 20,000 pairs": NewLanguage(lang, dictionaries, pairs(20_000)),
    }
    held = {source: retrieval.held_out(parallel)[source][:CANDIDATES] for source in SOURCES}
    seconds = [pair.second for found in held.values() for pair in found]
    words = [word for text in seconds for word in tokenize(text, "words", lang)]
    print(f"| {lang} from | {' | '.join(held)} | words known |\n|---|{'---|' * len(held)}---|")
    for name in ("the model itself", *ways):
        encoder = own
        if name in ways:
            encoder = ways[name].add_to(rest, progress=lambda share, words: None)
        scores = [
            100 * retrieval.accuracy(encoder, found, ("en", lang)).value for found in held.values()
        ]
        spaces = encoder.spaces.values()
        known = 100 * max(float((space.find(words, lang) >= 0).mean()) for space in spaces)
        print(f"| {name} | {' | '.join(f'{s:.1f}' for s in scores)} | {known:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
