"""What a plan is to make small: sums and maxima of variances, targets for margins of error, any convex loss.

Reads: what a user or a file states as a loss; a problem of noise.  Gives: Loss, which finds its best noise and its
lower bound, and describes itself in words and in files.
Source: eqs. (14) to (18) and (33).
"""

from residualplanner.method.losses.loss import RESERVE, DescribedLoss, Loss
from residualplanner.method.losses.reading import LossLike, loss_from_archive, read_loss, svd_bound
from residualplanner.method.losses.targets import Targets
from residualplanner.method.losses.variances import ConvexLoss, MaxVariance, SumOfVariances

__all__ = [
    "RESERVE",
    "ConvexLoss",
    "DescribedLoss",
    "Loss",
    "LossLike",
    "MaxVariance",
    "SumOfVariances",
    "Targets",
    "loss_from_archive",
    "read_loss",
    "svd_bound",
]
