"""The least privacy cost that brings a convex loss down to a limit, found by planning for one budget after another.

Source: eq. (18).

The noise for a budget, made larger or smaller in proportion until it just reaches the limit, costs at least the least
cost; the planes below the loss cost at most it.  The two meet after a few budgets.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import BudgetError, SolverError
from residualplanner.method.noise.choice import NoiseChoice
from residualplanner.more.convex.bundle import ConvexProblem, Refined
from residualplanner.more.convex.convex import convex_problem, proportional_noise, solved_for
from residualplanner.more.convex.loss_function import ConvexFunction

#: A gap at which the search ends, and the most budgets that are planned for.
_CLOSE, _BUDGETS = 1e-8, 40
#: By what factor the next budget is larger where none has reached the limit.
_MORE = 16.0
#: The power of 2 up to which noise is made larger or smaller, and by what part less so that rounding oversteps nothing.
_LARGEST, _RESERVE = 300.0, 1e-11


def minimize_privacy_cost(
    pcost_coefficient: ArrayLike,
    variance_coefficient: sparse.csr_array,
    loss: ConvexFunction,
    *,
    at_most: float,
    solver: str = "CLARABEL",
) -> NoiseChoice:
    """Minimize ``sum_A p_A / s_A`` over ``s > 0`` subject to ``loss(M s) <= at_most``.

    Args:
        pcost_coefficient (m,) or (c, m): p_A > 0, the privacy cost of base mechanism A at unit noise; or one row for
            each of several ways D in which neighbors may differ, of which the largest sum counts.
        variance_coefficient (q, m): M >= 0, sparse; row Q gives Q's variance from the noise variances.
        loss: a convex function of the vector of variances (q,), on CVXPY expressions.
        at_most: the largest loss allowed.
        solver: a solver of CVXPY, such as "CLARABEL", or "ECOS" with the extra of that name.

    Returns:
        The cheapest noise found; its ``loss`` and ``bound`` are privacy costs.  The bound is a proof up to rounding:
        an average of tangents of the loss, by CVXPY's gradients; it is 0, and the gap infinite, where there are none.

    Raises:
        BudgetError: ``at_most`` is not finite, or no noise reaches it, or any noise does.
        MissingExtraError: the solver is ECOS, and it is not installed.
        SolverError: the solver is not installed or gave no usable answer.
        WorkloadError: the loss raises, or is not a convex scalar by CVXPY's rules.

    Source: eq. (18), the utility-constrained twin.

    Example:
        >>> import cvxpy
        >>> M = sparse.csr_array([[1.0, 0.0], [0.5, 1.0]])
        >>> round(minimize_privacy_cost([1.0, 0.5], M, cvxpy.sum, at_most=2.0).loss, 4)  # 3.7321 / 2
        1.866
    """
    if not np.isfinite(at_most):
        raise BudgetError(f"at_most must be finite, got {at_most!r}")
    problem = convex_problem(pcost_coefficient, variance_coefficient, loss, solver)
    search, budget = _BudgetSearch(), _likely_cost(problem, at_most)
    for _ in range(_BUDGETS):
        try:
            solved, status = solved_for(problem, loss, budget)
        except SolverError:
            if search.noise_variance is None:
                raise
            break  # what was found for other budgets, and its bound, are as good as before
        search = search.after(problem, solved, status, budget=budget, at_most=at_most)
        if search.bound == math.inf:
            raise BudgetError(f"no noise brings the loss down to at_most={at_most!r}; allow a larger loss")
        if search.is_over:
            break
        budget = search.next_budget
    return search.choice(at_most)


def costing_more(choice: NoiseChoice, _variance_coefficient: sparse.csr_array, factor: float) -> NoiseChoice:
    """A choice whose noise costs more than was known, by a factor."""
    return replace(choice, loss=choice.loss * factor)


@dataclass(frozen=True, eq=False, slots=True)
class _BudgetSearch:
    """What is known after some budgets.

    Attributes:
        noise_variance (m,): the cheapest noise that reaches the limit.
        cost: its privacy cost.
        bound: no noise of a smaller cost reaches the limit.
        missed: the largest budget whose best noise did not, as the solver has it; it guides the search only.
        budget: the last budget.
        is_slow: whether the last budget left more than half of the distance between the cost and the largest miss.
        status: of the solver.
    """

    noise_variance: FloatArray | None = None
    cost: float = math.inf
    bound: float = 0.0
    missed: float = 0.0
    budget: float = 0.0
    is_slow: bool = False
    status: str = ""

    def after(
        self, problem: ConvexProblem, solved: Refined, status: str, *, budget: float, at_most: float
    ) -> "_BudgetSearch":
        """What is known after one more budget."""
        bound = max(self.bound, solved.least_cost(at_most))
        missed = max(self.missed, budget) if solved.value > at_most else self.missed
        noise_variance = _largest_within(problem, solved.noise_variance, at_most)
        cost = math.inf if noise_variance is None else problem.cost(noise_variance)
        if not cost < self.cost:
            noise_variance, cost, status = self.noise_variance, self.cost, self.status or status
        is_slow = _distance(cost, bound, missed) > _distance(self.cost, self.bound, self.missed) / 2
        return _BudgetSearch(noise_variance, cost, bound, missed, budget, is_slow, status)

    @property
    def is_over(self) -> bool:
        """Whether the cost is the least, but for rounding, as far as the solver is right."""
        return _distance(self.cost, self.bound, self.missed) <= _CLOSE

    @property
    def next_budget(self) -> float:
        """The cost that was enough; halfway to what was not enough, where that brings little."""
        if self.noise_variance is None:
            return max(_MORE * self.budget, self.bound)
        known = max(self.bound, self.missed)
        return math.sqrt(self.cost) * math.sqrt(known) if self.is_slow and known else self.cost

    def choice(self, at_most: float) -> NoiseChoice:
        """The cheapest noise.

        Raises:
            BudgetError: none was found.
        """
        if self.noise_variance is None:
            raise BudgetError(
                f"no noise was found that brings the loss down to at_most={at_most!r}; allow a larger loss"
            )
        return NoiseChoice(frozen(self.noise_variance), self.cost, min(self.bound, self.cost), self.status)


def _distance(cost: float, bound: float, missed: float) -> float:
    """How far the cost is above what is known not to do, relative to it."""
    known = max(bound, missed)
    return cost / known - 1 if known > 0 and cost < math.inf else math.inf


def _likely_cost(problem: ConvexProblem, at_most: float) -> float:
    """The cost that reaches ``at_most`` if the loss is proportional to a power of the noise; a first guess."""
    variance = problem.M @ proportional_noise(problem, 1.0)
    ratio = problem.loss.value(variance) / at_most if at_most else 1.0
    if not 0 < ratio < math.inf:
        return 1.0
    guess = ratio ** (1 / (problem.loss.degree(variance) or 1.0))
    return guess if 0 < guess < math.inf else 1.0


def _largest_within(problem: ConvexProblem, noise_variance: FloatArray, at_most: float) -> FloatArray | None:
    """The largest multiple of this noise whose loss is within the limit; None if there is none.

    Raises:
        BudgetError: every multiple is.
    """

    def fits(power: float) -> bool:
        return problem.value(noise_variance * 2.0**power) <= at_most

    # No change first, then ever less noise, then ever more.
    powers = [0.0, *np.arange(-1.0, -_LARGEST, -1.0).tolist(), *np.arange(1.0, _LARGEST, 1.0).tolist()]
    low = next((power for power in powers if fits(power)), None)
    if low is None:
        return None
    high = next((power for power in np.arange(low + 1, _LARGEST + 1) if not fits(power)), None)
    if high is None:
        raise BudgetError(f"at_most={at_most!r} is reached by noise of any size: nothing is to be measured for it")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    within: FloatArray = noise_variance * 2.0**low
    less: FloatArray = within * (1 - _RESERVE)
    return less if problem.value(less) <= at_most else within
