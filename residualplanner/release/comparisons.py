"""Tables compared, cell by cell, of one release or of two: differences, ratios and changes; and the ranks of cells.

Errors are exact, as the covariance of two cells of one release is known; cells of two releases are independent.
Source: docs/mathematics.md section 7; eqs. (118), (119), (136) and (137).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor, require_level
from residualplanner.ground.notebooks import frame_html
from residualplanner.release.estimate import has_same_noise
from residualplanner.release.heading import Heading
from residualplanner.release.ratios import Ratio, fieller_interval, ratio_and_std_err
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: The most cells that are ranked: all pairs are compared.
_MOST_RANKED = 4096
_COMPARED = "estimate", "std_err", "low", "high"
#: Those of ranks, which follow the estimate.
RANKS = "rank", "first", "last"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class _CellTable(ABC):
    """Numbers of the cells of a table that are none of its own, shown as a data frame."""

    title: str
    unit: str
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    level: float

    def __repr__(self) -> str:
        return f"{self.title}\n{self.to_frame()}"

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    @property
    @abstractmethod
    def columns(self) -> list[tuple[str, str, str]]:
        """Name, unit and meaning of the columns of numbers."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each cell, with its labels and the columns of numbers."""
        import pandas as pd

        rows = [*product(*self.labels)]
        frame = pd.DataFrame(rows, columns=[*self.names], index=range(len(rows)))
        return frame.assign(**{name: np.ravel(getattr(self, name)) for name, _, _ in self.columns})


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ComparedTable(_CellTable):
    """What cells of a table are beside those of another, with standard errors and intervals.

    Attributes:
        title: what it is, in words.
        unit: of the differences; empty for ratios.
        names: of the attributes, axis by axis.
        labels: along each axis.
        level: the confidence level of the intervals; with ``simultaneous``, of all of them together.
        simultaneous: whether all intervals hold at once with that probability.
        equal: what the estimate would be if both cells were equal.
        errors: what the standard errors are: exact for differences, to first order for ratios, or by simulation.
        estimate (q_1, .., q_k): the differences or ratios; NaN where what is divided by is estimated as 0 or less.
        std_err (q_1, .., q_k): of the estimates, as ``errors`` says.
        low (q_1, .., q_k): the lower ends of the intervals; minus infinity where a ratio has none.
        high (q_1, .., q_k): the upper ends; infinity likewise.
    """

    simultaneous: bool
    equal: float
    errors: str
    estimate: FloatArray
    std_err: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def is_clear(self) -> NDArray[np.bool_]:
        """Whether the interval of a cell says that the two differ."""
        return np.asarray((self.low > self.equal) | (self.high < self.equal))

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """Name, unit and meaning of the columns of numbers."""
        all_at_once = ", of all rows at once" * self.simultaneous
        ends = [f"{end} end of the interval of level {self.level:.15g}{all_at_once}" for end in ("low", "high")]
        meanings = self.title, f"standard error, {self.errors}", *ends
        return [(name, self.unit, meaning) for name, meaning in zip(_COMPARED, meanings, strict=True)]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class RankTable(_CellTable):
    """The ranks of the cells of a table, the largest first, with the ranks that noise leaves possible.

    Attributes:
        title: what it is, in words.
        unit: of the estimates.
        names: of the attributes, axis by axis.
        labels: along each axis.
        level: the probability, at least, with which all true ranks are within their limits.
        estimate (q_1, .., q_k): the estimates that are ranked.
        rank (q_1, .., q_k): their ranks, from 1.
        first (q_1, .., q_k): the highest rank that a cell may truly have: one more than cells are clearly larger.
        last (q_1, .., q_k): the lowest one: as many as there are, less those that are clearly smaller.
    """

    estimate: FloatArray
    rank: IntArray
    first: IntArray
    last: IntArray

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """Name, unit and meaning of the columns of numbers."""
        noise = f"that noise leaves possible, with probability {self.level:.15g} in all rows at once"
        meanings = "unbiased estimate", "its rank, the largest first", f"highest rank {noise}", f"lowest rank {noise}"
        units = self.unit, "", "", ""
        return [*zip(("estimate", *RANKS), units, meanings, strict=True)]

    def to_frame(self) -> "pd.DataFrame":
        """A row for each cell, the highest rank first: its labels, ``estimate``, ``rank``, ``first`` and ``last``."""
        return _CellTable.to_frame(self).sort_values("rank", ignore_index=True)


