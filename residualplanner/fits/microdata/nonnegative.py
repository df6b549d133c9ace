"""Non-negative least squares: the cells, none negative, whose sums are nearest to the noisy answers.

Reads: noisy answers.  Gives: Fit.
"""

from collections.abc import Sequence

from residualplanner.fits.microdata.fit import Fit, fit_of
from residualplanner.fits.microdata.noisy_groups import NoisyGroups, problem_of
from residualplanner.fits.microdata.solvers.dual import Term
from residualplanner.fits.microdata.solvers.newton import Solution, solve
from residualplanner.fits.microdata.solvers.proximal import solve_without_cells
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import WorkloadError, memory_for

#: What to write where an argument is not noisy answers.
REMEDY = (
    "write NoisyGroups(domain, [GroupAnswers(Marginal(()), total, Laplace(2)), ...]), or groups_of_release(release)"
)


@memory_for("to fit a table of this size; leave out attributes")
def nonnegative_least_squares(noisy: NoisyGroups) -> Fit:
    """The non-negative cells with the least sum of squared errors of the answers, each divided by its variance.

    Args:
        noisy: answers of all groups, in one draw of the noise or in many.

    Returns:
        The fit.  Answers to all queries are unique; cells are if they were measured themselves.

    Raises:
        ArgumentError: ``noisy`` is something else.
        SolverError: the gap is above 1e-6.

    Guarantees: post-processing of noisy answers; it costs no budget.
    Cost: for few sums a tenth of a millisecond for each draw of 216 cells; for a million cells some seconds.
    Source: eqs. (81) to (83); Abowd et al., section 4.

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata.laws import Gaussian
        >>> from residualplanner.fits.microdata.noisy_groups import GroupAnswers
        >>> from residualplanner.fits.microdata.groups import Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), [3.0, -1.0], Gaussian(1.0))
        >>> total = GroupAnswers(Marginal(), 3.0, Gaussian(1.0))
        >>> nonnegative_least_squares(NoisyGroups(Domain({"a": 2}), [total, cells])).estimate
        array([3., 0.])
    """
    require_type("nonnegative_least_squares", "noisy", noisy, NoisyGroups, REMEDY)
    found = solved(noisy.domain.sizes, noisy.terms(), noisy.cell_group)
    return fit_of(noisy, found.cells, found.objective, gap=found.gap)


def require_counts(call: str, noisy: NoisyGroups) -> None:
    """Raise WorkloadError, naming the function called, unless every answer is a count with noise of its own."""
    if not all(sums.is_disjoint for sums in noisy.groups):
        raise WorkloadError(
            f"{call} judges each answer as a count beside its own noise; a release measures residuals, which are "
            "differences of counts: use nonnegative_least_squares or sequential_fit, or answers of Marginal groups"
        )


def solved(shape: tuple[int, ...], terms: Sequence[Term], cell_group: int | None) -> Solution:
    """The best cells for some terms, one of which may be about single cells."""
    problem = problem_of(shape, terms, cell_group)
    return solve_without_cells(shape, terms) if problem is None else solve(problem)
