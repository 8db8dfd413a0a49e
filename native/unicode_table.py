"""Write ``unicode_table.hpp``: what the core must know of every character.

The facts come from the Python that the module is built for, so that both sides of the border
agree on what is a space, a letter or a lower-case form. One 32-bit entry a character:

    bits  0-20  distance to the lower-case form, modulo 2**21
    bits 21-22  0 other, 1 white space, 2 word (letter, number, underscore), 3 mark or format
    bit  23     has case        bit 24  is skipped when the context of a final sigma is sought
    bit  25     is a letter     bit 26  is a symbol
    bit  27     is written otherwise in a word, or left out

Both stages of the table follow the usual scheme: 256 characters a page, equal pages shared. After
them, in order, every pair of a character and a mark that is one character as well, and that one.

Then what `pmeans.kernels.folding`, whose file is run for it, makes of characters: ``folded_entry``,
in pages as well, is 0 for a character that stays, or k, and its letters end at
``folded_end[k]`` in ``folded_text``, where those of k - 1 end. ``spoken`` lists the characters that
are spoken otherwise than folded, ``sounds`` the spellings of sounds.

Last, what ``kernels/splitting.py`` says, whose file is run for it: in order, every character that
has another plain form, and that form, up to four characters or none; ``apostrophes`` and
``hyphens`` that hold a word together, ``digit_separators``, the ``endings`` that a way to split
cuts off, and ``unsplit_elisions``.
"""

import runpy
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TextIO

KERNELS = Path(__file__).parents[1] / "src" / "pmeans" / "kernels"
SPLITTING = runpy.run_path(str(KERNELS / "splitting.py"))
plain_form = SPLITTING["plain_form"].__wrapped__  # a cache would only be in the way
SIGMA = "Σ"
DOTTED_I = "İ"  # the one character whose lower-case form is two: "i" and U+0307
LONGEST_FORM = 4  # Roman Ⅷ


def entry(code: int) -> int:
    c = chr(code)
    lowered = c.lower()
    if len(lowered) != 1:
        assert c == DOTTED_I, f"{c!r} has a lower-case form of {len(lowered)} characters"
        lowered = "i"
    category = unicodedata.category(c)
    kind = 0
    if c.isspace():
        kind = 1
    elif category[0] in "LN" or c == "_":
        kind = 2
    elif category[0] == "M" or category == "Cf":
        kind = 3
    # Python does not show these two properties, but its final sigma tells them.
    cased = (c + SIGMA).lower().endswith("ς")
    skipped = not cased and ("A" + c + SIGMA).lower().endswith("ς")
    facts = cased << 23 | skipped << 24 | c.isalpha() << 25
    facts |= (category[0] == "S") << 26 | (plain_form(c) != c) << 27
    return (ord(lowered) - code) % 2**21 | kind << 21 | facts


def compositions() -> dict[int, int]:
    """Return ``first << 21 | mark`` and the character that the two are when composed."""
    found = {}
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, mark = (int(part, 16) for part in parts)
            same = unicodedata.normalize("NFC", chr(first) + chr(mark)) == chr(code)
            if same and entry(mark) >> 21 & 3 == 3:
                found[first << 21 | mark] = code
    return found


def write_pages(file: TextIO, type_: str, name: str, entries: Sequence[int]) -> None:
    """Write a table of all characters in two stages: the number of each page, and the pages."""
    pages: dict[tuple[int, ...], int] = {}
    index = [
        pages.setdefault(tuple(entries[start : start + 256]), len(pages))
        for start in range(0, len(entries), 256)
    ]
    assert len(pages) <= 256, len(pages)
    write_array(file, "uint8_t", f"{name}_page", index)
    write_array(file, type_, f"{name}_entry", [entry for page in pages for entry in page])


def write_array(
    file: TextIO, type_: str, name: str, values: Iterable[object], inner: str = ""
) -> None:
    """Write an array of constants, or of arrays of an inner size."""
    file.write(f"inline constexpr {type_} {name}[]{inner} = {{{','.join(map(str, values))}}};\n")


def write_folding(file: TextIO) -> None:
    """Write what folding makes of characters and of letters that are one sound."""
    folding = runpy.run_path(str(KERNELS / "folding.py"))
    folded, spoken = folding["folded"], folding["spoken"]
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    texts = list(dict.fromkeys(["", *(folded(c) for c in characters if folded(c) != c)]))
    number = {text: k for k, text in enumerate(texts, 1)}
    entries = [0 if folded(c) == c else number[folded(c)] for c in characters]
    write_pages(file, "uint16_t", "folded", entries)
    encoded = [text.encode() for text in texts]
    write_array(file, "uint32_t", "folded_end", [0, *accumulate(map(len, encoded))])
    write_array(file, "uint8_t", "folded_text", b"".join(encoded))
    others = [f'{{{ord(c)}, "{spoken(c)}"}}' for c in characters if spoken(c) != folded(c)]
    write_array(file, "struct { uint32_t character; std::string_view letters; }", "spoken", others)
    sounds = [f'{{"{letters}", "{sound}"}}' for letters, sound in folding["SOUNDS"].items()]
    write_array(file, "struct { std::string_view letters, sound; }", "sounds", sounds)


def write_plain_forms(file: TextIO) -> None:
    """Write which characters have another plain form, and that form, zeros after it."""
    forms = [(c, plain_form(c)) for c in map(chr, range(sys.maxunicode + 1))]
    forms = [(c, form) for c, form in forms if form != c]
    assert max(len(form) for _, form in forms) == LONGEST_FORM
    write_array(file, "uint32_t", "plain_of", [ord(c) for c, _ in forms])
    spelled = [f"{{{','.join(str(ord(part)) for part in form)}}}" for _, form in forms]
    write_array(file, "uint32_t", "plain_form", spelled, f"[{LONGEST_FORM}]")


def write_splitting(file: TextIO) -> None:
    """Write what holds words together, and what is split off them."""
    joiners = SPLITTING["JOINERS"]
    for name, spelled in (("apostrophes", "'"), ("hyphens", "-")):
        write_array(file, "uint32_t", name, [ord(c) for c, to in joiners.items() if to == spelled])
    write_array(file, "uint32_t", "digit_separators", map(ord, SPLITTING["DIGIT_SEPARATORS"]))
    endings = [
        f'{{{int(way)}, "{ending}"}}'
        for way, each in SPLITTING["ENDINGS"].items()
        for ending in each
    ]
    write_array(file, "struct { int splitting; std::string_view text; }", "endings", endings)
    unsplit = [f'"{word}"' for word in SPLITTING["UNSPLIT_ELISIONS"]]
    write_array(file, "std::string_view", "unsplit_elisions", unsplit)


def main(target: str) -> None:
    with open(target, "w", encoding="utf-8") as file:
        file.write(
            "// Written by unicode_table.py. Do not edit.\n#pragma once\n#include <cstdint>\n"
            "#include <string_view>\n"
            f"// Unicode {unicodedata.unidata_version}\nnamespace pmeans {{\n"
        )
        write_pages(file, "uint32_t", "unicode", [entry(c) for c in range(sys.maxunicode + 1)])
        pairs = sorted(compositions().items())
        write_array(file, "uint64_t", "composed_pair", [pair for pair, _ in pairs])
        write_array(file, "uint32_t", "composed", [code for _, code in pairs])
        write_folding(file)
        write_plain_forms(file)
        write_splitting(file)
        file.write("}  // namespace pmeans\n")


if __name__ == "__main__":
    main(sys.argv[1])
