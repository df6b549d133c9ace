"""The best noise for any convex loss, and the least cost that reaches one, for either notion of neighbors.

Reads: a problem of noise, a function on CVXPY expressions.  Gives: NoiseChoice.
Source: spec eqs. (18), (27) and (37).
"""

from dataclasses import dataclass, replace

from scipy import sparse

from residualplanner._checks import FloatArray, frozen
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.convex import minimize_convex_loss
from residualplanner.optimize.noise.least_cost import minimize_privacy_cost
from residualplanner.optimize.noise.loss_function import ConvexFunction
from residualplanner.optimize.noise.unit_noise import NoiseProblem
from residualplanner.strategy import unit_costs, variance_matrix

#: Up to this many attributes, all ways to differ are constraints of their own; above it a safe bound takes their place.
_CORNERS = 10
#: The noise of a total that costs nothing, relative to that of the first attribute.
_TIED = 2.0**-60


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """What a solver is given.

    Attributes:
        rows (c, f): the costs at unit noise of the sets whose noise is free to choose, a row for each way to differ.
        variance (q, f): the variances of the queries from that noise.
        noise (m, f): the noise of all sets from that noise.
        remark: what the status says besides.
    """

    rows: FloatArray
    variance: sparse.csr_array
    noise: sparse.csr_array
    remark: str

    def whole(self, choice: NoiseChoice) -> NoiseChoice:
        """The choice for all sets."""
        noise_variance = frozen(self.noise @ choice.noise_variance)
        return replace(choice, noise_variance=noise_variance, status=choice.status + self.remark)


def least_convex(problem: NoiseProblem, loss: ConvexFunction, solver: str, *, pcost: float) -> NoiseChoice:
    """The noise of privacy cost ``pcost`` with the least loss.  Source: spec eq. (18)."""
    task = _task(problem)
    return task.whole(minimize_convex_loss(task.rows, task.variance, loss, pcost=pcost, solver=solver))


def least_cost(problem: NoiseProblem, loss: ConvexFunction, solver: str, *, at_most: float) -> NoiseChoice:
    """The noise of the least privacy cost whose loss is at most ``at_most``.  Source: spec eq. (18)."""
    task = _task(problem)
    return task.whole(minimize_privacy_cost(task.rows, task.variance, loss, at_most=at_most, solver=solver))


def _task(problem: NoiseProblem) -> _Task:
    closure = problem.workload.closure
    costs = unit_costs(closure, problem.numbers, problem.neighbors, corner_limit=_CORNERS)
    rows, variance = costs.rows(costs.every), variance_matrix(problem.workload, closure, problem.numbers)
    noise, total = sparse.eye_array(len(closure), format="csr"), int(closure.offsets[1])
    if (costs.largest > 0).all():
        return _Task(rows, variance, noise, costs.remark)
    tied = sparse.csr_array(([_TIED], ([0], [0])), shape=(total, len(closure) - total))
    noise = sparse.csr_array(sparse.vstack([tied, noise[total:, total:]]))
    return _Task(rows[:, total:], sparse.csr_array(variance @ noise), noise, costs.remark)
