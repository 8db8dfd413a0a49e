"""The demo's report holds what it claims, for a toy encoder and for the model in the package."""

import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import models

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "demo" / "sample"
VOID = {"meta"}
TOPICS = ("food", "health", "sport", "technology", "travel")


@pytest.fixture(scope="module")
def demo():
    """The demo's modules: a folder of the checkout, which is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from demo import __main__, findings, report

        yield __main__, findings, report


@pytest.fixture(scope="module")
def toy(demo):
    """An encoder whose words have a number for each topic that they were trained on with."""
    _, findings, _ = demo
    words, rows = {}, []
    for lang in findings.LANGUAGES:
        counts = defaultdict(lambda: np.zeros(len(TOPICS), np.float32))
        train = findings.read(SAMPLE / f"train.{lang}.csv")
        for text, label in zip(train.texts, train.labels, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                counts[word][TOPICS.index(label)] += 1
        words[lang] = list(counts)
        rows += counts.values()
    space = pmeans.WordSpace.from_words("toy", words, np.array(rows))
    recipe = pmeans.Recipe((pmeans.Part("toy"),), "toy & co", tokenizer="words")
    return pmeans.PowerMeanEncoder(recipe, {"toy": space})


@pytest.fixture(scope="module")
def found(demo, toy):
    # Half of the German test words do not occur in training, and the toy knows no others.
    with pytest.warns(pmeans.transfer.UnknownWordsWarning):
        return demo[1].find(toy, SAMPLE)


@pytest.fixture(scope="module")
def page(demo, found):
    return demo[2].render(found)


class Reader(HTMLParser):
    """Checks that all tags are closed in order, and keeps them and the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_every_tag_is_closed_in_its_place(page):
    assert Reader(page).open == []


def test_the_page_refers_to_nothing_outside_itself(page):
    reader = Reader(page)
    assert "http" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert {"script", "link", "img", "iframe"}.isdisjoint(tag for tag, _ in reader.tags)
    assert all({"src", "href"}.isdisjoint(attributes) for _, attributes in reader.tags)


def test_the_english_classifier_is_scored_on_all_three_and_its_rivals_on_their_own(found):
    assert {lang: score.n_train for lang, score in found.transferred.items()} == {
        "en": 400, "de": 400, "fr": 400,
    }  # fmt: skip
    assert {lang: score.n_train for lang, score in found.in_language.items()} == {
        "de": 100, "fr": 100,
    }  # fmt: skip


def test_the_page_and_the_terminal_say_every_score_beside_its_training_size(demo, found, page):
    text = Reader(page).text
    printed = demo[0].summary(found)
    for scores, trained in ((found.transferred, "English"), (found.in_language, None)):
        for lang, score in scores.items():
            name = trained or demo[1].LANGUAGES[lang]
            accuracy = f"{100 * score.evaluation.accuracy:.0f} %"
            assert f"{score.n_train} {name} sentences{accuracy}" in text
            assert f"trained on {score.n_train} {name}" in printed
            assert accuracy in printed


@pytest.mark.parametrize("right", [0, 20, 73, 100])
def test_intervals_are_wilsons_as_scipy_has_them(demo, right):
    from scipy.stats import binomtest

    expected = binomtest(right, 100).proportion_ci(method="wilson")
    assert demo[1].wilson(right / 100, 100) == pytest.approx(tuple(expected), abs=1e-9)


def test_confusion_matrices_show_the_counts_of_the_evaluation(found, page):
    shown = [int(n) for n in re.findall(r'--share: [\d.]+">(\d+)</td>', page)]
    counts = [score.evaluation.confusion[:, :-1] for score in found.transferred.values()]
    assert shown == np.concatenate(counts).ravel().tolist()


def test_every_test_sentence_is_a_point_on_both_maps_that_can_be_read(found, page):
    titles = [unescape(title) for title in re.findall(r"<title>(.*?)</title></path>", page)]
    expected = [
        f"{name}, {label}: {text}"
        for name, test in zip(("English", "German", "French"), found.tests.values(), strict=True)
        for text, label in zip(test.texts, test.labels, strict=True)
    ]
    assert titles == expected * 2


