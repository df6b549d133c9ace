"""What a plan is to make small: sums and maxima of variances, targets for margins of error, any convex loss.

Source: eqs. (14) to (18) and (33).
"""

from residualplanner.method.losses.loss import RESERVE, DescribedLoss, Loss
from residualplanner.method.losses.targets import Targets
from residualplanner.method.losses.variances import (
    ConvexLoss,
    LossLike,
    MaxVariance,
    SumOfVariances,
    read_loss,
)

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
