"""How the variances of queries follow from the noise of the base mechanisms: factors of attributes, and linear maps.

Source: eqs. (8), (11), (14), (27), (28) and (60); paper Theorem 4.4.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.closure import Closure, subset_products
from residualplanner.method.workload.workload import Workload


@dataclass(frozen=True, eq=False, slots=True)
class ResidualNumbers:
    """What each attribute contributes, as a factor, to privacy cost and to the variance of an average cell."""

    sizes: FloatArray  # (d,)
    pcost: FloatArray  # (d,), to the cost of a base mechanism that contains the attribute; others have factor 1
    present: FloatArray  # (d, kinds), to the variance by the noise of one that contains it; 0 without such queries
    absent: FloatArray  # (d, kinds), to the same by the noise of one that leaves the attribute out
    code: IntArray  # (d,), equal for attributes of equal basis, and for no others


def residual_numbers(bases: Sequence[Basis], kinds: Sequence[Kind], uses: ArrayLike) -> ResidualNumbers:
    """The numbers for bases (d,); ``uses`` (d, kinds) says who has which kinds.  Source: eqs. (27) and (28)."""
    wanted, code = np.asarray(uses, dtype=np.bool_), basis_codes(bases)
    factors: dict[tuple[int, int], tuple[float, float]] = {}
    present, absent = np.zeros(wanted.shape), np.zeros(wanted.shape)
    for attribute, number in np.argwhere(wanted).tolist():
        pair = (int(code[attribute]), number)
        if pair not in factors:
            factors[pair] = bases[attribute].mean_variance_factors(kinds[number])
        present[attribute, number], absent[attribute, number] = factors[pair]
    sizes = np.array([basis.size for basis in bases], dtype=np.float64)
    pcost = np.array([float(basis.pcost) for basis in bases], dtype=np.float64)
    return ResidualNumbers(*map(frozen, (sizes, pcost, present, absent, code)))


def subtraction_numbers(sizes: ArrayLike) -> ResidualNumbers:
    """The same of the subtraction basis for identity queries on sizes (d,), in one column.  Source: eqs. (8), (11)."""
    bases = [subtraction_basis(int(size)) for size in np.asarray(sizes).tolist()]
    return residual_numbers(bases, [Identity()], np.ones((len(bases), 1)))


def workload_numbers(workload: Workload, bases: Sequence[Basis]) -> ResidualNumbers:
    """What each attribute contributes to cost and variance with these bases, which must answer all queries."""
    require_all_spanned(workload, bases)
    return residual_numbers(bases, workload.kinds, workload.uses)


def has_equal_cells(workload: Workload, strategy: Strategy) -> bool:
    """Whether all cells of each query have one variance, by symmetry: identity queries on subtraction bases."""
    bases = strategy.of_attributes
    return all(bases[attribute].has_equal_variances(kind) for attribute, kind in workload.attribute_kinds)


def require_all_spanned(workload: Workload, bases: Sequence[Basis]) -> None:
    """Raise WorkloadError where a basis (d,) cannot answer a kind of query that the workload has for its attribute."""
    for attribute, kind in workload.attribute_kinds:
        require_spanned(workload.domain.names[attribute], bases[attribute], kind)


def require_spanned(name: str, basis: Basis, kind: Kind) -> None:
    """Raise WorkloadError where an attribute's basis cannot answer a kind of query."""
    if not basis.spans(kind):
        if kind.at_least:
            raise WorkloadError(
                f"the basis of {name!r} tells its values apart, and a threshold treats them all in the same way; ask "
                "for the threshold in the workload and plan again, without a basis of your own for it"
            )
        raise WorkloadError(
            f"the basis of {name!r} has {basis.answers} answers, from which {kind.name} does not follow; "
            "ask for it in the workload and plan again, or give a basis that spans it"
        )


def require_fitting(workload: Workload, strategy: Strategy) -> None:
    """Raise WorkloadError where a strategy is for another closure or domain, or does not answer all queries."""
    if not strategy.closure.has_sets_of(workload.closure):
        raise WorkloadError("a strategy must be for the sets of the workload's closure")
    domain = workload.domain
    for name, size, basis in zip(domain.names, domain.sizes, strategy.of_attributes, strict=True):
        if basis.size != size:
            raise WorkloadError(f"the basis of {name!r} is for {basis.size} values, but it has {size}")
    require_all_spanned(workload, strategy.of_attributes)


#: How many (query, subset) pairs are worked on at a time.
CHUNK = 2**19

#: Some queries, their sets, and the coefficient of the noise of each in the variance of an average cell, (m, s) both.
Piece = tuple[slice | IntArray, IntArray, FloatArray]


def variance_pieces(
    workload: Workload, closure: Closure, numbers: ResidualNumbers
) -> Iterator[tuple[slice, IntArray, FloatArray]]:
    """For runs of queries: which they are, the closure sets within each and their coefficients, both (m, 2**k).

    Source: eqs. (11) and (60): the variance of an average cell of Q is ``sum_A m_{Q,A} sigma_A**2``.
    """
    for queries, run in workload.runs(CHUNK):
        # The part of A in a cell is the Kronecker product of W G over A and of W u over the other attributes of Q, so
        # its variance is a product as well: of the factors present over A, and of the factors absent over the rest.
        absent, present = (factors[run.attributes, run.kinds] for factors in (numbers.absent, numbers.present))
        coefficients = subset_products(absent, present) * workload.joint_factors(run) ** 2
        yield queries, closure.subset_positions(run.attributes), coefficients


def variance_matrix(workload: Workload, closure: Closure, numbers: ResidualNumbers) -> "scipy.sparse.csr_array":
    """The matrix m of docs/mathematics.md section 3, sparse: a row per query (q,), a column per closure set (m,)."""
    columns, entries, counts = [], [], []
    for _, positions, coefficients in variance_pieces(workload, closure, numbers):
        columns.append(positions.astype(np.int32).ravel())
        entries.append(coefficients.ravel())
        counts.append(np.full(len(positions), positions.shape[1]))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    shape = (len(workload), len(closure))
    return scipy.sparse.csr_array((np.concatenate(entries), np.concatenate(columns), starts), shape=shape)


def variance_weights(workload: Workload, numbers: ResidualNumbers, importance: FloatArray) -> FloatArray:
    """The weight v_A of each closure set's noise (m,) in a sum of variances weighted by ``importance`` (q,)."""
    return noise_weights(variance_pieces(workload, workload.closure, numbers), importance, len(workload.closure))


def noise_weights(pieces: Iterable[Piece], importance: FloatArray, count: int) -> FloatArray:
    """The weight of the noise of each of ``count`` sets in a sum of variances weighted by ``importance`` (q,), (m,)."""
    weights = np.zeros(count)
    for queries, positions, coefficients in pieces:
        weighted = coefficients * importance[queries, None]
        weights += np.bincount(positions.ravel(), weights=weighted.ravel(), minlength=count)
    return weights
