"""What was measured, as tables that a mixture is compared with, and how well it fits them.

Source: eqs. (48), (68) and (77).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.fitting import denoised
from residualplanner.fits.mixtures.loss import Measured, View, features_of
from residualplanner.fits.mixtures.mixture import Mixture, OneHot, product_sums
from residualplanner.fits.nonnegative.components import ComponentLayout, components_of_counts, measured_components
from residualplanner.fits.nonnegative.facts import Fact, Facts
from residualplanner.fits.nonnegative.problem import fix_known
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.notebooks import frame_html
from residualplanner.ground.words import count_text
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron import ProductMap
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity
from residualplanner.method.strategy.basis_groups import basis_groups

if TYPE_CHECKING:
    import pandas as pd

#: What is known counts as measured with this part of the least noise scale.
_KNOWN = 0.1
#: If noise alone kept tables from fitting, one or more would be called worse than that this often.
_LEVEL = 0.05


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredTables:
    """Everything that a mixture is fitted to."""

    plan: Plan  # what was measured
    layout: ComponentLayout  # of the components
    blocks: OneHot  # the attributes
    views: tuple[View, ...]  # what the components of each attribute are of its values
    tables: tuple[Measured, ...]  # the components of every set but the empty one, in the order of the closure
    records: float  # how many there are: known, or estimated and at least 1
    near: tuple[FloatArray, ...]  # probabilities of the values of each attribute, from its own answers
    possible: tuple[Fact, ...]  # which cells can occur: those whose counts are above 0

    def components_of(self, mixture: Mixture) -> list[FloatArray]:
        """The components of all tables of a mixture of as many records, in counts."""
        features = features_of(self.blocks, self.views)
        rows, weights = features.apply(mixture.probabilities), mixture.weights * self.records
        return [
            product_sums([rows[features.layout.rows(view)] for view in table.views], weights).astype(np.float64)
            for table in self.tables
        ]


def measured_tables(measurement: NoisyAnswers, facts: Facts) -> MeasuredTables:
    """The tables of a measurement, those that are known in the place of noisy ones."""
    plan = measurement.plan
    layout = ComponentLayout(basis_groups(plan.strategy))
    components, variances = measured_components(layout, measurement), plan.noise_variances.copy()
    fix_known(plan, layout, facts, components, variances)
    blocks = OneHot(tuple(plan.domain.sizes))
    number_of_view, views = _views(plan, layout, blocks)
    tables: list[Measured] = []
    sets = list(_sets(plan, layout))
    units = layout.squared_units
    least = float((plan.noise_variances / units).min()) * _KNOWN**2
    for number, members, bases in sets:
        own = tuple(number_of_view[attribute, basis.key] for attribute, basis in zip(members, bases, strict=True))
        values = layout.of_set(components, number)
        variance = float(variances[number])
        freedom = math.prod(basis.answers for basis in bases) if variance > 0 else 0
        tables.append(Measured(own, values, 1 / max(variance, least * float(units[number])), freedom))
    near = _near(plan, layout, components, variances)
    possible = tuple(
        replace(fact, counts=np.maximum(fact.counts, 0.0)) for fact in facts.zeros if (fact.counts <= 0).any()
    )
    records = max(float(components[0]), 1.0)
    if facts.leave_no_records:
        records, possible = 0.0, ()  # where no record is, none is where it cannot be
    return MeasuredTables(plan, layout, blocks, views, tuple(tables), records, near, possible)


def _sets(plan: Plan, layout: ComponentLayout) -> Iterator[tuple[int, tuple[int, ...], tuple[Basis, ...]]]:
    """The sets of the closure but the empty one: number, attributes, bases."""
    for number, members in enumerate(plan.closure):
        if members:
            yield number, tuple(members), layout.groups.bases[int(layout.groups.group[number])]


def _views(
    plan: Plan, layout: ComponentLayout, blocks: OneHot
) -> tuple[dict[tuple[int, tuple[int, bytes]], int], tuple[View, ...]]:
    """What the components of all sets are of values, small ones first, and the number of each by attribute and basis.

    Small sets are measured with all that are small, so the rows of their views then stand side by side.
    """
    found = {
        (attribute, basis.key): View(attribute)
        if basis.takes_differences
        else View(attribute, basis.after_noise.matrix @ basis.before_noise.matrix)
        for _, members, bases in _sets(plan, layout)
        for attribute, basis in zip(members, bases, strict=True)
    }
    keys = sorted(found, key=lambda key: (found[key].rows(blocks), key[0]))
    return {key: number for number, key in enumerate(keys)}, tuple(found[key] for key in keys)


def _near(plan: Plan, layout: ComponentLayout, components: FloatArray, variances: FloatArray) -> tuple[FloatArray, ...]:
    """Probabilities of the values of every attribute; even ones where nothing was measured of it alone."""
    total = max(float(components[0]), 1.0)
    found = [np.full(size, 1 / size) for size in plan.domain.sizes]
    for number, members, bases in _sets(plan, layout):
        if len(members) == 1:
            present, absent = bases[0].mean_variance_factors(Identity())
            std_err = math.sqrt(variances[0] * absent + variances[number] * present)
            own = layout.of_set(components, number)
            if bases[0].takes_differences:
                counts = bases[0].u * total + own
            else:
                whole = np.concatenate([[total], own])[None]
                counts = ProductMap([bases[0].reconstruction]).apply(whole)[0]
            found[members[0]] = denoised(counts, std_err)
    return tuple(found)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class FitQuality:
    """How far tables are from what was measured, in units of its noise, set of attributes by set.

    Attributes:
        names: of the attributes of each set, in the order of the closure, without the empty set.
        distances (m,): squared, in units of the noise; of the truth the expected value is the degrees of freedom.
        freedoms (m,): the degrees of freedom; 0 where a table is known.

    Source: eq. (77).
    """

    names: tuple[tuple[str, ...], ...]
    distances: FloatArray
    freedoms: IntArray

    @property
    def p_values(self) -> FloatArray:
        """How probable it is that noise alone puts the truth so far away, (m,); 1 where a table is known."""
        from scipy.special import gammaincc

        halves = np.maximum(self.freedoms, 1) / 2
        found: FloatArray = np.where(self.freedoms > 0, gammaincc(halves, self.distances / 2), 1.0)
        return found

    @property
    def is_worse(self) -> NDArray[np.bool_]:
        """Which sets fit worse than noise explains, (m,): the truth would have one or more such sets in 5% of cases."""
        found: NDArray[np.bool_] = self.p_values < _LEVEL / max(int((self.freedoms > 0).sum()), 1)
        return found

    @property
    def worse(self) -> list[tuple[str, ...]]:
        """The sets that fit worse than noise explains, the worst first by distance to freedom."""
        ratios = self.distances / np.maximum(self.freedoms, 1)
        chosen = np.flatnonzero(self.is_worse)
        return [self.names[number] for number in chosen[np.argsort(-ratios[chosen], kind="stable")].tolist()]

    def __repr__(self) -> str:
        ratio = float(self.distances[self.freedoms > 0].sum()) / max(int(self.freedoms.sum()), 1)
        return (
            f"<FitQuality of {count_text(len(self.names), 'table')}: {ratio:.2f} of the noise, "
            f"{len(self.worse):,} worse than it>"
        )

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    def to_frame(self) -> "pd.DataFrame":
        """A row for each set: ``table``, ``distance``, ``freedom``, ``ratio``, ``p_value``, ``is_worse``."""
        import pandas as pd

        columns = {
            "table": [" × ".join(names) for names in self.names],
            "distance": self.distances,
            "freedom": self.freedoms,
            "ratio": self.distances / np.maximum(self.freedoms, 1),
            "p_value": self.p_values,
            "is_worse": self.is_worse,
        }
        return pd.DataFrame(columns)


def fit_quality(measured: MeasuredTables, components: Sequence[FloatArray]) -> FitQuality:
    """How well the components of all tables, in the order of ``measured.tables``, fit what was measured."""
    distances = [
        table.precision * float(((values - table.values) ** 2).sum()) if table.freedom else 0.0
        for table, values in zip(measured.tables, components, strict=True)
    ]
    names = measured.plan.domain.names
    sets = tuple(tuple(names[attribute] for attribute in members) for members in measured.plan.closure if members)
    freedoms = np.array([table.freedom for table in measured.tables], dtype=np.int64)
    return FitQuality(sets, frozen(np.array(distances)), frozen(freedoms))


def quality_of_records(measured: MeasuredTables, codes: IntArray, weights: FloatArray) -> FitQuality:
    """How well the tables of records with these codes (n, d) and weights (n,) fit what was measured."""
    sizes, components = measured.plan.domain.sizes, []
    for _, members, bases in _sets(measured.plan, measured.layout):
        shape = [sizes[attribute] for attribute in members]
        cells = np.ravel_multi_index([codes[:, attribute] for attribute in members], shape)
        table = np.bincount(cells, weights, math.prod(shape)).reshape(1, *shape)
        components.append(components_of_counts(bases).apply(table)[0])
    return fit_quality(measured, components)
