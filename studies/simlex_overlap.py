"""Count the pairs of words that Attract-Repel is trained on and SimLex-999 asks for.

    python studies/simlex_overlap.py DATA

A space that was trained on the pairs it is tested on knows answers: recipes/spaces has each
Attract-Repel file a second time, with these pairs left out.
"""

import sys
from pathlib import Path

from pmeans.evaluation.measures.similarity import overlap, read_rated
from pmeans.training.constraints import WordPairFile

FILES = (
    "en.synonyms.wordnet.tsv.gz",
    "en.synonyms.ppdb.txt.gz",
    "en.antonyms.wordnet.tsv.gz",
    "en.antonyms.ppdb.txt.gz",
)


def main() -> None:
    """Print a line for each file and one for all."""
    data = Path(sys.argv[1])
    rated = read_rated(data / "similarity" / "SimLex-999.txt")
    asked = [(pair.first, pair.second) for pair in rated]
    everything = []
    for name in FILES:
        pairs = WordPairFile(str(data / "lexicon" / name), ("en",)).read()
        everything += pairs
        print(f"{name}\t{overlap(pairs, asked)} of {len(rated)}")
    print(f"all\t{overlap(everything, asked)} of {len(rated)}")


if __name__ == "__main__":
    main()
