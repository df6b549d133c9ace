"""The pictures of a report and of models, each drawn from a small table; draw them within `drawing`.

Of a large table a few cells are drawn, with intervals that hold however they were picked.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.notebooks import ROWS
from residualplanner.ground.words import COUNTS, RECORDS, count_text, number_text, percent_text, short_text
from residualplanner.publish.pictures.drawing import BLUE, FAINT, GREEN, INK, ORANGE, PURPLE, QUIET, RED, SKY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Orders 0, 1, ..: color, marker, size; all higher orders have the last.
LOOKS = (
    (INK, "*", 9.0),
    (BLUE, "o", 4.0),
    (ORANGE, "s", 3.6),
    (GREEN, "^", 4.2),
    (PURPLE, "D", 3.6),
    (RED, "v", 4.2),
    (SKY, "P", 4.4),
    (QUIET, "X", 4.4),
)
_WIDTH = 7.2
#: How many letters, at least, have room in a line of that width.
_LETTERS = 90
#: An interval that is a smaller fraction of the axis is no wider than the line of its estimate.
_SEEN = 1 / 250
#: Points within this fraction of a panel coincide, and are drawn once.
_SPOT = 1 / 160
#: Of a picture of pairs the size of a cell and of what is beside the cells, in inches; and the most attributes.
_CELL, _BESIDE, _MOST = 0.32, 2.4, 60


@dataclass(frozen=True, eq=False, slots=True)
class ShownTable:
    """Some cells of one table: all if they are few, else those with the largest estimates."""

    names: tuple[str, ...]  # of the attributes
    cells: int  # how many cells the table has
    labels: tuple[tuple[str, ...], ...]  # of each of the r rows shown, one for each attribute
    estimates: FloatArray  # (r,)
    std_errs: FloatArray  # (r,)
    level: float  # of confidence
    unit: str = RECORDS  # of estimates and errors, in words
    #: The low and high ends of the interval of each cell by itself, and of all cells at once, (r,) each; None for none.
    ends: tuple[FloatArray, FloatArray] | None = None
    joint_ends: tuple[FloatArray, FloatArray] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all cells are shown."""
        return len(self.labels) == self.cells

    @property
    def margins(self) -> FloatArray:
        """The margin of each cell by itself, (r,)."""
        return margin_factor(self.level) * self.std_errs

    @property
    def joint_margins(self) -> FloatArray:
        """The margins within which all cells of the table are at once, by the union bound, (r,)."""
        return margin_factor(min(1 - (1 - self.level) / max(self.cells, 1), 1 - 2**-53)) * self.std_errs


def shown_table(
    axes: Mapping[str, Sequence[object]],
    estimate: FloatArray,
    std_err: FloatArray | None,
    *,
    ends: Sequence[FloatArray] = (),
    level: float,
    unit: str,
) -> ShownTable:
    """The rows to show of a table: labels by the names of its axes, estimates, standard errors, (q_1, .., q_k).

    Intervals are of estimates and their margins, unless their ``ends`` are given.
    """
    chosen, names = rows_to_show(estimate.ravel()), tuple(axes)
    indices = np.stack(np.unravel_index(chosen, estimate.shape or (1,)), axis=1)[:, : estimate.ndim]
    texts = tuple(tuple(str(axes[name][i]) for name, i in zip(names, row, strict=True)) for row in indices.tolist())
    numbers, *of_ends = (frozen(each.ravel()[chosen]) for each in (estimate, *ends))
    errors = np.full_like(numbers, np.nan) if std_err is None else std_err.ravel()[chosen]
    shown = ShownTable(names, estimate.size, texts, numbers, errors, level, RECORDS if unit == COUNTS else unit)
    if of_ends:
        return replace(shown, ends=(of_ends[0], of_ends[1]))
    own, joint = ((numbers - margins, numbers + margins) for margins in (shown.margins, shown.joint_margins))
    return replace(shown, ends=own, joint_ends=joint)


