"""What the choice of residual bases gains, computed and drawn.

    python -m benchmarks.gain_plot [--json FILE] [--folder FOLDER]

Plans all k-way prefix sums on 5 and on 10 attributes of 10 values with the best bases and with the best ones that are
orthogonal to the total, writes both beside the published figures to a file, prints them, and draws from that file:
FOLDER/bases-gain.svg, the ratios, and FOLDER/bases-prefix.svg, the bases of one attribute of 20 values.  It takes
seconds, and needs matplotlib: ``pip install residualplanner[docs]``.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.published_general import K_WAY_PREFIX
from residualplanner.method.bases.basis import Basis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
NUMBERS_OF_ATTRIBUTES, SIZE = (5, 10), 10
#: The example of one attribute: all pairs of so many attributes of so many values.
ATTRIBUTES, VALUES, ROWS = 5, 20, 3

#: Told apart without color by marker and dashes.  The colors are Okabe and Ito's.
BLUE, RED, GREEN, BLACK = "#0072B2", "#D55E00", "#009E73", "#222222"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "svg.hashsalt": "residualplanner",
    "legend.frameon": False,
}


def prefix_plan(attributes: int, values: int, order: int, bases: str) -> rp.Plan:
    """The plan for all prefix sums of one order on equal attributes, at privacy cost 1."""
    names = [f"a{number}" for number in range(attributes)]
    workload = rp.marginals(
        rp.Domain(dict.fromkeys(names, values)), order=order, kinds=dict.fromkeys(names, rp.Prefix())
    )
    return rp.select(workload, budget=rp.pcost(1), bases=bases)


def gains() -> Iterator[dict[str, Any]]:
    """For each number of attributes and each order the RMSE of four choices; None where nothing was published."""
    for attributes in NUMBERS_OF_ATTRIBUTES:
        hdmm, plus, _ = K_WAY_PREFIX[attributes, SIZE]
        for order in range(1, attributes + 1):
            rmse = {bases: prefix_plan(attributes, SIZE, order, bases).rmse for bases in ("optimal", "orthogonal")}
            published = {
                name: figures[order - 1] if order <= len(figures) else None
                for name, figures in (("hdmm", hdmm), ("residualplanner_plus", plus))
            }
            yield {"attributes": attributes, "values": SIZE, "order": order, **rmse, **published}


def principal_rows(basis: Basis) -> NDArray[np.float64]:
    """The first rows of S, turned so that their effects on the estimates are orthogonal, the most precise ones first.

    Answers may be rotated among themselves without changing anything; this rotation makes them comparable.
    """
    n = basis.size
    lengths, directions = np.linalg.eigh(basis.G @ basis.G.T * float(basis.pcost))
    G = directions[:, 1:] * np.sqrt(lengths[1:])  # the first direction is the total's, with length 0
    rows = np.linalg.pinv(G) @ (np.eye(n) - np.outer(basis.u, np.ones(n)))
    return rows[:ROWS] * np.sign(rows[:ROWS, :1])


def example() -> dict[str, Any]:
    """The bases of one attribute, in all pairs of equal ones."""
    plans = {bases: prefix_plan(ATTRIBUTES, VALUES, 2, bases) for bases in ("optimal", "orthogonal")}
    bases = {name: next(iter(plan.bases.values())) for name, plan in plans.items()}
    return {
        name: {
            "rmse": plans[name].rmse,
            "u": np.round(basis.u, 6).tolist(),
            "rows": principal_rows(basis).round(6).tolist(),
        }
        for name, basis in bases.items()
    }


def draw_gains(rows: list[dict[str, Any]]) -> "Figure":
    """RMSE relative to that of the best bases, against the order, a panel for each number of attributes."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    panels = figure.subplots(1, len(NUMBERS_OF_ATTRIBUTES), sharey=True)
    series = (
        ("hdmm", "HDMM, as published", RED, "s", (0, (5, 2))),
        ("residualplanner_plus", "ResidualPlanner+, as published", BLUE, "o", "-"),
        ("orthogonal", "best orthogonal bases", GREEN, "^", (0, (1, 1.2))),
    )
    for panel, attributes in zip(panels, NUMBERS_OF_ATTRIBUTES, strict=True):
        mine = [row for row in rows if row["attributes"] == attributes]
        for key, label, color, marker, dashes in series:
            shown = [row for row in mine if row[key] is not None]
            orders = [row["order"] for row in shown]
            ratios = [row[key] / row["optimal"] for row in shown]
            panel.plot(orders, ratios, color=color, marker=marker, linestyle=dashes, label=label, clip_on=False)
        panel.axhline(1, color=BLACK, linewidth=0.8)
        panel.set_title(f"{attributes} attributes of {mine[0]['values']} values")
        panel.set_xlabel("attributes in each table, k")
        panel.xaxis.set_major_locator(MultipleLocator(1))
        panel.set_xlim(0.8, attributes + 0.2)
    panels[0].set_ylabel("RMSE, relative to optimal bases")
    panels[0].set_ylim(0.97, None)
    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.1f}"))
    panels[-1].annotate("optimal bases", (attributes, 1), (0, 4), textcoords="offset points", ha="right")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def draw_example(bases: dict[str, Any]) -> "Figure":
    """The vector u and the first rows of S, of the best basis and of the best orthogonal one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    grid = figure.add_gridspec(ROWS, 2, width_ratios=(1.05, 1))
    shares, values = figure.add_subplot(grid[:, 0]), np.arange(1, VALUES + 1)
    looks = (("optimal", "optimal", BLUE, "o", "-"), ("orthogonal", "orthogonal to the total", RED, "s", (0, (4, 2))))
    for name, label, color, marker, dashes in looks:
        shares.plot(values, bases[name]["u"], color=color, marker=marker, markersize=3.5, linestyle=dashes, label=label)
    shares.set_ylim(0, None)
    shares.set_ylabel("share of the total, u")
    shares.legend(loc="upper center")
    for number in range(ROWS):
        panel = figure.add_subplot(grid[number, 1])
        for name, _, color, marker, dashes in looks:
            panel.plot(
                values, bases[name]["rows"][number], color=color, marker=marker, markersize=2.5, linestyle=dashes
            )
        panel.axhline(0, color=BLACK, linewidth=0.6)
        panel.set_ylim(-0.75, 0.75)
        panel.set_yticks((-0.5, 0, 0.5))
        panel.set_ylabel(f"row {number + 1} of S")
        if number < ROWS - 1:
            panel.tick_params(labelbottom=False)
        if number == ROWS - 1:
            panel.set_xlabel("value")
    shares.set_xlabel("value")
    for axes in figure.axes:
        axes.set_xlim(0.5, VALUES + 0.5)
        axes.set_xticks((1, 5, 10, 15, 20))
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description="What the choice of residual bases gains, computed and drawn.")
    parser.add_argument("--json", type=Path, default=HERE / "results" / "gain.json", help="where the figures go")
    parser.add_argument("--folder", type=Path, default=HERE.parent / "docs", help="where the pictures go")
    arguments = parser.parse_args()
    computed = {"gain": list(gains()), "example": example()}
    arguments.json.write_text(json.dumps(computed, indent=1) + "\n", encoding="utf-8")

    figures = json.loads(arguments.json.read_text(encoding="utf-8"))
    print(f"{'d':>3}{'k':>3}{'optimal':>10}{'orthogonal':>12}{'RP+':>8}{'HDMM':>8}")
    for row in figures["gain"]:
        published = [f"{row[name] or '-':>8}" for name in ("residualplanner_plus", "hdmm")]
        print(
            f"{row['attributes']:>3}{row['order']:>3}{row['optimal']:>10.3f}{row['orthogonal']:>12.3f}",
            *published,
            sep="",
        )
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        for name, figure in (("gain", draw_gains(figures["gain"])), ("prefix", draw_example(figures["example"]))):
            figure.savefig(arguments.folder / f"bases-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
