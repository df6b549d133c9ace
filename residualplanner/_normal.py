"""Normal errors: from a confidence level to a margin of error."""

from statistics import NormalDist

import numpy as np

from residualplanner._checks import value_text
from residualplanner.errors import BudgetError


def normal_quantile(level: float) -> float:
    """How many standard errors the margin of error at a confidence ``level`` is.

    Raises:
        BudgetError: ``level`` is not between 0 and 1.

    Example:
        >>> round(normal_quantile(0.95), 4), round(normal_quantile(0.9), 3)
        (1.96, 1.645)
    """
    if isinstance(level, bool) or not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise BudgetError(f"level must be between 0 and 1, such as 0.95, got {value_text(level)}")
    return NormalDist().inv_cdf((1 + float(level)) / 2)
