"""A mixture fitted to a release.  Source: docs/mathematics.md section 13."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from residualplanner.fits.mixtures.fitting import (
    Descent,
    Ensemble,
    StartLogits,
    fit,
    fit_ensemble,
    settled,
    start_at,
    start_near,
)
from residualplanner.fits.mixtures.loss import loss_of
from residualplanner.fits.mixtures.mixture import Mixture, raked
from residualplanner.fits.mixtures.records import unreported
from residualplanner.fits.mixtures.support import supports
from residualplanner.fits.nonnegative.components import ComponentLayout, answers_of, measured_components, noise_like
from residualplanner.fits.nonnegative.facts import Facts
from residualplanner.fits.nonnegative.measured_tables import MeasuredTables, fit_quality, measured_tables
from residualplanner.fits.nonnegative.newton import ROUNDING
from residualplanner.gate.measurement.answers import FloatResiduals
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.release.numbers import Estimates
from residualplanner.release.release import Release

#: How often tables are looked at, and what is done in between.
_POLISHINGS, _DESCENT = 2, Descent(steps=40, rate=0.07)
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


def polished(measured: MeasuredTables, mixture: Mixture) -> Mixture:
    """A mixture near another, with fewer tables that fit worse than noise explains; itself where there are none.

    Few cells count little in a sum over all: the table of sex alone, or of two attributes that depend on each other
    strongly, is given up for the noise of large tables.  Such a table gets more weight.  Source: eq. (78).
    """
    weights = np.ones(len(measured.tables))
    for _ in range(_POLISHINGS):
        quality = fit_quality(measured, measured.components_of(mixture))
        if not quality.is_worse.any():
            break
        ratios = np.maximum(quality.distances / np.maximum(quality.freedoms, 1), 1.0)
        weights = np.minimum(np.where(quality.is_worse, weights * ratios, weights), _MOST_WEIGHT)
        pairs = zip(measured.tables, weights.tolist(), strict=True)
        tables = [replace(table, precision=table.precision * weight) for table, weight in pairs]
        loss = loss_of(measured.blocks, measured.views, tables, measured.records)
        mixture = settled(loss, fit(loss, start_at(mixture), _DESCENT, enough=0.0).mixture)
    return mixture


@dataclass(frozen=True, eq=False, slots=True)
class FittedMixture:
    """A mixture whose tables are near those of a release."""

    mixture: Mixture  # the distribution of one record
    records: float  # how many records it stands for
    measured: MeasuredTables  # what it was fitted to
    loss: tuple[float, ...]  # of each member of the ensemble, in units of the noise
    steps: tuple[int, ...]  # of each member

    def components(self) -> list[FloatArray]:
        """The components of every set but the empty one, in the order of the closure, in counts."""
        return self.measured.components_of(self.mixture)

    def residuals(self) -> FloatResiduals:
        """The residual answers that its tables have."""
        layout = self.measured.layout
        found = np.empty(layout.count)
        found[0] = self.records
        numbers = [number for number, members in enumerate(self.measured.plan.closure) if members]
        for number, values in zip(numbers, self.components(), strict=True):
            layout.put(found, number, values)
        return answers_of(layout, found)


def fit_mixture(
    measurement: NoisyAnswers,
    facts: Facts,
    ensemble: Ensemble | None = None,
    *,
    seed: int = 0,
    progress: Progress = unreported,
) -> FittedMixture:
    """A mixture whose tables are as near to the noisy answers as noise explains, and that keeps to facts.

    Cells that cannot occur have probability 0; known totals and tables of single attributes hold exactly, and known
    tables of several attributes about.  The ensemble is chosen by how far attributes are from independence unless
    given.  WorkloadError where no record was found that is possible.
    """
    measured = measured_tables(measurement, facts)
    loss = measured.loss()
    # How far the loss is from what noise explains if attributes were independent of one another, at least 1.
    logits = np.log(np.concatenate(measured.near))[:, None].astype(loss.dtype)
    alone, _ = loss.evaluate(loss.blocks.softmax(logits), np.ones(1, dtype=loss.dtype))
    doublings = math.log2(max(alone / max(loss.freedom, 1), 1.0))
    chosen = ensemble or ensemble_for(doublings)
    spread = min(_SPREAD + _MORE_SPREAD * doublings, _MOST_SPREAD)
    known = {view.attribute for view in measured.views}
    spreads = [spread if attribute in known else 0.0 for attribute in range(len(measured.near))]  # the others: uniform
    if not loss.terms:
        chosen = replace(chosen, members=1)
    if not measured.records:  # every mixture has the same tables, all of them 0
        chosen = replace(chosen, members=1, descent=Descent(steps=0), together=Descent(steps=0))

    def start(classes: int, generator: np.random.Generator) -> StartLogits:
        near = start_near(measured.near, classes, spreads, generator)
        if not measured.possible:
            return near
        may = supports(measured.blocks, measured.near, measured.possible, classes, generator)
        if may is None:
            raise WorkloadError(f"no record was found that is possible under all of these: {facts.words}; correct one")
        return StartLogits(np.where(may, near.logits, -np.inf), near.weights)

    mean, members = fit_ensemble(loss, start, chosen, seed=seed, report=progress)
    single = {fact.attributes[0]: fact.counts for fact in facts.known if len(fact.attributes) == 1}
    sums = {attribute: counts / counts.sum() for attribute, counts in single.items() if counts.sum() > 0}
    fitted = polished(measured, mean)
    mixture, steps = raked(fitted, sums) if sums else fitted, tuple(each.steps for each in members)
    return FittedMixture(mixture, measured.records, measured, tuple(each.loss for each in members), steps)


def ensemble_for(doublings: float) -> Ensemble:
    """The ensemble where independence is so many doublings farther away than noise explains.  Source: eq. (73)."""
    is_far = doublings > _FAR
    steps = min(round(_STEPS + _MORE_STEPS * doublings), _MOST_STEPS)
    together = min(round(_TOGETHER * doublings), _MOST_TOGETHER)
    both = Descent(steps=steps), Descent(steps=together, rate=_FAR_RATE if is_far else _RATE)
    return Ensemble(_MEMBERS, _MORE_CLASSES if is_far else _CLASSES, *both)


def mixture_draws(
    facts: Facts, measurement: NoisyAnswers, adjusted: NoisyAnswers
) -> Callable[[np.random.Generator], tuple[Estimates, float]]:
    """For each draw of the noise around ``adjusted``: tables of a mixture, and how far zeros are off by rounding."""
    plan = measurement.plan
    layout = ComponentLayout(basis_groups(plan.strategy))
    center = measured_components(layout, adjusted)

    def draw(generator: np.random.Generator) -> tuple[Estimates, float]:
        noisy = answers_of(layout, center + noise_like(layout, plan.noise_variances, generator))
        fitted = fit_mixture(measurement.with_residuals(noisy), facts, seed=int(generator.integers(2**31)))
        return Release(adjusted.with_residuals(fitted.residuals())).estimates, 3 * ROUNDING * fitted.records

    return draw
