"""Both cores find phrases in text as a dozen lines of plain Python do."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels import Splitting, index, numpy_core
from pmeans.kernels.folding import aliases

# Few words, so that phrases overlap, nest and repeat; some of more than eight and sixteen bytes.
WORDS = ["a", "b", "A", "B", "ς", "Σ", "gut", "nicht", "Versicherung", "donaudampfschifffahrt"]
WORDS += ["für", "fur", "fuer"]
ENTRIES = st.lists(st.sampled_from([*WORDS, ""]), min_size=1, max_size=5).map(" ".join)
SENTENCES = st.lists(st.lists(st.sampled_from([*WORDS, ".", "?"]), max_size=9), max_size=8)
CASES = ["lower", "cased", "cased-then-lower"]


def looked_up(entries: list[str], tokens: list[str], case: str) -> list[tuple[int, int, str]]:
    """The rule: of each place the entry's row or -1, its number of words, its first word."""
    rows = {entry: i for i, entry in enumerate(entries)}
    phrases = [
        entry for entry in entries if len(entry.split(" ")) in (2, 3) and all(entry.split(" "))
    ]
    spellings = [(other, rows[entry]) for entry in phrases for other in sorted(aliases(entry))]
    rows = dict(reversed(spellings)) | rows
    found, i = [], 0
    while i < len(tokens):
        for n in (3, 2, 1):
            spelled = " ".join(tokens[i : i + n])
            ways = {"lower": [spelled.lower()], "cased": [spelled]}.get(
                case, [spelled, spelled.lower()]
            )
            row = next((rows[way] for way in ways if way in rows), -1)
            if i + n <= len(tokens) and (row >= 0 or n == 1):
                break
        found.append((row, n, tokens[i].lower() if case == "lower" else tokens[i]))
        i += n
    return found


@pytest.mark.parametrize("core", [kernels.core, numpy_core], ids=["core", "numpy"])
@pytest.mark.parametrize("composes", [True, False])
@settings(max_examples=200)
@given(
    entries=st.lists(ENTRIES, unique=True, max_size=40),
    sentences=SENTENCES,
    case=st.sampled_from(CASES),
    n_tables=st.integers(1, 2),
)
def test_a_core_finds_what_the_rule_finds(core, composes, entries, sentences, case, n_tables):
    table = index.word_table(entries, phrases=True)
    first = len(entries) if composes else -1
    texts = [" ".join(tokens) for tokens in sentences]
    asked = [(table, case, first)] * n_tables
    for found in core.lookup(texts, asked, int(Splitting.WHITESPACE), 1):
        ids, offsets, unknown, unknown_words, joined = found
        assert (joined is None) == (table.phrases is None)
        for i, tokens in enumerate(sentences):
            expected = looked_up(entries, tokens, case)
            here = ids[offsets[i] : offsets[i + 1]].tolist()
            named = [
                row if row < first or first < 0 else unknown_words[row - first] for row in here
            ]
            assert named == [
                row if row >= 0 else word for row, _, word in expected if row >= 0 or composes
            ]
            assert unknown[i] == (0 if composes else sum(row < 0 for row, _, _ in expected))
            assert (0 if joined is None else joined[i]) == sum(n - 1 for _, n, _ in expected)


@settings(max_examples=50)
@given(
    entries=st.lists(ENTRIES, unique=True, max_size=40),
    sentences=SENTENCES.map(lambda few: few * 100),
    case=st.sampled_from(CASES),
)
def test_threads_and_company_change_nothing(entries, sentences, case):
    # A table beside it, and 256 sentences and more, have the words of several tables remembered.
    tables = [
        (index.word_table(entries, phrases=True), case, -1),
        (index.word_table(WORDS), "cased", -1),
    ]
    texts = [" ".join(tokens) for tokens in sentences]
    together = kernels.lookup(texts, tables, Splitting.WHITESPACE, 3)
    for table, batch in zip(tables, together, strict=True):
        alone = [kernels.lookup([text], [table], Splitting.WHITESPACE, 1)[0] for text in texts]
        assert batch.ids.tolist() == [i for one in alone for i in one.ids.tolist()]
        assert batch.known.tolist() == [int(one.known[0]) for one in alone]


@settings(max_examples=100)
@given(entries=st.lists(ENTRIES, unique=True, max_size=40), others=st.lists(ENTRIES, max_size=9))
def test_an_entry_is_found_by_its_spelling(entries, others):
    table = index.word_table(entries, phrases=True)
    rows = {entry: i for i, entry in enumerate(entries)}
    both = [*entries, *others]
    assert index.find(table, both).tolist() == [rows.get(entry, -1) for entry in both]


def test_a_table_of_many_phrases_finds_each_of_them_and_no_other_pair():
    words = [f"w{i}" for i in range(200)]
    pairs = list(itertools.product(words, words))
    phrases = [" ".join(pair) for pair in pairs[::7]]
    table = index.word_table(phrases, phrases=True)
    (batch,) = kernels.lookup(
        [" ".join(pair) for pair in pairs], [(table, "cased", -1)], Splitting.WHITESPACE
    )
    assert batch.ids.tolist() == list(range(len(phrases)))
    assert np.flatnonzero(batch.known).tolist() == list(range(0, len(pairs), 7))


@pytest.mark.parametrize("core", [kernels.core, numpy_core], ids=["core", "numpy"])
@settings(max_examples=100)
@given(damage=st.data())
def test_a_damaged_table_never_leaves_its_arrays(core, damage):
    table = index.word_table(["nicht gut", "gar nicht gut", "gut", "ein langer satz"], phrases=True)
    arrays = [np.array(a) for a in (table.phrases.slots, table.phrases.marks)]
    for _ in range(damage.draw(st.integers(1, 8))):
        flat = damage.draw(st.sampled_from(arrays)).reshape(-1).view(np.uint8)
        flat[damage.draw(st.integers(0, len(flat) - 1))] = damage.draw(st.integers(0, 255))
    hurt = type(table)(table.words, table.offsets, table.slots, 0, type(table.phrases)(*arrays))
    sentence = "gar nicht gut nicht gut gut nicht ein langer satz"
    ids = core.lookup([sentence], [(hurt, "cased", -1)], int(Splitting.WHITESPACE), 1)[0][0]
    assert ((ids >= 0) & (ids < 4)).all()