Comparisons = Mapping[str, ComparedTable | RankTable]


def difference(one: Table, other: Table, *, level: float = 0.95, simultaneous: bool = False) -> ComparedTable:
    """The differences of the cells of two tables, with exact errors.

    Args:
        one: a table of unbiased estimates.
        other: one with the same attributes and labels, or some of them: each of its cells is compared with all of the
            first that have its labels.  Of the same release, or another one.
        level: the confidence level of the intervals.
        simultaneous: whether all intervals are to hold at once with this probability.

    Raises:
        WorkloadError: the numbers are not unbiased; the labels differ; or the two releases have some measurements in
            common, and others not.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eq. (136).

    Example:
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"year": [2025, 2026], "region": ["north", "south"]})
        >>> plan = rp.select(rp.marginals(domain, order=2), budget=rp.zcdp(1))
        >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [300, 100, 250, 150], axis=0)
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> in_2025, in_2026 = (release[rp.Among(("region",), where={"year": year})] for year in (2025, 2026))
        >>> difference(in_2026, in_2025).estimate.round(-1)
        array([-50.,  50.])
    """
    pair = _ratio_of(one, other, "difference")
    margin = _margin(level, pair.above.size, simultaneous=simultaneous)
    found = pair.above - pair.below
    std_err = np.sqrt(np.maximum(pair.of_above + pair.of_below - 2 * pair.covariance, 0))
    numbers = found, std_err, found - margin * std_err, found + margin * std_err
    return _compared((one, other), "difference of {} and {}", one.unit, level, simultaneous, 0.0, numbers)


def ratio(
    one: Table, other: Table, *, factor: float = 1.0, level: float = 0.95, simultaneous: bool = False
) -> ComparedTable:
    """The ratios of the cells of two tables, with Fieller's intervals, which hold for cells of any size.

    Args:
        one: a table of unbiased estimates.
        other: as of `difference`.
        factor: that ratios are multiplied by: 100 for percentages and indices, 100_000 for rates.
        level: the confidence level of the intervals.
        simultaneous: whether all intervals are to hold at once with this probability.

    Raises:
        WorkloadError: as of `difference`.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (118), (119) and (136).

    Example:
        >>> import residualplanner as rp
        >>> domain = rp.Domain({"region": ["north", "south"], "ill": ["yes", "no"]})
        >>> plan = rp.select(rp.marginals(domain, order=2), budget=rp.zcdp(1))
        >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [30, 970, 60, 940], axis=0)
        >>> release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
        >>> ill = release[rp.Among(("region",), where={"ill": "yes"})]
        >>> ratio(ill, release["region",], factor=1000).estimate.round(-1)
        array([30., 60.])
    """
    times = "" if factor == 1 else f", times {factor:,.15g}"
    return _compared_ratio("ratio", (one, other), f"of {{}} to {{}}{times}", level, simultaneous, factor)


def change(new: Table, old: Table, *, level: float = 0.95, simultaneous: bool = False) -> ComparedTable:
    """The relative changes of the cells of a table beside an older one: 0.1 is a tenth more.

    Args:
        new: a table of unbiased estimates.
        old: as the other one of `difference`.
        level: the confidence level of the intervals, which are Fieller's.
        simultaneous: whether all intervals are to hold at once with this probability.

    Raises:
        WorkloadError: as of `difference`.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eqs. (118), (119) and (136).
    """
    return _compared_ratio("change", (new, old), "of {} since {}", level, simultaneous, factor=1.0, shift=-1.0)


