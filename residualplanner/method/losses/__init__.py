"""What a plan is to make small: sums and maxima of variances, targets for margins of error, any convex loss.

Source: eqs. (14) to (18) and (33).
"""

from residualplanner.method.losses.loss import (
    RESERVE,
    ConvexLoss,
    DescribedLoss,
    Loss,
    LossLike,
    MaxVariance,
    SumOfVariances,
    read_loss,
)
from residualplanner.method.losses.targets import Targets

__all__ = [
    "RESERVE",
    "ConvexLoss",
    "DescribedLoss",
    "Loss",
    "LossLike",
    "MaxVariance",
    "SumOfVariances",
    "Targets",
    "read_loss",
]
