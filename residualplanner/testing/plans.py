"""Whether a plan does what it states, from what the gate answers to single records.

The gate is a linear map and noise.  With next to no noise its answers to each single record are the columns of the map:
from these alone follow the privacy cost, the errors of least squares, and whether estimates are the truth.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np

from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.measure import measure
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.ground.checks import FloatArray, IntArray, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.kron.axis_maps import kronecker
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import pcost
from residualplanner.method.queries.kind import Kind
from residualplanner.release.reconstruct import reconstruct
from residualplanner.testing.comparing import agree, exact_precision, require

#: A record of each cell is measured: of more cells this would take minutes.
MOST_CELLS = 1_000
#: The variance of next to no noise.  Answers to a record are integers, and this near to them.
_QUIET, _NEAR = 2.0**-40, 1e-3
#: Costs this near, relatively, to the largest one may be it; so many of them are compared exactly.
_CLOSE, _MOST = 1e-9, 12
#: Estimates are within so many standard errors: one of a million is not once in a billion runs.
_ERRORS = 8


class AnswersOfSet(NamedTuple):
    """What is measured of one set of attributes, as the gate shows it."""

    rows: IntArray  # (a, cells), the answers to one record of each cell
    bases: tuple[Basis, ...]
    noise_variance: float

    def exact_cost(self, change: IntArray) -> Fraction:
        """What a change of the counts (cells,) costs, in squared standard deviations of the noise."""
        moved = (self.rows @ change).astype(object).reshape([basis.answers for basis in self.bases])
        weighted = moved
        for axis, basis in enumerate(self.bases):
            weighted = np.moveaxis(np.tensordot(exact_precision(basis), weighted, axes=(1, axis)), 0, axis)
        return Fraction(np.asarray(moved * weighted, dtype=object).sum()) / Fraction(self.noise_variance)

    @property
    def whitened(self) -> FloatArray:
        """The rows for independent noise, of variance 1 where the set has noise of variance 1, (a, cells)."""
        after = [basis.after_noise.matrix for basis in self.bases]
        whitening = kronecker(np.linalg.inv(np.linalg.cholesky(each @ each.T)).astype(np.float64) for each in after)
        return whitening @ self.rows


def check_plan(plan: Plan) -> None:
    """Check that a plan costs what it charges, has the errors that it states, and gives the truth without noise.

    A record of each cell of the domain is measured by `measure` itself, with next to no noise.

    Args:
        plan: on a domain of at most 1,000 cells.

    Raises:
        AssertionError: a basis is measured in other rows than it states; two neighbors cost more than the plan states,
            or than `measure` charges; a variance is not that of least squares, in counts squared; an estimate is not
            the truth.  The message says which.
        ArgumentError: ``plan`` is none.
        WorkloadError: the domain has too many cells.

    Guarantees: costs are compared in exact fractions.  That the noise has its variance is not checked.
    Cost: one measurement for each cell.
    Source: eq. (2), paper Definition 2: the largest ``d^T B^T Sigma^-1 B d`` of all differences d of neighbors.

    Example:
        >>> from residualplanner import Domain, Prefix, Workload, select, zcdp
        >>> workload = Workload(Domain({"age": 4, "sex": 2}), [{"age": Prefix()}, ("sex",)])
        >>> check_plan(select(workload, budget=zcdp(1)))
    """
    require_type("check_plan", "plan", plan, Plan, "write check_plan(select(workload, budget=zcdp(1)))")
    sizes = plan.domain.sizes
    require_small(plan.domain)
    noise = np.full(len(plan.closure), _QUIET)
    quiet = replace(plan, noise_variances=noise, budget=pcost("1e300"), dual_weights=None)
    measurements = [_measured(quiet, cell)[0] for cell in np.ndindex(*sizes)]
    answers = list(_answers(plan, measurements))
    _require_cost(plan, answers)
    _require_errors(plan, answers)
    _require_truth(plan, answers, measurements)


def require_small(domain: Domain) -> None:
    """Raise WorkloadError where a domain has more cells than a check can measure."""
    cells = math.prod(domain.sizes)
    if cells > MOST_CELLS:
        problem = f"a record of every cell is measured, and the domain has {cells:,} cells"
        raise WorkloadError(f"{problem}; check at most {MOST_CELLS:,}, with fewer values or attributes")


def rows_of_query(plan: Plan, number: int) -> FloatArray:
    """What a record of each cell adds to each answer of a query of the workload, from the kinds' matrices, (q, cells).

    Source: eqs. (1) and (58).
    """
    written, sizes = plan.workload.query_at(number), plan.domain.sizes
    kinds = dict(zip(written.positions, written.kinds, strict=True))
    matrices = {position: np.asarray(kind.matrix(sizes[position])) for position, kind in kinds.items()}
    return np.stack([_answers_to(kinds, matrices, cell).ravel() for cell in np.ndindex(*sizes)], axis=1)


def _answers_to(kinds: Mapping[int, Kind], matrices: Mapping[int, FloatArray], cell: Sequence[int]) -> FloatArray:
    """What a record adds: a product of one entry for each attribute; of joint ones, whether enough of them match."""
    product: FloatArray = np.ones([len(matrices[position]) for position in kinds])
    matches = {kind: np.zeros(product.shape) for kind in kinds.values() if kind.at_least}
    for axis, (position, kind) in enumerate(kinds.items()):
        column = matrices[position][:, cell[position]].reshape([-1 if i == axis else 1 for i in range(len(kinds))])
        if kind.at_least:
            matches[kind] += column
        else:
            product = product * column
    return reduce(np.multiply, (found >= kind.at_least for kind, found in matches.items()), product)


def _measured(plan: Plan, *cells: tuple[int, ...]) -> tuple[Measurement, Fraction]:
    """The answers to a record in each of some cells, and what they are charged."""
    domain, neighbors = plan.domain, plan.neighbors
    record = math.prod(attribute.denominator for attribute in domain.attributes) * domain.denominator
    counts = np.zeros(domain.sizes, dtype=np.int64)
    for cell in cells:
        counts[cell] += record
    ledger = Ledger.unlimited(
        "the records of a check are invented",
        neighbors=neighbors.notion,
        records_per_person=neighbors.records_per_person,
    )
    return measure(plan, {domain.names: counts}, ledger=ledger), ledger.spent


def _answers(plan: Plan, measurements: Sequence[Measurement]) -> Iterator[AnswersOfSet]:
    """The answers of each set to one record of each cell, which must be those that its bases state."""
    values = np.stack([measurement.residuals.values for measurement in measurements], axis=1)
    groups, sets = measurements[0].residuals.groups, list(plan.closure)
    sizes, start = plan.domain.sizes, 0
    for bases, members in zip(groups.bases, groups.members, strict=True):
        for number in members.tolist():
            stop = start + math.prod(basis.answers for basis in bases)
            factors: list[FloatArray] = [np.ones((1, size)) for size in sizes]
            for position, basis in zip(sets[number], bases, strict=True):
                factors[position] = basis.after_noise.matrix @ basis.before_noise.matrix
            stated = np.rint(kronecker(factors))
            what = f"the answers of {[plan.domain.names[i] for i in sets[number]]} to single records"
            remedy = "what `measure` multiplies counts by, `integer_maps`, is not the basis' `before_noise`"
            agree(
                values[start:stop], stated, what, remedy, within=_NEAR / max(1.0, float(np.abs(stated).max(initial=0)))
            )
            yield AnswersOfSet(stated.astype(np.int64), bases, float(plan.noise_variances[number]))
            start = stop


def _require_cost(plan: Plan, answers: Sequence[AnswersOfSet]) -> None:
    """The largest costs are found in floating point, and compared exactly."""
    rows = np.concatenate([each.whitened / math.sqrt(each.noise_variance) for each in answers])
    gram, cells = rows.T @ rows, np.eye(rows.shape[1], dtype=np.int64)
    own, neighbors = np.diag(gram), plan.neighbors
    is_replaced = neighbors.has_public_total
    costs = own[:, None] + own - 2 * gram if is_replaced else own[:, None]
    factor = neighbors.records_per_person**2 * Fraction(neighbors.largest_weight) ** 2
    charged = _measured(replace(plan, budget=pcost("1e300")))[1]
    # What is charged is the cost of the noise as it is drawn, whose precision is rounded by a few units of 2**-53.
    limits = {"the plan states": Fraction(plan.pcost), "`measure` charges": charged * (1 + Fraction(1, 2**50))}
    for first, second in np.argwhere(costs >= costs.max() * (1 - _CLOSE))[:_MOST].tolist():
        change = cells[first] - cells[second] if is_replaced else cells[first]
        cost = factor * sum((each.exact_cost(change) for each in answers), Fraction(0))
        into = f" replaced by ones of {_words(plan, second)}" if is_replaced else ""
        for words, limit in limits.items():
            message = (
                f"the records of one person of {_words(plan, first)}{into} cost pcost {float(cost):.12g}, and {words} "
                f"{float(limit):.12g}; a basis states too little: look at `pcost`, `column_squares`, `extreme_pairs`"
            )
            require(cost <= limit, message)
    require(charged <= Fraction(plan.pcost), f"`measure` charges {float(charged)}, and the plan states {plan.pcost}")
    require(Fraction(plan.pcost) <= plan.budget.pcost_exact, f"the pcost of {plan.pcost} is more than the budget")


def _require_errors(plan: Plan, answers: Sequence[AnswersOfSet]) -> None:
    """The variances of each query are those of the least squares estimate from all answers."""
    rows = np.concatenate([each.whitened / math.sqrt(each.noise_variance) for each in answers])
    inverse = np.linalg.pinv(rows, rcond=1e-11)
    remedy = "look at the kinds' `apply`, `row_forms` and `augmented_gram`, and at the bases' `u` and `G`"
    for number, query in enumerate(plan.workload):
        wanted = rows_of_query(plan, number)
        estimator = wanted @ inverse
        agree(
            estimator @ rows, wanted, f"the rows of {query} as the answers give them", "`spans` is wrong", within=1e-6
        )
        covariance = estimator @ estimator.T
        variances = np.diag(covariance)
        units = np.sqrt(np.outer(variances, variances))
        for word, found, expected in (
            (
                "variances divided by those of least squares",
                plan.variance(query).ravel() / variances,
                np.ones(len(variances)),
            ),
            ("correlations", plan.covariance(query) / units, covariance / units),
            ("average variance", plan.average_variances[number], variances.mean()),
            ("largest variance", plan.max_variances[number], variances.max()),
        ):
            agree(found, expected, f"the {word} of {query}", remedy, within=1e-6)


def _require_truth(plan: Plan, answers: Sequence[AnswersOfSet], measurements: Sequence[Measurement]) -> None:
    """The estimates of each query from a record without noise are what it adds."""
    inverse = np.linalg.pinv(np.concatenate([each.whitened for each in answers]), rcond=1e-11)
    releases = [reconstruct(measurement) for measurement in measurements]
    for number, query in enumerate(plan.workload):
        wanted = rows_of_query(plan, number)
        std_errs = math.sqrt(_QUIET) * np.sqrt(((wanted @ inverse) ** 2).sum(axis=1))
        within = (_ERRORS * std_errs / np.abs(wanted).max(axis=1) + 1e-7)[:, None]
        found = np.stack([release[query].estimate.ravel() for release in releases], axis=1)
        remedy = "look at the kinds' `apply`, and at the bases' `reconstruction`"
        agree(found, wanted, f"the estimates of {query} for a record of each cell", remedy, within=within, by_row=True)


def _words(plan: Plan, number: int) -> str:
    cell = np.unravel_index(number, plan.domain.sizes)
    return str(
        {each.name: each.value_labels[int(code)] for each, code in zip(plan.domain.attributes, cell, strict=True)}
    )
