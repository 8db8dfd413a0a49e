"""The page shows the sentence as it was written, escapes all of it, and needs nothing else."""

import re
from html.parser import HTMLParser

import pytest

from pmeans.transfer.explain import Explanation, TokenPush
from pmeans.transfer.explain_html import as_html

HOSTILE = "<script>alert('&amp;')</script>"


def explanation(sentence, tokens, label="good"):
    pushed = tuple(
        TokenPush(sentence[start:end], start, end, push, known)
        for start, end, push, known in tokens
    )
    return Explanation(sentence, "en", label, "bad", {label: 1.0, "bad": 0.0}, pushed, 0.0)


PLAIN = explanation("not  bad, zz!", [(0, 3, 0.5, True), (5, 8, -1.0, True), (10, 12, 0.0, False)])


class Page(HTMLParser):
    """The text of each sentence, and the attributes of each of its words."""

    def __init__(self, html):
        super().__init__()
        self.sentences, self.words, self.tags, self.inside = [], [], set(), False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attributes = dict(attrs)
        if attributes.get("class") == "sentence":
            self.inside = True
            self.sentences.append("")
        elif tag == "span" and self.inside:
            self.words.append(attributes)

    def handle_endtag(self, tag):
        self.inside &= tag != "p"

    def handle_data(self, data):
        if self.inside:
            self.sentences[-1] += data


def test_the_sentence_stands_as_it_was_written():
    assert Page(as_html([PLAIN])).sentences == ["not  bad, zz!"]


def test_every_explanation_has_its_own_paragraph_in_order():
    other = explanation("fine", [(0, 4, 1.0, True)])
    assert Page(as_html([PLAIN, other])).sentences == ["not  bad, zz!", "fine"]


def test_words_carry_their_side_their_strength_and_their_number():
    assert Page(as_html([PLAIN])).words == [
        {"class": "towards", "style": "--push: 0.300", "title": "+0.500"},
        {"class": "away", "style": "--push: 0.600", "title": "-1.000"},
        {"class": "unknown", "title": "unknown word"},
    ]


@pytest.mark.parametrize("label", [HOSTILE, "SECTIONS"])
def test_text_and_labels_are_escaped(label):
    page = Page(as_html([explanation(HOSTILE, [(0, 8, 1.0, True)], label)]))
    assert page.sentences == [HOSTILE]
    assert "script" not in page.tags


def test_the_page_fetches_nothing():
    html = as_html([PLAIN])
    assert not re.search(r"https?:|src=|href=|url\(|@import|<script|<link", html)


def test_both_colour_schemes_define_the_same_colours():
    light, dark = re.findall(r":root \{(.*?)\}", as_html([]), re.DOTALL)
    names = [set(re.findall(r"--\w+(?=:)", rules)) for rules in (light, dark)]
    assert names[0] == names[1] >= {"--towards", "--away", "--page", "--ink"}


def test_half_a_surrogate_pair_can_be_written_to_a_file():
    as_html([explanation("a \ud83d b", [(0, 1, 1.0, True)])]).encode("utf-8")
