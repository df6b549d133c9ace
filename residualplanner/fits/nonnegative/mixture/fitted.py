"""A mixture fitted to a release.

Reads: a measurement, facts.  Gives: FittedMixture.
Source: docs/mathematics.md section 13.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from residualplanner.fits.mixtures import (
    Descent,
    Ensemble,
    Loss,
    Mixture,
    Start,
    fit_ensemble,
    raked,
    start_near,
    supports,
    unreported,
)
from residualplanner.fits.nonnegative.components import answers_of
from residualplanner.fits.nonnegative.facts import Facts
from residualplanner.fits.nonnegative.mixture.answers import MeasuredTables, measured_tables
from residualplanner.fits.nonnegative.mixture.polishing import polished
from residualplanner.gate.measurement.answers import FloatResiduals
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError

#: Steps of a fit whose start is as near as noise allows, how many more for every doubling of its distance, and at most.
_STEPS, _MORE_STEPS, _MOST_STEPS = 110, 40, 300
#: Steps of the mean, as one mixture, for every doubling, and at most; their rate, and that of a start that is far away.
_TOGETHER, _MOST_TOGETHER, _RATE, _FAR_RATE = 65, 300, 0.1, 0.2
#: How many mixtures, and latent classes of each; how many doublings are far, and how many classes there then are.
_MEMBERS, _CLASSES, _FAR, _MORE_CLASSES = 5, 50, 3.0, 100
#: The standard deviation of the logits of starts that are as near as noise allows, how much more it is for every
#: doubling of their distance, and its maximum.
_SPREAD, _MORE_SPREAD, _MOST_SPREAD = 0.3, 0.2, 1.0


@dataclass(frozen=True, eq=False, slots=True)
class FittedMixture:
    """A mixture whose tables are near those of a release.

    Attributes:
        mixture: the distribution of one record.
        records: how many records it stands for.
        measured: what it was fitted to.
        loss: of each member of the ensemble, in units of the noise.
        steps: of each member.
    """

    mixture: Mixture
    records: float
    measured: MeasuredTables
    loss: tuple[float, ...]
    steps: tuple[int, ...]

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
    tables of several attributes about.

    Args:
        measurement: the noisy answers.
        facts: what is known anyway.
        ensemble: how many mixtures of how many latent classes; chosen by how far the attributes are from
            independence, in units of the noise, unless given.
        seed: of the starts.
        progress: called with the number of mixtures fitted, and how many there will be.

    Raises:
        WorkloadError: no record was found that is possible under the facts.
    """
    measured = measured_tables(measurement, facts)
    loss = measured.loss()
    doublings = math.log2(distance_of_independence(loss, measured))
    chosen = ensemble or ensemble_for(doublings)
    spread = min(_SPREAD + _MORE_SPREAD * doublings, _MOST_SPREAD)
    known = {view.attribute for view in measured.views}
    spreads = [spread if attribute in known else 0.0 for attribute in range(len(measured.near))]  # the others: uniform
    if not loss.terms:
        chosen = replace(chosen, members=1)
    if not measured.records:  # every mixture has the same tables, all of them 0
        chosen = replace(chosen, members=1, descent=Descent(steps=0), together=Descent(steps=0))

    def start(classes: int, generator: np.random.Generator) -> Start:
        near = start_near(measured.near, classes, spreads, generator)
        if not measured.possible:
            return near
        may = supports(measured.blocks, measured.near, measured.possible, classes, generator)
        if may is None:
            raise WorkloadError(f"no record was found that is possible under all of these: {facts.words}; correct one")
        return Start(np.where(may, near.logits, -np.inf), near.weights)

    found = fit_ensemble(loss, start, chosen, seed=seed, report=progress)
    alone = {fact.attributes[0]: fact.counts for fact in facts.known if len(fact.attributes) == 1}
    sums = {attribute: counts / counts.sum() for attribute, counts in alone.items() if counts.sum() > 0}
    fitted = polished(measured, found.mixture)
    mixture = raked(fitted, sums) if sums else fitted
    return FittedMixture(
        mixture,
        measured.records,
        measured,
        tuple(each.loss for each in found.members),
        tuple(each.steps for each in found.members),
    )


def distance_of_independence(loss: Loss, measured: MeasuredTables) -> float:
    """The loss if attributes were independent of one another, in units of what noise explains, at least 1."""
    logits = np.log(np.concatenate(measured.near))[:, None].astype(loss.dtype)
    alone, _ = loss.evaluate(loss.blocks.softmax(logits), np.ones(1, dtype=loss.dtype))
    return max(alone / max(loss.freedom, 1), 1.0)


def ensemble_for(doublings: float) -> Ensemble:
    """The ensemble where independence is so many doublings farther away than noise explains.

    Source: eq. (73).
    """
    is_far = doublings > _FAR
    steps = min(round(_STEPS + _MORE_STEPS * doublings), _MOST_STEPS)
    together = min(round(_TOGETHER * doublings), _MOST_TOGETHER)
    return Ensemble(
        _MEMBERS,
        _MORE_CLASSES if is_far else _CLASSES,
        Descent(steps=steps),
        Descent(steps=together, rate=_FAR_RATE if is_far else _RATE),
    )
