"""What many kinds of query have in common: protocols that fill in a part of that of kinds."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label
from residualplanner.method.queries.kind import Kind, require_size
from residualplanner.method.queries.meanings import meaning_column, names_by_meaning
from residualplanner.method.queries.rows import Centered, bordered


class OfAllRecords(Kind, Protocol):
    """Kinds that are about all records."""

    __slots__ = ()

    @property
    def file_word(self) -> str:
        """The name itself."""
        return self.name

    @property
    def where(self) -> tuple[Label, ...]:
        """None: they are about all records."""
        return ()

    @property
    def where_words(self) -> str:
        """Nothing."""
        return ""

    @property
    def is_axis(self) -> bool:
        """Yes."""
        return True

    @property
    def unselected(self) -> Kind:
        """The kind itself."""
        return self

    @property
    def universe(self) -> Kind:
        """The kind itself."""
        return self


class AnsweredAlone(Protocol):
    """Kinds of which each attribute is answered for itself; in counts, unless they say otherwise."""

    __slots__ = ()

    @property
    def at_least(self) -> int:
        """0: each attribute is answered for itself."""
        return 0

    @property
    def scale(self) -> float:
        """1: answers are counts, or as good as counts."""
        return 1.0

    @property
    def is_statistic(self) -> bool:
        """No: each answer stands for itself."""
        return False

    @property
    def written(self: Kind) -> Kind:
        """The kind itself."""
        return self

    def to_json(self: Kind) -> dict[str, Any]:
        """Its name, which says all."""
        return {"kind": self.name}

    def unit(self, attribute: Attribute) -> str:
        """None in words: answers are counts, or as good as counts."""
        del attribute
        return ""

    def meanings(self: Kind, attribute: Attribute) -> tuple[str, ...]:
        """The labels, (q,): they are words already."""
        return tuple(map(str, self.labels(attribute)))

    def columns_beside(self: Kind, attribute: Attribute) -> dict[str, tuple[str, ...]]:
        """The meanings of the labels, (q,), where values have some."""
        return meaning_column(self, attribute)

    def full_names(self: Kind, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
        """The meanings of the labels, (q,), where values have some."""
        return names_by_meaning(self, attribute)


class PlainRows(AnsweredAlone, OfAllRecords, Protocol):
    """Kinds whose rows contain no large constant, and whose columns all differ."""

    __slots__ = ()

    @property
    def is_identity(self) -> bool:
        """No: rows are sums of values."""
        return False

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: as many as it has values."""
        return size

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError where the attribute has too many values."""
        require_size(attribute)

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """W without its entries 0, (q, size)."""
        return sparse.csr_array(self.matrix(size))

    def augmented_gram(self, size: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The Gram matrix of the rows times the roots of ``weights`` (q,), with a border of 0, (1 + size, 1 + size)."""
        return bordered(self.gram(size) if weights is None else self.weighted_gram(weights, size))

    def centered(self, size: int) -> Centered:
        """The kind itself."""
        del size
        return Centered(self, np.zeros(1))

    def equal_columns(self, size: int) -> NDArray[np.int64]:
        """Each value itself, (size,)."""
        return np.arange(size)

    def exchangeable_values(self, size: int) -> NDArray[np.int64]:
        """None: each value has a number of its own, (size,)."""
        return np.arange(size)
