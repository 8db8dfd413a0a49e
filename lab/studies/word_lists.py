"""Write the commonest words of many languages, for identifiers of languages to be fitted on.

    pip install wordfreq==3.1.1
    python studies/word_lists.py recipes/words.txt.xz

A line has a code, a tab, and words in order of frequency, from wordfreq (Speer 2022, CC BY-SA 4.0).
Languages that have a script to themselves need few words, and share the code `und`. Words that are
several times as frequent in English are left out of other languages: they were quoted.
"""

import lzma
import sys

import wordfreq

SCRIPTS = ("ar", "bn", "el", "fa", "he", "hi", "ja", "ko", "ta", "ur", "zh")
N_WORDS, N_WORDS_SCRIPT = 8_000, 500
QUOTED = 3.0


def words(lang: str) -> list[str]:
    """Return the commonest words of a language, the digits left out."""
    english = wordfreq.get_frequency_dict("en", "small") if lang != "en" else {}
    counted = wordfreq.get_frequency_dict(lang, "small")
    listed = wordfreq.iter_wordlist(lang, "small")
    own = (word for word in listed if english.get(word, 0) <= QUOTED * counted[word])
    spelled = [word for word in own if any(map(str.isalpha, word)) and " " not in word]
    if lang in SCRIPTS:
        return [word for word in spelled if not word.isascii()][:N_WORDS_SCRIPT]
    return spelled[:N_WORDS]


def main(target: str) -> None:
    """Write the file, the languages in order of their codes."""
    lines = []
    for lang in sorted(wordfreq.available_languages("small")):
        lines.append(f"{'und' if lang in SCRIPTS else lang}\t{' '.join(words(lang))}\n")
    with lzma.open(target, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(lines)


if __name__ == "__main__":
    main(sys.argv[1])
