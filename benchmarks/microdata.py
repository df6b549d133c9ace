"""The benchmark of microdata: five fits of many data sets, beside the published tables, and its bounds.

    python -m benchmarks.microdata --puma FOLDER [--draws N] [--tables-only] [--no-large] [--json FILE]

FOLDER holds 15 histograms of race by origin, ``ST_*.csv``.  For 31 data sets and six laws of noise (186 experiments)
every fit is made of the same draws of the noise, which comes from a generator with a seed and protects nothing.  Then:
the published tables beside ours; the published findings; a table of a million cells; the bounds of the uncertainty
principle beside what a mechanism attains.  Exits with 1 if a cell of the tables is more than four standard errors from
an independent simulation of it, or if a fit of the large table misses its target.
"""

import argparse
import json
import math
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.microdata_data import LAWS, PUBLISHED_LAW, DataSet, noisy, published_rows, puma, synthetic
from benchmarks.microdata_published import CELLS, METHODS, REFERENCE, TOTAL
from residualplanner.fits import microdata

Array = NDArray[np.float64]
FITS: dict[str, Callable[[microdata.NoisyGroups], microdata.Fit]] = dict(
    zip(
        METHODS,
        (
            microdata.least_squares,
            microdata.nonnegative_least_squares,
            microdata.max_fit,
            microdata.sequential_fit,
            microdata.reweighted_fit,
        ),
        strict=True,
    )
)
#: Seconds and gap that the fits of a table of a million cells may take.
LARGE_TARGETS = {"NNLS": 60.0, "ReWeighted": 120.0}


# One experiment: a data set, a law, all fits.


def measured(data: DataSet, law: str, draws: int, seed: int) -> dict[str, Any]:
    """The squared errors of every fit, group by group, in counts squared."""
    answers, found = noisy(data, law, draws, seed), {}
    for method, make in FITS.items():
        started = time.process_time()
        fit = make(answers)
        spent = time.process_time() - started
        errors = {name: group_errors(fit, data, names) for name, names in data.groups.items()}
        found[method] = {**errors, "gap": float(f"{fit.gap.max():.1e}"), "cpu s": round(spent, 3)}
    return found


def group_errors(fit: microdata.Fit, data: DataSet, names: tuple[str, ...]) -> dict[str, float]:
    """Squared errors of a group: of all its queries together, of the worst, and quantiles over queries."""
    off = (fit.table(names) - data.answers(names)).reshape(len(fit.gap), -1) ** 2
    mean, together = off.mean(axis=0), off.sum(axis=1)
    worst = int(mean.argmax())
    root = math.sqrt(len(off))
    figures = {
        "together": mean.sum(),
        "standard error": together.std() / root,
        "worst": mean.max(),
        "standard error of the worst": off[:, worst].std() / root,
        "median": np.median(mean),
        "90%": np.quantile(mean, 0.9),
    }
    keep = list(figures)[:2] if off.shape[1] == 1 else list(figures)
    return {key: float(f"{figures[key]:.5g}") for key in keep}


# The published tables, cell by cell.


def beside(rows: dict[str, Any], draws: int) -> list[dict[str, Any]]:
    """Every published cell beside ours, and how many standard errors ours is from an independent simulation."""
    found = []
    for name, results in rows.items():
        for place, method in enumerate(METHODS):
            total, cells = results[method]["total"], results[method]["cells"]
            row = {
                "data": name,
                "method": method,
                "total": total["together"],
                "published total": TOTAL[name][place],
                "cells": cells["together"],
                "published cells": CELLS[name][place][0],
                "worst": cells["worst"],
                "published worst": CELLS[name][place][1],
            }
            if place:
                part = math.sqrt(draws / (600 if method == "MaxFit" else 3000))
                row["distances"] = distances(total, cells, REFERENCE[name][place - 1], part)
            found.append(row)
    return found


def distances(
    total: dict[str, float], cells: dict[str, float], reference: tuple[float, ...], part: float
) -> list[float]:
    """How far total, cells together and the worst cell are from the reference, in joint standard errors.

    Of the reference only the standard error of the total is known; the others are ``part`` of ours, for its draws.
    """
    pairs = (
        (total["together"] - reference[0], total["standard error"], reference[1]),
        (cells["together"] - reference[2], cells["standard error"], cells["standard error"] * part),
        (cells["worst"] - reference[3], *(cells["standard error of the worst"] * each for each in (1, part))),
    )
    return [round(off / math.hypot(*errors), 2) for off, *errors in pairs]


