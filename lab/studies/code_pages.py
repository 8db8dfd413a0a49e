"""Count the letters beyond ASCII of each language, for `LETTERS` of `pmeans.tables.code_pages`.

    python studies/code_pages.py DATA

reads the sentences of Tatoeba among the parallel text. It prints the letters that a code page of
the language has and that make up a thousandth of its letters beyond ASCII or more, in lower case,
the commonest first, each with its share in thousandths.
"""

import sys
from collections import Counter
from pathlib import Path

from pmeans.tables import read_lines
from pmeans.tables.code_pages import PAGES

LANGUAGES = ["cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv"]


def main(data: Path) -> None:
    """Print the table."""
    for lang in LANGUAGES:
        (file,) = (data / "parallel").glob(f"en-{'de' if lang == 'en' else lang}.tsv.*")
        page = next(page for page, languages in PAGES.items() if lang in languages.split())
        counts: Counter[str] = Counter()
        for line in read_lines(file):
            source, english, text = line.split("\t")
            if source == "tatoeba":
                letters = (english if lang == "en" else text).lower()
                written = letters.encode(page, "ignore").decode(page)
                counts.update(c for c in written if c > "\x7f" and c.isalpha())
        shares = {c: round(1000 * n / counts.total()) for c, n in counts.most_common()}
        print(f'    "{lang}": "{" ".join(f"{c}{n}" for c, n in shares.items() if n)}",')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
