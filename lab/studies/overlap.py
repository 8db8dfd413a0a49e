"""Count the pairs of words that spaces are made from and tested on as well.

    python studies/overlap.py DATA

A space that was made from the pairs it is tested on knows answers. For Attract-Repel these are the
pairs of SimLex-999 among its constraints: recipes/spaces has each of its files a second time, with
these pairs left out. For GoogleNews in German and French they are the pairs of the test
dictionaries among the translations that its words are means of.
"""

import sys
from pathlib import Path

from pmeans.training.attract_repel import WordPairFile
from pmeans_lab.evaluation.measures.bilingual import read_dictionary
from pmeans_lab.evaluation.measures.similarity import overlap, read_rated

CONSTRAINTS = (
    "en.synonyms.wordnet.tsv.gz",
    "en.synonyms.ppdb.txt.gz",
    "en.antonyms.wordnet.tsv.gz",
    "en.antonyms.ppdb.txt.gz",
)
DICTIONARIES = {"de": ("wiktionary", "ding"), "fr": ("wiktionary", "wolf", "freedict")}


def told(asked: list[tuple[str, str]], files: list[Path], langs: tuple[str, ...]) -> None:
    """Print a line for each file and one for all."""
    everything: list[tuple[str, str]] = []
    for path in files:
        pairs = WordPairFile(str(path), langs).read()
        everything += pairs
        print(f"{path.name}\t{overlap(pairs, asked)} of {len(asked)}")
    print(f"all\t{overlap(everything, asked)} of {len(asked)}")


def main() -> None:
    """Print the overlap of each test."""
    data = Path(sys.argv[1])
    rated = read_rated(data / "similarity" / "SimLex-999.txt")
    asked = [(pair.first, pair.second) for pair in rated]
    told(asked, [data / "lexicon" / name for name in CONSTRAINTS], ("en",))
    for lang, sources in DICTIONARIES.items():
        test = read_dictionary(data / "lexicon" / f"en-{lang}.bli.test.tsv")
        asked = [(word, other) for word, others in test.items() for other in others]
        names = [f"en-{lang}.translations.{source}.tsv.gz" for source in sources]
        told(asked, [data / "lexicon" / name for name in names], ("en", lang))


if __name__ == "__main__":
    main()
