"""How often intervals cover the truth, exactly: of a total, with noise on the integers and as it is drawn now.

    python -m benchmarks.coverage [--json FILE]

For each rho the plan of a total alone.  "Integers": noise of step 1 with normal quantiles, as it was before; "now": the
lattice and the margins of this library.  No noise is drawn; probabilities are summed (`benchmarks.covering`).  Exits
with 1 if the coverage of an interval is below its level, or above it by more than 1e-5.
"""

import argparse
import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import residualplanner as rp
from benchmarks.covering import total_error
from residualplanner.release.table import Estimate

RHOS = ("0.01", "0.1", "0.5", "1", "1.92", "2", "5", "10", "20", "50", "100", "1000")
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999999)
#: How much more often than said an interval may cover.
EXCESS = 1e-5


def total_plan(rho: str) -> rp.Plan:
    """The plan of nothing but the number of records."""
    return rp.select(rp.Workload(rp.Domain({"sex": 2}), [()]), budget=rp.zcdp(rho))


def coverages(rho: str) -> list[dict[str, Any]]:
    """One row for each level."""
    plan = total_plan(rho)
    on_integers, std_err = total_error(plan, step=1), math.sqrt(plan.max_variance)
    rows = []
    for level in LEVELS:
        before = on_integers.beyond(Fraction(NormalDist().inv_cdf((1 + level) / 2) * std_err))
        missed = total_missed(plan, level)
        told = {"integers": 1 - before, "now": 1 - missed, "missed": missed, "right": is_right(missed, level)}
        rows.append({"rho": rho, "level": level} | told)
    return rows


def total_missed(plan: rp.Plan, level: float) -> float:
    """The probability that the interval of a plan's total does not cover the truth."""
    return total_error(plan).beyond(Fraction(Estimate(0.0, float(plan.variance(()))).moe(level)))


def is_right(missed: float, level: float) -> bool:
    """Whether the coverage of an interval is at least its level, and hardly more."""
    return 1 - level - EXCESS <= missed <= 1 - level


def main() -> int:
    parser = argparse.ArgumentParser(description="How often intervals of a total cover the truth, exactly.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    print(f"{'rho':>6}{'level':>10}{'integers':>12}{'now':>14}")
    told = []
    for rho in RHOS:
        for row in coverages(rho):
            told.append(row)
            mark = "" if row["right"] else "  WRONG"
            print(f"{row['rho']:>6}{row['level']:>10g}{row['integers']:>12.7f}{row['now']:>14.9f}{mark}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"coverage": told}, indent=1) + "\n")
    return 0 if all(row["right"] for row in told) else 1


if __name__ == "__main__":
    sys.exit(main())
