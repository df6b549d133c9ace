"""Everything that a mixture is fitted to: noisy answers of one stage or several, what is known, pulls to independence.

Source: docs/mathematics.md section 13; eqs. (48), (68) and (78).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from residualplanner.fits.mixtures.denoising import denoised, positive_mean
from residualplanner.fits.mixtures.loss import Features, Measured, MixtureLoss, View, loss_of
from residualplanner.fits.mixtures.mixture import Mixture, OneHot, product_sums
from residualplanner.fits.nonnegative.components import ComponentLayout, centered, measured_components
from residualplanner.fits.nonnegative.facts import Fact, Facts
from residualplanner.fits.synthesis.coarsening import Coarsening, fine, has_order
from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.kron.axis_maps import ProductMap
from residualplanner.method.queries.identity import Identity
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.method.workload.attribute_sets import subsets_of

#: What is known counts as measured with this part of the least noise scale.
_KNOWN = 0.1
#: How strongly pairs of attributes are pulled to independence, where nothing shows that they depend on one another.
_PULL = 0.3
#: A squared length may be noise alone up to so many standard deviations above the mean of that of noise.
_FAR = 3.0
#: The least squared length of a table, so that it can be divided by.
_TINY = np.finfo(np.float64).tiny
#: The least that the squared distance of a pair from independence can be, in units of its mean square.
_LEAST_PULL = 0.05
#: How often the trend of a pair counts besides its table, and how many standard errors from independence it then is.
_TREND, _SHOWN = 5, 2.0
#: The attributes of a table, in groups of their values, and the basis in which each was measured.
_Axes = list[tuple[Coarsening, Basis]]


@dataclass(frozen=True, eq=False)
class Stage:
    """Noisy answers over a domain of coarsened attributes."""

    measurement: NoisyAnswers
    coarsenings: tuple[Coarsening, ...]  # of the attributes of its plan, in the order of those of the domain
    order: int | None = None  # of how many attributes the sets are that count; of any if None

    @cached_property
    def layout(self) -> ComponentLayout:
        """Where the components of each set stand."""
        return ComponentLayout(basis_groups(self.measurement.plan.strategy))

    def tables(self) -> Iterator[tuple[_Axes, FloatArray, float]]:
        """The axes of each set that counts, its components, and the variance of their noise."""
        plan, layout = self.measurement.plan, self.layout
        components = measured_components(layout, self.measurement)
        for number, members in enumerate(plan.closure):
            if members and self.order in (None, len(members)):
                bases = layout.groups.bases[int(layout.groups.group[number])]
                axes = [(self.coarsenings[position], basis) for position, basis in zip(members, bases, strict=True)]
                yield axes, layout.of_set(components, number), float(plan.noise_variances[number])


class MeasuredTables(NamedTuple):
    """Everything that a mixture is fitted to."""

    facts: Facts  # what is known
    domain: Domain
    blocks: OneHot  # its attributes
    views: tuple[View, ...]  # what is measured of the values of each attribute
    tables: tuple[Measured, ...]  # of every set that was measured, but the empty one, as stages first did
    records: float  # how many there are: known, or estimated and at least 1
    near: tuple[FloatArray, ...]  # probabilities of the values of each attribute, from its own answers
    possible: tuple[Fact, ...]  # which cells can occur: those whose counts are above 0
    signal: float  # the number of records in units of the noise of an average pair

    def attributes_of(self, table: Measured) -> tuple[int, ...]:
        """The attributes of a table, by position."""
        return tuple(self.views[view].attribute for view in table.views)

    @property
    def pairs(self) -> dict[tuple[int, ...], Measured]:
        """The tables of two attributes, of counts of values or of groups of them, as the last stage measured them."""
        return {
            self.attributes_of(table): table
            for table in self.tables
            if len(table.views) == 2 and all(self.views[view].has_groups for view in table.views)
        }

    @property
    def loss(self) -> MixtureLoss:
        """How far a mixture is from all of it: of single attributes, from what is left where noise explains them.

        Pairs are pulled to independence, the weaker the more they were seen to depend on each other; trends count more.
        """
        views, trends = self.trends if self.records else ((), ())
        tables = [self._shrunk(table) if len(table.views) == 1 else table for table in self.tables]
        strengths = np.zeros((len(self.near),) * 2)
        for members, table in self.pairs.items() if self.records else ():
            strengths[members] = strengths[members[::-1]] = _strength(self, table)
        every = (*self.views, *views), [*tables, *trends]
        return loss_of(self.blocks, *every, self.records, near=self.near, strengths=strengths)

    @property
    def trends(self) -> tuple[tuple[View, ...], tuple[Measured, ...]]:
        """How the values of two attributes with an order rise together, in the pairs where that shows.

        Views of one row each, (1, n), numbered after all others, and a table of one number, (1, 1), for each such pair,
        in counts times codes.  Source: eq. (151).
        """
        every = dict.fromkeys(view for table in self.pairs.values() for view in table.views)
        scores, shown = {view: self._scores(view) for view in every}, list[Measured]()
        for table in self.pairs.values():
            one, other = (scores[view] for view in table.views)
            alone = (float(scores[view] @ self.alone(view)) for view in table.views)
            trend, square = float(one @ table.values @ other), float((one @ one) * (other @ other))
            if (trend - self.records * math.prod(alone)) ** 2 * table.precision > _SHOWN**2 * square:
                precision, freedom = _TREND * table.precision / square, _TREND * min(table.freedom, 1)
                shown.append(Measured(table.views, np.array([[trend]]), precision, freedom))
        used = dict.fromkeys(view for trend in shown for view in trend.views)
        number = {view: len(self.views) + position for position, view in enumerate(used)}
        rows = (View(self.views[view].attribute, scores[view][None, self._group(view)]) for view in used)
        return tuple(rows), tuple(each._replace(views=tuple(number[view] for view in each.views)) for each in shown)

    def alone(self, view: int) -> FloatArray:
        """What is measured of the probabilities of an attribute by itself, (e,)."""
        return self.views[view].applied(self.near[self.views[view].attribute], 0)

    def _group(self, view: int) -> IntArray:
        """The group of each value in a view of counts, (n,)."""
        attribute, rows = self.views[view]
        return np.arange(len(self.near[attribute])) if rows is None else rows.argmax(axis=0)

    def _scores(self, view: int) -> FloatArray:
        """The mean codes of the values in each group of a view, less their mean, (e,); zeros without an order."""
        position = self.views[view].attribute
        attribute, near = self.domain.attributes[position], self.near[position] + _TINY
        if not has_order(attribute):
            return np.zeros(self.views[view].rows(len(near)))
        codes, own = np.arange(len(near), dtype=np.float64), len(attribute.values)
        codes[own:] = near[:own] @ codes[:own] / near[:own].sum()  # labels of missing and other entries are between
        group = self._group(view)
        means = np.bincount(group, near * codes) / np.bincount(group, near)
        return np.asarray(means - means.mean())

    def _shrunk(self, table: Measured) -> Measured:
        """A single attribute's table, moved to the denoised one as far as noise may explain it.  Source: eq. (150)."""
        view = self.views[table.views[0]]
        square = table.precision * float(np.vdot(table.values, table.values))
        explained = table.freedom + _FAR * math.sqrt(2 * table.freedom)
        noise = min((explained / max(square, _TINY)) ** 2, 1.0)
        away = view.applied(self.near[view.attribute] * self.records, 0) - table.values
        return table._replace(values=table.values + noise * away, freedom=round((1 - noise) * table.freedom))

    def components_of(self, mixture: Mixture, tables: Iterable[Measured]) -> list[FloatArray]:
        """What some tables of a mixture of as many records would be, in counts."""
        features = Features(self.blocks, self.views)
        rows, weights = features.apply(mixture.probabilities), mixture.weights * self.records
        return [
            product_sums([rows[features.layout.rows(view)] for view in table.views], weights).astype(np.float64)
            for table in tables
        ]

    def components_of_records(self, codes: IntArray) -> list[FloatArray]:
        """What all tables of records with these codes (n, d) are."""
        found = []
        for table in self.tables:
            members = self.attributes_of(table)
            shape = [self.blocks.sizes[attribute] for attribute in members]
            cells = np.ravel_multi_index([codes[:, attribute] for attribute in members], shape)
            counts = np.bincount(cells, minlength=math.prod(shape)).astype(np.float64).reshape(shape)
            for axis, view in enumerate(table.views):
                counts = self.views[view].applied(counts, axis)
            found.append(counts)
        return found


