"""Everything that can be measured of a space with the data of one folder.

::

    DIR/similarity/NAME.txt            rated pairs of words; `LANGUAGES` says of which language
    DIR/lexicon/XX-YY.bli.test.tsv     a dictionary, for testing
    DIR/parallel/XX-YY.tsv.gz          pairs of sentences; the last of each source are for testing

What is not there, or in a language that the space does not cover, is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from pmeans.errors import InputError
from pmeans.spaces.neighbours import neighbours
from pmeans.spaces.space import WordSpace
from pmeans_lab.evaluation.measures import Measured, bilingual, picture, retrieval, similarity

LANGUAGES = {
    "SimLex-999": "en",
    "simlex-english": "en",
    "simlex-german": "de",
    "wordsim353-english": "en",
    "wordsim353-german": "de",
}
"""Language of each set of rated pairs."""
_DICTIONARY = ".bli.test.tsv"
_PARALLEL = ".tsv.gz"


def files_of(data: Path) -> list[Path]:
    """Return the files of a folder that a space may be measured with."""
    return [
        path for kind in ("similarity", "lexicon", "parallel") for path in (data / kind).glob("*")
    ]


def measures(
    space: WordSpace, data: Path, progress: Callable[[float, str], None]
) -> Iterator[Measured]:
    """Measured a space with everything there is, set by set.

    Args:
        space: The space.
        data: The folder, as in the module's docstring.
        progress: Called with the finished share, and what is being measured.
    """
    rated = [
        path
        for path in sorted((data / "similarity").glob("*.txt"))
        if path.stem in LANGUAGES and space.covers(LANGUAGES[path.stem])
    ]
    dictionaries = _bilingual(space, data, "lexicon", _DICTIONARY)
    parallel = _bilingual(space, data, "parallel", _PARALLEL)
    total = len(rated) + len(dictionaries) + len(parallel)
    if not total:
        raise InputError(
            f"{str(data)!r} has nothing to measure {space.name!r} ({', '.join(space.languages)}) "
            "with: no similarity/, lexicon/ or parallel/ for its languages."
        )
    steps = iter(range(total))
    for path in rated:
        progress(next(steps) / total, path.name)
        lang = LANGUAGES[path.stem]
        yield similarity.similarity(space, similarity.read_rated(path), lang, path.stem)
    for path, langs in dictionaries:
        progress(next(steps) / total, path.name)
        words = bilingual.read_dictionary(path)
        yield from bilingual.precision(space, words, langs, on="dictionary")
    for path, langs in parallel:
        progress(next(steps) / total, path.name)
        encoder = retrieval.sentence_means(space)
        for source, pairs in retrieval.held_out(path).items():
            yield retrieval.accuracy(encoder, pairs, langs, source)


def draw(space: WordSpace, data: Path, path: Path) -> tuple[int, tuple[str, str]]:
    """Draw translation pairs of the first dictionary that the space covers.

    Returns:
        How many pairs were drawn, and their languages.
    """
    dictionaries = _bilingual(space, data, "lexicon", _DICTIONARY)
    if not dictionaries:
        raise InputError(
            f"no picture: {str(data / 'lexicon')!r} has no XX-YY{_DICTIONARY} for two languages of "
            f"{space.name!r} ({', '.join(space.languages)})."
        )
    file, langs = dictionaries[0]
    return picture.draw(space, bilingual.read_dictionary(file), langs, path), langs


def side_by_side(space: WordSpace, word: str, k: int = 10) -> list[tuple[str, ...]]:
    """Return a word's neighbours in each language, in a column each, nearest first.

    The word is sought in the space's languages, in their order.
    """
    lang = next((lang for lang in space.languages if space.row(word, lang) >= 0), None)
    # Where no language has it, the first one says so, with close spellings.
    found = [neighbours(space, word, lang or space.languages[0], k, into) for into in space.tables]
    columns = [[f"{near} {cosine:.2f}" for _, near, cosine in column] for column in found]
    return list(zip_longest(*columns, fillvalue=""))


def _bilingual(
    space: WordSpace, data: Path, folder: str, end: str
) -> list[tuple[Path, tuple[str, str]]]:
    found = []
    for path in sorted((data / folder).glob(f"*{end}")):
        first, hyphen, second = path.name.removesuffix(end).partition("-")
        # A space that does not tell languages apart would find every word its own translation.
        if hyphen and first in space.tables and second in space.tables:
            found.append((path, (first, second)))
    return found
