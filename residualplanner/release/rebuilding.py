"""How one axis of a table follows from an attribute's total and its residual answers.

Source: eq. (25).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron import Array, AxisMap, ProductMap, empty_floats, keeping, rebuilding_differences
from residualplanner.method.queries.kind import Kind

#: A kind with more answers than this many for each value is applied after the values have been rebuilt.
_MANY = 2


def reconstruction_map(basis: Basis, kind: Kind) -> AxisMap:
    """The map from the total and the residual answers of one attribute to the answers of a kind of query.

    Its matrix is ``W [u | G]`` (q, 1 + m).  Where W has many rows, or the values follow from the answers in O(n), the
    values are rebuilt first, ``[u | G]``, and W is applied to them in its own fast way.

    Source: eqs. (13) and (25).

    Example:
        >>> from residualplanner import Identity
        >>> from residualplanner.method.bases.matrix import integer_basis
        >>> reconstruction_map(integer_basis([[1, -1]], "given"), Identity()).matrix
        array([[ 0.5,  0.5],
               [ 0.5, -0.5]])
    """
    values = basis.reconstruction
    if kind.is_identity:
        return values
    rows = kind.rows(basis.size)

    def make_matrix() -> NDArray[np.float64]:
        return kind.apply(values.matrix, 0)

    if values.direct is None and rows <= _MANY * basis.size:
        return AxisMap(values.columns, rows, make_matrix)

    def direct(stack: Array, target: Array) -> None:
        rebuilt = empty_floats((stack.shape[0], stack.shape[2], basis.size), stack)
        values.turn(stack, rebuilt)
        target[...] = kind.apply(rebuilt, 2)

    return AxisMap(values.columns, rows, make_matrix, direct)


def components_of_answers(bases: Sequence[Basis]) -> ProductMap:
    """The map from the residual answers of a set to its components: the least noise that gives these answers.

    Where its attributes have the subtraction basis, components are a table whose sum along every axis is 0; else they
    are the answers.

    Source: eq. (48).
    """
    return ProductMap(
        [rebuilding_differences(basis.size) if basis.takes_differences else keeping(basis.answers) for basis in bases]
    )
