"""What was measured, as tables; a mixture that is fitted to them, and how well it fits.

And the values that its classes may have where some combinations cannot occur.
Source: docs/mathematics.md section 13; eqs. (48), (68), (74) and (77).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import fitting
from residualplanner.fits.mixtures.loss import Features, Measured, View, loss_of
from residualplanner.fits.mixtures.mixture import Mixture, OneHot, product_sums, raked, unreported, within
from residualplanner.fits.nonnegative.components import ComponentLayout, components_of_counts, measured_components
from residualplanner.fits.nonnegative.facts import Fact, Facts
from residualplanner.fits.nonnegative.problem import fix_known
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.notebooks import frame_html
from residualplanner.ground.words import count_text
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron.axis_maps import ProductMap
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity
from residualplanner.method.strategy.basis_groups import basis_groups

if TYPE_CHECKING:
    import pandas as pd

#: What is known counts as measured with this part of the least noise scale.
_KNOWN = 0.1
#: If noise alone kept tables from fitting, one or more would be called worse than that this often.
_LEVEL = 0.05
#: How often tables are looked at, and what is done in between.
_POLISHINGS, _DESCENT = 2, fitting.Descent(steps=40, rate=0.07)
#: The most that a table's weight becomes.
_MOST_WEIGHT = 100.0
#: Steps of a fit whose start is as near as noise allows, how many more for every doubling of its distance, and at most.
_STEPS, _MORE_STEPS, _MOST_STEPS = 110, 40, 300
#: Steps of the mean, as one mixture, for every doubling, and at most; their rate, and that of a start that is far away.
_TOGETHER, _MOST_TOGETHER, _RATE, _FAR_RATE = 65, 300, 0.1, 0.2
#: How many mixtures, and latent classes of each; how many doublings are far, and how many classes there then are.
_MEMBERS, _CLASSES, _FAR, _MORE_CLASSES = 5, 50, 3.0, 100
#: The standard deviation of the logits of starts that are as near as noise allows, how much more it is for every
#: doubling of their distance, and its maximum.
_SPREAD, _MORE_SPREAD, _MOST_SPREAD = 0.3, 0.2, 1.0
#: The most values that the search for a record gives to attributes before none is believed to be possible.
_MOST_GIVEN = 10_000


class MeasuredTables(NamedTuple):
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
        features = Features(self.blocks, self.views)
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
    number_of_view, views = _views(plan, layout)
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
    for number, members in enumerate(plan.closure):
        if members:
            yield number, tuple(members), layout.groups.bases[int(layout.groups.group[number])]


def _views(plan: Plan, layout: ComponentLayout) -> tuple[dict[tuple[int, tuple[int, bytes]], int], tuple[View, ...]]:
    """What the components of all sets are of values, and the number of each by attribute and basis."""
    # Small ones first: small sets are measured with all that are small, so the rows of their views stand side by side.
    found = {
        (attribute, basis.key): View(attribute)
        if basis.takes_differences
        else View(attribute, basis.after_noise.matrix @ basis.before_noise.matrix)
        for _, members, bases in _sets(plan, layout)
        for attribute, basis in zip(members, bases, strict=True)
    }
    rows = {key: plan.domain.sizes[key[0]] if basis is None else len(basis) for key, (_, basis) in found.items()}
    keys = sorted(found, key=lambda key: (rows[key], key[0]))
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
            found[members[0]] = fitting.denoised(counts, std_err)
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
        return np.where(self.freedoms > 0, gammaincc(halves, self.distances / 2), 1.0)

    @property
    def is_worse(self) -> NDArray[np.bool_]:
        """Which sets fit worse than noise explains, (m,): the truth would have one or more such sets in 5% of cases."""
        return self.p_values < _LEVEL / max(int((self.freedoms > 0).sum()), 1)

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


def polished(measured: MeasuredTables, mixture: Mixture, report: Progress = unreported) -> Mixture:
    """A mixture near another, with fewer tables that fit worse than noise explains; itself where there are none.

    Few cells count little in a sum over all: the table of sex alone, or of two attributes that depend on each other
    strongly, is given up for the noise of large tables.  Such a table gets more weight.  Source: eq. (78).
    """
    weights = np.ones(len(measured.tables))
    for turn in range(_POLISHINGS):
        quality = fit_quality(measured, measured.components_of(mixture))
        if not quality.is_worse.any():
            break
        ratios = np.maximum(quality.distances / np.maximum(quality.freedoms, 1), 1.0)
        weights = np.minimum(np.where(quality.is_worse, weights * ratios, weights), _MOST_WEIGHT)
        pairs = zip(measured.tables, weights.tolist(), strict=True)
        tables = [table._replace(precision=table.precision * weight) for table, weight in pairs]
        loss = loss_of(measured.blocks, measured.views, tables, measured.records)
        nearer, *_ = fitting.fit(loss, fitting.start_at(mixture), _DESCENT, enough=0.0)
        mixture = fitting.settled(
            loss, nearer, within(report, 100 * turn // _POLISHINGS, 100 * (turn + 1) // _POLISHINGS)
        )
    return mixture


def fit_mixture(
    measurement: NoisyAnswers,
    facts: Facts,
    ensemble: fitting.Ensemble | None = None,
    *,
    seed: int = 0,
    progress: Progress = unreported,
) -> tuple[Mixture, MeasuredTables]:
    """A mixture whose tables are as near to the noisy answers as noise explains, and that keeps to facts; and these.

    Cells that cannot occur have probability 0; known totals and tables of single attributes hold exactly, and known
    tables of several attributes about.  The ensemble is chosen by how far attributes are from independence unless
    given.  WorkloadError where no record was found that is possible.
    """
    measured = measured_tables(measurement, facts)
    loss = loss_of(measured.blocks, measured.views, measured.tables, measured.records)
    # How far the loss is from what noise explains if attributes were independent of one another, at least 1.
    logits = np.log(np.concatenate(measured.near))[:, None].astype(loss.dtype)
    alone, *_ = loss.evaluate(loss.blocks.softmax(logits), np.ones(1, dtype=loss.dtype))
    doublings = math.log2(max(alone / max(loss.freedom, 1), 1.0))
    chosen = ensemble or ensemble_for(doublings)
    spread = min(_SPREAD + _MORE_SPREAD * doublings, _MOST_SPREAD)
    known = {view.attribute for view in measured.views}
    spreads = [spread if attribute in known else 0.0 for attribute in range(len(measured.near))]  # the others: uniform
    if not loss.terms:
        chosen = replace(chosen, members=1)
    if not measured.records:  # every mixture has the same tables, all of them 0
        chosen = replace(chosen, members=1, descent=fitting.Descent(steps=0), together=fitting.Descent(steps=0))

    def start(classes: int, generator: np.random.Generator) -> fitting.StartLogits:
        near = fitting.start_near(measured.near, classes, spreads, generator)
        if not measured.possible:
            return near
        may = supports(measured.blocks, measured.near, measured.possible, classes, generator)
        if may is None:
            raise WorkloadError(f"no record was found that is possible under all of these: {facts.words}; correct one")
        return np.where(may, near[0], -np.inf), near[1]

    mean = fitting.fit_ensemble(loss, start, chosen, seed=seed, report=within(progress, 0, 90))
    single = {fact.attributes[0]: fact.counts for fact in facts.known if len(fact.attributes) == 1}
    sums = {attribute: counts / counts.sum() for attribute, counts in single.items() if counts.sum() > 0}
    fitted = polished(measured, mean, within(progress, 90, 100))
    progress(100, 100)
    return raked(fitted, sums) if sums else fitted, measured


def ensemble_for(doublings: float) -> fitting.Ensemble:
    """The ensemble where independence is so many doublings farther away than noise explains.  Source: eq. (73)."""
    is_far = doublings > _FAR
    steps = min(round(_STEPS + _MORE_STEPS * doublings), _MOST_STEPS)
    together = min(round(_TOGETHER * doublings), _MOST_TOGETHER)
    both = fitting.Descent(steps=steps), fitting.Descent(steps=together, rate=_FAR_RATE if is_far else _RATE)
    return fitting.Ensemble(_MEMBERS, _MORE_CLASSES if is_far else _CLASSES, *both)


def supports(
    blocks: OneHot, near: Sequence[FloatArray], tables: Sequence[Fact], classes: int, generator: np.random.Generator
) -> NDArray[np.bool_] | None:
    """The values that each class may have, (d', c), all of whose combinations can occur; None if no record was found.

    A record that can occur is searched for each class, by probabilities ``near``.  Then values are added to it, in
    random order, as long as all combinations can occur by all tables.
    """
    found = np.ones((blocks.count, classes), dtype=np.bool_)
    for number in range(classes):
        record = _searched(near, tables, generator)
        if record is None:
            return None
        for attribute, values in _grown(record, tables, blocks, generator).items():
            found[blocks.rows(attribute), number] = values
    return found


def _searched(
    near: Sequence[FloatArray], tables: Sequence[Fact], generator: np.random.Generator
) -> dict[int, int] | None:
    """The values of one record that can occur, by giving up values that leave none for another attribute."""
    every = {attribute: np.ones(len(near[attribute]), np.bool_) for table in tables for attribute in table.attributes}
    left = iter(range(_MOST_GIVEN))

    def completed(record: dict[int, int], may: dict[int, NDArray[np.bool_]]) -> dict[int, int] | None:
        if not may:
            return record
        attribute = min(may, key=lambda each: int(may[each].sum()))
        values = np.flatnonzero(may[attribute])
        chances = near[attribute][values] ** 0.5
        for value in generator.choice(values, len(values), replace=False, p=chances / chances.sum()).tolist():
            longer = {**record, attribute: value}
            others = {each: own for each, own in may.items() if each != attribute}
            rest = _narrowed(longer, others, [table for table in tables if attribute in table.attributes])
            found = None if rest is None or next(left, None) is None else completed(longer, rest)
            if found is not None:
                return found
        return None

    start = _narrowed({}, every, tables)
    return None if start is None else completed({}, start)


def _narrowed(
    record: dict[int, int], may: dict[int, NDArray[np.bool_]], tables: Sequence[Fact]
) -> dict[int, NDArray[np.bool_]] | None:
    """Which values each attribute that a record lacks may have by each table alone; None where one has none."""
    found = dict(may)
    for table in tables:
        part = table.counts[tuple(record.get(attribute, slice(None)) for attribute in table.attributes)] > 0
        for axis, attribute in enumerate(each for each in table.attributes if each not in record):
            found[attribute] = found[attribute] & part.any(tuple(other for other in range(part.ndim) if other != axis))
            if not found[attribute].any():
                return None
        if not part.any():
            return None
    return found


def _grown(
    record: dict[int, int], tables: Sequence[Fact], blocks: OneHot, generator: np.random.Generator
) -> dict[int, NDArray[np.bool_]]:
    """The values of each attribute in a product of sets around a record, all of whose combinations can occur."""
    values = {}
    for attribute, value in record.items():
        values[attribute] = np.zeros(blocks.sizes[attribute], dtype=np.bool_)
        values[attribute][value] = True
    more = [(attribute, value) for attribute in record for value in range(blocks.sizes[attribute])]
    for number in generator.permutation(len(more)).tolist():
        attribute, value = more[number]
        others: dict[int, Any] = {**values, attribute: [value]}
        with_it = (
            table.counts[np.ix_(*(others[each] for each in table.attributes))]
            for table in tables
            if attribute in table.attributes
        )
        if all((part > 0).all() for part in with_it):
            values[attribute][value] = True
    return values