def ranks(table: Table, *, level: float = 0.95) -> RankTable:
    """The ranks of the cells of a table, and between which ranks the truth may be: "third to seventh".

    With probability ``level`` at least the limits hold for all cells at once: all pairs are compared, with the exact
    error of each difference, at a level that makes up for their number.

    Args:
        table: of unbiased estimates.
        level: the probability.

    Raises:
        WorkloadError: the numbers are not unbiased; the table has more than 4,096 cells.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eq. (137); of limits from pairs Mohamad, van Zwet, Zwinderman and Goeman (2019).

    Example:
        >>> import residualplanner as rp
        >>> plan = rp.select(rp.marginals(rp.Domain({"county": ["A", "B", "C"]}), order=1), budget=rp.zcdp(1))
        >>> records = np.repeat([[0], [1], [2]], [500, 100, 101], axis=0)
        >>> found = ranks(rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))["county",])
        >>> found.first.tolist(), found.last.tolist()
        ([1, 2, 2], [1, 3, 3])
    """
    require_type("ranks", "table", table, Table, 'write ranks(release["county",])')
    table.product.require_unbiased("the error of a rank")
    require_rankable(table)
    cells = table.estimate.size
    values, covariance = table.estimate.ravel(), table.covariance()
    variance = np.diagonal(covariance)
    std_err = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    margin = _margin(level, max(cells * (cells - 1) // 2, 1), simultaneous=True)
    is_larger = values[:, None] - values > margin * std_err
    rank = 1 + np.argsort(np.argsort(-values, kind="stable"))
    shaped = (rank, 1 + is_larger.sum(axis=0), cells - is_larger.sum(axis=1))
    limits = (frozen(each.reshape(table.estimate.shape)) for each in shaped)
    words = f"ranks of {table.title}", table.unit
    return RankTable(*words, table.names, table.labels, require_level(level), table.estimate, *limits)


def require_rankable(table: Heading) -> None:
    """Raise WorkloadError where a table has more cells than are ranked."""
    cells = math.prod(map(len, table.labels))
    if cells > _MOST_RANKED:
        raise WorkloadError(f"at most {_MOST_RANKED:,} cells are ranked, got {cells:,}; sum over an attribute first")


def require_comparable(one: Heading, other: Heading) -> None:
    """Raise WorkloadError unless a table's cells have cells of another beside them: with the same labels."""
    lacking = [name for name in other.names if name not in one.names]
    if lacking:
        raise WorkloadError(
            f"the first table has no attribute {lacking[0]!r}, so that each of its cells would be compared with "
            f"several; leave {lacking[0]!r} out of the other table, or ask for a first table that has it, too"
        )
    for name, labels in zip(other.names, other.labels, strict=True):
        if one.labels[one.names.index(name)] != labels:
            raise WorkloadError(f"the two tables have other labels of {name!r}, or in another order; ask for the same")


def _ratio_of(one: Table, other: Table, word: str) -> Ratio:
    """Two tables cell by cell, with their variances and covariance, (q_1, .., q_k) each; WorkloadError if unlike."""
    for table in (one, other):
        require_type(word, "table", table, Table, f'write {word}(release["a", "b"], release["a",])')
        table.product.require_unbiased("the error of a comparison")
    require_comparable(one, other)
    axes = [other.names.index(name) for name in one.names if name in other.names]
    shape = [len(labels) if name in other.names else 1 for name, labels in zip(one.names, one.labels, strict=True)]

    def spread(numbers: FloatArray) -> FloatArray:
        return np.asarray(np.broadcast_to(numbers.transpose(axes).reshape(shape), one.estimate.shape))

    is_same = has_same_noise(one.noisy_answers, other.noisy_answers)
    covariance = one.plan.covariance_with(one.query, other.query) if is_same else np.zeros(one.estimate.shape)
    return Ratio(one.estimate, spread(other.estimate), one.variance, spread(other.variance), covariance)


def _margin(level: float, cells: int, *, simultaneous: bool) -> float:
    """The margin in standard errors of each of so many cells.  Source: eqs. (47) and (137)."""
    # By Bonferroni's inequality, which holds however errors are correlated.
    return margin_factor(1 - (1 - require_level(level)) / cells if simultaneous else level)


def _compared_ratio(
    word: str, tables: tuple[Table, Table], of: str, level: float, simultaneous: bool, factor: float, shift: float = 0
) -> ComparedTable:
    pair = _ratio_of(*tables, word)
    found, std_err = ratio_and_std_err(pair)
    low, high = fieller_interval(pair, _margin(level, pair.above.size, simultaneous=simultaneous), np.inf)
    if factor < 0:
        low, high = high, low
    numbers = found * factor + shift, std_err * abs(factor), low * factor + shift, high * factor + shift
    return _compared(tables, f"{word} {of}", "", level, simultaneous, factor + shift, numbers)


def _compared(
    tables: tuple[Table, Table],
    title: str,
    unit: str,
    level: float,
    simultaneous: bool,
    equal: float,
    numbers: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
) -> ComparedTable:
    one, other = tables
    found = (frozen(np.asarray(each)) for each in numbers)
    is_same = has_same_noise(one.noisy_answers, other.noisy_answers)
    errors = "exact" if unit else "to first order"
    words = title.format(one.title, f"{other.title}{'' if is_same else ' of another release'}")
    return ComparedTable(words, unit, one.names, one.labels, float(level), simultaneous, equal, errors, *found)
