"""What a plan is to make small: sums and maxima of variances, targets for margins of error, any convex loss."""

from residualplanner.losses.loss import RESERVE, DescribedLoss, Loss
from residualplanner.losses.reading import LossLike, loss_from_archive, read_loss, svd_bound
from residualplanner.losses.targets import Targets
from residualplanner.losses.variances import ConvexLoss, MaxVariance, SumOfVariances

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
