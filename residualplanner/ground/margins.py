"""Margins of error at a confidence level, and the scale that discrete noise needs for them.

Source: eqs. (45) to (47).
"""

from statistics import NormalDist

import numpy as np

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import BudgetError

#: The least scale gamma of the discrete noise, which on so fine a lattice is as good as continuous noise.
NOISE_SCALE = 2**22
#: No denominator of counts is larger, so that 2**33 records times a denominator are fewer than 2**63.
LARGEST_DENOMINATOR = 2**30
#: What a margin for any sum of discrete noise of this scale needs beyond the normal quantile, in standard errors.
_BEYOND_NORMAL = 16 / NOISE_SCALE


def margin_factor(level: float) -> float:
    """The margin of error in standard errors, which every margin is computed with; BudgetError as `require_level`.

    Guarantees: an estimate is within its margin of the truth with probability at least ``level``, whatever sum of
        noise it contains, discrete or continuous.  The normal quantile is less by 4 millionths.
    Source: eq. (47).
    """
    # The tail, and not (1 + level) / 2, which is rounded to 1 for levels close to it.
    return _BEYOND_NORMAL - NormalDist().inv_cdf((1 - require_level(level)) / 2)


def require_level(level: float) -> float:
    """Return ``level`` as a float, or raise BudgetError unless it is between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise BudgetError(f"level must be between 0 and 1, such as 0.95, got {value_text(level)}")
    return float(level)
