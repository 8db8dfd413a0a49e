"""Which words of a space a corpus needs, so that the others can be pruned."""

from __future__ import annotations

from pathlib import Path

from pmeans.embedding.inputs import open_source
from pmeans.spaces.edit import count_words
from pmeans.spaces.space import WordSpace
from pmeans.text import splitting


def words_of_corpus(space: WordSpace, corpus: str | Path) -> dict[str, set[str]]:
    """Return the words of each language of a space that occur in a text, a sentence a line.

    A recipe may split text at white space or into words: what either finds is kept. The text is
    read as a stream, once a language and tokeniser.
    """
    source = open_source(corpus, format="txt")
    return {
        lang: {
            word
            for tokenizer in ("whitespace", "words")
            for word in count_words(
                space,
                (row.text or "" for row in source.rows(0, 0, 0)),
                lang,
                splitting(tokenizer, lang),
            )
        }
        for lang in space.languages
    }
