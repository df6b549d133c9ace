"""What the answers to one kind of query take of the noise with one basis, kept once it is known.

Reads: a basis, a kind of query.  Gives: AxisShares.
Source: spec eq. (T3).
"""

from dataclasses import dataclass
from functools import cached_property

from residualplanner._checks import FloatArray
from residualplanner.bases import average_shares, cell_covariances, cell_shares, is_alike
from residualplanner.strategy.covariance import Axis


@dataclass(frozen=True, eq=False)
class AxisShares(Axis):
    """An attribute of a table in one of its subsets, with its basis there."""

    @property
    def is_alike(self) -> bool:
        """Whether all answers take the same share of every noise; one entry then stands for all."""
        return is_alike(self.basis, self.kind)

    @cached_property
    def origin(self) -> FloatArray:
        """``W u``, (q,), or one entry."""
        return self.kind.apply(self.values, 0) if not self.is_alike else self.values

    @property
    def values(self) -> FloatArray:
        """u, (n,), or one entry."""
        return self.basis.absent_vector()[: 1 if self.is_alike else None]

    @cached_property
    def present(self) -> FloatArray:
        """The squared length of every row of ``W G``, (q,), or one entry."""
        return cell_shares(self.basis, self.kind)[0]

    @cached_property
    def mean_present(self) -> float:
        """Their mean."""
        return average_shares(self.basis, self.kind)[0]

    def form(self) -> FloatArray:
        """``W G G^T W^T``, (q, q)."""
        return cell_covariances(self.basis, self.kind)[1]
