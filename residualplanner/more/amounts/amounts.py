"""Kinds of query on amounts, whose bins have two cells each, or three with squares: counts by bin, and sums.

A record has a part at the low end of its bin and the rest at the high end: (1, 1) counts it, (l, h) sums it up; with
squares some is between the two, where (l + h) / 2 is summed.
Source: eqs. (105) and (140).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.kron.arrays import SameArray, namespace
from residualplanner.method.queries.kind import Kind, require_size
from residualplanner.method.queries.rows import Centered, Rows
from residualplanner.more.amounts.numeric import Numeric


@dataclass(frozen=True, slots=True)
class BinRows(Rows):
    """Rows over bins as rows over cells, W C: C (values, cells) adds up the cells of each bin."""

    of_bins: Rows  # W, over the bins and the labels of unknown and missing entries after them
    bins: int  # how many bins there are
    per_bin: int = 2  # how many cells each has; those of all bins are the first

    def rows(self, size: int) -> int:
        """As many as W has."""
        return self.of_bins.rows(self._values(size))

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The column of W of a bin in each of its cells."""
        of_bins: NDArray[np.float64] = self.of_bins.matrix(self._values(size))
        return of_bins[:, self._bin_of(size)]

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The column of W of a bin in each of its cells, without the entries 0."""
        return sparse.csr_array(self.of_bins.sparse_rows(self._values(size))[:, self._bin_of(size)])

    def gram(self, size: int) -> NDArray[np.float64]:
        """``C^T W^T W C``."""
        return self._spread(self.of_bins.gram(self._values(size)), size)

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """``C^T W^T diag(weights) W C``."""
        return self._spread(self.of_bins.weighted_gram(weights, self._values(size)), size)

    def augmented_gram(self, size: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The same with the constant parts of the rows before it."""
        form: NDArray[np.float64] = self.of_bins.augmented_gram(self._values(size), weights)
        of_cell = np.concatenate([[0], 1 + self._bin_of(size)])
        return np.asarray(form[np.ix_(of_cell, of_cell)])

    def centered(self, size: int) -> Centered:
        """W's parts, the rest over the cells."""
        rows, constant = self.of_bins.centered(self._values(size))
        return Centered(BinRows(rows, self.bins, self.per_bin), constant)

    def equal_columns(self, size: int) -> NDArray[np.int64]:
        """The first cell of the first bin that has the same column of W."""
        of_cell = self._bin_of(size)
        first: NDArray[np.int64] = np.searchsorted(of_cell, np.arange(self._values(size)))
        return first[self.of_bins.equal_columns(self._values(size))[of_cell]]

    exchangeable_values = equal_columns  # no row is of a single cell of a bin

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """The cells of each bin added up, then W."""
        xp = namespace(array)
        values = xp.moveaxis(array, axis, 0)
        cells = self.per_bin * self.bins
        places = [values[place : cells : self.per_bin] for place in range(self.per_bin)]
        added = xp.concat([reduce(add, places), values[cells:]], axis=0)
        bins: SameArray = xp.moveaxis(added, 0, axis)
        return self.of_bins.apply(bins, axis)

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """``w_r C form C^T w_r`` for each row of W."""
        starts = np.searchsorted(self._bin_of(len(form)), np.arange(self._values(len(form))))
        return self.of_bins.row_forms(np.add.reduceat(np.add.reduceat(form, starts, axis=0), starts, axis=1))

    def _bin_of(self, size: int) -> NDArray[np.int64]:
        return np.concatenate([np.repeat(np.arange(self.bins), self.per_bin), np.arange(self.bins, self._values(size))])

    def _values(self, size: int) -> int:
        """How many bins and labels there are, where there are so many cells."""
        return size - (self.per_bin - 1) * self.bins

    def _spread(self, form: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        of_cell = self._bin_of(size)
        return np.asarray(form[np.ix_(of_cell, of_cell)])


#: What a kind says of an attribute.
_SAID_OF_ATTRIBUTES = ("unit", "labels", "meanings", "columns_beside", "full_names")


@dataclass(frozen=True, slots=True)
class ByBin(BinRows):
    """Any kind of query on bins, of an attribute whose values are amounts; `tied_kind` makes it.

    Its rows are over cells; all else is as of the kind on the bins, about the attribute of the bins.
    """

    of_bins: Kind  # the kind of query on the bins; ``bins`` as in `BinRows`

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.of_bins, name)
        return (lambda attribute: found(attribute.by_bin)) if name in _SAID_OF_ATTRIBUTES else found

    @property
    def unselected(self) -> "ByBin":
        """The same answers about all records."""
        return ByBin(self.of_bins.unselected, self.bins, self.per_bin)

    @property
    def universe(self) -> "ByBin":
        """The number of the records that it is about."""
        return ByBin(self.of_bins.universe, self.bins, self.per_bin)

    @property
    def written(self) -> Kind:
        """The kind on the bins."""
        return self.of_bins

    def to_json(self) -> dict[str, Any]:
        """The kind on the bins, how many bins there are, and how many cells each has, where these are three."""
        fields = {"kind": "by bin", "of_bins": self.of_bins.to_json(), "bins": self.bins}
        return fields | per_bin_in_json(self.per_bin)

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless the attribute has amounts in as many bins, which the kind fits."""
        if attribute.numeric is None or (len(attribute.numeric), attribute.numeric.per_bin) != (
            self.per_bin * self.bins,
            self.per_bin,
        ):
            raise WorkloadError(f"the kind of query on {attribute.name!r} is for amounts in {self.bins:,} bins")
        require_size(attribute)
        if attribute.by_bin.size == 1:
            problem = f"{attribute.name!r} has one bin, whose count is that of all records"
            raise WorkloadError(f"{problem}; ask for its Sum(), or declare more bins")
        self.of_bins.require_fit(attribute.by_bin)


def by_bin(of_bins: Kind, bins: int, per_bin: int = 2) -> Kind:
    """A kind of query on so many bins, of an attribute whose values are amounts, with so many cells each."""
    return cast("Kind", ByBin(of_bins, bins, per_bin))


def per_bin_in_json(per_bin: int) -> dict[str, int]:
    """The field of kinds that says how many cells a bin has; none where they are two."""
    return {} if per_bin == 2 else {"per_bin": per_bin}


def amounts_of_cells(edges: Sequence[float], per_bin: int) -> NDArray[np.float64]:
    """What each cell of bins adds to the sum of the amounts, (bins * per_bin,).  Source: eqs. (105) and (140)."""
    return np.ravel([np.linspace(low, high, per_bin) for low, high in pairwise(edges)])


def amounts_of(attribute: Attribute, purpose: str) -> Numeric:
    """The limits and bins of an attribute's amounts; WorkloadError, with the purpose in words, where it has none."""
    if attribute.numeric is None:
        problem = f"{attribute.name!r} has no amounts {purpose}"
        raise WorkloadError(f"{problem}; declare Numeric(low, high) in place of {attribute.values.words}")
    return attribute.numeric


