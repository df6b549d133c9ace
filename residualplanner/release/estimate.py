"""Estimates of single numbers, with which one calculates as with numbers: errors keep their correlation.

Source: docs/mathematics.md section 7; eqs. (12), (26), (118), (119) and (136).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.method.plan.error_table import query_table
from residualplanner.release.heading import Heading

if TYPE_CHECKING:
    from residualplanner.gate.measurement.measurement import NoisyAnswers


class WeightedCells(NamedTuple):
    """A sum of cells of a table, times weights."""

    table: Heading
    weights: FloatArray

    def noise_weights(self) -> Iterator[tuple[tuple[int, ...], tuple[float, FloatArray]]]:
        """Of each set of attributes the variance of its noise, and what that is multiplied by.  Source: eq. (26)."""
        positions = sorted(self.table.positions)
        accuracy = query_table(self.table.plan.accuracy, self.table.query)
        for bits, weights in accuracy.noise_weights(self.weights):
            members = tuple(position for bit, position in enumerate(positions) if bits >> bit & 1)
            yield members, (float(accuracy.noise[bits]), weights.ravel())


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased estimate of one number, which is calculated with as a number is.

    Sums and differences of estimates, and multiples, are estimates with exact variances, also where their errors are
    correlated, as those of all tables of one release are; what is divided by an estimate is a `RatioEstimate`.

    Attributes:
        estimate: in counts.
        variance: exact, in counts squared.

    Example:
        >>> from residualplanner import Domain, marginals, measure, reconstruct, select, zcdp
        >>> plan = select(marginals(Domain({"sex": ["F", "M"], "age": 3}), order=2), budget=zcdp("0.5"))
        >>> release = reconstruct(measure(plan, np.zeros((900, 2), dtype=int), noise="gaussian", seed=1))
        >>> women, everyone = release["sex",].at(sex="F"), release[()].at()
        >>> men = everyone - women
        >>> abs(men.std_err - release["sex",].at(sex="M").std_err) < 1e-9
        True
        >>> f"{women / everyone:.2f}"
        '1.00'
    """

    estimate: float
    variance: float
    #: The cells that it is the sum of; none where it came from elsewhere, and so is independent of all others.
    cells: tuple[WeightedCells, ...] = field(default=(), compare=False, repr=False)
    #: Beside these, the part of the variance that came from elsewhere.
    elsewhere: float = field(default=0.0, compare=False, repr=False)

    @property
    def std_err(self) -> float:
        """The standard error, in counts."""
        return math.sqrt(self.variance)

    def moe(self, level: float = 0.95) -> float:
        """The margin of error: the estimate is within it of the truth with probability ``level`` at least.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        return margin_factor(level) * self.std_err

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval, low and high end; errors as in `moe`."""
        return self.estimate - self.moe(level), self.estimate + self.moe(level)

    def covariance(self, other: "Estimate") -> float:
        """The covariance of the errors of two estimates, exact, in counts squared.  Source: eq. (136)."""
        return (_variance((*self.cells, *other.cells)) - _variance(self.cells) - _variance(other.cells)) / 2

    @property
    def linear(self) -> "Estimate":
        """Itself."""
        return self

    def __float__(self) -> float:
        return self.estimate

    def __format__(self, form: str) -> str:
        return format(self.estimate, form)

    def __round__(self, digits: int | None = None) -> float:
        return round(self.estimate, digits)

    def __neg__(self) -> "Estimate":
        return self * -1.0

    def __add__(self, other: "Operand") -> "Estimate":
        added = other.linear if hasattr(other, "linear") else Estimate(0.0 + other, 0.0)
        cells = (*self.cells, *added.cells)
        elsewhere = sum(each.elsewhere if each.cells else each.variance for each in (self, added))
        correlated = self.cells and added.cells
        variance = _variance(cells) + elsewhere if correlated else self.variance + added.variance
        return Estimate(self.estimate + added.estimate, variance, cells, elsewhere)

    __radd__ = __add__

    def __sub__(self, other: "Operand") -> "Estimate":
        return self + -other

    def __rsub__(self, other: float) -> "Estimate":
        return -self + other

    def __mul__(self, factor: float) -> "Estimate":
        if hasattr(factor, "linear"):
            return NotImplemented
        cells = tuple(WeightedCells(each.table, each.weights * factor) for each in self.cells)
        return Estimate(self.estimate * factor, self.variance * factor**2, cells, self.elsewhere * factor**2)

    __rmul__ = __mul__

    def __truediv__(self, other: "Operand") -> "Operand":
        return RatioEstimate(self, other.linear) if hasattr(other, "linear") else self * (1 / other)

    def __rtruediv__(self, other: float) -> "RatioEstimate":
        return RatioEstimate(Estimate(0.0 + other, 0.0), self)


