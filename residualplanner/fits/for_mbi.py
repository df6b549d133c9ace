"""Noisy answers as measurements of the package mbi, whose graphical models (Private-PGM) then fit them.

mbi minimizes a sum of squares, each over the variance of its noise.  With a measurement for each residual this is the
likelihood of all that was measured; with one for each table it would not be, as tables share residuals.
Source: eqs. (6), (7) and (48); McKenna, Sheldon and Miklau, Graphical-model based estimation and inference for
differential privacy, ICML 2019.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import needing
from residualplanner.method.kron.arrays import Array
from residualplanner.release.stacks import components_of_answers


class MbiProblem(NamedTuple):
    """What the estimators of mbi start from: ``mbi.estimation.MirrorDescent().estimate(*problem)``.

    Attributes:
        domain: an ``mbi.Domain``, with the labels of all values.
        measurements: a list of ``mbi.LinearMeasurement``, one for each set of attributes.
    """

    domain: Any
    measurements: list[Any]


@dataclass(frozen=True, slots=True)
class ResidualQuery:
    """The query of a residual, as mbi calls it: from a table to what was measured of it, flat."""

    # the matrix (m, n) whose products were measured along each axis; None for deviations from the mean, which are what
    # the noise of the subtraction basis is about
    axes: tuple[FloatArray | None, ...]

    def __call__(self, factor: Any) -> Array:
        """The residual of a factor of mbi, flat; its array may be of any library, such as one that JAX is tracing."""
        table = factor.datavector(flatten=False)
        for axis, rows in enumerate(self.axes):
            if rows is None:
                table = table - table.mean(axis=axis, keepdims=True)
            else:
                table = (table.swapaxes(axis, -1) @ rows.T).swapaxes(axis, -1)
        return table.reshape(-1)

    def op_norm_sq(self) -> float:
        """The squared norm of the query, from which mbi takes the length of its steps; a projection has norm 1."""
        return math.prod(1.0 if each is None else float(np.linalg.norm(each, 2)) ** 2 for each in self.axes)


def mbi_problem(measurement: NoisyAnswers) -> MbiProblem:
    """Noisy answers for mbi: a measurement for each set of attributes, with the standard deviation of its noise.

    MissingExtraError where mbi is not installed.  Source: eqs. (7) and (48).
    """
    with needing("to_mbi needs mbi, which is not installed", "mbi"):
        import mbi
    plan = measurement.plan
    groups, closure = measurement.residuals.groups, list(plan.closure)
    std_dev, found = np.sqrt(plan.noise_variances), {}
    for group, bases in enumerate(groups.bases):
        query = ResidualQuery(tuple(None if each.takes_differences else each.before_noise.matrix for each in bases))
        components = components_of_answers(bases)
        values = components.apply(np.array(measurement.residuals.block(group), dtype=np.float64))
        for number, value in zip(groups.members[group].tolist(), values, strict=True):
            clique = tuple(plan.domain.names[position] for position in closure[number])
            found[number] = mbi.LinearMeasurement(value.ravel(), clique, float(std_dev[number]), query)
    total, *others = (found[number] for number in range(len(closure)))
    noise = total.stddev
    if plan.neighbors.has_public_total:
        # It has next to no noise, which would only shorten mbi's steps, as mbi takes the total as it is: the least of
        # all others is stated.
        noise = float(min(each.stddev / math.sqrt(each.query.op_norm_sq()) for each in others))
    # Without a query of its own it is a count, off which mbi reads the total.
    measurements = [mbi.LinearMeasurement(total.noisy_measurement, (), noise), *others]
    names, labels = plan.domain.names, [attribute.value_labels for attribute in plan.domain.attributes]
    return MbiProblem(mbi.Domain(names, plan.domain.sizes, labels), measurements)
