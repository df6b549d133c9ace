"""What every kind of query on one attribute can do.

Reads: nothing.  Gives: Kind, a protocol; a kind as it is asked of an attribute.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError

#: The most values an attribute may have to be asked anything but one count per value: n x n matrices are formed.
SIZE_LIMIT = 10_000


class Kind(Protocol):
    """What is asked of one attribute of n values: a basic matrix W (q, n), the row of ones in its row space.

    Kinds are immutable and hashable; equal kinds ask the same.  No method but ``matrix`` forms W densely.

    A kind that is written in the labels of an attribute has one more method, ``on``: see `LabeledKind`.
    """

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        ...

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError, naming the attribute, unless the kind can be asked of it."""
        ...

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: q."""
        ...

    def matrix(self, size: int) -> NDArray[np.float64]:
        """W itself, dense, (q, n)."""
        ...

    def gram(self, size: int) -> NDArray[np.float64]:
        """``W^T W``, (n, n), in closed form where W is large."""
        ...

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """``W^T diag(weights) W`` for weights (q,), (n, n)."""
        ...

    def apply(self, array: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """W along one axis of an array: that axis goes from n to q entries."""
        ...

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """``w_r^T form w_r`` for every row of W and a symmetric matrix (n, n), (q,)."""
        ...

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """What each answer is about, in the words of the attribute, (q,); no two are equal."""
        ...


@runtime_checkable
class LabeledKind(Protocol):
    """A kind that is written in labels, and has a matrix only once it is known whose labels they are."""

    def on(self, attribute: Attribute) -> Kind:
        """The same kind, tied to the values of one attribute; WorkloadError, naming it, where they do not fit."""
        ...


def asked_of(kind: Kind, attribute: Attribute) -> Kind:
    """The kind as it is asked of an attribute: checked, and tied to its values if it is written in labels.

    A workload holds kinds in this form only.

    Raises:
        WorkloadError: it cannot be asked of the attribute.
    """
    if isinstance(kind, LabeledKind):
        kind = kind.on(attribute)
    kind.require_fit(attribute)
    return kind


def require_size(attribute: Attribute) -> None:
    """Raise WorkloadError where an attribute has too many values for matrices of n x n."""
    if attribute.size > SIZE_LIMIT:
        raise WorkloadError(
            f"{attribute.name!r} has {attribute.size:,} values; only one count per value can be asked of more "
            f"than {SIZE_LIMIT:,}: use coarser values, or leave its kind of query out"
        )