@dataclass(frozen=True, slots=True)
class RatioEstimate:
    """The ratio of two estimates, a multiple of one, or one with a number added: a proportion, or a relative change.

    What else is calculated with it has an error to first order.

    Attributes:
        above: what is divided.
        below: what it is divided by.
        factor: that the ratio is multiplied by.
        shift: what is then added.

    Source: eqs. (118) and (119); Fieller 1954.
    """

    above: Estimate
    below: Estimate
    factor: float = 1.0
    shift: float = 0.0

    @property
    def estimate(self) -> float:
        """The ratio of the two; NaN where the one below is not above 0."""
        return self.linear.estimate

    @property
    def std_err(self) -> float:
        """Its standard error, to first order."""
        return self.linear.std_err

    @property
    def linear(self) -> Estimate:
        """An estimate whose error is that of the ratio, to first order."""
        if self.below.estimate <= 0:
            return Estimate(math.nan, math.nan)
        ratio = self.above.estimate / self.below.estimate
        error = (self.above - self.below * ratio) * (self.factor / self.below.estimate)
        return replace(error, estimate=ratio * self.factor + self.shift)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Fieller's interval, low and high end, which holds however small the one below is: it may have no ends.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        from residualplanner.release.ratios import Ratio, fieller_interval  # which plain tables do without

        covariance = self.above.covariance(self.below)
        numbers = self.above.estimate, self.below.estimate, self.above.variance, self.below.variance, covariance
        low, high = fieller_interval(Ratio(*map(np.array, numbers)), margin_factor(level), math.inf)
        ends = sorted(float(end) * self.factor + self.shift for end in (low, high))
        return ends[0], ends[1]

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"RatioEstimate({self.estimate:.6g}, from {low:.6g} to {high:.6g} at 95%)"

    def __float__(self) -> float:
        return self.estimate

    def __format__(self, form: str) -> str:
        return format(self.estimate, form)

    def __round__(self, digits: int | None = None) -> float:
        return round(self.estimate, digits)

    def __neg__(self) -> "RatioEstimate":
        return self * -1.0

    def __add__(self, other: "Operand") -> "Operand":
        return self.linear + other if hasattr(other, "linear") else replace(self, shift=self.shift + other)

    __radd__ = __add__

    def __sub__(self, other: "Operand") -> "Operand":
        return self + -other

    def __rsub__(self, other: "Operand") -> "Operand":
        return -self + other

    def __mul__(self, factor: float) -> "RatioEstimate":
        if hasattr(factor, "linear"):
            return NotImplemented
        return replace(self, factor=self.factor * factor, shift=self.shift * factor)

    __rmul__ = __mul__

    def __truediv__(self, other: "Operand") -> "RatioEstimate":
        return RatioEstimate(self.linear, other.linear) if hasattr(other, "linear") else self * (1 / other)

    def __rtruediv__(self, other: float) -> "RatioEstimate":
        return other / self.linear


#: What is calculated with.
Operand = Estimate | RatioEstimate | float


def _variance(cells: Iterable[WeightedCells]) -> float:
    """The variance of a sum of cells of tables, of one release or of several.  Source: eqs. (26) and (136)."""
    totals: list[tuple[NoisyAnswers, dict[tuple[int, ...], FloatArray]]] = []  # of each noise that some have in common
    for each in cells:
        answers = each.table.noisy_answers
        total = next((own for known, own in totals if has_same_noise(known, answers)), None)
        if total is None:
            total = {}
            totals.append((answers, total))
        for members, (variance, weights) in each.noise_weights():
            total[members] = total.get(members, 0.0) + math.sqrt(variance) * weights
    found = 0.0
    for _, total in totals:
        found += sum(float(np.vdot(weights, weights)) for weights in total.values())
    return found


def has_same_noise(one: "NoisyAnswers", other: "NoisyAnswers") -> bool:
    """Whether two tables follow from the same noisy answers, and not from independent ones.

    WorkloadError where they have some measurements in common, and others not, so that their covariance is not known.
    """
    if one is other or one.answers_sha256 == other.answers_sha256:
        return True
    hashes = [{each.answers_sha256 for each in answers.measurements} for answers in (one, other)]
    if hashes[0] & hashes[1]:
        raise WorkloadError(
            "the two have some measurements in common, and others not, so that the covariance of their errors is not "
            "known; compare tables of one release, or of releases that were measured apart"
        )
    return False
