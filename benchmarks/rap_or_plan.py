"""RAP beside a plan: the table of docs/adaptive-projection.md, from what `benchmarks.rap_grid` wrote.

    python -m benchmarks.rap_or_plan

Each entry is the mean over seeds of the largest error of all cells and in parentheses its range, in percent of all
records; then the mean of the root mean square error, in millionths.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.rap_results import FILES, SETTING, Point, Results, chosen, complete, results_of

#: The columns and what their points are chosen by.
COLUMNS: dict[str, dict[str, Any]] = {
    "RAP, 4 rounds of 4 tables": {"experiment": "tables", "choices": 4},
    "RAP, all tables at once": {"experiment": "tables", "choices": None},
    "a plan's tables": {"experiment": "baselines", "method": "residual planner"},
    "Gaussian noise, joint": {"experiment": "baselines", "method": "gaussian", "sensitivity": "joint"},
    "the same, charged per cell": {"experiment": "baselines", "method": "gaussian", "sensitivity": "per-cell"},
    "all answers 0": {"experiment": "baselines", "method": "zero"},
}


def best_setting(r: Results, **wanted: Any) -> list[Point]:
    """The points of the setting of RAP with cells whose mean largest error is the least."""
    points = complete(chosen(r.grid, experiment="sizes", filtered=False, **wanted), *SETTING)
    errors = r.by_setting(experiment="sizes", filtered=False, **wanted)
    rounds, choices = min(errors, key=lambda setting: errors[setting])
    return chosen(points, rounds=rounds, choices=choices)


def entry(points: list[Point]) -> str:
    """One cell of the table."""
    largest = [100 * point["largest"] for point in points]
    mean, least, most = (significant(value) for value in (np.mean(largest), min(largest), max(largest)))
    spread = f" ({least} to {most})" if least != most else ""
    return f"{mean}{spread}; {significant(1e6 * float(np.mean([point['rmse'] for point in points])), 3)}"


def significant(value: float, digits: int = 2) -> str:
    """A number with so many digits, and all of those before the point.

    Example:
        >>> significant(0.5266), significant(12.34), significant(75123.0, 3)
        ('0.53', '12', '75,100')
    """
    rounded = float(f"{value:.{digits}g}")
    places = max(0, digits - 1 - int(np.floor(np.log10(abs(rounded)))))
    return f"{rounded:,.{places}f}"


def rows(r: Results) -> Iterator[str]:
    """The table, line by line."""
    yield "| epsilon, tables | RAP, cells (best of 11 settings) | " + " | ".join(COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for epsilon in (0.01, 0.1, 1.0):
        for tables in (16, 64):
            cells = [entry(best_setting(r, epsilon=epsilon, tables=tables))]
            for wanted in COLUMNS.values():
                points = complete(chosen(r.grid, **wanted), "epsilon", "tables")
                cells.append(entry(chosen(points, epsilon=epsilon, tables=tables)))
            yield f"| {epsilon:g}, {tables} | " + " | ".join(cells) + " |"


def main() -> int:
    print("\n".join(rows(results_of(*FILES))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
