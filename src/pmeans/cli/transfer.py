"""``pmeans fit``, ``predict``, ``evaluate``, ``classify``, ``explain``: all about classifiers."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pmeans.cli import engines, options
from pmeans.cli.console import job, progress, say, say_labelled, say_lost, say_waiting, table, warn
from pmeans.cli.options import argument, examples, flag, option
from pmeans.errors import count
from pmeans.jobs.options import PredictOptions

if TYPE_CHECKING:
    from pmeans.transfer import Chosen, Evaluation, TransferClassifier

Label = Annotated[str, option("NAME", "Name of the column with the labels.")]
Separator = Annotated[
    str | None, option("TEXT", "What separates labels, if rows have several of them.")
]
Adapt = Annotated[
    list[str] | None,
    option(
        "[CODE=]FILE",
        "Unlabelled texts of a language to adapt to, one per line. May be given several times.",
    ),
]
OneJson = Annotated[bool, flag("--json", "Print one JSON object.")]


FIT = examples("pmeans fit train.csv --lang en --out my-classifier/")


def fit(
    train: Annotated[str, argument("TRAIN", "Labelled rows: .csv, .tsv, .jsonl, .parquet.")],
    *,
    out: Annotated[Path, option("DIR", "Folder to write the classifier to.")],
    text: options.Text = "text",
    label: Label = "label",
    lang: options.Lang = None,
    lang_column: options.LangColumn = None,
    model: Annotated[
        str | None,
        option(
            "MODEL",
            "A model: its name or folder, a recipe, or a word space.",
            shown="the model in the package",
        ),
    ] = None,
    by_name: Annotated[
        bool, flag("--by-name", "Refer to the model by its name, and store no copy of it.")
    ] = False,
    separator: Separator = None,
    balanced: Annotated[
        bool, flag("--balanced", "Give all classes the same weight, large or small.")
    ] = False,
    unsure: options.Unsure = None,
    adapt: Adapt = None,
    seed: Annotated[int, option("N", "Seed of what is drawn at random.")] = 0,
    on_error: options.OnError = "fail",
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
) -> None:
    """Train a classifier on labelled text, and save it as a folder.

    Columns, scaling and penalty are chosen by cross-validation on these rows. Probabilities are
    calibrated on rows that are held out, and for other languages by translations that come with the
    model.
    """
    from pmeans import models
    from pmeans.outputs import check_output
    from pmeans.tables import Fields, open_source
    from pmeans.transfer import TransferClassifier
    from pmeans.transfer.labelled import adaptation_file, read_labelled

    encoder = models.power_means(models.load(model), "a classifier")
    files = [adaptation_file(entry, encoder)[0] for entry in adapt or ()]
    check_output(out, [train, *files, *models.files_of(encoder), *([model] if model else [])])
    classifier = TransferClassifier(
        encoder, class_weight="balanced" if balanced else None, unsure=unsure, seed=seed
    )
    fields = Fields(text, lang_column, label, encoder.languages, on_error, whole=True)
    source = open_source(
        train, fields, format=input_format, delimiter=delimiter, encoding=encoding, lang=lang
    )
    with progress("reading") as step:
        rows = read_labelled(
            source,
            encoder,
            lang,
            separator,
            lambda place: step(place.offset, count(place.rows, "row"), source.size),
        )
    with progress("fitting") as step:
        classifier.fit(rows.texts, rows.labels, lang=rows.lang, progress=step)
    _adapt_to(classifier, adapt, None)
    classifier.save(out, model=(model or "default") if by_name else None)
    chosen = classifier.chosen
    classes = count(len(classifier.classes_), "class", "classes")
    say(f"{classes} learned from {count(chosen.rows, 'row')}, in {out}.")
    columns = f"the first {chosen.columns:,} of {count(encoder.dim, 'column')}"
    if chosen.powers is not None:
        columns = "powers " + ", ".join(f"{p:g}" for p in chosen.powers)
    say(f"chosen: {columns}, scaling {chosen.scaling}, penalty {chosen.penalty:g}.")
    _say_score(chosen)
    if classifier.calibrated:
        say(f"probabilities are calibrated for {', '.join(classifier.calibrated)} as well.")
    say_lost(chosen.empty, rows.skipped)


PREDICT = examples("pmeans predict my-classifier/ news.csv --lang de --out predictions.csv")


@options.taking(PredictOptions)
def predict(
    folder: options.Classifier,
    file: Annotated[
        str, argument("FILE", "Text, .csv, .tsv, .jsonl, .parquet; '-' is standard input.")
    ],
    *,
    out: options.LabelledOut = "-",
    format_: options.LabelledFormat = None,
    how: PredictOptions,
    separator: Separator = None,
    adapt: Adapt = None,
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    engine: engines.Name = None,
    restart: options.Restart = False,
) -> None:
    """Label the rows of a file.

    The output has the rows and columns of the input, and further columns: label, probability, and a
    note that says if a row is unsure, has no known word, or could not be read. After a crash, the
    same command goes on where it stopped.

    With --engine, FILE is a pattern of Parquet files, and --out a folder, as for 'pmeans embed'.
    """
    from pmeans import jobs
    from pmeans.jobs.files import fields_of
    from pmeans.tables import open_source
    from pmeans.transfer import TransferClassifier, WordCount
    from pmeans.transfer.labelled import adaptation_file

    if engine:
        unfit = {
            "format": format_, "separator": separator, "adapt": adapt,
            "input_format": input_format, "delimiter": delimiter, "encoding": encoding,
            "n_threads": how.n_threads,
        }  # fmt: skip
        done = engines.run(
            engine, jobs.predict_parts, unfit, files=file, out=out, classifier=folder, options=how,
            restart=restart,
        )  # fmt: skip
        say(f"{count(done.unsure, 'row')} unsure.")
        say_lost(done.empty, done.skipped)
        if done.doubts.any:
            warn(str(done.doubts))
        return
    classifier, words = TransferClassifier.load(folder), WordCount()
    _adapt_to(classifier, adapt, how.lang)
    encoder = classifier.encoder_
    source = open_source(
        file, fields_of(how, encoder.languages, whole=True), format=input_format,
        delimiter=delimiter, encoding=encoding, lang=how.lang,
    )  # fmt: skip
    keep = (str(folder), *(adaptation_file(entry, encoder)[0] for entry in adapt or ()))
    with job("predicting", source.size, out) as (to, report):
        state = jobs.predict_to_file(
            classifier, source, to, options=how, format=format_, separator=separator,
            restart=restart, report=report, keep=keep, words=words,
        )  # fmt: skip
    say_labelled(state, out, words.warnings(encoder))


EVALUATE = examples("pmeans evaluate my-classifier/ test.csv --lang fr")


def evaluate(
    folder: options.Classifier,
    file: Annotated[str, argument("FILE", "Labelled rows, as for 'fit'.")],
    *,
    text: options.Text = "text",
    label: Label = "label",
    lang: options.Lang = None,
    lang_column: options.LangColumn = None,
    separator: Separator = None,
    adapt: Adapt = None,
    on_error: options.OnError = "fail",
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    as_json: OneJson = False,
) -> None:
    """Compare predictions with the labels of a file, class by class."""
    from pmeans.tables import Fields, open_source
    from pmeans.transfer import TransferClassifier
    from pmeans.transfer.labelled import read_labelled

    classifier = TransferClassifier.load(folder)
    _adapt_to(classifier, adapt, lang)
    languages = classifier.encoder_.languages
    fields = Fields(text, lang_column, label, languages, on_error, whole=True)
    source = open_source(
        file, fields, format=input_format, delimiter=delimiter, encoding=encoding, lang=lang
    )
    rows = read_labelled(source, classifier.encoder_, lang, separator)
    scores = classifier.evaluate(rows.texts, rows.labels, lang=rows.lang)
    if as_json:
        print(json.dumps(scores.as_dict(), ensure_ascii=False))
    else:
        _show(scores)
    say_lost(round(scores.empty * scores.rows), rows.skipped)
    if scores.unseen:
        shown = ", ".join(f"{name!r} ({n:,})" for name, n in list(scores.unseen.items())[:8])
        warn(f"labels that training did not have, counted as wrong: {shown}.")


EXPLAIN = examples('pmeans explain my-classifier/ "Die Suppe war kalt." --lang de')


def explain(
    folder: options.Classifier,
    sentence: Annotated[str, argument("SENTENCE", "Text to explain.")],
    *,
    lang: options.Lang = None,
    label: Annotated[
        str | None,
        option(
            "NAME",
            "Label to explain; required if texts can have several.",
            shown="the predicted one",
        ),
    ] = None,
    as_json: OneJson = False,
    html: Annotated[
        Path | None, option("FILE", "Write a page with coloured words instead.")
    ] = None,
) -> None:
    """Show which words of a text pushed towards a label, or away from it.

    The numbers are exact: with the constant they add up to how far the label is ahead of the
    best other one.
    """
    from pmeans.errors import InputError
    from pmeans.files import replacing
    from pmeans.languages.resolution import language_of_rows
    from pmeans.outputs import check_output
    from pmeans.tables import valid_text
    from pmeans.transfer import TransferClassifier
    from pmeans.transfer.explain_html import as_html

    if as_json and html:
        raise InputError("--json and --html exclude each other: leave one out.")
    if html:
        check_output(html, [folder])
    classifier = TransferClassifier.load(folder)
    lang = language_of_rows(classifier.encoder_, lang)
    explanation = classifier.explain(valid_text(sentence), lang=lang, label=label)
    if html:
        with replacing(html) as file:
            file.write(as_html([explanation]).encode("utf-8"))
        say(f"{explanation.verdict()}; in {html}.")
    elif as_json:
        print(json.dumps(explanation.as_json(), ensure_ascii=False))
    else:
        print(explanation.as_text(shutil.get_terminal_size().columns))


CLASSIFY = examples(
    'pmeans classify my-classifier/ "Die Suppe war kalt." --lang de',
    'echo "The soup was cold." | pmeans classify my-classifier/ --lang en --json',
)


def classify(
    folder: options.Classifier,
    texts: Annotated[
        list[str] | None, argument("TEXT", "Texts to label.", "standard input")
    ] = None,
    *,
    lang: options.Lang = None,
    unsure: options.Unsure = None,
    top_k: Annotated[
        int | None, option("N", "Also the N likeliest labels, the best first.", min=1)
    ] = None,
    as_json: Annotated[bool, flag("--json", "Print a JSON object for each text.")] = False,
) -> None:
    """Label single texts, or the lines of standard input.

    Prints label, probability, language and text, with tabs between them, and a note where a text is
    unsure, has no known word, or is in a doubtful language. 'pmeans predict' does the same
    for files.
    """
    from pmeans.jobs.rows import likeliest, single_rows
    from pmeans.languages.resolution import language_of_rows
    from pmeans.tables import open_source, valid_text
    from pmeans.transfer import TransferClassifier, WordCount

    classifier = TransferClassifier.load(folder).with_unsure(unsure)
    lang = language_of_rows(classifier.encoder_, lang)
    if not texts:
        say_waiting()
    piped = (block.texts for block in open_source("-", lang=lang).blocks())
    words = WordCount()
    for some in [list(map(valid_text, texts))] if texts else piped:
        answers = single_rows(classifier, some, lang, words)
        best = likeliest(classifier, some, lang, top_k) if top_k else [None] * len(some)
        for said, answer, classes in zip(some, answers, best, strict=True):
            if as_json:
                more = {} if classes is None else {"classes": classes}
                print(json.dumps({"text": said, **answer, **more}, ensure_ascii=False))
            else:
                print(*_cells(said or "", answer, classes), sep="\t")
        sys.stdout.flush()
    for warning in words.warnings(classifier.encoder_):
        warn(warning)


def _cells(text: str, answer: dict[str, Any], classes: list[dict[str, Any]] | None) -> list[str]:
    """Return what is printed of a text."""
    labels, ps = answer["label"], answer["probability"]
    if classes is not None:
        labels, ps = (tuple(each[key] for each in classes) for key in ("label", "probability"))
    shown = "|".join(f"{p:.4f}" for p in ps) if isinstance(ps, tuple) else f"{ps:.4f}"
    listed = labels if isinstance(labels, tuple) else [] if labels is None else [labels]
    names = "|".join(map(str, listed))
    text = text.translate(options.ONE_LINE)
    note = [answer["note"]] if answer["note"] else []
    return [names, shown, answer["language"] or "", text, *note]


def _adapt_to(classifier: TransferClassifier, files: list[str] | None, lang: str | None) -> None:
    from pmeans.transfer.labelled import read_adaptation

    for entry in files or ():
        texts, code = read_adaptation(entry, classifier.encoder_, lang)
        classifier.adapt(texts, lang=code)
        say(f"{code or 'the texts'} adapted to {count(len(texts), 'line')}.")


def _say_score(chosen: Chosen) -> None:
    """Say how good a classifier seems to be, and no more than can be known."""
    from pmeans.transfer.learned import FEWEST_CALIBRATED

    if chosen.score is None:
        say("how good it is cannot be told: no class has two different texts, to hold one out.")
        return
    held_out = count(chosen.held_out, "held-out text")
    interval = ""
    if chosen.interval is not None:
        low, high = chosen.interval
        interval = f", between {low:.3f} and {high:.3f} with 95 % confidence"
    say(f"{chosen.measure} {chosen.score:.3f} on {held_out}{interval}.")
    if not chosen.calibrates:
        say(
            f"probabilities are rough: {held_out} are too few to calibrate them by. "
            f"{FEWEST_CALIBRATED} would do."
        )


def _show(scores: Evaluation) -> None:
    rows = [
        (str(s.label), f"{s.precision:.3f}", f"{s.recall:.3f}", f"{s.f1:.3f}", f"{s.rows:,}")
        for s in scores.by_class
    ]
    table(("LABEL", "PRECISION", "RECALL", "F1", "ROWS"), rows)
    if scores.confusion is not None and len(scores.confusion) <= 20:
        print()
        lines = zip(scores.confusion_rows, scores.confusion.astype(str).tolist(), strict=True)
        columns = map(str, scores.confusion_columns)
        table(("LABEL \\ PREDICTED", *columns), [(str(name), *n) for name, n in lines])
    measures = [("accuracy", f"{scores.accuracy:.3f}"), ("macro-F1", f"{scores.macro_f1:.3f}")]
    if scores.unsure:
        measures.append(("unsure", f"{scores.unsure:.3f}"))
    if scores.unsure and scores.accuracy_sure is not None:
        measures.append(("accuracy if sure", f"{scores.accuracy_sure:.3f}"))
    for lang, words in scores.words.languages.items():
        measures.append((f"known words, {lang}", f"{words.known:.3f}"))
    print()
    table(("MEASURE", "VALUE"), measures)
