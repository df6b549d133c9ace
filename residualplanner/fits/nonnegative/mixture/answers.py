"""What was measured, as tables that a mixture is compared with.

Reads: a measurement, facts.  Gives: MeasuredTables.
Source: eqs. (48) and (68).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from residualplanner.fits.mixtures import (
    Blocks,
    Centered,
    Loss,
    Measured,
    Mixture,
    Possible,
    Rows,
    View,
    denoised,
    features_of,
    loss_of,
    product_sums,
)
from residualplanner.fits.nonnegative.components import ComponentLayout, measured_components
from residualplanner.fits.nonnegative.facts import Facts
from residualplanner.fits.nonnegative.stating import fix
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron import ProductMap
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity
from residualplanner.method.strategy.basis_groups import basis_groups

#: What is known counts as measured with this part of the least noise scale.
_KNOWN = 0.1


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredTables:
    """Everything that a mixture is fitted to.

    Attributes:
        plan: what was measured.
        layout: of the components.
        blocks: the attributes.
        views: what the components of each attribute are of its values.
        tables: the components of every set but the empty one, in the order of the closure.
        records: how many there are: known, or estimated and at least 1.
        near: probabilities of the values of each attribute, from its own answers.
        possible: which cells can occur.
    """

    plan: Plan
    layout: ComponentLayout
    blocks: Blocks
    views: tuple[View, ...]
    tables: tuple[Measured, ...]
    records: float
    near: tuple[FloatArray, ...]
    possible: tuple[Possible, ...]

    def loss(self) -> Loss:
        """How far a mixture is from them."""
        return loss_of(self.blocks, self.views, self.tables, self.records)

    def components_of(self, mixture: Mixture) -> list[FloatArray]:
        """The components of all tables of a mixture of as many records, in counts."""
        features = features_of(self.blocks, self.views)
        rows, weights = features.apply(mixture.probabilities), mixture.weights * self.records
        return [
            product_sums([rows[features.layout.rows(view)] for view in table.views], weights).astype(np.float64)
            for table in self.tables
        ]


def measured_tables(measurement: NoisyAnswers, facts: Facts) -> MeasuredTables:
    """The tables of a measurement, those that are known in the place of noisy ones.

    Args:
        measurement: the noisy answers.
        facts: what is known anyway.
    """
    plan = measurement.plan
    layout = ComponentLayout(basis_groups(plan.strategy))
    components, variances = measured_components(layout, measurement), plan.noise_variances.copy()
    for fact in facts.known:
        fix(plan, layout, fact, components, variances)
    blocks = Blocks(tuple(plan.domain.sizes))
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
        Possible(fact.attributes, np.maximum(fact.counts, 0.0)) for fact in facts.zeros if (fact.counts <= 0).any()
    )
    if any(not fact.counts.sum() for fact in facts.known):  # where no record is, none is where it cannot be
        return MeasuredTables(plan, layout, blocks, views, tuple(tables), 0.0, near, ())
    records = max(float(components[0]), 1.0)
    return MeasuredTables(plan, layout, blocks, views, tuple(tables), records, near, possible)


def _sets(plan: Plan, layout: ComponentLayout) -> Iterator[tuple[int, tuple[int, ...], tuple[Basis, ...]]]:
    """The sets of the closure but the empty one: number, attributes, bases."""
    for number, members in enumerate(plan.closure):
        if members:
            yield number, tuple(members), layout.groups.bases[int(layout.groups.group[number])]


def _views(
    plan: Plan, layout: ComponentLayout, blocks: Blocks
) -> tuple[dict[tuple[int, tuple[int, bytes]], int], tuple[View, ...]]:
    """What the components of all sets are of values, small ones first, and the number of each by attribute and basis.

    Small sets are measured with all that are small, so the rows of their views then stand side by side.
    """
    found = {
        (attribute, basis.key): _view(attribute, basis)
        for _, members, bases in _sets(plan, layout)
        for attribute, basis in zip(members, bases, strict=True)
    }
    keys = sorted(found, key=lambda key: (found[key].rows(blocks), key[0]))
    return {key: number for number, key in enumerate(keys)}, tuple(found[key] for key in keys)


def _view(attribute: int, basis: Basis) -> View:
    """What the components of an attribute are of its values.  Source: eqs. (7) and (48)."""
    if basis.takes_differences:
        return Centered(attribute)
    return Rows(attribute, basis.after_noise.matrix @ basis.before_noise.matrix)


def _near(plan: Plan, layout: ComponentLayout, components: FloatArray, variances: FloatArray) -> tuple[FloatArray, ...]:
    """Probabilities of the values of every attribute; even ones where nothing was measured of it alone."""
    total = max(float(components[0]), 1.0)
    found = [np.full(size, 1 / size) for size in plan.domain.sizes]
    for number, members, bases in _sets(plan, layout):
        if len(members) == 1:
            present, absent = bases[0].mean_variance_factors(Identity())
            std_err = math.sqrt(variances[0] * absent + variances[number] * present)
            found[members[0]] = denoised(_values(bases[0], total, layout.of_set(components, number)), std_err)
    return tuple(found)


def _values(basis: Basis, total: float, components: FloatArray) -> FloatArray:
    """The counts of an attribute's values, (n,), from the total and its own components."""
    if basis.takes_differences:
        return basis.u * total + components
    rebuilt: FloatArray = ProductMap([basis.reconstruction]).apply(np.concatenate([[total], components])[None])[0]
    return rebuilt
