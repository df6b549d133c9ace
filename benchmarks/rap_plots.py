"""AK's four plots of the regressions, drawn again from the printed coefficients, with our runs beside those of Adult.

    python -m benchmarks.rap_plots [--folder FOLDER]

draws FOLDER/rap-regressions.svg.  AK's points are not in the text, and the records of Loans were not at hand.  It needs
matplotlib: ``pip install residualplanner[docs]``.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gain_plot import BLUE, RED, STYLE
from benchmarks.rap_explanations import BY_QUERIES, BY_TABLES, LOANS, LOANS_BY_QUERIES, Regression
from benchmarks.rap_findings import OURS
from benchmarks.rap_results import FILES, Results, chosen, results_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).resolve().parent.parent / "docs"
#: The regressions, what they are by, and where AK's runs were: of filtered workloads and of all.
PANELS = (
    ("Adult, by tables", BY_TABLES, "tables", ((1, 278), (1, 364))),
    ("Adult, by queries", BY_QUERIES, "cells", ((1e3, 2.0e6), (1e3, 2.1e7))),
    ("Loans, by tables", LOANS, "tables", ((1, 1024), (1, 1024))),
    ("Loans, by queries", LOANS_BY_QUERIES, "cells", ((1e4, 1e7), (1e4, 1e9))),
)


def errors_at(regression: Regression, sizes: NDArray[np.float64], *, filtered: bool) -> NDArray[np.float64]:
    """The line at epsilon 0.1; the indicator is 0 where workloads are filtered."""
    b, logs = regression.coefficients, np.log(sizes)
    found = b[0] + b[1] + (b[3] + b[4]) * logs
    return np.asarray(found if filtered else found + b[6] + b[7] + (b[9] + b[10]) * logs)


def our_points(r: Results, size: str) -> Iterator[tuple[bool, float, float]]:
    """Whether filtered, the number of tables or queries, and the least error over settings of T and K: of each seed."""
    of_setting: dict[str, Any] = {"experiment": "sizes", "epsilon": 0.1, "sensitivity": "joint"}
    for filtered in (True, False):
        for tables in OURS:
            best: dict[int, list[dict[str, Any]]] = defaultdict(list)
            for point in chosen(r.grid, tables=tables, filtered=filtered, **of_setting):
                best[point["seed"]].append(point)
            for points in best.values():
                least = min(points, key=lambda point: point["largest"])
                yield filtered, float(least[size]), float(least["largest"])


def draw(r: Results) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    for axes, (title, regression, size, ranges) in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
        for filtered, color, dashes, marker, (low, high) in (
            (True, RED, (0, (4, 2)), "s", ranges[0]),
            (False, BLUE, "-", "o", ranges[1]),
        ):
            sizes = np.geomspace(low, high, 50)
            name = "filtered" if filtered else "all tables possible"
            axes.plot(
                sizes,
                errors_at(regression, sizes, filtered=filtered),
                color=color,
                linestyle=dashes,
                label=f"AK's line, {name}",
            )
            if title.startswith("Adult"):
                ours = [(x, y) for kind, x, y in our_points(r, size) if kind == filtered]
                axes.plot(
                    *np.array(ours).T,
                    color=color,
                    marker=marker,
                    markersize=3.5,
                    linestyle="none",
                    fillstyle="none",
                    label=f"ours, {name}",
                )
        axes.set_xscale("log")
        axes.set_title(title)
        axes.set_xlabel("tables" if size == "tables" else "queries")
        axes.set_ylim(0, 0.2 if title.startswith("Adult") else 0.3)
    figure.supylabel("largest error, epsilon 0.1", fontsize=9)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description="AK's regressions, drawn again.")
    parser.add_argument("--folder", type=Path, default=DOCS, help="where the picture goes")
    arguments = parser.parse_args()
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        draw(results_of(*FILES)).savefig(arguments.folder / "rap-regressions.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
