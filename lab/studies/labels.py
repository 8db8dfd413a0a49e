"""Measure labels without training: by names and by descriptions, beside few and many training rows.

    python studies/labels.py DATA > results/labels/table.md

`TransferClassifier.describe` gets English names or descriptions, and labels reviews and genres in
three languages, before and after it is adapted to the same texts without their labels. Beside it
stand the label whose English row has the largest cosine, a classifier that was trained on eight
English rows of each class (the mean of five draws), and one that was trained on all of them. The
descriptions were written before anything was measured, and looked at no text of the tasks.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

import pmeans
from pmeans import PowerMeanEncoder, TransferClassifier
from pmeans.transfer.describing import Described
from pmeans_lab.evaluation import tasks

LANGUAGES = ("en", "de", "fr")
EIGHT, DRAWS = 8, 5
NAMES: dict[str, Mapping[str, str]] = {
    "CLS-films": {"negative": "negative", "positive": "positive"},
    "CLS-reviews": {"negative": "negative", "positive": "positive"},
    "XNLI-genre": {
        "facetoface": "face to face", "fiction": "fiction", "government": "government",
        "letters": "letters", "nineeleven": "September 11", "oup": "nonfiction book",
        "slate": "magazine", "telephone": "telephone", "travel": "travel", "verbatim": "language",
    },
}  # fmt: skip
DESCRIPTIONS: dict[str, Mapping[str, list[str]]] = {
    "CLS-films": {
        "negative": ["a bad, boring film, a waste of time", "terrible, disappointed"],
        "positive": ["a great film, I loved it", "wonderful, excellent, highly recommended"],
    },
    "CLS-reviews": {
        "negative": ["a bad, boring book, a waste of time", "terrible, disappointed"],
        "positive": ["a great book, I loved it", "wonderful, excellent, highly recommended"],
    },
    "XNLI-genre": {
        "facetoface": [
            "a conversation between two people face to face",
            "spoken dialogue, people talking to each other",
        ],
        "fiction": ["a novel or short story", "fiction: he said, she looked at him"],
        "government": [
            "government reports, speeches and press releases",
            "laws, federal agencies and regulations",
        ],
        "letters": [
            "letters asking for donations", "a fundraising letter of a charity: your gift supports",
        ],
        "nineeleven": [
            "the report about the attacks of September 11",
            "hijacked planes, the FAA and terrorists",
        ],
        "oup": [
            "a nonfiction book about industry and child development",
            "textile industry and raising children",
        ],
        "slate": [
            "magazine articles about politics and culture",
            "popular culture, columnists and politics",
        ],
        "telephone": [
            "a telephone conversation", "yeah um I uh you know, talking on the phone",
        ],
        "travel": ["a travel guide", "hotels, beaches, museums and sights for tourists"],
        "verbatim": [
            "articles about language and words", "linguistics for non-specialists, etymology",
        ],
    },
}  # fmt: skip
HEAD = """\
# Labels without training

By `python studies/labels.py DATA`.

{method}

Accuracy, %; in brackets the mean probability of the labels, which would be the same if probabilities
were right. How sharp they are for descriptions was chosen by this table.

| task | | {langs} |
|---|---|{rules}"""  # noqa: E501


class Rows(NamedTuple):
    """Sentences, and the name of each one's label."""

    sentences: list[str]
    labels: list[str]


def right(classifier: TransferClassifier, rows: Rows, lang: str) -> tuple[float, float]:
    """Return accuracy and mean probability, in per cent."""
    found = classifier.classify(rows.sentences, lang=lang)
    accuracy = np.mean([a == b for a, b in zip(found.labels, rows.labels, strict=True)])
    return 100 * float(accuracy), 100 * float(np.mean(found.probabilities))


def nearest(encoder: PowerMeanEncoder, names: Mapping[str, str], rows: Rows, lang: str) -> float:
    """Return how often the name with the largest cosine is right, in per cent."""
    of_names = encoder.encode(list(names.values()), lang="en", normalize_embeddings=True)
    of_texts = encoder.encode(rows.sentences, lang=lang, normalize_embeddings=True)
    numbers = np.argmax(of_texts @ of_names.T, axis=1)
    return 100 * float(np.mean(np.array(list(names))[numbers] == np.array(rows.labels)))


def main(data: Path) -> None:
    """Print the table."""
    encoder = pmeans.load()
    method = " ".join(__doc__.split("\n\n")[2].split())
    print(HEAD.format(method=method, langs=" | ".join(LANGUAGES), rules="--:|" * len(LANGUAGES)))
    for task in NAMES:
        dataset = tasks.load(tasks.find(task), data, LANGUAGES)
        named = {
            (lang, part): Rows(list(rows.sentences), [dataset.classes[i] for i in rows.labels])
            for lang in LANGUAGES
            for part, rows in dataset.rows[lang].items()
        }
        show(task, encoder, named)


def show(task: str, encoder: PowerMeanEncoder, rows: Mapping[tuple[str, str], Rows]) -> None:
    """Print the lines of a task."""
    tests = {lang: rows[lang, "test"] for lang in LANGUAGES}

    def line(what: str, *cells: str) -> None:
        print(f"| {task} | {what} | {' | '.join(cells)} |")

    line("nearest name", *(f"{nearest(encoder, NAMES[task], tests[x], x):.1f}" for x in LANGUAGES))
    described: dict[str, Described] = {"names": NAMES[task], "descriptions": DESCRIPTIONS[task]}
    for what, labels in described.items():
        classifier = TransferClassifier(encoder).describe(labels, lang="en")
        line(what, *("{:.1f} ({:.0f})".format(*right(classifier, tests[x], x)) for x in LANGUAGES))
        for lang in LANGUAGES:
            classifier.adapt(tests[lang].sentences, lang=lang)
        found = [right(classifier, tests[x], x) for x in LANGUAGES]
        line(f"{what}, adapted", *("{:.1f} ({:.0f})".format(*each) for each in found))
    train, scores = rows["en", "train"], []
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(len(train.labels)).tolist()
        of_class = {name: [i for i in order if train.labels[i] == name] for name in NAMES[task]}
        some = [i for listed in of_class.values() for i in listed[:EIGHT]]
        few = TransferClassifier(encoder, seed=draw).fit(
            [train.sentences[i] for i in some], [train.labels[i] for i in some], lang="en"
        )
        scores.append([right(few, tests[lang], lang) for lang in LANGUAGES])
    found = [tuple(each) for each in np.mean(scores, axis=0)]
    line("8 English rows of each", *("{:.1f} ({:.0f})".format(*each) for each in found))
    whole = TransferClassifier(encoder).fit(train.sentences, train.labels, lang="en")
    found = [right(whole, tests[lang], lang) for lang in LANGUAGES]
    line(f"{len(train.labels):,} English rows", *("{:.1f} ({:.0f})".format(*x) for x in found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
