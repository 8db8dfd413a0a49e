"""The page in Chromium, on a real server: what it shows."""

import json
import re

import numpy as np
import pytest

import pmeans
from served_page import INDEXED, cells, code, compare, cosines, ready, said, until

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

COMPARED = ["The dog sleeps in the garden.", "Der Hund schläft im Garten.", "Die Zinsen steigen."]
TRICKY = ["It's a \"dog\" \\ cat \\n $HOME `id` 'x'", "Der Hund\tschläft.", "日本 – ü 🐕 €"]


def test_the_first_view_shows_something_in_several_languages(visit, url, shot):
    page = ready(visit(url))
    rows = cells(page, "#neighbours")
    assert [row[2].split()[0] for row in rows[:3]] == ["English", "German", "French"]
    assert rows[-1][2].startswith("none of the model’s languages")
    assert re.match(r"0\.\d\d [23] (Der Torwart|Le gardien)", rows[0][3])  # its translations
    assert len(cells(page, "#taught")) == 6
    shot(page, "desktop-light")


def test_languages_neighbours_and_similarities_are_the_models(visit, url):
    page = ready(visit(url))
    compare(page, COMPARED)
    encoder = pmeans.load()
    rows = encoder.encode(COMPARED, normalize_embeddings=True)
    # atol: the page shows two digits.
    np.testing.assert_allclose(cosines(page), rows @ rows.T, atol=0.0051)
    shown = cells(page, "#neighbours")
    assert [row[2].split()[0] for row in shown] == ["English", "German", "German"]
    assert COMPARED[1] in shown[0][3]
    assert COMPARED[0] in shown[1][3]


def test_the_map_is_drawn_and_told_in_numbers(visit, url):
    page = ready(visit(url))
    compare(page, COMPARED)
    assert page.get_by_role("img", name="Map of 3 sentences").is_visible()
    page.get_by_text("The map in numbers").click()
    places = np.array(
        [[float(cell.replace("−", "-")) for cell in row[2:]] for row in cells(page, "#map")]
    )
    rows = pmeans.load().encode(COMPARED, normalize_embeddings=True)
    centred = rows - rows.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    # Axes may point either way. atol: two digits are shown.
    np.testing.assert_allclose(np.abs(places), np.abs(u[:, :2] * s[:2]), atol=0.0051)
    share = (s[:2] ** 2).sum() / (s**2).sum()
    assert "> 99 %" in page.locator("figcaption").inner_text()
    assert share > 0.995  # three points lie in a plane


def test_the_classifiers_labels_have_coloured_words(visit, url):
    page = ready(visit(url))
    said(page, "classify", "classified")
    labels = cells(page, "#labels")
    assert [labels[0][2], labels[6][2]] == ["sport", "food"]
    assert labels[0][3].endswith("%")
    word = page.locator("#labels ruby:has(.towards)").filter(has_text="goalkeeper").first
    assert re.search(r"\+\d+\.\d\d", word.inner_text())
    assert page.locator("#labels .away").count()


def test_words_after_an_emoji_are_marked_where_they_stand(visit, url):
    page = ready(visit(url))
    compare(page, ["👍🏽👍🏽 The goalkeeper saved the penalty."])
    until(page, "document.querySelectorAll('#labels tbody tr').length === 1")
    words = page.locator("#labels ruby").evaluate_all(
        "all => all.map(e => e.firstChild.textContent)"
    )
    assert "goalkeeper" in words


def test_search_finds_the_servers_texts(visit, url):
    page = ready(visit(url))
    page.fill("#query", "Children travel free of charge.")
    said(page, "search", "3 texts found")
    assert cells(page, "#hits")[0][1] == INDEXED[1]


