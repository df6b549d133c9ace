"""The best noise for a weighted sum of variances, in closed form.

Source: eq. (14); paper section 6, Lemma 2.
"""

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import frozen, frozen_float_array, require_positive
from residualplanner.method.noise.choice import NoiseChoice


def minimize_weighted_variance(
    pcost_coefficient: ArrayLike, variance_weight: ArrayLike, *, pcost: float
) -> NoiseChoice:
    """Minimize ``sum_A v_A s_A`` over ``s > 0`` subject to ``sum_A p_A / s_A = pcost``.

    Args:
        pcost_coefficient (m,): p_A > 0, the privacy cost of base mechanism A at unit noise.
        variance_weight (m,): v_A > 0, the weight of A's noise in the loss.
        pcost: the privacy cost to spend in total, > 0; rho-zCDP has ``pcost = 2 * rho``.

    Returns:
        The unique optimum: s_A = sqrt(p_A / v_A) * sum_B sqrt(v_B p_B) / pcost, in counts squared.

    Raises:
        BudgetError: ``pcost`` is not a positive finite number.
        ValueError: the arrays differ in length or hold an entry that is not positive.

    Guarantees: the mechanism with this noise has privacy cost ``pcost`` up to rounding.
    Cost: O(m).
    Source: eq. (14); paper Lemma 2.

    Example:
        >>> minimize_weighted_variance([0.5, 0.25], [2.0, 1.0], pcost=1.0).noise_variance
        array([0.75, 0.75])
    """
    pcost = require_positive("pcost", pcost)
    p = frozen_float_array("pcost_coefficient", pcost_coefficient, ndim=1)
    v = frozen_float_array("variance_weight", variance_weight, ndim=1)
    if p.shape != v.shape:
        raise ValueError(f"one weight per base mechanism: got {p.size} coefficients and {v.size} weights")
    if not ((p > 0).all() and (v > 0).all()):
        raise ValueError("pcost_coefficient and variance_weight must be positive in every entry")

    root_sum = float(np.sqrt(v * p).sum())
    loss = root_sum * root_sum / pcost
    return NoiseChoice(frozen(np.sqrt(p / v) * (root_sum / pcost)), loss, loss, "closed form")
