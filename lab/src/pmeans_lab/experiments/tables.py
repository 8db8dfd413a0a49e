"""From results to the table of an experiment.

Nothing here rounds, and nothing fills a gap: a cell without results stays empty and says why, and
an average over fewer tasks than its heading promises is not taken. A number is bold only if it is
the best of its column and set by more than chance, see `_best`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from pmeans.errors import ConfigError
from pmeans_lab.evaluation.cells import Cell
from pmeans_lab.experiments import published, statistics
from pmeans_lab.experiments.plan import EncoderRow, Experiment
from pmeans_lab.experiments.published import Published
from pmeans_lab.experiments.render import SIGNIFICANT, Column, Field, Row, Section, Table
from pmeans_lab.experiments.results import NOT_RUN, Key, Over, Reasons, Scores, Where
from pmeans_lab.experiments.statistics import Interval, holm

SETS = {"paper": "The paper's word spaces", "available": "Word spaces that can be had"}


@dataclass(frozen=True)
class _Spec:
    """A column of scores: its heading, its key in the published table, what it averages."""

    title: str
    key: str
    over: Over
    gap: bool = False


def build(
    experiment: Experiment, cells: Mapping[Key, Cell], reasons: Reasons | None = None
) -> Table:
    """Return the table of an experiment from its scores and the reasons why others are missing."""
    scores = Scores(cells, reasons)
    if experiment.layout == "translations":
        return _translations(experiment, scores)
    book = published.load(experiment.published)
    specs = tuple(_specs(experiment, _at_hand(experiment, scores), book))
    sections = _sections(experiment, partial(_rows, specs, experiment, scores, book))
    titles = [*(spec.title for spec in specs), "known words, lowest", "known words, mean"]
    columns = (Column("dimensions", 0), *(Column(title) for title in titles))
    measures = {experiment.task(name).measure for name in experiment.tasks}
    legend = tuple(_legend(specs, book, "spearman" in measures))
    further = [_coverage_table(experiment, scores), *_calibration_table(experiment, scores)]
    if experiment.layout == "groups":
        further.insert(0, _every_column(experiment, scores))
    return Table(experiment.title, "encoder", columns, sections, legend, tuple(further))


def _at_hand(experiment: Experiment, scores: Scores) -> tuple[str, ...]:
    """Return the tasks that some row has a score of in every test language."""
    return tuple(
        task
        for task in experiment.tasks
        for over in [Over.each([task], experiment.train, experiment.test)]
        if any(scores.missing(row, over) is None for row in experiment.encoders)
    )


def _specs(experiment: Experiment, at_hand: Sequence[str], book: Published) -> Iterator[_Spec]:
    """Yield the columns; averages over the tasks at hand, where these are not all, too.

    Published averages alone are over the paper's tasks and languages, which need not be all.
    """
    tasks, langs, gap = experiment.tasks, experiment.test, experiment.in_language
    if experiment.layout == "groups":
        groups = {
            title: tuple(where for _, where in each)
            for title, each in groupby(_columns(experiment), lambda each: each[0])
        }
        yield _Spec("mean of groups", "avg", Over(tuple(groups.values())))
        yield from (_Spec(title, title, Over((group,))) for title, group in groups.items())
        return
    each = partial(Over.each, train=experiment.train)
    some = f"{', '.join(at_hand)}: {len(at_hand)} of {len(tasks)} tasks"
    if experiment.layout == "averages":
        over = each(book.tasks or tasks, langs=book.langs or langs)
        yield _Spec("cross-lingual", "xling", over)
        yield _Spec("in-language", "in_language", over.in_language)
        if at_hand and set(at_hand) != set(over.tasks):
            some += "" if over.langs == langs else f" in {', '.join(langs)}"
            over = each(at_hand, langs=langs)
            yield _Spec(f"cross-lingual ({some})", "xling, some", over)
            yield _Spec(f"in-language ({some})", "in_language, some", over.in_language)
        return
    gap = gap and experiment.layout in ("transfer", "languages")
    yield _Spec("average", "avg", each(tasks, langs=langs), gap)
    if at_hand and len(at_hand) < len(tasks):
        yield _Spec(f"average ({some})", "avg, some", each(at_hand, langs=langs), gap)
    if experiment.layout == "languages":
        for lang in langs:
            yield _Spec(f"average {lang}", f"avg_{lang}", each(tasks, langs=[lang]), gap)
        for task in tasks:
            for lang in langs:
                yield _Spec(f"{task} {lang}", f"{task}_{lang}", each([task], langs=[lang]), gap)
    else:
        for task in tasks:
            yield _Spec(task, task, each([task], langs=langs), gap)


def _columns(experiment: Experiment) -> list[tuple[str, Where]]:
    """Return what is measured, with the heading of its group, group by group."""
    headed = [
        (column.group or column.task, (column.task, column.train, lang))
        for column in experiment.measured
        for lang in column.test
    ]
    order = list(dict.fromkeys(title for title, _ in headed))
    return sorted(headed, key=lambda each: order.index(each[0]))


def _every_column(experiment: Experiment, scores: Scores) -> Table:
    specs = []
    for title, (task, train, lang) in _columns(experiment):
        name = f"{title} {lang}" if train == experiment.train else f"{title} {train}→{lang}"
        specs.append(_Spec(name, name, Over((((task, train, lang),),))))
    columns = tuple(Column(spec.title) for spec in specs)
    sections = _sections(experiment, partial(_scored, specs, scores, published.NOTHING))
    return Table("Every column", "encoder", columns, sections)


def _sections(
    experiment: Experiment, made: Callable[[Sequence[EncoderRow]], tuple[Row, ...]]
) -> tuple[Section, ...]:
    """Return the rows of each set of encoders, under its title if there are several."""
    several = len({row.set for row in experiment.encoders}) > 1
    return tuple(
        Section(title if several else None, made(rows))
        for each, title in SETS.items()
        if (rows := [row for row in experiment.encoders if row.set == each])
    )


def _rows(
    specs: Sequence[_Spec],
    experiment: Experiment,
    scores: Scores,
    book: Published,
    rows: Sequence[EncoderRow],
) -> tuple[Row, ...]:
    done = []
    for row, shown in zip(rows, _scored(specs, scores, book, rows), strict=True):
        dim, *coverage = _facts(row, experiment, scores)
        cells = [dim, *shown.fields, *coverage]
        note = None
        if all(cell.value is None for cell in cells):
            # One note instead of the same one in every cell.
            cells = [replace(cell, note=None) for cell in cells]
            reasons = (scores.missing(row, Over(((where,),))) for _, where in _columns(experiment))
            note = "; ".join(dict.fromkeys(map(str, reasons)))
        done.append(replace(shown, fields=tuple(cells), note=note))
    return tuple(done)


def _scored(
    specs: Sequence[_Spec], scores: Scores, book: Published, rows: Sequence[EncoderRow]
) -> tuple[Row, ...]:
    """Return the scores of each row, the significantly best of each column in bold."""
    best = {spec.key: _best(rows, spec.over, scores) for spec in specs}
    return tuple(
        Row(
            row.name,
            tuple(replace(_cell(row, s, scores, book), bold=row is best[s.key]) for s in specs),
        )
        for row in rows
    )


def _best(rows: Sequence[EncoderRow], over: Over, scores: Scores) -> EncoderRow | None:
    """Return the row that is significantly better than every other computed one, if there is.

    The family of comparisons is the best row against each other row of the column and set.
    """
    found = [(got.mean, row) for row in rows if (got := scores.interval(row, over))]
    if len(found) < 2:
        return None
    (_, best), *others = sorted(found, key=lambda each: each[0], reverse=True)
    p_values = []
    for _, row in others:
        compared = scores.compare(best, row, over)
        p_values.append(compared.p if compared and compared.mean > 0 else 1.0)
        if p_values[-1] >= SIGNIFICANT:  # Holm makes none of them smaller
            return None
    return best if max(holm(p_values)) < SIGNIFICANT else None


def _cell(row: EncoderRow, spec: _Spec, scores: Scores, book: Published) -> Field:
    theirs = their_gap = None
    model = row.published or row.name
    if comparable(spec.over, spec.key, book):
        theirs = book.scores.get((model, spec.key))
        their_gap = book.gaps.get((model, spec.key)) if spec.gap else None
    elif set(spec.over.langs) == set(book.langs):
        theirs = _mean_of(book.scores, model, spec.over.tasks)
        their_gap = _mean_of(book.gaps, model, spec.over.tasks) if spec.gap else None
    got, note = scores.interval(row, spec.over), scores.missing(row, spec.over)
    if got is None:
        return Field(published=theirs, published_gap=their_gap, note=note)
    gap = None
    if spec.gap:
        over = spec.over.in_language
        other, missing = scores.interval(row, over), scores.missing(row, over)
        gap = other.mean - got.mean if other else None
        note = f"in-language: {missing}" if missing else None
    shown = field(got)
    return replace(shown, gap=gap, published=theirs, published_gap=their_gap, note=note)


def _mean_of(
    numbers: Mapping[tuple[str, str], float], model: str, tasks: Sequence[str]
) -> float | None:
    """Return the mean of what is published of some tasks; None if one of them is not there."""
    found = [numbers[model, task] for task in tasks if (model, task) in numbers]
    return sum(found) / len(found) if found and len(found) == len(tasks) else None


def field(got: Interval) -> Field:
    """Show a score with its interval, if it has one."""
    return Field(got.mean) if math.isnan(got.error) else Field(got.mean, got.low, got.high)


def comparable(over: Over, key: str, book: Published) -> bool:
    """Say whether a published number is of the same tasks and languages as ours."""
    one_lang = any(key.endswith(f"_{lang}") for lang in over.langs)
    same_tasks = len(over.tasks) == 1 or set(over.tasks) == set(book.tasks)
    return same_tasks and (one_lang or set(over.langs) == set(book.langs))


def _facts(row: EncoderRow, experiment: Experiment, scores: Scores) -> tuple[Field, Field, Field]:
    """Return the dimensions of a row, and the lowest and the mean share of words it knows."""
    found = [] if row.absent else list(_covered(row, experiment, scores))
    if not found:
        gone = Field(note=row.absent or NOT_RUN)
        return gone, gone, gone
    shares = [100 * share for cell in found for share in cell.coverage.values()]
    if not shares:
        unknown = Field(note="no word spaces whose words could be counted")
        return Field(found[0].dim), unknown, unknown
    some = len(found) < len(_tested(experiment))
    note = "of the tasks and languages with results" if some else None
    lowest, mean = min(shares), sum(shares) / len(shares)
    return Field(found[0].dim), Field(lowest, note=note), Field(mean, note=note)


def _covered(row: EncoderRow, experiment: Experiment, scores: Scores) -> Iterator[Cell]:
    """Yield a cell for each task and test language, whatever it was trained in."""
    for (task, lang), trained in _tested(experiment).items():
        found = (scores.of(row.name, (task, train, lang)) for train in trained)
        yield from [cell for cell in found if cell][:1]


def _tested(experiment: Experiment) -> dict[tuple[str, str], list[str]]:
    """Return the training languages of each task and test language."""
    found: dict[tuple[str, str], list[str]] = {}
    for column in experiment.measured:
        for lang in column.test:
            found.setdefault((column.task, lang), []).append(column.train)
    return found


def _coverage_table(experiment: Experiment, scores: Scores) -> Table:
    trained = _tested(experiment)
    keys = list(trained)
    rows = []
    for row in (each for each in experiment.encoders if each.absent is None):
        found = {(c.task, c.test_lang): c.coverage for c in _covered(row, experiment, scores)}
        for space in dict.fromkeys(space for shares in found.values() for space in shares):
            cells = [
                Field(100 * found[key][space])
                if space in found.get(key, {})
                else Field(note=scores.missing(row, Over.each(key[:1], trained[key][0], key[1:])))
                for key in keys
            ]
            rows.append(Row(f"{row.name}: {space}", tuple(cells)))
    columns = tuple(Column(f"{task} {lang}") for task, lang in keys)
    legend = ("Share of the running words of the test language that a word space knows.",)
    sections = (Section(None, tuple(rows)),)
    return Table("Known words, %", "encoder: word space", columns, sections, legend)


def _calibration_table(experiment: Experiment, scores: Scores) -> Iterator[Table]:
    """Yield how far probabilities are off, where a protocol has noted it."""
    errors = {
        (row.name, task, lang): sum(noted) / len(noted)
        for row in experiment.encoders
        for (task, lang), (train, *_) in _tested(experiment).items()
        if (cell := scores.of(row.name, (task, train, lang))) and (noted := cell.chosen.get("ece"))
    }
    keys = list(dict.fromkeys((task, lang) for _, task, lang in errors))
    rows = tuple(
        Row(name, tuple(Field(errors.get((name, *key))) for key in keys))
        for name in dict.fromkeys(name for name, _, _ in errors)
    )
    if rows:
        legend = "Distance of confidence and accuracy of test rows, over ten bins of confidence."
        columns = tuple(Column(f"{task} {lang}") for task, lang in keys)
        sections = (Section(None, rows),)
        yield Table("Calibration error, %", "encoder", columns, sections, (legend,))


def _legend(specs: Sequence[_Spec], book: Published, correlated: bool) -> Iterator[str]:
    yield (
        "Per cent. ± is half of the 95 % confidence interval: Nadeau and Bengio's corrected one "
        "for folds and repetitions, Wilson's for accuracies on a fixed test set. Averages take "
        "tasks as independent, and languages of a task as not."
    )
    if correlated:
        yield "A rank correlation is shown times 100, with its interval by Fisher's transformation."
    if any(spec.gap for spec in specs):
        yield "In parentheses: in-language minus cross-lingual score."
    if book.scores:
        yield (
            "In brackets: the published value, and ours minus it; a published average only beside "
            f"one over the same tasks and languages. Source: {book.source}"
        )
    yield (
        "Bold: the best of its column and set, if its difference to every other computed row of "
        f"the set is significant (p < {SIGNIFICANT}, adjusted by Holm over these differences). "
        "Nothing else is bold. –: no result, for the reason in the note."
    )


_P = Column("p", 4)
_COLUMNS = (Column("points", 0), Column("Spearman"), _P, Column("Pearson"), _P)
_LEGEND = (
    "Correlation, in per cent, between the scores on human and on machine translations. A point is "
    "an encoder and a test language. ± is half of the 95 % confidence interval by Fisher's "
    "transformation (for Spearman with a variance of 1.06 / (n - 3)), which takes the points as "
    "independent; encoders that share word spaces are not quite.",
)


def _translations(experiment: Experiment, scores: Scores) -> Table:
    """Return the correlations of human and machine translations, for each set of encoders.

    Each encoder and test language is a point: its score on the human and on the machine
    translation of the same test rows. Task ``X-MT`` is the machine translation of task ``X``.
    """
    pairs = [task for task in experiment.tasks if f"{task}-MT" in experiment.tasks]
    if not pairs:
        raise ConfigError(
            f"experiment {experiment.name!r}: the layout 'translations' needs a task and its "
            "machine translation, such as 'AM' and 'AM-MT'."
        )
    book = published.load(experiment.published)
    sections = []
    for each, title in SETS.items():
        encoders = [row for row in experiment.encoders if row.set == each]
        rows = [_correlations(task, encoders, experiment, scores, book) for task in pairs]
        if encoders:
            sections.append(Section(title, tuple(rows)))
    source = (f"In brackets: the published value, and ours minus it. Source: {book.source}",)
    legend = (*_LEGEND, *(source if book.scores else ()))
    return Table(experiment.title, "task", _COLUMNS, tuple(sections), legend)


def _correlations(
    task: str,
    encoders: Sequence[EncoderRow],
    experiment: Experiment,
    scores: Scores,
    book: Published,
) -> Row:
    points, gone = [], []
    for row in encoders:
        for lang in experiment.test:
            both = (task, f"{task}-MT")
            pair = [Over.each([name], experiment.train, [lang]) for name in both]
            human, machine = (scores.interval(row, over) for over in pair)
            if human and machine:
                points.append((human.mean, machine.mean))
            else:
                gone += [why for over in pair if (why := scores.missing(row, over))][:1]
    without = f"{len(gone)} points are missing: {'; '.join(dict.fromkeys(gone))}" if gone else None
    count = Field(len(points), note=without)
    cells: list[Field] = []
    for name in ("spearman", "pearson"):
        theirs = book.scores.get((task, name))
        if any(len(set(values)) < 3 for values in zip(*points, strict=True)) or not points:
            few = "a correlation needs three different scores"
            cells += [Field(published=theirs, note=without or few), Field(note=without or few)]
            continue
        r, p = statistics.correlation(name, *zip(*points, strict=True))
        variance = statistics.SPEARMAN if name == "spearman" else 1.0
        found = statistics.fisher(r, len(points), variance)
        low, high = found if len(points) > 3 else (None, None)
        cells += [Field(100 * r, low, high, published=theirs), Field(p)]
    return Row(task, (count, *cells))