def test_neighbours_on_a_map_are_counted_by_topic_and_language(demo):
    findings = demo[1]
    topics = {"en": ["food"] * 6 + ["sport"] * 5, "de": ["food"] * 5 + ["sport"] * 6}
    tests = {lang: findings.Sentences(labels, labels) for lang, labels in topics.items()}
    # Two far places with one topic each: a point's ten nearest are the others of its topic.
    places = [100.0 * (label == "sport") for labels in topics.values() for label in labels]
    rows = np.column_stack([places, np.arange(22) % 5]).astype(np.float32)
    found = findings.project(rows, tests)
    assert found.same_topic == 1.0
    # Six and five of the eleven share a language: of 11 * 10 pairs, 6 * 5 + 5 * 4.
    assert found.same_language == pytest.approx(50 / 110)
    assert found.variance == pytest.approx(1.0)


def test_examples_follow_their_rules(demo, toy):
    _, findings, _ = demo
    train = findings.read(SAMPLE / "train.en.csv")
    test = findings.read(SAMPLE / "test.en.csv")
    classifier = findings.fit(toy, train, "en")
    found = classifier.classify(test.texts, lang="en")
    rows = list(zip(found.labels, test.labels, found.probabilities, test.texts, strict=True))
    hits = [(p, text) for label, gold, p, text in rows if label == gold]
    misses = [(p, text) for label, gold, p, text in rows if label != gold]
    chosen = findings.examples(classifier, test, "en")
    sure = itemgetter(0)  # of equals, the first
    expected = [max(hits, key=sure), min(hits, key=sure), max(misses, key=sure)]
    assert [example.explanation.sentence for example in chosen] == [text for _, text in expected]
    assert [example.explanation.label == example.gold for example in chosen] == [True, True, False]


def test_without_a_miss_none_is_shown(demo, toy):
    _, findings, _ = demo
    train = findings.read(SAMPLE / "train.en.csv")
    classifier = findings.fit(toy, train, "en")
    labels = classifier.classify(train.texts, lang="en").labels
    chosen = findings.examples(classifier, findings.Sentences(train.texts, labels), "en")
    assert [example.rule for example in chosen] == ["the surest hit", "the least sure hit"]


def test_the_page_shows_telling_words_examples_and_unknown_words_of_each_language(found, page):
    text = Reader(page).text
    for lang in ("en", "de", "fr"):
        for words in found.telling[lang].values():
            assert ", ".join(word for word, _ in words) in text
        words = found.transferred[lang].evaluation.words.languages[lang]
        assert f"{100 * words.known:.0f} %" in text
        assert words.unknown.most_common(1)[0][0] in text
    for of_language in found.examples.values():
        assert all(example.explanation.sentence in text for example in of_language)


def test_names_from_the_model_are_escaped(page):
    assert "toy &amp; co" in page
    assert "toy & co" not in page


def test_the_demo_runs_with_the_model_in_the_package(demo):
    if not models.DEFAULT.is_dir():
        pytest.skip("this checkout has no model in the package; 'make default-model' builds it")
    done = subprocess.run(
        [sys.executable, "-m", "demo"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    report = ROOT / "demo" / "report.html"
    assert str(report) in done.stdout
    assert Reader(report.read_text(encoding="utf-8")).open == []


def test_without_the_model_of_eleven_languages_the_page_says_how_to_get_it(page):
    assert "Eight more languages" in page
    assert "make packs demo" in page


def test_the_model_of_eleven_languages_finds_languages_and_topics(demo, wide, found):
    _, findings, report = demo
    train = findings.read(SAMPLE / "train.en.csv")
    further = findings.classify_further(wide, train, SAMPLE / "wide.csv")
    assert len({each.lang for each in further}) == 8
    assert sum(each.taken_for == each.lang for each in further) >= 78
    assert sum(each.label == each.gold for each in further) >= 72
    page = report.render(replace(found, further=further))
    assert all(unescape(each.text) in unescape(page) for each in further)
