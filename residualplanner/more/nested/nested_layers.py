"""The layers of a nested basis, from a basis of groups and the scale of the contrasts in each.

Source: eqs. (110) and (114).

The contrasts among the m values of a group may be any orthonormal ones.  These are of halves, halves of halves and so
on, so each value is in no more than ``1 + log2 m`` of them.
"""

from collections.abc import Sequence

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.more.nested.nested_maps import NestedLayer
from residualplanner.more.searches.basis_problem import ResidualBasis
from residualplanner.more.searches.rounding import rounded_matrix

#: Members of each group, and the entries of its matrix, group after group.
RealLayer = tuple[IntArray, FloatArray]
#: Matrices of at most so many columns are rounded such that the lengths of columns are kept.
_KEPT = 512


def layers_of_groups(found: ResidualBasis, width: IntArray) -> list[RealLayer]:
    """The layers of a basis of groups (g,), each of so many values, down to the values, which stand group after group.

    Example:
        >>> from residualplanner.more.searches.optimal import optimal_residuals
        >>> from residualplanner.more.searches.contrasts import Contrasts
        >>> pair = optimal_residuals(np.eye(2) / 2, contrasts=Contrasts(np.full(2, 2.0), np.ones(2), np.ones(2)))
        >>> [children.tolist() for children, _ in layers_of_groups(pair, np.array([2, 2]))]
        [[2], [2, 2]]
    """
    groups = np.array([len(width)], dtype=np.int64)
    return [(groups, found.S.ravel()), *layers_of_contrasts(width, found.scales)]


def layers_of_contrasts(width: IntArray, scales: FloatArray) -> list[RealLayer]:
    """The layers from groups down to their values: orthonormal contrasts of halves, times the roots of the scales."""
    layers, sizes, scale = [], np.where(scales > 0, width, 1), scales
    while (sizes > 1).any():
        left, right = -(-sizes // 2), sizes // 2
        children = np.where(sizes > 1, 2, 1)
        split = sizes > 1
        lengths = np.sqrt(scale[split] / sizes[split])
        entries = np.stack([lengths * np.sqrt(right / left)[split], -lengths * np.sqrt(left[split] / right[split])])
        layers.append((children, entries.T.ravel()))
        both = np.stack([left, right], axis=1).ravel()
        kept = np.stack([np.ones_like(split), split], axis=1).ravel()
        sizes, scale = both[kept], np.repeat(scale, 2)[kept]
    leftover = np.where(scales > 0, 1, width)
    if (leftover > 1).any():
        counts = np.where(scales > 0, width, 1)
        layers.append((np.repeat(leftover, counts), np.empty(0)))
    return layers


def integer_layers(layers: Sequence[RealLayer], exponent: int, slack: float) -> list[NestedLayer]:
    """The layers times ``2**exponent``, rounded; lengths of columns are kept where there is one group, up to slack."""
    rounded = []
    for children, entries in layers:
        if len(children) == 1 and children[0] <= _KEPT and entries.size:
            c = int(children[0])
            integers = rounded_matrix(entries.reshape(c - 1, c), exponent, slack).ravel()
        else:
            integers = np.rint(np.ldexp(entries, exponent)).astype(np.int64)
        rounded.append(NestedLayer(children, integers))
    return rounded
