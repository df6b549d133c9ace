"""What a plan is to make small: sums and maxima of variances, targets for margins of error, any convex loss."""

from residualplanner.losses.losses import (
    ConvexLoss,
    Loss,
    LossObject,
    MaxVariance,
    SumOfVariances,
    describe_loss,
    importance_of,
    loss_of_words,
    read_loss,
)
from residualplanner.losses.query_places import query_places
from residualplanner.losses.targets import Targets, basis_importance

__all__ = [
    "ConvexLoss",
    "Loss",
    "LossObject",
    "MaxVariance",
    "SumOfVariances",
    "Targets",
    "basis_importance",
    "describe_loss",
    "importance_of",
    "loss_of_words",
    "query_places",
    "read_loss",
]
