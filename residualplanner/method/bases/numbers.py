"""What attributes contribute to privacy cost and to variances, as arrays over all attributes.

Source: eqs. (8), (11), (27) and (28).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind


@dataclass(frozen=True, eq=False, slots=True)
class ResidualNumbers:
    """What one attribute contributes, as a factor, to privacy cost and to the variance of an average cell.

    Attributes:
        sizes (d,): how many values each attribute has.
        pcost (d,): to the cost of a base mechanism that contains the attribute; one that does not has factor 1.
        present (d, kinds): to the variance of a query of that kind by the noise of a base mechanism that contains the
            attribute; 0 where it has no query of that kind.
        absent (d, kinds): to the same by the noise of one that leaves the attribute out.
        code (d,): equal for attributes of equal basis, and for no others.
    """

    sizes: FloatArray
    pcost: FloatArray
    present: FloatArray
    absent: FloatArray
    code: IntArray


def residual_numbers(bases: Sequence[Basis], kinds: Sequence[Kind], uses: ArrayLike) -> ResidualNumbers:
    """The numbers of attributes with these bases.

    Args:
        bases: one for each attribute.
        kinds: the kinds of query.
        uses (d, kinds): whether the attribute has a query of that kind; its basis must span the kind.

    Cost: one pass over n by n matrices for each distinct pair of a basis and a kind; identity queries on the
        subtraction basis are closed forms.
    Source: eqs. (27) and (28).

    Example:
        >>> numbers = residual_numbers([subtraction_basis(4)], [Identity()], [[True]])
        >>> numbers.pcost, numbers.present, numbers.absent
        (array([0.75]), array([[0.75]]), array([[0.0625]]))
    """
    wanted, code = np.asarray(uses, dtype=np.bool_), basis_codes(bases)
    factors: dict[tuple[int, int], tuple[float, float]] = {}
    present, absent = np.zeros(wanted.shape), np.zeros(wanted.shape)
    for attribute, number in np.argwhere(wanted).tolist():
        pair = (int(code[attribute]), number)
        if pair not in factors:
            factors[pair] = bases[attribute].mean_variance_factors(kinds[number])
        present[attribute, number], absent[attribute, number] = factors[pair]
    return ResidualNumbers(
        sizes=frozen(np.array([basis.size for basis in bases], dtype=np.float64)),
        pcost=frozen(np.array([float(basis.pcost) for basis in bases], dtype=np.float64)),
        present=frozen(present),
        absent=frozen(absent),
        code=frozen(code),
    )


def subtraction_numbers(sizes: ArrayLike) -> ResidualNumbers:
    """The numbers of the subtraction basis for identity queries on attributes of the given sizes (d,).

    Returns:
        p = (n-1)/n, present = (n-1)/n and absent = 1/n**2, with one column for the one kind, identity.

    Source: eqs. (8) and (11); paper Theorems 4.3 and 4.4.

    Example:
        >>> numbers = subtraction_numbers([2, 4])
        >>> numbers.pcost, numbers.absent.ravel()
        (array([0.5 , 0.75]), array([0.25  , 0.0625]))
    """
    bases = [subtraction_basis(int(size)) for size in np.asarray(sizes).tolist()]
    return residual_numbers(bases, [Identity()], np.ones((len(bases), 1)))
