"""The page in Chromium, on a real server: who can use it, and what cannot be done to it."""

import re

import pytest

import pmeans
from served_page import cells, code, compare, ready, said, serving, until

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

EVIL = '<img src=x onerror="window.hacked=1"> <script>window.hacked=1</script>'


def test_all_is_reached_and_used_by_keyboard_with_visible_focus(visit, url):
    page = ready(visit(url))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the sentences"
    page.keyboard.press("Enter")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.id || document.activeElement.value || '',"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        if page.evaluate("document.activeElement === document.body"):
            break
        assert outline != "none", name
        reached.append(name)
    wanted = ["sentences", "sentences-lang", "reset", "neighbours", "matrix", "labels", "query",
              "hits", "examples", "tries", "taught", "curl", "copy", "code"]  # fmt: skip
    assert [name for name in reached if name in wanted] == wanted
    page.focus("#parts input")
    page.keyboard.press("Space")
    until(page, "!document.getElementById('recipe-message').textContent.startsWith('The model')")
    page.focus("input[value=curl]")
    page.keyboard.press("ArrowRight")
    assert page.locator("#code").inner_text().startswith("import json")


def test_screen_readers_hear_names_headings_and_tables(visit, url):
    page = ready(visit(url))
    said(page, "classify", "classified")
    heard = page.locator("body").aria_snapshot()
    for line in [
        "- banner:", "- main:", "- contentinfo:",
        '- heading "pmeans" [level=1]', '- heading "Compare" [level=2]',
        '- heading "Similarity" [level=3]', '- heading "Teach it" [level=2]',
        '- textbox "Sentences, one per line"', '- textbox "What to search for"',
        '- group "taught"', '- checkbox "mean" [checked]', '- table "Labels of the sentences"',
        '- table "The cosine of each pair of sentences"', '- columnheader "Nearest"',
        '- rowheader "1 The goalkeeper saved the penalty in the last minute."',
        '- img "Map of 10 sentences"', '- radio "curl" [checked]', '- button "Copy"',
    ]:  # fmt: skip
        assert line in heard, line
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, textarea, select')]"
        ".filter((e) => !e.labels.length).map((e) => e.outerHTML)"
    )
    assert unnamed == []
    assert page.locator("[role=status]").count() >= 6
    assert page.locator("#neighbours span[lang=de]").count() == 3


