"""Whether a basis is what it states, from its two maps written out."""

from fractions import Fraction

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import pcost
from residualplanner.method.queries.custom import Custom
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.testing.comparing import Exact, agree, exact_integers, exact_precision, require
from residualplanner.testing.plans import check_plan, require_small

#: Floats this near, relatively, are those of exact numbers.
_ROUNDED = 1e-9


def check_basis(basis: Basis) -> None:
    """Check a basis of one attribute: what it measures, what that costs, and that its answers give the values back.

    Args:
        basis: such as ``plan.bases["age"]`` of a plan with a matrix of yours, or an object of a class of your own; of
            at most 500 values.

    Raises:
        AssertionError: its maps are not of integers, or of other shapes than it states; its answers depend on one
            another, or ``u`` and ``G`` do not invert them; the cost factor, a squared length or a pair of values is not
            that of its columns; or a plan with it is not what the plan states, see `check_plan`.  The message says
            which.
        WorkloadError: it has too many values.

    Guarantees: costs of single values are compared in exact fractions.
    Source: eqs. (24), (25), (28) and (37).

    Example:
        >>> from residualplanner import marginals, zcdp
        >>> people = marginals(Domain({"age": 3}), order=1)
        >>> check_basis(select(people, budget=zcdp(1), bases={"age": [[1, 0, 0], [0, 1, 0]]}).bases["age"])
    """
    domain = Domain({"own": basis.size, "other": 2})
    require_small(domain)
    rows = require_basis(basis)
    kind: Kind = Identity() if basis.answers == basis.size - 1 else Custom(np.insert(rows, 0, 1, axis=0))
    queries = [{"own": kind}, {"own": kind, "other": Identity()}]
    workload = Workload(domain, queries)
    check_plan(select(workload, budget=pcost(1), bases={"own": basis}))


def require_basis(basis: Basis) -> FloatArray:
    """Check a basis without a plan, and return the rows of its answers (m, n); see `check_basis`."""
    n, m = basis.size, basis.answers
    before = exact_integers(basis.before_noise.matrix, "the map before the noise")
    after = exact_integers(basis.after_noise.matrix, "the map after the noise")
    shapes, stated = (before.shape, after.shape), ((basis.noise_values, n), (m, basis.noise_values))
    remedy = "look at `size`, `answers` and `noise_values`"
    require(shapes == stated, f"the maps before and after the noise have shapes {shapes}, expected {stated}; {remedy}")
    largest = max(1, *map(abs, before.ravel())) if before.size else 1
    remedy = "integers of 64 bits may not hold the products; state the largest"
    require(basis.largest_entry == largest, f"`largest_entry` is {basis.largest_entry}, not {largest}; {remedy}")
    exact = after @ before
    rows: FloatArray = exact.astype(np.float64)
    _require_inverse(basis, np.insert(rows, 0, 1, axis=0))
    _require_costs(basis, exact.T @ exact_precision(basis) @ exact)
    equal = (rows[:, :, None] == rows[:, None, :]).all(axis=0)
    groups = basis.value_groups
    agree(
        groups[:, None] == groups, equal, "whether two values are in one group", "they are if their columns are equal"
    )
    return rows


def _require_inverse(basis: Basis, rows: FloatArray) -> None:
    """That answers give back what they tell of values; ``rows`` (m + 1, n) are ones and those of the answers."""
    size, inverse = np.abs(rows).max(axis=1), basis.reconstruction.matrix
    expected = np.linalg.pinv(rows / size[:, None]) / size  # of rows of one size, so that none is taken for rounding
    rank = np.linalg.matrix_rank(rows / size[:, None])
    remedy = "leave out rows that follow from others and from a row of ones"
    require(
        int(rank) == len(rows), f"the rows of {len(rows)} answers, the total among them, have rank {rank}; {remedy}"
    )
    remedy = "it is the pseudo-inverse of a row of ones above the rows of the answers"
    agree(inverse * size, expected * size, "`reconstruction`", remedy, within=1e-7)
    agree(np.column_stack([basis.u, basis.G]), inverse, "`u` and `G`", "they are the columns of `reconstruction`")
    agree(basis.reconstruction_transposed.matrix, inverse.T, "`reconstruction_transposed`", "it is a transpose")
    for wanted, is_spanned in ((rows, True), (np.eye(basis.size), len(rows) == basis.size)):
        words = "its own rows" if wanted is rows else "single values"
        message = f"`spans_rows` is {not is_spanned} for {words}, of which {basis.answers} answers and the total "
        require(basis.spans_rows(wanted) == is_spanned, f"{message}{'give' if is_spanned else 'do not give'} all")


def _require_costs(basis: Basis, products: Exact) -> None:
    """The costs of single values and of pairs against the exact products of columns (n, n)."""
    own = [Fraction(square) for square in np.diag(products)]
    message = f"`pcost` is {basis.pcost}, and the longest column has the squared length {max(own)}"
    require(basis.pcost >= max(own), f"{message}: a record would cost more than is charged; state the length")
    require(basis.pcost == max(own), f"{message}: more noise would be added than is needed; state the length")
    squares = basis.column_squares * (basis.size if basis.is_symmetric else 1)
    require(squares == own, f"`column_squares` are {[*map(str, squares)]}, and of the columns {[*map(str, own)]}")
    floats: FloatArray = products.astype(np.float64)
    first, second = np.tril_indices(basis.size, -1)
    ends = np.diag(floats)[np.stack([first, second], axis=1)]
    every = np.column_stack([ends.max(axis=1), ends.min(axis=1), floats[first, second]])
    room = _ROUNDED * floats.max(initial=0)
    if basis.size > 1:
        _require_pairs(basis, every, room)
    mean = float(floats.mean())
    agree(basis.random_pair, [np.diag(floats).mean(), mean], "`random_pair`", "it has means over values and over pairs")


def _require_pairs(basis: Basis, every: FloatArray, room: float) -> None:
    """What is stated of pairs of values against every pair (p, 3): the longer square, the shorter one, the product."""
    stated = basis.extreme_pairs
    # Without room: what is stated is rounded up, if at all, as costs follow from it.
    is_surpassed = (stated[:, None] * [1.0, 1.0, -1.0] >= every * [1.0, 1.0, -1.0]).all(axis=2).any(axis=0)
    message = "no row of `extreme_pairs` surpasses the squared lengths and the product"
    for pair in every[~is_surpassed][:1]:
        raise AssertionError(f"{message} {pair.tolist()} of two values: replacing one would cost more than is charged")
    distances = np.abs(stated[:, None] - every[None]).max(axis=2)
    require(
        bool((distances.min(axis=1) <= room).all()),
        "a row of `extreme_pairs` is of no two values: more noise would be added than is needed",
    )
    distance, largest = (float((pairs @ [1.0, 1.0, -2.0]).max()) for pairs in (basis.farthest_pair, every))
    require(
        abs(distance - largest) <= 4 * room, f"`farthest_pair` is {distance:g} apart, and some values are {largest:g}"
    )
