"""Which words of a space a corpus needs, so that the others can be pruned."""

from __future__ import annotations

from pathlib import Path

from pmeans.rows import read_lines
from pmeans.spaces.edit import count_words
from pmeans.spaces.space import WordSpace
from pmeans.text import splitting


def words_of_corpus(space: WordSpace, corpus: str | Path) -> dict[str, set[str]]:
    """Return the words of each language of a space that occur in a text, a sentence per line.

    A recipe may split text at white space or into words: what either finds is kept. The text is
    read as a stream, once for each language and tokeniser.
    """
    return {
        lang: {
            word
            for tokenizer in ("whitespace", "words")
            for word in count_words(space, read_lines(corpus), lang, splitting(tokenizer, lang))
        }
        for lang in space.languages
    }
