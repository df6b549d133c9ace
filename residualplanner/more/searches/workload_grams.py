"""Which attributes of a workload have a basis to search for, and the Gram matrices of their kinds of query.

Source: eq. (31); docs/bases.md.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.attribute_grams import AttributeGrams

#: Up to so many rows of a kind are scaled to one length to see which directions matter; rows with less than this part
#: of their squared length off their mean depend on the total alone.
_SCALED_ROWS, CONSTANT = 2**20, 1e-12

#: Makes the Gram matrices of some kinds of a workload, by their numbers, on attributes of a size.
GramsOf = Callable[[Workload, int, tuple[int, ...]], AttributeGrams]


def kind_classes(workload: Workload) -> NDArray[np.int64]:
    """Equal numbers for attributes of one size that have the same kinds, (d,)."""
    return np.unique(np.column_stack([workload.domain.sizes, workload.uses]), axis=0, return_inverse=True)[1].ravel()


def attribute_grams(workload: Workload, grams_of: GramsOf) -> dict[int, AttributeGrams]:
    """The Gram matrices of each attribute with more than one value and another kind than single values, by position.

    An attribute of a joint kind has none: it has the subtraction basis, which treats all its values in the same way.
    Attributes of one size and the same kinds have the same object, made by ``grams_of``, such as `plain_grams`.
    """
    made: dict[tuple[int, tuple[int, ...]], AttributeGrams] = {}
    grams = {}
    for attribute in searched_attributes(workload):
        key = workload.domain.sizes[attribute], tuple(np.flatnonzero(workload.uses[attribute]).tolist())
        if key not in made:
            made[key] = grams_of(workload, *key)
        grams[attribute] = made[key]
    return grams


def searched_attributes(workload: Workload) -> list[int]:
    """The attributes whose basis is searched for, ascending."""
    found = []
    for attribute, size in enumerate(workload.domain.sizes):
        own = [workload.kinds[code] for code in np.flatnonzero(workload.uses[attribute]).tolist()]
        if size > 1 and not all(kind.is_identity for kind in own) and not any(kind.at_least for kind in own):
            found.append(attribute)
    return found


def plain_grams(workload: Workload, size: int, kinds: tuple[int, ...]) -> AttributeGrams:
    """The Gram matrices of kinds, by their numbers in a workload, with equal columns merged.

    Raises:
        WorkloadError: there are too many values for matrices of n x n.
    """
    if size > SIZE_LIMIT:
        raise WorkloadError(
            f"an attribute of {size:,} values, more than {SIZE_LIMIT:,}, can only have hierarchies whose groups lie "
            "inside one another or apart, and one basis for all sets; leave out queries that overlap, or "
            "'optimal_by_set'"
        )
    own = [workload.kinds[code] for code in kinds]
    same = np.unique(np.column_stack([kind.equal_columns(size) for kind in own]), axis=0, return_inverse=True)[1]
    _, first, number = np.unique(same, return_index=True, return_inverse=True)
    order = np.argsort(first)
    group = np.argsort(order)[number.ravel()]
    first = first[order]
    corner = np.concatenate([[0], 1 + first])
    grams = np.array([kind.augmented_gram(size)[np.ix_(corner, corner)] / kind.rows(size) for kind in own])
    reach: NDArray[np.float64] = np.sum([_reach(kind, size)[np.ix_(first, first)] for kind in own], axis=0)
    width = np.bincount(group).astype(np.float64)
    return AttributeGrams(size, kinds, group, width, np.ascontiguousarray(grams), reach)


def _reach(kind: Kind, size: int) -> NDArray[np.float64]:
    """The Gram matrix of a kind's rows without their constants, each scaled to length 1, with trace 1 or less.

    Kinds of very many rows have rows of like size.
    """
    rows, count = kind.centered(size).rows, kind.rows(size)
    if count > _SCALED_ROWS:
        gram = rows.gram(size)
        return gram / float(np.trace(gram))
    lengths = rows.row_forms(np.eye(size) - 1 / size)
    is_some = lengths > CONSTANT * rows.row_forms(np.eye(size))
    return rows.weighted_gram(np.divide(1.0, lengths, where=is_some, out=np.zeros(count)), size) / count
