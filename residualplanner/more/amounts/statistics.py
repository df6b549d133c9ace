"""Kinds of query for statistics that are no sums over records: means and quantiles of an attribute.

A plan makes the errors of these rows small, and so those of the statistic, whatever it turns out to be.
Source: eqs. (121) and (124).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.kind import Kind, tied_kind
from residualplanner.method.queries.rows import ENTRY_LIMIT
from residualplanner.more.amounts.amounts import ByBin, OfBins, amounts_of, amounts_of_cells, by_bin, per_bin_in_json

#: The label of the first row of each: how many records have a value that counts.
COUNT = "count"


class Statistic(Kind):
    """A kind whose answers are the sums that one statistic of each group is made of, the count first."""

    __slots__ = ()
    #: Which of `more_axes` is that of the attribute's own values, or bins; "" where none is.
    axis_of_values: ClassVar[str] = ""

    @property
    def more_axes(self) -> dict[str, tuple[object, ...]]:
        """The labels of axes of the statistic after those of the groups, by the names of their columns."""
        return {}

    def meanings_of_values(self, attribute: Attribute) -> tuple[str, ...] | None:
        """The labels of the axis of values in words; None where there is none, or no value has a meaning."""
        if not (self.axis_of_values and attribute.meanings):
            return None
        meant = dict(zip(map(label_text, attribute.value_labels), attribute.value_meanings, strict=True))
        return tuple(meant[label_text(label)] for label in self.more_axes[self.axis_of_values])


@dataclass(frozen=True, slots=True, repr=False)
class Mean(Statistic, OfBins):
    """The mean of the amounts of an attribute, with their count and sum.

    Its three answers are the count, the sum of what amounts are above ``between[0]``, and the sum of what they are
    below ``between[1]``, both in units of the range of the amounts, so that a record adds at most 1.  No mean between
    the two has a larger error than it would have at one of them, where that is the error of one of these sums.

    Attributes:
        between: where the means are expected to be, from what is publicly known, such as (30_000, 90_000); None for the
            limits of the amounts.  Means elsewhere are right, too, and have right errors, which are larger.
        edges: of the bins that it is tied to; None as long as there is no attribute.
        per_bin: how many cells each of these has.

    Raises:
        WorkloadError: ``between`` is not two increasing numbers; or, once tied, not within the limits.

    Source: eq. (121).

    Example:
        >>> from residualplanner import Numeric
        >>> salary = Attribute("salary", numeric=Numeric(0, 40, bins=[10]))
        >>> Mean().on(salary).matrix(4).tolist()
        [[1.0, 1.0, 1.0, 1.0], [0.0, 0.25, 0.25, 1.0], [1.0, 0.75, 0.75, 0.0]]
        >>> Mean((10, 20)).on(salary).labels(salary)
        ('count', 'above 10', 'below 20')
    """

    statistics: ClassVar[str] = "means"
    name = "mean"

    between: tuple[float, float] | None = None
    per_bin: int = field(default=2, kw_only=True)

    def __post_init__(self) -> None:
        if self.between is None:
            return
        try:
            least, most = map(float, self.between)
        except (TypeError, ValueError):
            least, most = 1.0, 0.0
        if not least < most:
            raise WorkloadError(f"between= must be two increasing numbers, got {value_text(self.between)}")
        object.__setattr__(self, "between", (least, most))

    def __repr__(self) -> str:
        return "Mean()" if self.between is None else f"Mean(between=({self.between[0]:.15g}, {self.between[1]:.15g}))"

    @property
    def written(self) -> "Mean":
        """The same without edges."""
        return Mean(self.between)

    def to_json(self) -> dict[str, Any]:
        """Lists of numbers, or null."""
        between = None if self.between is None else list(self.between)
        fields = {"kind": self.name, "between": between, "edges": self.edges_in_json}
        return fields | per_bin_in_json(self.per_bin)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest amount."""
        return self.tied_edges[0], self.tied_edges[-1]

    @property
    def expected(self) -> tuple[float, float]:
        """Where means are expected to be: ``between``, or the limits."""
        return self.limits if self.between is None else self.between

    def on(self, attribute: Attribute) -> "Mean":
        """The mean tied to the ends of an attribute's bins; WorkloadError where these are not around ``between``."""
        numeric = amounts_of(attribute, "to average")
        low, high = numeric.amounts[0], numeric.amounts[-1]
        if self.between is not None and not low <= self.between[0] < self.between[1] <= high:
            raise WorkloadError(f"{self!r} is not within the limits of {attribute.name!r}, {low:.15g} and {high:.15g}")
        return replace(self, edges=numeric.amounts, per_bin=numeric.per_bin)

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The count, and what is above one amount and below the other, (3, size); 0 for other labels: eq. (121)."""
        (low, high), (least, most) = self.limits, self.expected
        cells = amounts_of_cells(self.tied_edges, self.per_bin)
        return self._over(size, np.ones(len(cells)), (cells - least) / (high - low), (most - cells) / (high - low))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``count``, ``above`` the one amount, ``below`` the other, (3,)."""
        least, most = self.on(attribute).expected
        return COUNT, f"above {least:.15g}", f"below {most:.15g}"


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Quantiles(Statistic, OfBins):
    """Quantiles of an attribute of amounts, or of bins of numbers: the median, say.

    Its answers are the count, and for each probability p and each edge between two bins the excess: 1 - p times the
    records below the edge less p times those above it, which is 0 where the edge is the quantile.

    Attributes:
        probabilities: strictly between 0 and 1, (p,): one number, several, or a list of them; quartiles unless given.
        edges: of the bins that it is tied to; None as long as there is no attribute.
        ends: how many cells a bin has: 2 where values are amounts, 3 with squares, else 1.

    Raises:
        WorkloadError: a probability is not between 0 and 1, or is there twice.

    Source: eqs. (120) and (124).

    Example:
        >>> from residualplanner import Bins
        >>> age = Attribute("age", bins=Bins([0, 20, 60, 100]))
        >>> Quantiles(0.5).on(age).matrix(3).tolist()
        [[1.0, 1.0, 1.0], [0.5, -0.5, -0.5], [0.5, 0.5, -0.5]]
        >>> Quantiles(0.25, 0.5).labels(age)
        ('count', '0.25 at 20', '0.25 at 60', '0.5 at 20', '0.5 at 60')
    """

    statistics: ClassVar[str] = "quantiles"
    name = "quantiles"

    probabilities: tuple[float, ...]
    ends: int

    def __init__(
        self, *probabilities: float | Sequence[float], edges: tuple[float, ...] | None = None, ends: int = 1
    ) -> None:
        wanted = probabilities[0] if len(probabilities) == 1 else probabilities or (0.25, 0.5, 0.75)
        try:
            given = tuple(np.atleast_1d(np.asarray(wanted, dtype=np.float64)).tolist())
        except (TypeError, ValueError):
            given = ()
        is_list = bool(given) and all(isinstance(entry, float) for entry in given)
        if not is_list or not all(0 < entry < 1 for entry in given) or len(set(given)) < len(given):
            raise WorkloadError(f"quantiles need different numbers between 0 and 1, got {value_text(wanted)}")
        for name, value in (("probabilities", given), ("edges", edges), ("ends", ends)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Quantiles({', '.join(map(repr, self.probabilities))})"

    @property
    def written(self) -> "Quantiles":
        """The same without edges."""
        return Quantiles(self.probabilities)

    @property
    def more_axes(self) -> dict[str, tuple[object, ...]]:
        """The probabilities."""
        return {"probability": self.probabilities}

    def to_json(self) -> dict[str, Any]:
        """The probabilities, edges or null, and the cells of a bin."""
        fields = {"probabilities": list(self.probabilities), "edges": self.edges_in_json, "ends": self.ends}
        return {"kind": self.name, **fields}

    def on(self, attribute: Attribute) -> "Quantiles":
        """The quantiles tied to an attribute's bins of numbers; WorkloadError for one bin, or too many."""
        bins = attribute.bins if attribute.numeric is None else attribute.numeric.bins
        if bins is None or not all(isinstance(edge, int | float) for edge in bins.edges):
            raise WorkloadError(
                f"{attribute.name!r} has no amounts and no bins of numbers, for quantiles; make it Numeric or Bins"
            )
        edges = tuple(float(edge) for edge in bins.edges if isinstance(edge, int | float))
        ends = 1 if attribute.numeric is None else attribute.numeric.per_bin
        rows = len(self.probabilities) * (len(edges) - 2)
        if rows == 0:
            raise WorkloadError(f"{attribute.name!r} has one bin, which says nothing of quantiles; declare more bins")
        if rows * ends * len(edges) > ENTRY_LIMIT:
            raise WorkloadError(f"{attribute.name!r} has too many bins for these quantiles; ask for Prefix() instead")
        return Quantiles(self.probabilities, edges=edges, ends=ends)

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The count, and the excesses, (1 + p (bins - 1), size); 0 for other labels: eq. (124)."""
        bins = len(self.tied_edges) - 1
        below = np.tri(bins - 1, bins)
        rows = np.concatenate([np.ones((1, bins)), *(below - p for p in self.probabilities)])
        return self._over(size, *np.repeat(rows, self.ends, axis=1))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``count``, and of each excess its probability and edge, (q,)."""
        inner = self.on(attribute).tied_edges[1:-1]
        return COUNT, *(f"{p:.15g} at {edge:.15g}" for p in self.probabilities for edge in inner)


def kind_on_amounts(kind: Kind, attribute: Attribute) -> Kind:
    """A kind tied to the cells of an attribute whose values are amounts; WorkloadError for that of a threshold."""
    if isinstance(kind, OfBins | Statistic):
        return kind.on(attribute)  # type: ignore[union-attr]
    if isinstance(kind, ByBin):
        return kind
    if isinstance(of := getattr(kind, "of", None), OfBins | Statistic):
        raise WorkloadError(f"the {of.name} of {attribute.name!r} cannot be about some of its own bins only")
    if kind.at_least:
        raise WorkloadError(f"a threshold cannot match {attribute.name!r}, whose values are amounts; leave it out")
    bins = attribute.by_bin.size - len(attribute.own_labels)
    return by_bin(tied_kind(kind, attribute.by_bin), bins, amounts_of(attribute, "to count").per_bin)
