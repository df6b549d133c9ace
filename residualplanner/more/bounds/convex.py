"""The sum of variances that touches a convex loss where noise is best, so that bounds of sums are bounds of the loss.

With g the slopes of the loss at the variances v of a plan, no variances that have the loss of v, or a smaller one, have
a smaller sum weighted by g: where they did, the loss would be smaller, by convexity.  So no mechanism has the loss of
the plan at less than the part of its privacy cost that is the bound of that sum, divided by what it is here.

Source: eqs. (18) and (33).
"""

import numpy as np

from residualplanner.method.losses import SumOfVariances
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.noise.noise_problem import NoiseProblem
from residualplanner.more.convex.loss_function import ConvexFunction, read_loss_function

#: In how many directions, and how far, it is looked whether slopes change by more than this fraction, as at a kink.
_LOOKS, _NEAR, _TURNED = 8, 1e-5, 1e-2


def touching_sum(
    problem: NoiseProblem, found: ChosenNoise, loss: ConvexFunction
) -> tuple[SumOfVariances, float] | None:
    """The sum with the slopes of a loss as weights, and what it is for some noise; None at a kink."""
    workload, function = problem.workload, read_loss_function(loss, len(problem.workload))
    variances = problem.average_variances(found)
    moves = 1 + _NEAR * np.random.default_rng(0).standard_normal((_LOOKS, len(variances)))
    slopes = np.array([function.subgradient(variances * each) for each in (np.ones(len(variances)), *moves)])
    value = float(slopes[0] @ variances)
    with np.errstate(all="ignore"):
        turned = np.abs(slopes - slopes[0]) @ variances / value
        weights = slopes[0] / workload.weights
    if not (np.isfinite(weights).all() and weights.min() >= 0 and value > 0 and turned.max() <= _TURNED):
        return None
    return SumOfVariances(weights), value
