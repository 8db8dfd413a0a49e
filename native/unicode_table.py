"""Write ``unicode_table.hpp``: what the tokeniser must know of every character.

The facts come from the Python that the module is built for, so that both sides of the border
agree on what is a space, a letter or a lower-case form. One 32-bit entry a character:

    bits  0-20  distance to the lower-case form, modulo 2**21
    bits 21-22  0 other, 1 white space, 2 word (letter, number, underscore), 3 mark or format
    bit  23     has case        bit 24  is skipped when the context of a final sigma is sought
    bit  25     is a letter     bit 26  is a symbol
    bit  27     is written otherwise in a word, or left out

Both stages of the table follow the usual scheme: 256 characters a page, equal pages shared. After
them, in order, every pair of a character and a mark that is one character as well, and that one.
Last, in order, every character that has another plain form, and that form: up to four characters,
or none. `plain_form` of ``kernels/splitting.py`` is the same rule, and a test holds the two equal.
"""

import sys
import unicodedata

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


def plain_form(c: str) -> str:
    if unicodedata.category(c) == "Cf":
        return ""
    # Of ẛ, which is ſ with a mark, the letter says whether there is a plain form.
    letter = unicodedata.normalize("NFD", c)[0]
    tag = unicodedata.decomposition(letter).partition(" ")[0]
    if tag not in ("<compat>", "<wide>", "<narrow>", "<font>") or c in "\u0587\u2139":
        return c
    form = unicodedata.normalize("NFKC", c)
    if tag == "<wide>" and form.isascii():
        return form
    is_word = unicodedata.category(c)[0] in "LN" and all(
        unicodedata.category(part) in ("Lu", "Ll", "Lt", "Lo", "Nd")
        and not "\u1100" <= part <= "\u11ff"
        for part in form
    )
    return form if is_word else c


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


def main(target: str) -> None:
    pages: dict[tuple[int, ...], int] = {}
    index = [
        pages.setdefault(tuple(entry(start + i) for i in range(256)), len(pages))
        for start in range(0, sys.maxunicode + 1, 256)
    ]
    with open(target, "w", encoding="ascii") as file:
        file.write(
            "// Written by unicode_table.py. Do not edit.\n#pragma once\n#include <cstdint>\n"
        )
        file.write(f"// Unicode {unicodedata.unidata_version}\n")
        file.write("namespace pmeans {\ninline constexpr uint8_t unicode_page[] = {")
        file.write(",".join(map(str, index)))
        file.write("};\ninline constexpr uint32_t unicode_entry[] = {\n")
        for page in pages:
            file.write(",".join(map(str, page)) + ",\n")
        pairs = sorted(compositions().items())
        file.write("};\ninline constexpr uint64_t composed_pair[] = {")
        file.write(",".join(str(pair) for pair, _ in pairs))
        file.write("};\ninline constexpr uint32_t composed[] = {")
        file.write(",".join(str(code) for _, code in pairs))
        forms = [(c, plain_form(c)) for c in map(chr, range(sys.maxunicode + 1))]
        forms = [(c, form) for c, form in forms if form != c]
        file.write("};\ninline constexpr uint32_t plain_of[] = {")
        file.write(",".join(str(ord(c)) for c, _ in forms))
        file.write(f"}};\ninline constexpr uint32_t plain_form[][{LONGEST_FORM}] = {{")
        file.write(
            ",".join(f"{{{','.join(str(ord(part)) for part in form)}}}" for _, form in forms)
        )
        file.write("};\n}  // namespace pmeans\n")
    assert max(len(form) for _, form in forms) == LONGEST_FORM
    assert len(pages) <= 256, len(pages)


if __name__ == "__main__":
    main(sys.argv[1])
