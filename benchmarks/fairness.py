"""Figures 1 to 3 of the paper: whose cells are accurate when the weighted sum of variances is made small.

    python -m benchmarks.fairness [--out FOLDER]

Plans all marginals of up to 3 attributes of Adult (470 tables) at privacy cost 1, with the paper's three weightings;
prints the range of the standard error of a cell by order, beside what the paper says of the figures; draws
fairness-equal.svg, fairness-cells.svg and fairness-sqrt.svg, and writes the data as fairness.csv.  Without --out the
pictures go to docs and the data to benchmarks/results.  It takes seconds, and needs matplotlib: ``pip install
residualplanner[report]``.

The paper draws variances, these pictures standard errors, their roots, on logarithmic axes: the shapes are the same,
one scale has half the length.  Only statements of the paper's text are compared, not the points of its figures; the
ratios do not depend on the privacy cost.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import residualplanner as rp
from benchmarks.published import DOMAINS
from residualplanner.publish.pictures.drawing import svg_of
from residualplanner.publish.pictures.plots import fairness_figure
from residualplanner.publish.report.figures import WEIGHTINGS, fairness_data, spread_by_order

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).resolve().parent
#: The paper's figure of each weighting.
FIGURES = {"equal": 1, "cells": 2, "sqrt": 3}


@dataclass(frozen=True)
class Claim:
    """What the paper's text says of a figure, and the figure found.

    Attributes:
        words: the claim.
        low, high: the factors that agree with it.
        found: the factor.
    """

    words: str
    low: float
    high: float
    found: float

    @property
    def holds(self) -> bool:
        return self.low < self.found < self.high


def plans() -> dict[str, rp.Plan]:
    """The plan of each weighting."""
    sizes = DOMAINS["Adult"]
    domain = rp.Domain({f"a{number}": size for number, size in enumerate(sizes)})
    workload = rp.marginals(domain, up_to=3)
    return {
        weights: rp.select(workload, budget=rp.pcost(1), loss=rp.losses.SumOfVariances(weights))
        for weights in WEIGHTINGS
    }


def claims(data: "dict[str, pd.DataFrame]") -> dict[str, Claim]:
    """The paper's sentences about its figures, and the factors between variances that they are about."""

    def factor(weights: str, more: str, less: str) -> float:
        variance = data[weights]["std_err"] ** 2
        ends = {"largest": data[weights]["cells"].idxmax(), "smallest": data[weights]["cells"].idxmin()}
        values = {name: float(variance[row]) for name, row in ends.items()}
        values |= {"most": float(variance.max()), "least": float(variance.min())}
        return values[more] / values[less]

    return {
        "equal": Claim(
            "tables with more cells can have over 2 times the variance of smaller ones",
            2,
            3,
            factor("equal", "most", "least"),
        ),
        "cells": Claim(
            "tables with many cells have variances several orders of magnitude below those of small ones",
            10**2,
            10**4,
            factor("cells", "smallest", "largest"),
        ),
        "sqrt": Claim(
            "the same by about one order of magnitude",
            10**0.5,
            10**1.5,
            factor("sqrt", "smallest", "largest"),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures 1 to 3 of the paper, on cell fairness.")
    parser.add_argument("--out", type=Path, help="the folder for pictures and data")
    out = parser.parse_args().out
    pictures, results = (HERE.parent / "docs", HERE / "results") if out is None else (out, out)
    pictures.mkdir(parents=True, exist_ok=True)

    data = {weights: fairness_data(plan) for weights, plan in plans().items()}
    ends = [end for frame in data.values() for end in (frame["std_err"].min(), frame["std_err"].max())]
    found = claims(data)
    for weights, figure in FIGURES.items():
        print(f"\nFigure {figure}: weights {weights}, {WEIGHTINGS[weights]}.  Standard error of a cell:")
        print(f"{'order':>6}{'tables':>8}{'least':>9}{'median':>9}{'largest':>9}")
        for order, tables, low, median, high in spread_by_order(data[weights]):
            print(f"{order:>6}{tables:>8}{low:>9.2f}{median:>9.2f}{high:>9.2f}")
        claim = found[weights]
        print(
            f"The paper: {claim.words}.  Found: {claim.found:.2f} times; it {'agrees' if claim.holds else 'DIFFERS'}."
        )
        drawn, titles = {weights: data[weights]}, {weights: f"weights {weights}: {WEIGHTINGS[weights]}"}
        picture = svg_of(partial(fairness_figure, drawn, titles, std_errs=ends))
        (pictures / f"fairness-{weights}.svg").write_text(picture, encoding="utf-8", newline="\n")
    table = data["equal"].drop(columns="std_err")
    table = table.assign(**{f"std_err_{weights}": frame["std_err"].round(6) for weights, frame in data.items()})
    table.to_csv(results / "fairness.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
