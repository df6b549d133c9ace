"""Losses as users write them, and as files hold them."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.losses.loss import GIVEN, RULES, DescribedLoss, Loss
from residualplanner.method.losses.targets import Targets
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


def loss_from_archive(header: object, arrays: Mapping[str, NDArray[Any]], queries: int) -> Loss:
    """Undo `Loss.to_archive` for so many queries, checking everything; FileFormatError where something does not fit."""
    fields = header if isinstance(header, dict) else {}
    kind, weights = fields.get("kind"), fields.get("weights")
    needed = {"weights"} if weights == GIVEN else {"margins"} if kind == "targets" else set()
    if set(arrays) != needed:
        raise FileFormatError("a plan's loss must have the weights or targets that it names, and no other arrays")
    for name, array in arrays.items():
        if array.dtype != np.dtype("<f8") or array.shape != (queries,) or not (array >= 0).all() or not array.any():
            raise FileFormatError(f"a plan's {name} must be a number, at least 0, for each query, and not all 0")
        if not np.isfinite(array).all():
            raise FileFormatError(f"a plan's {name} must be finite")
    if kind == "sum" and set(fields) == {"kind", "weights"} and weights in (*RULES, GIVEN):
        return SumOfVariances(arrays.get("weights", weights))
    if kind == "max" and set(fields) == {"kind", "weights"} and weights in (*RULES, GIVEN, None):
        return MaxVariance(arrays.get("weights", weights))
    if kind == "targets" and set(fields) == {"kind", "level", "reserve"}:
        try:
            return Targets(
                np.where(arrays["margins"] > 0, arrays["margins"], np.nan), fields["level"], fields["reserve"]
            )
        except BudgetError as error:
            raise FileFormatError(f"invalid targets in a plan: {error}") from error
    words = fields.get("words")
    if kind == "described" and set(fields) == {"kind", "words"} and isinstance(words, str) and len(words) <= 1000:
        return DescribedLoss(words)
    raise FileFormatError(
        f"a plan's loss must be one of the kinds sum, max, targets and described, got {header!r:.200}"
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
