"""Losses as users write them."""

from collections.abc import Callable
from typing import Any, Literal

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.losses.loss import Loss
from residualplanner.method.losses.variances import ConvexLoss, MaxVariance, SumOfVariances
from residualplanner.method.workload.workload import Workload, require_workload

#: What a word that is not a loss may stand for, and how it is written.
_NAMES = {"sum": "'sum'", "max": "'max'"} | {
    name: f"{name}(...)" for name in ("SumOfVariances", "MaxVariance", "Targets", "ConvexLoss")
}
#: What `select` accepts as a loss.
LossLike = Literal["sum", "max"] | Loss | Callable[[Any], Any]


def read_loss(loss: LossLike) -> Loss:
    """The loss as an object; WorkloadError where it is not one that `select` accepts."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in ("sum", "max"):
        return SumOfVariances() if loss == "sum" else MaxVariance()
    if callable(loss) and not (isinstance(loss, type) and issubclass(loss, Loss)):
        return ConvexLoss(loss)
    word = loss.__name__ if isinstance(loss, type) else loss
    raise WorkloadError(
        "loss must be 'sum', 'max', SumOfVariances(...), MaxVariance(...), Targets(...) or a function of a CVXPY "
        f"vector, got {value_text(loss)}{suggestion(word, _NAMES)}"
    )


def svd_bound(workload: Workload, *, loss: LossLike = "sum") -> float:
    """No unbiased linear mechanism with Gaussian noise and privacy cost 1 has a loss below this.

    For the sum of all cell variances it is ``(sum of the singular values of W)**2 / N``, where W has a row for each
    cell of each query, times the root of its weight, and a column for each of the N cells of the domain.  The loss at
    privacy cost c is at least the bound over c.  Marginals reach it; other workloads may stay above it.

    For the largest cell variance it is the largest such bound of all sums in which cells have weights that add up to 1.

    Args:
        workload: the queries.
        loss: "sum", "max", `SumOfVariances` or `MaxVariance`, as for `select`.

    Returns:
        The bound, in counts squared; for "max" usually within 1e-5 of the best such bound.

    Raises:
        WorkloadError: it is another loss, its weights do not fit, or the eigenvalues of a matrix of more than 6,000
            rows would be needed (2,000 for "max", or a weight for each of more than 500,000 cells).

    Guarantees: up to rounding, a lower bound; of "max" so even where the search for weights stopped early.
    Cost: for marginals, and for queries that have all but marginals in common, as much as `select`.  Else eigenvalues
        of matrices whose rows are, for each set of attributes that a query has in other kinds than identity,
        the product of their sizes less one; for "max" of some tens of them.
    Source: eq. (33).

    Example:
        >>> from residualplanner import Domain, Prefix, marginals
        >>> cps = Domain({"income": 50, "age": 100, "race": 7, "marital": 4, "sex": 2})
        >>> pairs = marginals(cps, order=2)
        >>> round(float(svd_bound(pairs) / pairs.cells.sum()) ** 0.5, 3)  # root mean square error
        2.035
        >>> round(svd_bound(marginals(cps, order=1, kinds={"age": Prefix(), "income": Prefix()}), loss="max"), 3)
        9.603
    """
    require_workload("svd_bound", workload)
    return read_loss(loss).svd_bound(workload)