def test_a_few_examples_are_learned_and_tried_in_other_languages(visit, url, shot):
    page = ready(visit(url))
    examples = [
        "dog: The dog barks at the cat.",
        "dog: A puppy wants to play.",
        "bank: The bank raises interest rates.",
        "bank: Money and loans are expensive.",
    ]
    page.fill("#examples", "\n".join(examples))
    page.fill("#tries", "Der Hund spielt mit der Katze.\nLes taux d’intérêt de la banque")
    said(page, "teach", "Learned 4 examples of bank, dog")
    until(page, "document.querySelectorAll('#taught ruby').length > 2")
    shown = cells(page, "#taught")
    assert [row[1] for row in shown] == ["dog", "bank"]
    assert [row[3].split()[0] for row in shown] == ["German", "French"]
    assert page.locator("#taught ruby:has(.towards)").filter(has_text="Hund").count() == 1
    page.locator("#teach-title").scroll_into_view_if_needed()
    shot(page, "teach")


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c")])
def test_the_python_on_the_screen_gives_what_is_on_the_screen(visit, url, run_code, labels):
    page = ready(visit(url))
    compare(page, TRICKY)
    said(page, "classify", "3 sentences classified")
    told = [
        "The dog barks.",
        "The bank pays.",
        "The soup is hot.",
        "A cat plays.",
        "Money is lent.",
    ]
    lines = [f"{labels[i % len(labels)]}: {text}" for i, text in enumerate(told)]
    page.fill("#examples", "\n".join(lines))
    page.fill("#tries", "Der Hund bellt.\nDie Suppe ist heiß.")
    said(page, "teach", "Learned 5 examples of " + ", ".join(labels))
    until(page, "document.querySelectorAll('#taught tbody tr').length === 2")
    printed = run_code("python", code(page, "python"))
    matrix = re.search(r"\[\[.*?\]\]", printed[printed.index("[[") :], re.DOTALL).group()
    numbers = np.array(re.findall(r"-?\d\.\d*", matrix), float).reshape(3, 3)
    # atol: both are rounded to two digits.
    np.testing.assert_allclose(numbers, cosines(page), atol=0.0101)
    outcome = [line.split(maxsplit=2) for line in printed.splitlines()[-2:]]
    for (label, probability, text), shown in zip(outcome, cells(page, "#taught"), strict=True):
        assert (label, text) == (shown[1], re.sub(r"[+−]\d\.\d\d", "", shown[0]).replace("\n", ""))
        # abs: the page shows whole percents.
        assert float(probability) == pytest.approx(float(shown[2].strip(" %")) / 100, abs=0.0101)


def test_the_curl_on_the_screen_sends_what_is_on_the_screen(visit, url, run_code):
    page = ready(visit(url))
    compare(page, TRICKY)
    said(page, "classify", "3 sentences classified")
    page.uncheck("fieldset:has-text('taught') input[value='1']")
    said(page, "compare", "compared")
    until(page, "document.getElementById('code').textContent.includes('\"parts\"')")
    printed = run_code("curl", code(page, "curl"))
    decoder, answers = json.JSONDecoder(), []
    while printed.strip():
        answer, end = decoder.raw_decode(printed.strip())
        answers.append(answer)
        printed = printed.strip()[end:]
    detected, rows, labels, words, hits, learned, tried = answers
    assert [each["lang"] for each in detected][1] == "de"
    np.testing.assert_allclose(cosines(page), np.array(rows) @ np.array(rows).T, atol=0.0051)
    assert [each["sentence"] for each in words] == TRICKY
    assert len(labels) == 3
    assert [len(hits[0]), len(learned), len(tried)] == [3, 9, 6]


def test_code_is_copied(visit, url):
    page = ready(visit(url, permissions=["clipboard-read", "clipboard-write"]))
    shown = code(page, "curl")
    page.click("#copy")
    said(page, "copy", "Copied")
    assert page.evaluate("navigator.clipboard.readText()").strip() == shown.strip()


def test_spaces_and_powers_change_everything_and_can_be_put_back(visit, url):
    page = ready(visit(url))
    before = cosines(page)
    taught = page.get_by_role("group", name="taught")
    taught.get_by_label("p 3").check()
    until(
        page, "document.getElementById('recipe-message').textContent.includes('no z-norm for p 3')"
    )
    assert cosines(page) != before
    taught.get_by_label("p 3").uncheck()
    for name in ("bivcd", "attracted"):
        checked = page.get_by_role("group", name=name).get_by_role("checkbox", checked=True)
        while checked.count():
            checked.first.uncheck()
    until(page, "document.getElementById('recipe-message').textContent.startsWith('256 numbers')")
    taught.get_by_label("mean").uncheck()
    assert "at least one power" in said(page, "compare", "Choose")
    page.click("#reset")
    until(
        page,
        "document.getElementById('recipe-message').textContent.startsWith('The model as it is')",
    )
    assert cosines(page) == before
