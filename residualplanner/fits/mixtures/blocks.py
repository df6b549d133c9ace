"""Where the values of each attribute stand in one array, and the softmax of each attribute's values.

Reads: sizes of attributes.  Gives: Blocks.  Nothing here has seen a record.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, frozen


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """The rows of an array (d', c) that belong to each attribute, d' being the sum of all sizes.

    Every row is contiguous: a query touches a few rows and all columns.

    Attributes:
        sizes: the number of values of each attribute, 1 or more.
        offsets (d + 1,): where the rows of each attribute start, and where the last ones end.

    Example:
        >>> blocks = Blocks((2, 3))
        >>> blocks.offsets.tolist(), blocks.rows(1)
        ([0, 2, 5], slice(2, 5, None))
        >>> blocks.softmax(np.zeros((5, 1))).ravel().round(3).tolist()
        [0.5, 0.5, 0.333, 0.333, 0.333]
    """

    sizes: tuple[int, ...]
    offsets: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.cumsum([0, *self.sizes], dtype=np.int64)))

    @property
    def count(self) -> int:
        """How many rows there are, d'."""
        return int(self.offsets[-1])

    def rows(self, attribute: int) -> slice:
        """The rows of an attribute."""
        return slice(int(self.offsets[attribute]), int(self.offsets[attribute + 1]))

    def sums(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """The sum over the values of each attribute, (d, c), of an array (d', c)."""
        found: NDArray[np.floating] = np.add.reduceat(values, self.offsets[:-1], axis=0)
        return found

    def repeated(self, numbers: NDArray[np.floating]) -> NDArray[np.floating]:
        """A row for each attribute (d, c) as one for each of its values, (d', c)."""
        return np.repeat(numbers, self.sizes, axis=0)

    def softmax(self, logits: NDArray[np.floating]) -> NDArray[np.floating]:
        """Probabilities of each attribute's values, (d', c); a logit of minus infinity has probability 0.

        Source: eq. (66).
        """
        largest = np.maximum.reduceat(logits, self.offsets[:-1], axis=0)
        found = np.exp(logits - self.repeated(largest))
        found /= self.repeated(self.sums(found))
        return found

    def slope_of_logits(self, probabilities: NDArray[np.floating], slope: NDArray[np.floating]) -> NDArray[np.floating]:
        """The slope of a function in logits (d', c), from its slope in the probabilities, (d', c).

        Source: eq. (71).
        """
        found = probabilities * slope
        found -= probabilities * self.repeated(self.sums(found))
        return found
