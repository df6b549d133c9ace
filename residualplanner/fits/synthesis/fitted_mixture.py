"""What was measured, as tables; a mixture that is fitted to them, and how well it fits.

And the values that its classes may have where some combinations cannot occur, by a search for a record that can.
Source: docs/mathematics.md section 13; eqs. (48), (68), (74) and (77).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import fitting
from residualplanner.fits.mixtures.mixture import Mixture, raked
from residualplanner.fits.nonnegative.facts import Fact
from residualplanner.fits.synthesis.measured_tables import MeasuredTables
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.notebooks import frame_html
from residualplanner.ground.words import count_text

if TYPE_CHECKING:
    import pandas as pd

#: If noise alone kept tables from fitting, one or more would be called worse than that this often.
_LEVEL = 0.05
#: By how strong the signal is at most: how many mixtures there are, of how many latent classes, how each is fitted, and
#: how their mean is.
_ENSEMBLES = {
    400: fitting.Ensemble(5, 50, fitting.Descent(150, 0.4, 5.0), fitting.Descent(60, 0.1, 5.0)),
    1000: fitting.Ensemble(4, 50, fitting.Descent(200, 0.4, 3.0), fitting.Descent(100, 0.1, 3.0)),
    5000: fitting.Ensemble(4, 70, fitting.Descent(100, 0.4, 3.0, 0.95), fitting.Descent(200, 0.3, 3.0, 0.95)),
    math.inf: fitting.Ensemble(3, 100, fitting.Descent(100, 0.4, 1.0, 0.95), fitting.Descent(400, 0.3, 1.0, 0.95)),
}
#: That where attributes are independent of one another as far as anyone knows.
_INDEPENDENT = fitting.Ensemble(1, 1, fitting.Descent(100))
#: The standard deviation of the logits of starts.
_SPREAD = 0.6
#: The most values that the search for a record gives to attributes before none is believed to be possible.
_MOST_GIVEN = 10_000


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
    names = measured.domain.names
    sets = [tuple(names[attribute] for attribute in measured.attributes_of(table)) for table in measured.tables]
    number = {each: number for number, each in enumerate(dict.fromkeys(sets))}
    # Several measurements of one set have noise of their own: distances add up, and so do degrees of freedom.
    found, freedoms = np.zeros(len(number)), np.zeros(len(number), dtype=np.int64)
    places = [number[each] for each in sets]
    np.add.at(found, places, distances)
    np.add.at(freedoms, places, [table.freedom for table in measured.tables])
    return FitQuality(tuple(number), frozen(found), frozen(freedoms))


def fit_mixture(
    measured: MeasuredTables, ensemble: fitting.Ensemble | None, *, seed: int, progress: Progress
) -> Mixture:
    """A mixture whose tables are as near to the noisy answers as noise explains, and that keeps to facts.

    Cells that cannot occur have probability 0; known totals and tables of single attributes hold exactly, and known
    tables of several attributes about.  The ensemble is chosen by how far the records show above the noise unless
    given.  WorkloadError where no record was found that is possible.
    """
    loss, chosen = measured.loss, ensemble or ensemble_for(measured)
    known = {view.attribute for view in measured.views}
    spreads = [_SPREAD if attribute in known else 0.0 for attribute in range(len(measured.near))]  # others: uniform
    if not loss.terms:
        chosen = replace(chosen, members=1)
    if not measured.records:  # every mixture has the same tables, all of them 0
        chosen = replace(chosen, members=1, descent=fitting.Descent(steps=0), together=fitting.Descent(steps=0))

    def start(classes: int, generator: np.random.Generator) -> fitting.StartLogits:
        logits, of_classes = fitting.start_near(measured.near, classes, spreads, generator)
        return np.where(_supports(measured, classes, generator), logits, -np.inf), of_classes

    mean = fitting.fit_ensemble(loss, start, chosen, seed=seed, report=progress)
    single = {fact.attributes[0]: fact.counts for fact in measured.facts.known if len(fact.attributes) == 1}
    sums = {attribute: counts / counts.sum() for attribute, counts in single.items() if counts.sum() > 0}
    return raked(mean, sums) if sums else mean


def ensemble_for(measured: MeasuredTables) -> fitting.Ensemble:
    """The ensemble by the number of records in units of the noise.  Source: eq. (73)."""
    if all(len(table.views) < 2 for table in measured.tables) and not measured.possible:
        return _INDEPENDENT
    return next(ensemble for most, ensemble in _ENSEMBLES.items() if measured.signal <= most)


def _supports(measured: MeasuredTables, classes: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    """The values that each class may have, (d', c), all of whose combinations can occur.

    For each class a record that can occur is searched for, by the probabilities of the values of each attribute.  Then
    values are added to it, in random order, as long as all combinations can occur by all tables.
    """
    blocks, tables = measured.blocks, measured.possible
    found = np.ones((blocks.count, classes), dtype=np.bool_)
    for number in range(classes):
        record = _searched(measured.near, tables, generator)
        if record is None:
            words = measured.facts.words
            raise WorkloadError(f"no record was found that is possible under all of these: {words}; correct one")
        for attribute, own in _grown(record, tables, blocks.sizes, generator).items():
            found[blocks.rows(attribute), number] = own
    return found


def _searched(
    near: Sequence[FloatArray], tables: Sequence[Fact], generator: np.random.Generator
) -> dict[int, int] | None:
    """The values of one record that can occur, by giving up values that leave none for another attribute."""
    left = iter(range(_MOST_GIVEN + 1))

    def completed(
        record: dict[int, int], before: dict[int, NDArray[np.bool_]], changed: Sequence[Fact]
    ) -> dict[int, int] | None:
        may = _narrowed(record, before, changed)
        if may is None or next(left, None) is None:
            return None
        if not may:
            return record
        attribute = min(may, key=lambda each: int(may[each].sum()))
        values = np.flatnonzero(may.pop(attribute))
        chances = near[attribute][values] ** 0.5
        about_it = [table for table in tables if attribute in table.attributes]
        for value in generator.choice(values, len(values), replace=False, p=chances / chances.sum()).tolist():
            found = completed({**record, attribute: value}, may, about_it)
            if found is not None:
                return found
        return None

    every = {attribute: np.ones(len(near[attribute]), np.bool_) for table in tables for attribute in table.attributes}
    return completed({}, every, tables)


def _narrowed(
    record: dict[int, int], may: dict[int, NDArray[np.bool_]], tables: Sequence[Fact]
) -> dict[int, NDArray[np.bool_]] | None:
    """Which values each attribute that a record lacks may have by each table alone; None where one has none."""
    found = dict(may)
    for table in tables:
        part = table.counts[tuple(record.get(attribute, slice(None)) for attribute in table.attributes)] > 0
        for axis, attribute in enumerate(each for each in table.attributes if each not in record):
            found[attribute] = found[attribute] & part.any(tuple(other for other in range(part.ndim) if other != axis))
        if not part.any():
            return None
    return found if all(own.any() for own in found.values()) else None


def _grown(
    record: dict[int, int], tables: Sequence[Fact], sizes: Sequence[int], generator: np.random.Generator
) -> dict[int, NDArray[np.bool_]]:
    """The values of each attribute in a product of sets around a record, all of whose combinations can occur."""
    values = {attribute: np.arange(sizes[attribute]) == value for attribute, value in record.items()}
    more = [(attribute, value) for attribute in record for value in range(sizes[attribute])]
    for number in generator.permutation(len(more)).tolist():
        attribute, value = more[number]
        others: dict[int, Any] = {**values, attribute: [value]}
        values[attribute][value] = all(
            (table.counts[np.ix_(*(others[each] for each in table.attributes))] > 0).all()
            for table in tables
            if attribute in table.attributes
        )
    return values
