"""An audit of the plans of `synthesis_plan`: many runs of their base mechanisms, and adversaries who tell them apart.

A plan of `synthesis_plan` chooses nothing from records: all of its tables follow from the schema and the budget.  So
what can leak is in the answers.  The likelihood adversary of `benchmarks.auditing` sees all of them.  The difference
adversary sees the answers about two attributes of two values each, whose noise has the same variance, and looks for
noise that came twice: it disappears from their difference, and the record does not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import residualplanner as rp
from benchmarks.auditing import Experiment, Scores, blocks, likelihood_scores
from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.measurement.measurement import groups_of_plan

DOMAIN = rp.Domain({"a": 2, "b": 2, "c": 3})
#: The record of the experiments: it moves the answers about a and about b in opposite directions.
RECORD = (1, 0, 2)


@dataclass(frozen=True)
class SynthesisExperiment:
    """A plan of `synthesis_plan`, and two tables of which one has a record more.

    Attributes:
        mechanism: what is run, and claimed to be the plan.
    """

    mechanism: Experiment

    @classmethod
    def of(cls, rho: str) -> "SynthesisExperiment":
        """At rho 0.1 single attributes are measured besides pairs; at 1, triples."""
        return cls(Experiment.adding(rp.fits.synthesis_plan(DOMAIN, rp.zcdp(rho)), RECORD))

    @property
    def cost(self) -> Fraction:
        """The pcost that is claimed for all answers."""
        return Fraction(self.mechanism.plan.pcost)

    @property
    def difference_cost(self) -> Fraction:
        """The pcost that the difference adversary can find: a change of 2 in noise of variance 4 noise variances."""
        return 1 / Fraction(self.mechanism.plan.noise_variances[_tables_of_one_shape(self.mechanism)[0]])

    def likelihood_scores(self, is_after: bool, runs: int, source: ByteSource) -> Scores:
        """The scores by all answers."""
        return likelihood_scores(self.mechanism, self._side(is_after), runs, source)

    def difference_scores(self, is_after: bool, runs: int, source: ByteSource) -> Scores:
        """How far the answers about a and b are apart, in standard deviations."""
        center = float(np.subtract(*self._exact()))
        found = np.concatenate(list(self._differences(is_after, runs, source)))
        blur = np.random.default_rng(int(is_after)).random(runs) / 1000  # scores that are all the same have no variance
        return (center - found) * math.sqrt(self.difference_cost) / 2 + blur

    def _differences(self, is_after: bool, runs: int, source: ByteSource) -> Iterator[Scores]:
        """The answer about a less that about b, up to 100,000 runs at a time."""
        groups = groups_of_plan(self.mechanism.plan)
        first, second = _tables_of_one_shape(self.mechanism)
        group = int(groups.group[first])
        for answers, several in blocks(self.mechanism, self._side(is_after), runs, source):
            stored = np.asarray(answers.stored(group), dtype=np.float64).reshape(-1, several) / answers.divisor(group)
            yield stored[groups.row[first]] - stored[groups.row[second]]

    def _exact(self) -> list[float]:
        """The residuals of a and b without the record: the first value's count less the second's."""
        table = self.mechanism.table
        return [float(np.subtract(*table.sum(axis=others))) for others in ((1, 2), (0, 2))]

    def _side(self, is_after: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return self.mechanism.neighbor if is_after else self.mechanism.table


def _tables_of_one_shape(mechanism: Experiment) -> tuple[int, int]:
    """The numbers of the sets {a} and {b}, which are of one group and have noise of the same variance."""
    sets = list(mechanism.plan.closure)
    first, second = sets.index((0,)), sets.index((1,))
    assert mechanism.plan.noise_variances[first] == mechanism.plan.noise_variances[second]
    return first, second
