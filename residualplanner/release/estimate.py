"""An estimate of one number, with its exact error.

Reads: numbers.  Gives: Estimate.
"""

import math
from dataclasses import dataclass

from residualplanner.ground.margins import margin_factor


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased estimate of one number.

    Attributes:
        estimate: in counts.
        variance: exact, in counts squared.
    """

    estimate: float
    variance: float

    @property
    def std_err(self) -> float:
        """The standard error, in counts."""
        return math.sqrt(self.variance)

    def moe(self, level: float = 0.95) -> float:
        """The margin of error: the estimate is within it of the truth with probability ``level`` at least.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return margin_factor(level) * self.std_err

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval, low and high end; errors as in `moe`."""
        return self.estimate - self.moe(level), self.estimate + self.moe(level)