def rows_to_show(estimate: FloatArray) -> NDArray[np.int64]:
    """The numbers of the cells of a table (cells,) to show: all, or those with the largest estimates, largest first."""
    return np.arange(estimate.size) if estimate.size <= ROWS else np.argsort(-estimate, kind="stable")[:ROWS]


def draw_budget(names: Sequence[str], parts: Sequence[float]) -> "Figure":
    """Bars, with the part of the budget written at the end of each."""
    figure, axes = _bars(len(names))
    rows = np.arange(len(names))
    axes.barh(rows, parts, color=BLUE, height=0.68)
    for row, part in zip(rows.tolist(), parts, strict=True):
        axes.annotate(percent_text(part), (part, row), (4, 0), textcoords="offset points", va="center")
    _name_rows(axes, names)
    axes.set_xlim(0, 1.16 * max([*parts, 1e-9]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    axes.set_xlabel("share of the privacy budget")
    return figure


def fairness_figure(
    data: Mapping[str, "pd.DataFrame"],
    titles: Mapping[str, str] | None = None,
    *,
    std_errs: Sequence[float] = (),
    unit: str = "counts",
) -> "Figure":
    """The standard error of a cell against the size of its table, a panel for each plan, by order, on log axes.

    Of each plan there is what `fairness_data` gives, by its name; the axis covers more standard errors, in counts.
    Source: paper section 6.2, figures 1 to 3.
    """
    from matplotlib.figure import Figure

    columns = 2 if len(data) in (2, 4) else min(len(data), 3)
    rows = math.ceil(len(data) / columns)
    figure = Figure(figsize=(_WIDTH, 0.5 + 2.5 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    everything = np.concatenate([[*std_errs], *(frame["std_err"].to_numpy() for frame in data.values())])
    limits = _log_limits(everything)
    sizes = _log_limits(np.concatenate([frame["cells"].to_numpy(dtype=np.float64) for frame in data.values()]))
    for panel, (name, frame) in zip(panels.ravel(), data.items(), strict=False):
        _scatter(panel, frame, sizes, limits)
        panel.set_title(textwrap.fill(short_text((titles or {}).get(name, name), 60), 84 // columns))
        _log_axis(panel, "x", sizes, fewest=4 if columns == 1 else 3)
        _log_axis(panel, "y", limits)
    for panel in panels.ravel()[len(data) :]:
        panel.set_axis_off()
    figure.supxlabel("cells of the table", fontsize=9, color=INK)
    figure.supylabel(f"standard error of a cell, {short_text(unit, 40)}", fontsize=9, color=INK)
    legends = [panel.get_legend_handles_labels() for panel in panels.ravel()]  # large orders first, as they are drawn
    handles = {label: handle for ends in legends for handle, label in zip(ends[0][::-1], ends[1][::-1], strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, handletextpad=0.2)
    return figure


def draw_targets(names: Sequence[str], margins: FloatArray, targets: FloatArray, met: NDArray[np.bool_]) -> "Figure":
    """For each table its margin of error, and the target as a bar across."""
    from matplotlib.lines import Line2D

    figure, axes = _bars(len(names))
    rows = np.arange(len(names))
    axes.hlines(rows, np.minimum(margins, targets), np.maximum(margins, targets), color=FAINT, linewidth=3)
    axes.plot(targets, rows, "|", color=INK, markersize=13, markeredgewidth=2)
    axes.plot(margins[met], rows[met], "o", color=BLUE)
    axes.plot(margins[~met], rows[~met], "X", color=RED, markersize=8)
    _name_rows(axes, names)
    axes.set_xscale("log")
    _log_axis(axes, "x", _log_limits(np.concatenate([margins, targets])))
    axes.set_xlabel("margin of error, counts")
    looks = (("target", INK, "|", 11), ("target met", BLUE, "o", 6), ("target missed", RED, "X", 8))
    shown = [
        Line2D([], [], color=color, marker=marker, linestyle="", label=label, markersize=size, markeredgewidth=1.5)
        for label, color, marker, size in looks[: 2 if met.all() else 3]
    ]
    figure.legend(handles=shown, loc="outside upper center", ncols=3)
    return figure


def draw_intervals(table: ShownTable, *, labels: tuple[str, str]) -> "Figure":
    """Estimates with two intervals each: a thick bar for the cell by itself, a thin one for all cells at once."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _bars(len(table.labels))
    rows, estimates = np.arange(len(table.labels)), table.estimates
    looks = ((table.joint_ends, labels[1], QUIET, 1), (table.ends, labels[0], SKY, 6))
    for ends, label, color, width in looks:
        if ends is not None:
            axes.hlines(rows, *ends, color=color, linewidth=width, label=label)
    # A thin line across hides no interval, as small as it may be.
    axes.plot(estimates, rows, "|", color=INK, markersize=8, markeredgewidth=0.9, label="estimate")
    names = [cell_name(cell) for cell in table.labels]
    if len({*names}) < len({*table.labels}):  # labels that begin alike
        names = [cell_name(cell, keeps_ends=True) for cell in table.labels]
    _name_rows(axes, names)
    axes.axvline(0, color=QUIET, linewidth=0.8)
    _name_what_is_unseen(axes)
    # Plain numbers, as many as there is room for beside the names of the rows.
    longest = max(len(number_text(end)) for end in axes.get_xlim())
    room = _LETTERS - max((len(name) for name in names), default=0)
    axes.xaxis.set_major_locator(MaxNLocator(max(2, min(8, room // (longest + 3))), steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(lambda value, _: number_text(value))
    axes.set_xlabel(short_text(table.unit))
    axes.set_title(short_text(" · ".join(table.names), 90), fontweight="normal", color=QUIET)
    handles, legend = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], legend[::-1], loc="outside upper center", ncols=3)
    return figure


def dependence_figure(names: Sequence[str], frame: "pd.DataFrame") -> "Figure":
    """Darker cells for pairs that depend more on each other in the model; hatched where it did not show above noise."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    shown = list(names)[:_MOST]
    position = {name: number for number, name in enumerate(shown)}
    values = np.full((len(shown), len(shown)), np.nan)
    side = _CELL * len(shown) + _BESIDE
    figure = Figure(figsize=(side + 1, side), layout="constrained")
    axes = figure.add_subplot()
    columns = (frame[name].tolist() for name in ("attribute", "other", "of_model", "is_shown"))
    for one, other, dependence, is_shown in zip(*columns, strict=True):
        if one in position and other in position:
            column, line = position[one], position[other]
            values[line, column] = dependence
            if not is_shown:
                corner = (column - 0.5, line - 0.5)
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="////", edgecolor=QUIET, linewidth=0))
    image = axes.imshow(values, cmap="Blues", vmin=0, vmax=max(float(np.nanmax(values, initial=0.0)), 0.1))
    axes.grid(visible=False)
    axes.set_xticks(range(len(shown)), shown, rotation=90)
    axes.set_yticks(range(len(shown)), shown)
    bar = figure.colorbar(image, shrink=0.6)
    bar.set_label("dependence (root of chi-square to a record)")
    axes.set_title("Dependence of pairs in the model; hatched where noise hides it", loc="left")
    return figure


def _name_what_is_unseen(axes: "Axes") -> None:
    """Say in the legend of which intervals none is wide enough to be seen behind the line of its estimate."""
    from matplotlib.collections import LineCollection

    for bars in (each for each in axes.collections if isinstance(each, LineCollection)):
        widths = [float(np.ptp(segment[:, 0])) for segment in bars.get_segments() if len(segment)]  # empty for nan
        if widths and max(widths) <= _SEEN * np.ptp(axes.get_xlim()):
            bars.set_label(f"{bars.get_label()}: too narrow to see")


def cell_name(labels: Sequence[str], longest: int = 44, *, keeps_ends: bool = False) -> str:
    """The labels of a cell in one line; where there is no room for all, the longest ones are cut, not the last.

    Example:
        >>> cell_name(["North", "2"]), cell_name(["Lake district and islands", "2", "[0, 9)"], 24)
        ('North · 2', 'Lake distr… · 2 · [0, 9)')
        >>> cell_name(["Answers with yes", "2"], 15, keeps_ends=True)
        'Answe…h yes · 2'
    """
    room = longest - 3 * (len(labels) - 1)
    sizes = (size for size in range(4, longest + 1) if sum(min(size, len(each)) for each in labels) <= room)
    most = max(sizes, default=4)
    return " · ".join(short_text(label, most, keeps_end=keeps_ends) for label in labels)


def _bars(rows: int) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, 0.9 + 0.24 * max(rows, 2)), layout="constrained")
    axes = figure.subplots()
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    return figure, axes


def _name_rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(np.arange(len(names)), [short_text(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _scatter(panel: "Axes", frame: "pd.DataFrame", sizes: tuple[float, float], limits: tuple[float, float]) -> None:
    """One marker for each point of some tables, order by order; large orders below."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    orders = np.minimum(frame["order"].to_numpy(), len(LOOKS) - 1)
    x, y = frame["cells"].to_numpy(dtype=np.float64), frame["std_err"].to_numpy(dtype=np.float64)
    for order in np.unique(orders)[::-1].tolist():
        color, marker, size = LOOKS[order]
        mine = orders == order
        more = order == len(LOOKS) - 1
        label = f"{order} or more attributes" if more else count_text(order, "attribute")
        spots = np.stack([x[mine], y[mine]], axis=1)
        # of points that would cover one another the first is kept
        ratios = [np.log(spots[:, i] / low) / math.log(high / low) for i, (low, high) in enumerate((sizes, limits))]
        spots = spots[np.sort(np.unique(np.round(np.stack(ratios) / _SPOT), axis=1, return_index=True)[1])]
        look: dict[str, Any] = {"marker": marker, "markersize": size, "markerfacecolor": color}
        panel.plot(*spots.T, linestyle="", markeredgecolor="#ffffff", markeredgewidth=0.3, label=label, **look)
    panel.grid(visible=True, which="major")


def _log_limits(values: Any) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    room = max((high / low) ** 0.06, 1.15)  # a part of the axis, whose length is the logarithm; some for equal values
    return low / room, high * room


def _log_axis(axes: "Axes", which: str, limits: tuple[float, float], *, fewest: int = 3) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xlim if which == "x" else axes.set_ylim)(*limits)
    axis.set_ticks(log_ticks(*limits, fewest=fewest))
    axis.set_ticks([], minor=True)
    axis.set_major_formatter(lambda value, _: power_text(value))


def log_ticks(low: float, high: float, *, fewest: int = 3) -> list[float]:
    """Round numbers between two limits: of some decades or each 1; or 1, 2, 5; or more, if there are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices: list[list[float]] = [[10.0**decade for decade in decades if decade % step == 0] for step in (4, 3, 2, 1)]
    for digits in ((1, 2, 5), (1, 1.5, 2, 3, 5, 7), range(1, 10), (tenth / 10 for tenth in range(10, 100, 2))):
        factors = [float(digit) for digit in digits]
        choices.append([factor * 10.0**decade for decade in decades for factor in factors])
    for choice in choices:
        inside = [float(f"{tick:.6g}") for tick in choice if low <= tick <= high]
        if len(inside) >= fewest:
            return inside
    return inside


def power_text(value: float) -> str:
    """A tick's label; large powers of ten as such, without any markup."""
    power = math.log10(value) if value > 0 else 0.0
    if value >= 1e6 and power == int(power):
        return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(int(power)))
    return number_text(value)