CONTRAST = """
() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const read = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => below.map((v, i) => top[3] * top[i] + (1 - top[3]) * v);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) =>
    0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (element) =>
    over(
      read(getComputedStyle(element).backgroundColor),
      element.parentElement ? ground(element.parentElement) : [255, 255, 255],
    );
  const low = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest(".unseen, .skip, option")) continue;
    const behind = ground(element);
    const style = getComputedStyle(element);
    const ink = over(read(element.closest("svg") ? style.fill : style.color), behind);
    const [a, b] = [light(ink), light(behind)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push([element.outerHTML.slice(0, 80), ratio]);
  }
  return low;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_dark(visit, url, shot, scheme):
    page = ready(visit(url, color_scheme=scheme, reduced_motion="reduce"))
    said(page, "classify", "classified")
    until(page, "document.querySelectorAll('#taught ruby').length > 2")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", background)[0]) < 128) == (scheme == "dark")
    assert page.evaluate(CONTRAST) == []
    if scheme == "dark":
        shot(page, "desktop-dark")


def test_nothing_moves_for_those_who_want_it_so(visit, url):
    moving = "getComputedStyle(document.querySelector('.matrix td')).transitionDuration"
    page = ready(visit(url, reduced_motion="reduce"))
    assert page.evaluate(moving) == "0s"


def test_a_phone_scrolls_tables_and_not_the_page(visit, url, shot):
    page = ready(visit(url, viewport={"width": 360, "height": 740}, has_touch=True))
    said(page, "classify", "classified")
    until(page, "document.querySelectorAll('#taught ruby').length > 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.getElementById('matrix').scrollWidth") > 360
    shot(page, "phone")
    compare(page, ["x" * 5000, EVIL])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_text_is_never_read_as_html(visit, url):
    page = ready(visit(url))
    compare(page, [EVIL, "Der Hund schläft.", EVIL + " dog"])
    said(page, "classify", "3 sentences classified")
    page.fill("#query", EVIL)
    said(page, "search", "found")
    page.fill("#examples", f"{EVIL}: a dog\nother: the bank\n{EVIL}: a cat")
    page.fill("#tries", f"{EVIL} cat")
    said(page, "teach", "Learned 3 examples of <img")
    until(page, "document.querySelectorAll('#taught tbody tr').length === 1")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script").count() == 0
    assert cells(page, "#neighbours")[0][1] == EVIL


def test_the_browser_itself_would_not_run_other_code(visit, url):
    page = ready(visit(url, expected=["Content Security Policy", "requires 'Trusted", "violated"]))
    page.evaluate(
        "() => { const evil = '<img src=x onerror=window.hacked=1>';"
        " try { document.body.insertAdjacentHTML('beforeend', evil) }"
        " catch { window.refused = true } }"
    )
    page.evaluate(
        "() => { const b = document.createElement('b'); document.body.append(b);"
        " try { b.setAttribute('onclick', 'window.hacked = 1'); b.click() } catch {} }"
    )
    assert page.evaluate("[window.hacked, window.refused]") == [None, True]


def test_typing_asks_only_when_it_pauses(visit, url):
    page = ready(visit(url))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.focus("#query")
    page.keyboard.type("Where do children pay less than others?")
    said(page, "search", "found")
    page.wait_for_timeout(500)
    assert 1 <= len(asked) < 10


def test_a_busy_server_is_asked_again(visit, url):
    page = ready(visit(url, expected=["429"]))
    answers = []

    def busy(route):
        answers.append(429 if not answers else 200)
        if len(answers) > 1:
            return route.continue_()
        return route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "busy."})

    page.route("**/search", busy)
    page.fill("#query", "Was kostet es für Kinder?")
    until(page, "document.querySelector('#hits caption').textContent.includes('Was kostet')")
    assert answers == [429, 200]


def test_what_the_server_refuses_is_said_in_its_sentence(visit, url):
    page = ready(visit(url, expected=["422", "ERR_FAILED"]))
    why = "1,000,001 characters: all texts of a request have at most 1,000,000."
    page.route("**/embed", lambda route: route.fulfill(status=422, json={"error": why}))
    page.fill("#sentences", "Ein Satz.")
    assert said(page, "compare", "characters") == why
    assert page.locator("#compare-message").get_attribute("role") == "status"
    page.unroute("**/embed")
    page.route("**/embed", lambda route: route.abort())
    page.fill("#sentences", "Ein anderer Satz.")
    assert said(page, "compare", "does not answer")


def test_too_much_text_is_warned_of_before_it_is_sent(visit, url):
    def small(page):
        def answer(route):
            info = route.fetch().json()
            info["limits"] |= {"texts": 4, "characters": 200}
            route.fulfill(json=info)

        page.route("**/info", answer)

    page = visit(url, prepare=small)
    assert "Only the first 4 lines" in said(page, "compare", "first 4")
    page.fill("#sentences", "word " * 50)
    assert "the server takes 200" in said(page, "compare", "characters")


def test_mistakes_in_the_examples_are_named(visit, url):
    page = ready(visit(url))
    page.fill("#examples", "a: one dog\nno label here\nb: two")
    assert "Line 2" in said(page, "teach", "Line")
    page.fill("#examples", "a: one dog\na: two dogs")
    assert "two labels" in said(page, "teach", "labels")
    page.fill("#sentences", " \n ")
    assert "Write a sentence" in said(page, "compare", "Write")


def test_a_token_is_asked_for_kept_in_the_tab_and_never_shown(visit, folder, run_code):
    secret = "secret'token"
    with serving("--token-file", folder / "token") as url:
        page = visit(url, expected=["401"])
        page.get_by_role("textbox", name="Token").wait_for()
        assert page.evaluate("document.activeElement.id") == "token"
        assert not page.locator("#played").is_visible()
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        page.get_by_text("the bearer token is missing or wrong").wait_for()
        page.fill("#token", secret)
        page.keyboard.press("Enter")
        ready(page)
        page.reload()
        ready(page)
        assert secret not in page.content()
        assert not page.locator("#classify").is_visible()
        assert not page.locator("#search").is_visible()
        run_code("python", code(page, "python"), TOKEN=secret)
        assert '"lang":"de"' in run_code("curl", code(page, "curl"), TOKEN=secret)


def test_a_model_that_finds_no_language_is_told_one(visit, tmp_path, toy):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    with serving(tmp_path / "toy.safetensors") as url:
        page = visit(url)
        said(page, "compare", "compared")
        assert page.locator("#sentences-lang").input_value() == "en"
        assert page.locator("#sentences-lang option").all_inner_texts() == ["German", "English"]
        page.select_option("#sentences-lang", "de")
        compare(page, ["die katze", "katze", "xyzzy"])
        until(page, "document.querySelector('#neighbours').innerText.includes('German')")
        assert "no known word" in cells(page, "#neighbours")[2][2]
        page.fill("#examples", "a: cat\nb: sat")
        page.fill("#tries", "katze")
        said(page, "teach", "Learned 2")
        until(page, "document.querySelectorAll('#taught tbody tr').length === 1")
        assert cells(page, "#taught")[0][1] == "a"


def test_several_labels_of_a_sentence_are_all_shown(visit, tmp_path):
    texts = ["The dog barks.", "The bank pays.", "The dog is at the bank."] * 8
    labels = [["pet"], ["money"], ["money", "pet"]] * 8
    classifier = pmeans.TransferClassifier(pmeans.load()).fit(texts, labels, lang="en")
    classifier.save(tmp_path / "classifier")
    with serving("--classifier", tmp_path / "classifier") as url:
        page = ready(visit(url))
        compare(page, [texts[2]])
        until(page, "document.querySelectorAll('#labels tbody tr').length === 1")
        ((_, text, label, probability),) = cells(page, "#labels")
        assert (text, label) == (texts[2], "money, pet")
        assert probability.count("%") == 2
