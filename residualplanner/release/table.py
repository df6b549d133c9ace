"""One published table: estimates, and how far they may be off."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import FloatArray, frozen, require_numbers
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import ProfileName
from residualplanner.release.estimate import Estimate, WeightedCells
from residualplanner.release.heading import Heading, adds_up, index_of_cell, require_members
from residualplanner.release.product import UNBIASED, Origin, Product
from residualplanner.release.profiles import level_of, profile_named, require_free_names
from residualplanner.release.quality import Quality
from residualplanner.release.tidy_form import html_of, label_column_names, label_columns, number_columns, text_of

if TYPE_CHECKING:
    import pandas as pd

    from residualplanner.publish.pictures.drawing import Picture
    from residualplanner.publish.pictures.plots import ShownTable


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Table(Heading):
    """The answer to one query: unbiased estimates, consistent with every other table, with exact variances.

    Everything about it has the attributes in the order in which the query was written.  Where its numbers are another
    product, such as non-negative tables, variances and standard errors are still those of the unbiased estimates.

    It has no axes for attributes in which the query only selects records: `names`, `labels` and `estimate` are about
    the others, `positions` and `kinds` about all.

    Attributes:
        positions: of the attributes in the domain.
        kinds: the kind of query on each attribute.
        provenance: what the numbers are, and what they were made from.
        estimate (q_1, .., q_k): the estimates in counts, read-only, an axis for each attribute.  They can be negative.
    """

    estimate: FloatArray

    @property
    def product(self) -> Product:
        """What the numbers are."""
        return self.provenance.product

    @property
    def origin(self) -> Origin | None:
        """What numbers that are not unbiased were made from; None where they are, and where they come from a file."""
        return self.provenance.origin

    @property
    def warning(self) -> str:
        """What is said of its noise where privacy is not guaranteed, as by a seed; else empty."""
        return self.provenance.warning

    def __repr__(self) -> str:
        return text_of(self, self.estimate, self.std_err)

    def _repr_html_(self) -> str:
        return html_of(self, self.estimate, self.std_err)

    @property
    def variance(self) -> NDArray[np.float64]:
        """The exact variance of every cell, (q_1, .., q_k), in counts squared.  Source: eqs. (11) and (26)."""
        return self.plan.variance(self.query)

    @property
    def std_err(self) -> NDArray[np.float64]:
        """The standard error of every cell, (q_1, .., q_k), in counts."""
        return np.sqrt(self.variance)

    def moe(self, level: float = 0.95) -> NDArray[np.float64]:
        """The margin of error of every cell: it is within this of the truth with probability ``level`` at least.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            WorkloadError: the numbers are not unbiased.

        Source: eq. (47).
        """
        self.product.require_unbiased("a margin of error")
        return margin_factor(level) * self.std_err

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The low and the high ends of every cell's confidence interval, which covers the truth as often as it says.

        Where numbers were made from unbiased estimates, those of these, cut at the counts that are possible:
        non-negative ones that agree with known facts.  The number itself can be outside.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            WorkloadError: the numbers are not unbiased, and come from a file; ``frame`` of the folder has them.

        Source: eq. (47).
        """
        if self.origin is not None:
            return self.origin.interval(margin_factor(level) * self.std_err)
        moe = self.moe(level)
        return self.estimate - moe, self.estimate + moe

    def covariance(self) -> NDArray[np.float64]:
        """The exact covariance of the cells in C order, (cells, cells), in counts squared.

        WorkloadError, where the matrix is too large; `combine` needs none.  Source: eqs. (12) and (26).
        """
        return self.plan.covariance(self.query)

    def combine(self, weights: ArrayLike) -> Estimate:
        """A weighted sum of the cells, with its exact variance.

        Args:
            weights (q_1, .., q_k): the weight of each cell.

        Raises:
            WorkloadError: the weights are not numbers, or not one for each cell; the numbers are not unbiased.

        Cost: O(cells) where all is identity, else a product with a matrix for each attribute.
        Source: eqs. (12) and (26).
        """
        self.product.require_unbiased("the variance of a combination")
        array = require_numbers("weights must be numbers, one for each cell", weights)
        variance = self.plan.combination_variance(self.query, array)
        return Estimate(float((array * self.estimate).sum()), variance, (WeightedCells(self, array),))

    def at(self, /, *in_order: object, **labels: object) -> Estimate:
        """The cell with these labels, one for each attribute of the table: by its name, or in the order of `names`.

        Labels are those of `labels`; one that is not a string may be written as one.  A meaning or a name stands for
        its label where no other has the same: "Autauga County", or with what it lies in, "Autauga County, Alabama".

        Raises:
            DomainError: an attribute is missing or unknown, has no such label, and the nearest one is named; several
                labels have that name; or there are more labels than attributes, or two for one.
            WorkloadError: the numbers are not unbiased.

        Example:
            >>> from residualplanner import Domain, marginals, measure, reconstruct, select, zcdp
            >>> plan = select(marginals(Domain({"sex": ["F", "M"], "age": 3}), order=2), budget=zcdp("0.5"))
            >>> table = reconstruct(measure(plan, np.zeros((9, 2), dtype=int)))["sex", "age"]
            >>> round(table.at(sex="F", age=0).std_err, 3)
            1.0
            >>> table.at("F", 0) == table.at(sex="F", age=0)
            True
        """
        self.product.require_unbiased("the error of a cell")
        ordered = dict(zip(self.names, in_order, strict=False))
        if len(in_order) > len(self.names) or ordered.keys() & labels.keys():
            raise DomainError(f"{self.title} has one label for each of {list(self.names)}, in this order or by name")
        cell = index_of_cell(self, ordered | labels)
        weights = np.zeros(self.estimate.shape)
        weights[cell] = 1
        return Estimate(float(self.estimate[cell]), float(self.variance[cell]), (WeightedCells(self, weights),))

    def sum(self, *names: str) -> "Table":
        """The table without some of its attributes, over whose values the cells are summed up.

        Its variances are exact, as those of every table: cells are correlated, so variances do not add up.

        Args:
            names: the attributes to sum over; at least one.

        Raises:
            DomainError: the table does not have such an attribute.
            WorkloadError: the rows of a query do not add up to the number of records, as those of prefix sums.

        Source: eqs. (11) and (26).
        """
        axes = [self.names.index(name) for name in require_members(self.names, names)]
        for axis in axes:
            attribute, kind = self._axes[axis]
            if not adds_up(kind, attribute.size):
                raise WorkloadError(
                    f"the rows of {kind.name} on {attribute.name!r} do not add up to the number of "
                    "records, since they overlap or leave values out; look up the table without it in the release"
                )
        origin = None if self.origin is None else self.origin.each(lambda part: part.sum(axis=tuple(axes)))
        return Table(
            *self._written.summed([self._axes[axis][0].name for axis in axes], self.plan.domain),
            replace(self.provenance, origin=origin),
            frozen(np.asarray(self.estimate.sum(axis=tuple(axes)))),
        )

    def shown(self, level: float = 0.95) -> "ShownTable":
        """The cells to show where there is room for a few: all, or the largest estimates.

        Of means and quantiles these, and not the answers that they are made of.
        """
        from residualplanner.publish.pictures.plots import rows_to_show, shown_table
        from residualplanner.release.statistic_forms import statistic_form  # which plain tables do without
        from residualplanner.release.statistic_table import unit_of

        of_axes = dict(zip(self.names, self.labels_in_words, strict=True))
        form = statistic_form(self.plan.domain, profile_named("default"), self._written)
        if form is not None:
            numbers = form.numbers(self.unbiased.estimate, self.variance, level)
            axes = {attribute.name: of_axes[attribute.name] for attribute, _ in form.groups} | form.kind.more_axes
            ends, unit = (numbers["low"], numbers["high"]), unit_of(form.attribute)
            return shown_table(axes, numbers["estimate"], None, ends=ends, level=level, unit=unit)
        found = shown_table(of_axes, self.estimate, self.std_err, level=level, unit=self.unit)
        if self.origin is None:
            return found if self.product.is_unbiased else replace(found, ends=None, joint_ends=None)
        rows = rows_to_show(self.estimate.ravel())
        origin = self.origin.each(lambda part: part.ravel()[rows])
        return replace(found, ends=origin.interval(found.margins), joint_ends=origin.interval(found.joint_margins))

    @property
    def unbiased(self) -> "Table":
        """The table of the unbiased estimates that its numbers were made from, where it knows them; else itself."""
        if self.origin is None:
            return self
        unbiased = replace(self.provenance, product=UNBIASED, origin=None)
        return replace(self, provenance=unbiased, estimate=self.origin.estimate)

    def to_frame(
        self, level: float | None = None, profile: ProfileName = "default", *, quality: Quality | None = None
    ) -> "pd.DataFrame":
        """The table in tidy form: one row per cell, in C order.

        Args:
            level: the confidence level of margins and intervals, between 0 and 1; the profile's if not given.
            profile: "default" (level 0.95), "acs" (level 0.90) or "gls".
            quality: which estimates are reliable and which are too noisy to use, and whether these are left out (nan).

        Returns:
            The attributes' labels, each with a column of their meanings, such as ``sex_meaning``, if values of the
            attribute have any; then the columns of the profile: ``estimate``, ``std_err``, ``moe``, ``conf_level``,
            ``ci_low`` and ``ci_high`` by default; ``E``, the estimate, and ``M``, its margin of error, in "acs";
            ``query``, the cell in words, ``estimate`` and ``std_dev`` in "gls"; with ``quality`` also ``cv``, the
            coefficient of variation, and ``quality``, a word for it.  Where privacy is not guaranteed, as by seeded
            noise, ``attrs["noise"]`` says so.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
            WorkloadError: there is no such profile, or an attribute has the name of another column.
        """
        import pandas as pd

        chosen = profile_named(profile).of(self.product, with_intervals=self.origin is not None).graded(quality)
        require_free_names(label_column_names((attribute, [kind]) for attribute, kind in self._axes), chosen)
        indices = np.indices(self.estimate.shape).reshape(len(self._axes), self.estimate.size)
        columns: dict[str, Any] = {
            name: pd.Series(list(labels)).take(index).array
            for axis, index in zip(self._axes, indices, strict=True)
            for name, labels in label_columns(*axis).items()
        }
        columns |= number_columns(self, chosen, self.estimate, self.std_err, level_of(profile, level))
        frame = pd.DataFrame(columns)
        frame.attrs |= {"noise": self.warning} if self.warning else {}
        return frame

    def plot(self, level: float = 0.95) -> "Picture":
        """Estimates with their intervals: thick for each cell by itself, thin for all cells at once.

        Where there are more than 20 cells, those with the largest estimates.

        Args:
            level: the confidence level of both intervals, which are those of `interval`.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        from residualplanner.publish.pictures.drawing import Picture
        from residualplanner.publish.pictures.plots import draw_intervals

        shown, percent = self.shown(level), f"{100 * level:.6g}%"
        labels = f"{percent} interval of a cell", f"{percent} for all cells at once"
        return Picture(self.title, lambda: draw_intervals(shown, labels=labels))