#: A table as it is found: its axes, its values, one over the variance of their noise, and the degrees of freedom of it.
_Found = tuple[_Axes, FloatArray, float, int]


def _numbered(found: Sequence[_Found]) -> tuple[tuple[View, ...], tuple[Measured, ...]]:
    """All views, and all tables with the numbers of theirs: each once, the mean where it was measured repeatedly."""
    every = {(each.key, basis.key): (each, basis) for axes, *_ in found for each, basis in axes}
    views = {key: _view(*axis) for key, axis in every.items()}
    # Small ones first: small sets are measured with all that are small, so the rows of their views are contiguous.
    keys = sorted(views, key=lambda key: (views[key].rows(len(every[key][0].groups)), views[key].attribute))
    numbers = {key: number for number, key in enumerate(keys)}
    tables = dict[tuple[int, ...], Measured]()
    for axes, values, precision, freedom in found:
        own = Measured(tuple(numbers[each.key, basis.key] for each, basis in axes), values, precision, freedom)
        earlier = tables.get(own.views)
        tables[own.views] = own if earlier is None else earlier.averaged(own)
    return tuple(views[key] for key in keys), tuple(tables.values())


def _view(coarsening: Coarsening, basis: Basis) -> View:
    if not basis.takes_differences:
        matrix = basis.after_noise.matrix @ basis.before_noise.matrix
        return View(coarsening.attribute, matrix if coarsening.is_fine else matrix @ coarsening.indicators)
    if coarsening.is_fine:
        return View(coarsening.attribute)
    indicators = coarsening.indicators
    return View(coarsening.attribute, indicators - indicators.mean(axis=0))


