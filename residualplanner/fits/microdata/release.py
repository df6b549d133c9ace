"""The residuals of a release as noisy answers, to which non-negative cells of all attributes together can be fitted.

Reads: a release.  Gives: NoisyGroups.  Costs no privacy budget.
"""

import math

import numpy as np

from residualplanner.fits.microdata.groups import Residual
from residualplanner.fits.microdata.laws import Gaussian
from residualplanner.fits.microdata.noisy_groups import GroupAnswers, NoisyGroups
from residualplanner.fits.microdata.solvers.sums import centered
from residualplanner.ground.errors import WorkloadError
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release

#: The most cells of a domain that are held in memory.
_CELLS = 50_000_000
#: The precision, relative to the largest, below which a set was measured only so that there is an answer.
_NEXT_TO_NOTHING = 1e-12


def groups_of_release(release: Release) -> NoisyGroups:
    """The component of every set that was measured, with its noise variance: all that a release says, without overlap.

    Sets that no query needs are left out: next to nothing was spent on them, and their answers are noise alone.

    Fits of it are fits of all tables of the release together: `least_squares` has the release's own estimates as its
    marginals, `nonnegative_least_squares` cells of which none is negative.  Sets of fewer attributes come first.

    Args:
        release: of marginals, with subtraction bases.

    Raises:
        ArgumentError: ``release`` is something else.
        WorkloadError: an attribute has another basis, or the whole domain has more than 50 million cells;
            `nonnegative` works on tables of any size.

    Guarantees: post-processing of what is released; it costs no budget.
    Source: eq. (48).

    Example:
        >>> from residualplanner import Domain, Workload, measure, reconstruct, select, zcdp
        >>> from residualplanner.fits.microdata.least_squares import least_squares
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a",), ("b",)]), budget=zcdp(1))
        >>> release = reconstruct(measure(plan, np.zeros((20, 2), dtype=int)))
        >>> fit = least_squares(groups_of_release(release))
        >>> bool(np.allclose(fit.table(["b"]), release["b"].estimate))
        True
    """
    release = release_of(release, "groups_of_release", "write groups_of_release(reconstruct(measurement))")
    plan = release.plan
    if plan.strategy.varying.any() or not all(basis.is_symmetric for basis in plan.strategy.of_attributes):
        raise WorkloadError("microdata are fitted to releases with subtraction bases only; nonnegative takes any bases")
    if plan.domain.cells(plan.domain.names) > _CELLS:
        raise WorkloadError(f"the domain has more than {_CELLS:,} cells; make tables non-negative by nonnegative")
    answers, most = [], float(plan.noise_variances.min()) / _NEXT_TO_NOTHING
    for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
        if variance > most:
            continue
        names = [plan.domain.names[position] for position in members]
        table = release[names].estimate
        component = centered(np.asarray(table), range(table.ndim))
        answers.append(GroupAnswers(Residual(names), component, Gaussian(math.sqrt(variance))))
    return NoisyGroups(plan.domain, answers)
