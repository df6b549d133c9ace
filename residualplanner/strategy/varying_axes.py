"""What the answers to one kind of query take of the noise with one basis, kept once it is known.

Reads: a basis, a kind of query.  Gives: VaryingAxis.
Source: spec eq. (T3).
"""

from dataclasses import dataclass
from functools import cached_property

from residualplanner._checks import FloatArray
from residualplanner.bases import Basis, average_shares, cell_covariances, cell_shares
from residualplanner.queries import Kind


@dataclass(frozen=True, eq=False)
class VaryingAxis:
    """A varying attribute of a table in one of its subsets, with its basis there.

    Attributes:
        basis: the basis that the attribute has in the subset.
        kind: the kind of query.
    """

    basis: Basis
    kind: Kind

    @cached_property
    def origin(self) -> FloatArray:
        """``W u``, (q,)."""
        return self.kind.apply(self.values, 0)

    @property
    def values(self) -> FloatArray:
        """u, (n,)."""
        return self.basis.absent_vector()

    @cached_property
    def present(self) -> FloatArray:
        """The squared length of every row of ``W G``, (q,)."""
        return cell_shares(self.basis, self.kind)[0]

    @cached_property
    def mean_present(self) -> float:
        """Their mean."""
        return average_shares(self.basis, self.kind)[0]

    def form(self) -> FloatArray:
        """``W G G^T W^T``, (q, q)."""
        return cell_covariances(self.basis, self.kind)[1]
