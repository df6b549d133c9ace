"""A mixture fitted to a release, and the values that its classes may have where some combinations cannot occur.

Source: docs/mathematics.md section 13; eq. (74).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import fitting
from residualplanner.fits.mixtures.loss import loss_of
from residualplanner.fits.mixtures.mixture import Mixture, OneHot, raked
from residualplanner.fits.mixtures.records import unreported, within
from residualplanner.fits.nonnegative.facts import Fact, Facts
from residualplanner.fits.synthesis.measured_tables import MeasuredTables, fit_quality, measured_tables
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError

#: How often tables are looked at, and what is done in between.
_POLISHINGS, _DESCENT = 2, fitting.Descent(steps=40, rate=0.07)
#: The most that a table's weight becomes.
_MOST_WEIGHT = 100.0
#: Steps of a fit whose start is as near as noise allows, how many more for every doubling of its distance, and at most.
_STEPS, _MORE_STEPS, _MOST_STEPS = 110, 40, 300
#: Steps of the mean, as one mixture, for every doubling, and at most; their rate, and that of a start that is far away.
_TOGETHER, _MOST_TOGETHER, _RATE, _FAR_RATE = 65, 300, 0.1, 0.2
#: How many mixtures, and latent classes of each; how many doublings are far, and how many classes there then are.
_MEMBERS, _CLASSES, _FAR, _MORE_CLASSES = 5, 50, 3.0, 100
#: The standard deviation of the logits of starts that are as near as noise allows, how much more it is for every
#: doubling of their distance, and its maximum.
_SPREAD, _MORE_SPREAD, _MOST_SPREAD = 0.3, 0.2, 1.0
#: The most values that the search for a record gives to attributes before none is believed to be possible.
_MOST_GIVEN = 10_000


def polished(measured: MeasuredTables, mixture: Mixture, report: Progress = unreported) -> Mixture:
    """A mixture near another, with fewer tables that fit worse than noise explains; itself where there are none.

    Few cells count little in a sum over all: the table of sex alone, or of two attributes that depend on each other
    strongly, is given up for the noise of large tables.  Such a table gets more weight.  Source: eq. (78).
    """
    weights = np.ones(len(measured.tables))
    for turn in range(_POLISHINGS):
        quality = fit_quality(measured, measured.components_of(mixture))
        if not quality.is_worse.any():
            break
        ratios = np.maximum(quality.distances / np.maximum(quality.freedoms, 1), 1.0)
        weights = np.minimum(np.where(quality.is_worse, weights * ratios, weights), _MOST_WEIGHT)
        pairs = zip(measured.tables, weights.tolist(), strict=True)
        tables = [replace(table, precision=table.precision * weight) for table, weight in pairs]
        loss = loss_of(measured.blocks, measured.views, tables, measured.records)
        nearer, *_ = fitting.fit(loss, fitting.start_at(mixture), _DESCENT, enough=0.0)
        mixture = fitting.settled(
            loss, nearer, within(report, 100 * turn // _POLISHINGS, 100 * (turn + 1) // _POLISHINGS)
        )
    return mixture


def fit_mixture(
    measurement: NoisyAnswers,
    facts: Facts,
    ensemble: fitting.Ensemble | None = None,
    *,
    seed: int = 0,
    progress: Progress = unreported,
) -> tuple[Mixture, MeasuredTables]:
    """A mixture whose tables are as near to the noisy answers as noise explains, and that keeps to facts; and these.

    Cells that cannot occur have probability 0; known totals and tables of single attributes hold exactly, and known
    tables of several attributes about.  The ensemble is chosen by how far attributes are from independence unless
    given.  WorkloadError where no record was found that is possible.
    """
    measured = measured_tables(measurement, facts)
    loss = loss_of(measured.blocks, measured.views, measured.tables, measured.records)
    # How far the loss is from what noise explains if attributes were independent of one another, at least 1.
    logits = np.log(np.concatenate(measured.near))[:, None].astype(loss.dtype)
    alone, *_ = loss.evaluate(loss.blocks.softmax(logits), np.ones(1, dtype=loss.dtype))
    doublings = math.log2(max(alone / max(loss.freedom, 1), 1.0))
    chosen = ensemble or ensemble_for(doublings)
    spread = min(_SPREAD + _MORE_SPREAD * doublings, _MOST_SPREAD)
    known = {view.attribute for view in measured.views}
    spreads = [spread if attribute in known else 0.0 for attribute in range(len(measured.near))]  # the others: uniform
    if not loss.terms:
        chosen = replace(chosen, members=1)
    if not measured.records:  # every mixture has the same tables, all of them 0
        chosen = replace(chosen, members=1, descent=fitting.Descent(steps=0), together=fitting.Descent(steps=0))

    def start(classes: int, generator: np.random.Generator) -> fitting.StartLogits:
        near = fitting.start_near(measured.near, classes, spreads, generator)
        if not measured.possible:
            return near
        may = supports(measured.blocks, measured.near, measured.possible, classes, generator)
        if may is None:
            raise WorkloadError(f"no record was found that is possible under all of these: {facts.words}; correct one")
        return np.where(may, near[0], -np.inf), near[1]

    mean = fitting.fit_ensemble(loss, start, chosen, seed=seed, report=within(progress, 0, 90))
    single = {fact.attributes[0]: fact.counts for fact in facts.known if len(fact.attributes) == 1}
    sums = {attribute: counts / counts.sum() for attribute, counts in single.items() if counts.sum() > 0}
    fitted = polished(measured, mean, within(progress, 90, 100))
    progress(100, 100)
    return raked(fitted, sums) if sums else fitted, measured


def ensemble_for(doublings: float) -> fitting.Ensemble:
    """The ensemble where independence is so many doublings farther away than noise explains.  Source: eq. (73)."""
    is_far = doublings > _FAR
    steps = min(round(_STEPS + _MORE_STEPS * doublings), _MOST_STEPS)
    together = min(round(_TOGETHER * doublings), _MOST_TOGETHER)
    both = fitting.Descent(steps=steps), fitting.Descent(steps=together, rate=_FAR_RATE if is_far else _RATE)
    return fitting.Ensemble(_MEMBERS, _MORE_CLASSES if is_far else _CLASSES, *both)


def supports(
    blocks: OneHot, near: Sequence[FloatArray], tables: Sequence[Fact], classes: int, generator: np.random.Generator
) -> NDArray[np.bool_] | None:
    """The values that each class may have, (d', c), all of whose combinations can occur; None if no record was found.

    A record that can occur is searched for each class, by probabilities ``near``.  Then values are added to it, in
    random order, as long as all combinations can occur by all tables.
    """
    found = np.ones((blocks.count, classes), dtype=np.bool_)
    for number in range(classes):
        record = _searched(near, tables, generator)
        if record is None:
            return None
        for attribute, values in _grown(record, tables, blocks, generator).items():
            found[blocks.rows(attribute), number] = values
    return found


def _searched(
    near: Sequence[FloatArray], tables: Sequence[Fact], generator: np.random.Generator
) -> dict[int, int] | None:
    """The values of one record that can occur, by giving up values that leave none for another attribute."""
    every = {attribute: np.ones(len(near[attribute]), np.bool_) for table in tables for attribute in table.attributes}
    left = iter(range(_MOST_GIVEN))

    def completed(record: dict[int, int], may: dict[int, NDArray[np.bool_]]) -> dict[int, int] | None:
        if not may:
            return record
        attribute = min(may, key=lambda each: int(may[each].sum()))
        values = np.flatnonzero(may[attribute])
        chances = near[attribute][values] ** 0.5
        for value in generator.choice(values, len(values), replace=False, p=chances / chances.sum()).tolist():
            longer = {**record, attribute: value}
            others = {each: own for each, own in may.items() if each != attribute}
            rest = _narrowed(longer, others, [table for table in tables if attribute in table.attributes])
            found = None if rest is None or next(left, None) is None else completed(longer, rest)
            if found is not None:
                return found
        return None

    start = _narrowed({}, every, tables)
    return None if start is None else completed({}, start)


def _narrowed(
    record: dict[int, int], may: dict[int, NDArray[np.bool_]], tables: Sequence[Fact]
) -> dict[int, NDArray[np.bool_]] | None:
    """Which values each attribute that a record lacks may have by each table alone; None where one has none."""
    found = dict(may)
    for table in tables:
        part = table.counts[tuple(record.get(attribute, slice(None)) for attribute in table.attributes)] > 0
        for axis, attribute in enumerate(each for each in table.attributes if each not in record):
            found[attribute] = found[attribute] & part.any(tuple(other for other in range(part.ndim) if other != axis))
            if not found[attribute].any():
                return None
        if not part.any():
            return None
    return found


def _grown(
    record: dict[int, int], tables: Sequence[Fact], blocks: OneHot, generator: np.random.Generator
) -> dict[int, NDArray[np.bool_]]:
    """The values of each attribute in a product of sets around a record, all of whose combinations can occur."""
    values = {}
    for attribute, value in record.items():
        values[attribute] = np.zeros(blocks.sizes[attribute], dtype=np.bool_)
        values[attribute][value] = True
    more = [(attribute, value) for attribute in record for value in range(blocks.sizes[attribute])]
    for number in generator.permutation(len(more)).tolist():
        attribute, value = more[number]
        others: dict[int, Any] = {**values, attribute: [value]}
        with_it = (
            table.counts[np.ix_(*(others[each] for each in table.attributes))]
            for table in tables
            if attribute in table.attributes
        )
        if all((part > 0).all() for part in with_it):
            values[attribute][value] = True
    return values
