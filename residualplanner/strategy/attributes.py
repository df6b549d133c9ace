"""Which kinds of query are asked of which attribute, and what that makes of each attribute with its basis.

Reads: a workload, one basis per attribute.  Gives: ResidualNumbers.
"""

from collections.abc import Sequence

import numpy as np

from residualplanner.bases import Basis, ResidualNumbers, is_alike, residual_numbers, spans_kind, subtraction_basis
from residualplanner.domain import Domain
from residualplanner.errors import WorkloadError
from residualplanner.queries import Kind
from residualplanner.workload import Workload


def workload_numbers(workload: Workload, bases: Sequence[Basis]) -> ResidualNumbers:
    """What each attribute of the workload contributes to cost and variance with these bases.

    Raises:
        WorkloadError: a basis cannot answer a kind of query that is asked of its attribute.
    """
    require_all_spanned(workload, bases)
    return residual_numbers(bases, workload.kinds, workload.asked)


def cost_numbers(workload: Workload, bases: Sequence[Basis]) -> ResidualNumbers:
    """What each attribute contributes to cost alone, without the pass over n by n matrices that variances take.

    Raises:
        WorkloadError: a basis cannot answer a kind of query that is asked of its attribute.
    """
    require_all_spanned(workload, bases)
    return residual_numbers(bases, workload.kinds, np.zeros(workload.asked.shape))


def has_alike_cells(workload: Workload, bases: Sequence[Basis]) -> bool:
    """Whether all cells of each query have one variance, by symmetry: identity queries on subtraction bases."""
    pairs = np.argwhere(workload.asked).tolist()
    return all(is_alike(bases[attribute], workload.kinds[number]) for attribute, number in pairs)


def require_all_spanned(workload: Workload, bases: Sequence[Basis]) -> None:
    """Refuse bases (d,) of which one cannot answer a kind of query that is asked of its attribute.

    Raises:
        WorkloadError: the rows of a query are no combinations of what is measured.
    """
    for attribute, number in np.argwhere(workload.asked).tolist():
        require_spanned(workload.domain.names[attribute], bases[attribute], workload.kinds[number])


def require_spanned(name: str, basis: Basis, kind: Kind) -> None:
    """Refuse a kind of query that an attribute's basis cannot answer.

    Raises:
        WorkloadError: the rows of the query are no combinations of what is measured.
    """
    if not spans_kind(basis, kind):
        raise WorkloadError(
            f"the basis of {name!r} has {basis.answers} answers, from which {kind.name} does not follow; "
            "ask for it in the workload and plan again, or give a basis that spans it"
        )


def checked_bases(domain: Domain, bases: Sequence[Basis]) -> tuple[Basis, ...]:
    """One basis for each attribute: the given ones, or the subtraction basis for all where none is given.

    Raises:
        WorkloadError: there are more or fewer bases than attributes, or one is of another size.
    """
    if not len(bases):
        return tuple(subtraction_basis(size) for size in domain.sizes)
    if len(bases) != len(domain):
        raise WorkloadError(f"one basis for each attribute: got {len(bases)} for {len(domain)} attributes")
    for name, size, basis in zip(domain.names, domain.sizes, bases, strict=True):
        if basis.size != size:
            raise WorkloadError(f"the basis of {name!r} is for {basis.size} values, but it has {size}")
    return tuple(bases)
