"""One count per value of an attribute: the identity, as in marginals, and matching, as in thresholds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from residualplanner.ground.checks import FloatArray, IntArray, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.kron.arrays import SameArray
from residualplanner.method.queries.kind import PlainRows


@dataclass(frozen=True, slots=True)
class Identity(PlainRows):
    """One answer per value: the basic matrix is the identity.

    Source: eq. (1).

    Example:
        >>> Identity().matrix(2)
        array([[1., 0.],
               [0., 1.]])
    """

    is_identity: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        return "identity"

    def matrix(self, size: int) -> FloatArray:
        """The identity matrix, (size, size)."""
        return np.eye(size)

    def sparse_rows(self, size: int) -> "scipy.sparse.csr_array":
        """The identity matrix, (size, size)."""
        return scipy.sparse.csr_array(scipy.sparse.eye_array(size))

    def exchangeable_values(self, size: int) -> IntArray:
        """All of them: each has a row of its own, (size,)."""
        return np.zeros(size, dtype=np.int64)

    def require_fit(self, attribute: Attribute) -> None:
        """Accept every attribute, whatever its size."""
        del attribute

    def weighted_gram(self, weights: FloatArray, size: int) -> FloatArray:
        """The diagonal matrix of the weights, (size, size)."""
        del size
        return np.diag(weights)

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """The array itself."""
        del axis
        return array

    def row_forms(self, form: FloatArray) -> FloatArray:
        """The diagonal of ``form`` (size, size)."""
        return np.diagonal(form).copy()

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The values of the attribute, (size,)."""
        return attribute.value_labels

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The values of the attribute in words, (size,)."""
        return attribute.value_meanings


@dataclass(frozen=True, slots=True)
class Matching(Identity):
    """One answer per value, matched together: a record counts if it has the values of at least r of the attributes.

    All attributes of a query that have this kind with the same r are answered together, as an r-of-k threshold; others
    beside them are answered each for itself.  `Threshold` writes a query in which all attributes are matched.

    Attributes:
        at_least: r, how many of these attributes must match; at least 1, and fewer than there are.

    Raises:
        WorkloadError: r is not a positive integer.

    Source: eq. (58).

    Example:
        >>> Matching(1).name
        'at least 1'
    """

    at_least: int

    def __post_init__(self) -> None:
        if isinstance(self.at_least, bool) or not isinstance(self.at_least, int) or self.at_least < 1:
            raise WorkloadError(f"at_least must be an integer, at least 1, got {value_text(self.at_least)}")

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        return f"at least {self.at_least}"

    def to_json(self) -> dict[str, Any]:
        """How many must match."""
        return {"kind": "matching", "at_least": self.at_least}


def require_threshold(at_least: int, order: int) -> None:
    """Raise WorkloadError unless a record of ``order`` attributes can match in ``at_least`` of them, and in fewer."""
    if isinstance(at_least, bool) or not isinstance(at_least, int) or not 1 <= at_least <= order:
        raise WorkloadError(f"at_least must be an integer from 1 to {order}, its attributes, got {at_least!r}")