def measured_tables(stages: Sequence[Stage], facts: Facts, domain: Domain) -> MeasuredTables:
    """The tables of all stages, those that are known in the place of noisy ones; the first stage has the total."""
    known = {members: fact for fact in facts.known for members in subsets_of(fact.attributes)}
    error = math.sqrt(stages[0].measurement.plan.noise_variances[0])
    total = positive_mean(float(stages[0].measurement.residuals.values[0]), error)
    # with too few records counts would seem too different; with too many they are only more equal
    most, near = total + error**2 / total, [np.full(size, 1 / size) for size in domain.sizes]
    found: list[_Found] = []
    for stage in stages:
        of_total = float(stage.measurement.plan.noise_variances[0])
        for axes, values, variance in stage.tables():
            (one, basis), members = axes[0], tuple(each.attribute for each, _ in axes)
            if members in known:
                continue
            found.append((axes, values, 1 / variance, math.prod(basis.answers for _, basis in axes)))
            if len(axes) == 1 and one.is_fine:
                near[one.attribute] = _near(basis, values, most, variance, of_total)
    noise = [(stage.measurement.plan.noise_variances / stage.layout.squared_units).min() for stage in stages]
    precision = 1 / (float(min(noise)) * _KNOWN**2)
    for members, fact in known.items():
        counts = fact.over(members)
        if not members:
            total = float(counts)
            continue
        axes = [(fine(each, domain.sizes[each]), subtraction_basis(domain.sizes[each])) for each in members]
        found.append((axes, centered(counts, range(counts.ndim)), precision, 0))
        if len(members) == 1:
            near[members[0]] = denoised(counts, 0.0)
    views, tables = _numbered(found)
    possible = tuple(
        replace(fact, counts=np.maximum(fact.counts, 0.0)) for fact in facts.zeros if (fact.counts <= 0).any()
    )
    records = max(total, 1.0)
    if facts.leave_no_records:
        records, possible = 0.0, ()  # where no record is, none is where it cannot be
    pairs = {tuple(views[view].attribute for view in table.views) for table in tables if len(table.views) == 2}
    signal = records * math.sqrt(sum(stage.measurement.plan.pcost for stage in stages) / max(len(pairs), 1))
    return MeasuredTables(
        facts, domain, OneHot(tuple(domain.sizes)), views, tables, records, tuple(near), possible, signal
    )


def _near(basis: Basis, values: FloatArray, total: float, variance: float, of_total: float) -> FloatArray:
    """Probabilities of the values of an attribute, from the components of its own set."""
    present, absent = basis.mean_variance_factors(Identity())
    if basis.takes_differences:
        counts = basis.u * total + values
    else:
        counts = ProductMap([basis.reconstruction]).apply(np.concatenate([[total], values])[None])[0]
    return denoised(counts, math.sqrt(of_total * absent + variance * present))


def _strength(measured: MeasuredTables, table: Measured) -> float:
    """How strongly a pair is pulled to independence: its pull for each unit of its chi-square."""
    distance, error = dependence(measured, table)
    near = (measured.near[attribute] for attribute in measured.attributes_of(table))
    freedom = math.prod(1 / float(own @ own) - 1 for own in near)
    return _PULL * max(freedom, _LEAST_PULL) / (max(distance, 0.0) + error)


def dependence(measured: MeasuredTables, table: Measured) -> tuple[float, float]:
    """About the chi-square of a pair of attributes to a record, from noisy counts, and its standard error.

    It is the squared distance of the table from independence, less what noise adds to it, in units of the product of
    the mean probabilities of the groups of each attribute.  Source: eq. (133).
    """
    freedom = max(table.freedom, 1)
    noise = freedom / table.precision
    distance, scale = _from_independence(measured, table, table.values)
    return (distance - noise) / scale, math.sqrt(2 / freedom) * noise / scale


def _from_independence(measured: MeasuredTables, table: Measured, values: FloatArray) -> tuple[float, float]:
    """The squared distance of a pair's table from independence, in counts, and what makes it one to a record."""
    alone = [measured.alone(view) for view in table.views]
    squares = [float(own @ own) + 1 / size for own, size in zip(alone, values.shape, strict=True)]
    away = values - measured.records * np.multiply.outer(*alone)
    return float(np.vdot(away, away)), math.prod(squares) * max(measured.records, 1.0) ** 2


def dependences(measured: MeasuredTables, mixture: Mixture) -> list[tuple[str, str, float, float, float, bool]]:
    """Of each pair the attributes, dependence as last measured, its error, that of a mixture, and whether it shows."""
    pairs, rows = dict(sorted(measured.pairs.items())), []
    for (members, table), values in zip(pairs.items(), measured.components_of(mixture, pairs.values()), strict=True):
        square, error = dependence(measured, table)
        own, scale = _from_independence(measured, table, values)
        one, other = (measured.domain.names[attribute] for attribute in members)
        rows.append((one, other, math.sqrt(max(square, 0.0)), error, math.sqrt(own / scale), square > 2 * error))
    return rows
