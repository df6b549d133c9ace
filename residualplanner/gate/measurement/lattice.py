"""How fine the lattice is that the discrete noise lives on: from the plan alone.

Reads: precisions.  Gives: what the integers of each group of sets are to be divided by.

Counts are multiplied by a power of two before noise is added whose scale is as many times as large; the privacy cost
is the same, and intervals are as exact as those of continuous noise.
Source: eqs. (44) to (47).
"""

from residualplanner.gate.measurement.precision import gamma2_ratio
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.margins import NOISE_SCALE
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy.basis_groups import BasisGroups

#: From this precision on a public total keeps its step of 1: the noise is 0, but for a chance below exp(-500).
_NO_NOISE = 2**10


def lattice_divisors(
    groups: BasisGroups, precision: FloatArray, neighbors: Neighbors, denominator: int = 1
) -> tuple[int, ...]:
    """What the integers of each group are to be divided by: f times the denominator times the subtraction axes' sizes.

    Args:
        groups: the sets by the bases of their attributes.
        precision (m,): of every set's noise.
        neighbors: where records are replaced, the total is public, and so is published as it is.
        denominator: of the counts, which are integers when they are multiplied by it.

    Guarantees: f is the least power of two for which no set of the group has noise of a scale below `NOISE_SCALE`; it
        is a function of the plan alone.
    Source: eq. (44).
    """
    return tuple(
        _divisor(
            groups.divisor(group) * denominator,
            float(precision[members].max()),
            is_public=neighbors.has_public_total and not groups.bases[group],
        )
        for group, members in enumerate(groups.members)
    )


def refinement(divisor: int, precision: float) -> int:
    """The least power of two f for which ``f * divisor / sqrt(precision)`` is at least `NOISE_SCALE`.

    Example:
        >>> refinement(1, 0.25) == NOISE_SCALE // 2, refinement(NOISE_SCALE, 1.0)
        (True, 1)
    """
    numerator, denominator = gamma2_ratio(divisor, precision)
    quotient = -(-NOISE_SCALE * NOISE_SCALE * denominator // numerator)
    return 1 << ((quotient - 1).bit_length() + 1) // 2


def _divisor(divisor: int, precision: float, *, is_public: bool) -> int:
    if is_public and precision >= _NO_NOISE:
        return divisor
    return divisor * refinement(divisor, precision)
