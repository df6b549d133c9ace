"""The kinds of query that a workload has for each attribute, and the factors of cost and variance that follow."""

from collections.abc import Sequence

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.numbers import ResidualNumbers, residual_numbers
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.workload import Workload


def workload_numbers(workload: Workload, bases: Sequence[Basis]) -> ResidualNumbers:
    """What each attribute of the workload contributes to cost and variance with these bases.

    Raises:
        WorkloadError: a basis cannot answer a kind of query that the workload has for its attribute.
    """
    require_all_spanned(workload, bases)
    return residual_numbers(bases, workload.kinds, workload.uses)


def has_equal_cells(workload: Workload, strategy: Strategy) -> bool:
    """Whether all cells of each query have one variance, by symmetry: identity queries on subtraction bases."""
    bases = strategy.of_attributes
    return all(bases[attribute].has_equal_variances(kind) for attribute, kind in workload.attribute_kinds)


def require_all_spanned(workload: Workload, bases: Sequence[Basis]) -> None:
    """Refuse bases (d,) of which one cannot answer a kind of query that the workload has for its attribute.

    Raises:
        WorkloadError: the rows of a query are not combinations of what is measured.
    """
    for attribute, kind in workload.attribute_kinds:
        require_spanned(workload.domain.names[attribute], bases[attribute], kind)


def require_spanned(name: str, basis: Basis, kind: Kind) -> None:
    """Refuse a kind of query that an attribute's basis cannot answer.

    Raises:
        WorkloadError: the rows of the query are not combinations of what is measured.
    """
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
    """Refuse a strategy that is for another closure or domain, or does not answer the workload's queries.

    Raises:
        WorkloadError: the closure is not the workload's, a basis is of another size, or a query's rows are no
            combinations of what is measured.
    """
    if not strategy.closure.has_sets_of(workload.closure):
        raise WorkloadError("a strategy must be for the sets of the workload's closure")
    domain = workload.domain
    for name, size, basis in zip(domain.names, domain.sizes, strategy.of_attributes, strict=True):
        if basis.size != size:
            raise WorkloadError(f"the basis of {name!r} is for {basis.size} values, but it has {size}")
    require_all_spanned(workload, strategy.of_attributes)
