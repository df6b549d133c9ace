"""The option of which bases to measure: a word, or a matrix for some attributes.

Source: eqs. (24) and (36).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.select import Bases
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.basis_choice import choose_bases
from residualplanner.more.searches.grams_of_attributes import grams_for_sum
from residualplanner.more.searches.integer_twin import integer_twin
from residualplanner.more.searches.joint_choice import choose_bases_for_maximum
from residualplanner.more.searches.workload_grams import plain_grams, searched_attributes

BY_SET = "optimal_by_set"
_WORDS = ("optimal", BY_SET, "orthogonal")


def bases_for(workload: Workload, importance: FloatArray, bases: Bases, *, for_maximum: bool) -> tuple[Basis, ...]:
    """The basis of every attribute, (d,): those that are given, and the best ones elsewhere.

    The search for bases by set starts from these.

    Args:
        workload: the queries.
        importance (q,): how much the variance of each query counts.
        bases: the option.
        for_maximum: whether "optimal" bases are for the largest cell variance, not for the sum of average variances.

    Raises:
        DomainError: a name is not in the domain.
        WorkloadError: ``bases`` is not an option, or a matrix does not fit its attribute.
    """
    option = read_bases(workload.domain, bases)
    given = {} if isinstance(option, str) else option
    names, sizes = workload.domain.names, workload.domain.sizes
    if all(names[attribute] in given for attribute in searched_attributes(workload)):
        found = tuple(subtraction_basis(size) for size in sizes)
    elif option == "orthogonal":
        found = choose_bases(workload, importance, "orthogonal")
    elif for_maximum:
        found = choose_bases_for_maximum(workload, importance)
    else:
        found = choose_bases(workload, importance, grams_of=plain_grams if option == BY_SET else grams_for_sum)
    return tuple(given.get(name, basis) for name, basis in zip(names, found, strict=True))


def read_bases(domain: Domain, bases: Bases) -> str | dict[str, Basis]:
    """The word for all bases, or the bases given by name.

    Raises:
        DomainError: a name is not in the domain.
        WorkloadError: it is neither one of the words nor such a mapping, or a matrix does not fit its attribute.

    Example:
        >>> read_bases(Domain({"age": 3}), {"age": [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]})["age"].matrix.tolist()
        [[1, -1, 0], [0, 1, -1]]
    """
    if isinstance(bases, str) and bases in _WORDS:
        return bases
    if not isinstance(bases, Mapping):
        raise WorkloadError(
            'bases must be "optimal", "optimal_by_set", "orthogonal" or a mapping from attribute names to matrices, '
            f"got {value_text(bases)}{suggestion(bases, _WORDS)}"
        )
    for name in bases:
        domain.positions((name,))
    return {name: _checked_basis(name, domain[name].size, matrix) for name, matrix in bases.items()}


def _checked_basis(name: str, size: int, matrix: ArrayLike | Basis) -> Basis:
    if isinstance(matrix, Basis):
        if matrix.size != size:
            raise WorkloadError(f"the basis given for {name!r} is for {matrix.size} values, but it has {size}")
        return matrix
    try:
        array = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorkloadError(f"the basis given for {name!r} must be a matrix of numbers") from None
    if array.shape != (size - 1, size):
        raise WorkloadError(
            f"the basis given for {name!r} must have shape {(size - 1, size)}: one row fewer than it has values, all "
            f"independent of one another and of a row of ones; got {array.shape}"
        )
    try:
        return integer_basis(integer_twin(array).matrix, "given")
    except WorkloadError as error:
        raise WorkloadError(f"the basis given for {name!r} cannot be used: {error}") from error
