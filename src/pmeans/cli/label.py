"""``pmeans label``: labels for the rows of a file, without training rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pmeans.cli import options
from pmeans.cli.console import job, say, say_labelled
from pmeans.cli.options import argument, examples, option
from pmeans.jobs.options import PredictOptions

if TYPE_CHECKING:
    from pmeans.transfer import TransferClassifier

EXAMPLES = examples(
    "pmeans label tickets.csv --labels 'billing,shipping,technical problems'",
    "pmeans label tickets.csv --labels labels.csv --out labelled.csv --save my-classifier/",
)


@options.taking(PredictOptions)
def label(
    file: Annotated[
        str, argument("FILE", "Text, .csv, .tsv, .jsonl, .parquet; '-' is standard input.")
    ],
    *,
    labels: Annotated[
        str,
        option(
            "NAMES|FILE",
            "Names with commas between them, or a file with columns 'label' and 'text': names, and "
            "descriptions or examples, one or several rows each.",
        ),
    ],
    out: options.LabelledOut = "-",
    format_: options.LabelledFormat = None,
    how: PredictOptions,
    labels_lang: Annotated[
        str | None, option("LANGUAGE", "Language of the labels.", shown="detected")
    ] = None,
    model: Annotated[
        str, option("MODEL", "A model: its name or folder, a recipe, or a word space.")
    ] = "default",
    save: Annotated[Path | None, option("DIR", "Also write the classifier, as 'fit' does.")] = None,
    input_format: options.InputFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    restart: options.Restart = False,
) -> None:
    """Label the rows of a file by what the labels are called, without training.

    A row gets the label that it is nearest to in meaning, in any language. Descriptions are better
    than names. In a language with a hundred rows or more, labels are matched to the rows first,
    unless they come from standard input. The output is that of 'pmeans predict'. With some
    hundred rows that people have labelled, 'pmeans fit' is better.
    """
    from pmeans import jobs, models
    from pmeans.jobs.files import fields_of, match_labels
    from pmeans.outputs import check_output
    from pmeans.tables import Source, open_source
    from pmeans.transfer import TransferClassifier, WordCount
    from pmeans.transfer.labelled import read_described

    classifier = TransferClassifier(model).describe(read_described(labels), lang=labels_lang)
    encoder, words = classifier.encoder_, WordCount()
    keep = (labels, model)
    if save:
        check_output(save, [file, *keep, *models.files_of(encoder)])

    def opened() -> Source:
        fields = fields_of(how, encoder.languages, whole=True)
        return open_source(
            file, fields, format=input_format, delimiter=delimiter, encoding=encoding, lang=how.lang
        )

    if file != "-":
        matched = match_labels(classifier, opened(), how.lang)
        if matched:
            say(f"labels are matched to the rows in {', '.join(matched)}.")
    source = opened()
    with job("labelling", source.size, out) as (to, report):
        state = jobs.predict_to_file(
            classifier, source, to, options=how, format=format_, restart=restart, report=report,
            keep=keep, words=words,
        )  # fmt: skip
    say_labelled(state, out, words.warnings(encoder))
    if save:
        _save(classifier, save)


def _save(classifier: TransferClassifier, folder: Path) -> None:
    classifier.save(folder)
    say(f"the classifier is in {folder}.")