@dataclass(frozen=True, slots=True, repr=False)
class OfBins(Kind):
    """A kind that is tied to the ends of an attribute's bins before it has a matrix."""

    edges: tuple[float, ...] | None = field(default=None, kw_only=True)

    @abstractmethod
    def on(self, attribute: Attribute) -> "OfBins":
        """The kind tied to the amounts or bins of an attribute; WorkloadError where these do not serve."""

    @property
    def tied_edges(self) -> tuple[float, ...]:
        """The edges; WorkloadError where there are none yet."""
        if self.edges is None:
            raise WorkloadError(f"a kind {self.name!r} has no matrix before it is tied to an attribute's bins")
        return self.edges

    @property
    def edges_in_json(self) -> list[float] | None:
        """The edges as files have them."""
        return None if self.edges is None else list(self.edges)

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless it is tied to this attribute's amounts or bins."""
        require_size(attribute)
        if self.on(attribute) != self:
            raise WorkloadError(f"the {self.name} of {attribute.name!r} is tied to other bins than that attribute has")

    @staticmethod
    def _over(size: int, *rows: NDArray[np.float64]) -> sparse.csr_array:
        """Rows over the cells of bins, 0 for other labels."""
        found = np.zeros((len(rows), size))
        found[:, : len(rows[0])] = rows
        return sparse.csr_array(found)


@dataclass(frozen=True, slots=True, repr=False)
class Sum(OfBins):
    """The sum of the amounts of an attribute, in the unit of the column: one answer, or one for each bin.

    Its errors are in that unit.  In a loss they are measured in units of the largest amount in size, which is the most
    that one record adds: so a sum and a count of one table matter equally.

    Attributes:
        by: "bin" for the sum of the amounts in each bin; None for that of all.
        edges: of the bins that it is tied to; None as long as there is no attribute.
        per_bin: how many cells each of these has.

    Raises:
        WorkloadError: ``by`` is another word.

    Source: eq. (105).

    Example:
        >>> from residualplanner import Numeric
        >>> salary = Attribute("salary", numeric=Numeric(0, 30, bins=[10]), missing="Not stated")
        >>> Sum("bin").on(salary).matrix(5).astype(int).tolist()
        [[0, 10, 0, 0, 0], [0, 0, 10, 30, 0]]
        >>> Sum("bin").labels(salary), Sum().labels(salary)
        (('sum of [0, 10)', 'sum of [10, 30]'), ('sum',))
    """

    by: Literal["bin"] | None = None
    per_bin: int = field(default=2, kw_only=True)

    def __post_init__(self) -> None:
        if self.by not in (None, "bin"):
            raise WorkloadError(f"a sum is by='bin' or, without by, of all amounts; got by={value_text(self.by)}")

    def __repr__(self) -> str:
        return f"Sum({'' if self.by is None else repr(self.by)})"

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        return "sum" if self.by is None else "sum by bin"

    @property
    def scale(self) -> float:
        """The largest amount in size."""
        return 1.0 if self.edges is None else max(abs(self.edges[0]), abs(self.edges[-1]))

    @property
    def written(self) -> "Sum":
        """The same without edges."""
        return Sum(self.by)

    def to_json(self) -> dict[str, Any]:
        """What it is by, and edges, or null."""
        return {"kind": "sum", "by": self.by, "edges": self.edges_in_json, **per_bin_in_json(self.per_bin)}

    def unit(self, attribute: Attribute) -> str:
        """The unit that is said of the attribute, or else its name."""
        return attribute.about.unit or attribute.name

    def on(self, attribute: Attribute) -> "Sum":
        """The sum tied to the ends of an attribute's bins."""
        numeric = amounts_of(attribute, "to sum up")
        return replace(self, edges=numeric.amounts, per_bin=numeric.per_bin)

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """What the cells of the bins add to the sum, (q, size), 0 for labels of unknown and missing entries."""
        cells = amounts_of_cells(self.tied_edges, self.per_bin)
        row = np.arange(len(cells)) // (len(cells) if self.by is None else self.per_bin)
        entries = (cells, (row, np.arange(len(cells))))
        found = sparse.csr_array(sparse.coo_array(entries, shape=(int(row[-1]) + 1, size)))
        found.eliminate_zeros()
        return found

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``sum``, or ``sum of`` each bin, (q,)."""
        if self.by is None or attribute.numeric is None:
            return ("sum",)
        return tuple(f"sum of {label}" for label in attribute.numeric.bins.labels)