def findings(rows: dict[str, Any], all_rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The published findings, what was found, and whether they hold."""

    def ratios(method: str, over: Callable[[dict[str, Any]], float]) -> list[float]:
        return [over(row[method]) / over(row["OLS"]) for row in rows.values()]

    def spread(values: list[float]) -> str:
        return f"{min(values):.2f} to {max(values):.2f}, median {np.median(values):.2f}"

    total, cells = (lambda row: row["total"]["together"]), (lambda row: row["cells"]["together"])
    worst = {name: {method: row[method]["cells"]["worst"] for method in METHODS[1:]} for name, row in rows.items()}
    nnls, fits = ratios("NNLS", total), [ratio for method in METHODS[1:] for ratio in ratios(method, cells)]
    maxfit, reweighted = ratios("MaxFit", total), ratios("ReWeighted", total)
    noise = [total(row["Sequential"]) / 128 for row in rows.values()]
    beats = [found["NNLS"] < found["ReWeighted"] for found in worst.values()]
    by_law = {law: cost_of_signs(law) for law in ("Gaussian, rho = 0.125", PUBLISHED_LAW)}
    gauss, laplace = by_law.values()
    easy = all_rows["Level32-1d"]["Laplace, epsilon = 1"]
    same = abs(total(easy["NNLS"]) / total(easy["OLS"]) - 1) + abs(cells(easy["NNLS"]) / cells(easy["OLS"]) - 1)
    printed = [TOTAL[name][1] / TOTAL[name][0] for name in rows]
    return [
        finding("U1", "NNLS and MaxFit: the total has typically 4 to 5 times the error of OLS (the paper's own table: "
                f"NNLS {spread(printed)})",
                f"NNLS {spread(nnls)}; MaxFit {spread(maxfit)}",
                holds=abs(np.median(nnls) / np.median(printed) - 1) < 0.1
                and min(nnls + maxfit) > 2.4 and max(nnls + maxfit) < 6.6),
        finding("U2", "the total is much better with Sequential, near its noise, and ReWeighted, near OLS (Table 1)",
                f"Sequential / noise {spread(noise)}; ReWeighted / OLS {spread(reweighted)}",
                holds=max(abs(ratio - 1) for ratio in noise) < 0.2 and max(abs(r - 1) for r in reweighted) < 0.15),
        finding("U3", "cells together: all four 8 to 65 times below OLS (Table 2)",
                f"OLS / fit {spread([1 / ratio for ratio in fits])}",
                holds=min(1 / ratio for ratio in fits) > 7.5),
        finding("U4", "worst cell: NNLS is slightly below ReWeighted; cells together are comparable",
                f"lower on {sum(beats)} of 16; cells together NNLS / ReWeighted "
                + spread([cells(row["NNLS"]) / cells(row["ReWeighted"]) for row in rows.values()]),
                holds=sum(beats) > 8),
        largest_worst_cells(rows),
        finding("U6", "penalties are smaller under zCDP (no figure in the text): here NNLS / OLS on D01's total, with "
                "Gaussian and with Laplace noise",
                f"{gauss[0]:.2f} against {laplace[0]:.2f}, standard errors {gauss[1]:.2f} and {laplace[1]:.2f}",
                holds=gauss[0] < laplace[0]),
        finding("U7", "data of large cells pay nothing (no figure in the text): here NNLS beside OLS, Level32-1d at "
                "epsilon = 1",
                f"relative difference {same:.1e}", holds=same < 1e-9),
    ]  # fmt: skip


def largest_worst_cells(rows: dict[str, Any]) -> dict[str, Any]:
    """On which data sets Sequential has the largest worst cell of the four fits, and where that is beyond errors.

    Errors are those of both cells together, as if they were independent; the fits share their draws.
    """
    fits, ours, clear, printed, behind = METHODS[1:], list[str](), list[str](), list[str](), list[str]()
    for number, (name, row) in enumerate(rows.items(), start=1):
        cells = {method: row[method]["cells"] for method in fits}
        others = [cells[method] for method in fits if method != "Sequential"]
        second = max(others, key=lambda cell: cell["worst"])
        largest = max(fits, key=lambda method: cells[method]["worst"])
        ahead = cells["Sequential"]["worst"] - second["worst"]
        error = math.hypot(*(cell["standard error of the worst"] for cell in (cells["Sequential"], second)))
        of_paper = dict(zip(METHODS, (worst for _, worst in CELLS[name]), strict=True))
        label = f"D{number:02}"
        printed += [label] * (max(fits, key=of_paper.__getitem__) == "Sequential")
        ours += [label] * (ahead > 0)
        clear += [label] * (ahead > 2 * error)
        behind += [f"{largest} on {label}"] * (label in printed and ahead <= 0)
    open_cases = [label for label in printed if label not in clear]
    return finding(
        "U5",
        f"by Table 2 Sequential has the largest worst cell of the four non-negative fits on {', '.join(printed)}",
        f"on {', '.join(ours)}; by more than two standard errors on {', '.join(clear)}",
        holds=not open_cases,
        missing=f"{' and '.join(open_cases)}, where the fits are within two standard errors"
        + f" (ours is largest for {', '.join(behind)})" * bool(behind)
        if open_cases
        else "",
    )


def cost_of_signs(law: str, draws: int = 40_000, seed: int = 2) -> tuple[float, float]:
    """The error of NNLS on the total of D01 over that of OLS, which is known exactly, and its standard error."""
    (data,) = (each for each in synthetic() if each.name == "Level00-2d")
    answers = noisy(data, law, draws, seed)
    off = (microdata.nonnegative_least_squares(answers).table() - data.counts.sum()) ** 2
    exact = microdata.least_squares_variance(answers)
    return float(off.mean() / exact), float(off.std() / math.sqrt(draws) / exact)


def finding(number: str, published: str, ours: str, *, holds: bool, missing: str = "") -> dict[str, Any]:
    """A row; ``missing`` says what of it is not shown where the rest is."""
    verdict = f"in part; not shown: {missing}" if missing else "shown" if holds else "not shown"
    return {"finding": number, "published": published, "ours": ours, "holds": bool(holds), "verdict": verdict}


# A table of a million cells.


def large(seed: int = 0) -> dict[str, dict[str, float]]:
    """NNLS and ReWeighted of 1,048,576 cells and 3,130 sums of them in five groups."""
    chance, shape = np.random.default_rng(seed), (32,) * 4
    parts = [chance.dirichlet(np.full(32, 0.3)) for _ in shape]
    chances = np.einsum("a,b,c,d->abcd", *parts) * chance.lognormal(0, 1, shape)
    counts = chance.multinomial(1_000_000, chances.ravel() / chances.sum()).reshape(shape).astype(np.float64)
    data = DataSet("large", counts)
    names = data.domain.names
    law, answers = microdata.noise_for(5, epsilon=0.5), []
    for group in ((), names[:1], names[:2], names[2:], names):
        true = data.answers(group)
        values = true + chance.laplace(0.0, law.noise_scale, true.shape)
        answers.append(microdata.GroupAnswers(microdata.Marginal(group), values, law))
    groups, found = microdata.NoisyGroups(data.domain, answers), {}
    for method in LARGE_TARGETS:
        started = time.process_time()
        fit = FITS[method](groups)
        spent = time.process_time() - started
        found[method] = {
            "cpu s": round(spent, 1),
            "gap": float(f"{fit.gap:.1e}"),
            "error of the total": round(float(fit.table() - counts.sum()), 1),
            "rmse of cells": round(float(np.sqrt(((fit.estimate - counts) ** 2).mean())), 3),
            "peak GiB of the process": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        }
    return found


# The bounds.


def hard(cells: int, epsilon: float, draws: int, seed: int) -> dict[str, float]:
    """Squared errors on the hard data set, one cell of ln(d) / epsilon, beside what must be and what is proved."""
    counts = np.zeros(cells)
    counts[0] = math.log(cells) / epsilon
    chance, law = np.random.default_rng(seed), microdata.noise_for(2, epsilon=epsilon)
    off_cell, off_total = [], []
    for _ in range(0, draws, 100):
        answers = [
            microdata.GroupAnswers(
                microdata.Marginal(group), values + chance.laplace(0.0, law.noise_scale, (100, *np.shape(values))), law
            )
            for group, values in (((), counts.sum()), (("cell",), counts))
        ]
        fit = microdata.sequential_fit(microdata.NoisyGroups(rp.Domain({"cell": cells}), answers))
        off_cell.append((fit.estimate[:, 0] - counts[0]) ** 2)
        off_total.append((fit.table() - counts.sum()) ** 2)
    total = math.sqrt(8) / epsilon
    upper = microdata.errors_of_sequential_fit(cells, epsilon=epsilon)
    figures = {
        "lower bound, published": microdata.least_cell_error(total, cells, epsilon=epsilon, method="published") ** 2,
        "lower bound": microdata.least_cell_error(total, cells, epsilon=epsilon) ** 2,
        "large cell": float(np.mean(off_cell)),
        "ln(d)^2 / epsilon^2": float(counts[0] ** 2),
        "upper bound": upper.cell**2,
        "total": float(np.mean(off_total)),
        "upper bound of the total": upper.total**2,
    }
    return {name: round(value, 1) for name, value in figures.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="Five fits of microdata beside the published tables.")
    parser.add_argument("--puma", type=Path, required=True, help="a folder of histograms ST_*.csv")
    parser.add_argument("--draws", type=int, default=1000, help="draws of the noise for each experiment")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables-only", action="store_true", help="only the published law of noise, and its data sets")
    parser.add_argument("--no-large", action="store_true", help="leave out the table of a million cells")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    published = {each.name for each in published_rows(arguments.puma)}
    sets = [*synthetic(), *puma(arguments.puma)]
    started, rows = time.process_time(), {}
    for data in sets:
        if arguments.tables_only and data.name not in {*published, "Level32-1d"}:
            continue
        laws = [law for law in LAWS if not arguments.tables_only or law == PUBLISHED_LAW or data.name[:5] == "Level"]
        rows[data.name] = {law: measured(data, law, arguments.draws, arguments.seed) for law in laws}
        print(f"{data.name}: {len(laws)} laws, {time.process_time() - started:.0f} CPU s so far", flush=True)
    spent = time.process_time() - started
    tables = {name: rows[name][PUBLISHED_LAW] for name in TOTAL}
    found = {
        "draws": arguments.draws,
        "seed": arguments.seed,
        "cpu s of all experiments": round(spent),
        "cpu s of the tables": {
            method: round(sum(row[method]["cpu s"] for row in tables.values()), 1) for method in METHODS
        },
        "tables": beside(tables, arguments.draws),
        "findings": findings(tables, rows),
        "bounds": {str(cells): hard(cells, 0.1, 2000, arguments.seed) for cells in (100, 1_000, 10_000)},
        "large": {} if arguments.no_large else large(),
        "experiments": rows,
    }
    is_right = show(found)
    if arguments.json:
        text = json.dumps(found, separators=(",", ":")).replace('"experiments"', '\n"experiments"')
        arguments.json.write_text(text.replace("},{", "},\n{").replace("}},", "}},\n") + "\n", encoding="utf-8")
    return 0 if is_right else 1


def show(found: dict[str, Any]) -> bool:
    """Print everything but the experiments; whether all is as it should be."""
    for row in found["tables"]:
        pairs = [f"{row[name]:9.1f} ({row[f'published {name}']:.1f})" for name in ("total", "cells", "worst")]
        print(f"{row['data']:12} {row['method']:11}", *pairs, row.get("distances", ""))
    for row in found["findings"]:
        print(f"{row['finding']}: {row['published']}\n    {row['ours']}; {row['verdict']}")
    for title in ("bounds", "large"):
        for name, figures in found[title].items():
            print(title, name, figures)
    print(
        "CPU seconds of the tables:", found["cpu s of the tables"], "of everything:", found["cpu s of all experiments"]
    )
    far = [row for row in found["tables"] if max(map(abs, row.get("distances", [0.0]))) > 4]
    late = [name for name, row in found["large"].items() if row["cpu s"] > LARGE_TARGETS[name] or row["gap"] > 1e-6]
    print(f"{len(far)} rows more than four standard errors from the reference; too slow or inexact: {late}")
    return not far and not late


if __name__ == "__main__":
    raise SystemExit(main())
