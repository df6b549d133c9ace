"""Every published figure for pure marginals beside ours.

    python -m benchmarks.figures [--json FILE]

Prints each figure with our value, the published one and the difference; exits with 1 if one differs in its printed
digits.  Most figures were printed rounded to three digits, a few cut off after them; both are told apart.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import residualplanner as rp
from benchmarks.published import DOMAINS, MAX_VARIANCE, RMSE, SYNTH_BY_DIMENSION, SYNTH_BY_SIZE, WORKLOADS
from benchmarks.rows import printed, save_rows

GAP = 1e-9


class Figure(NamedTuple):
    """One figure: ours and the published one, if there is one."""

    table: str
    domain: str
    workload: str
    ours: float
    published: float | None

    @property
    def difference(self) -> float | None:
        return None if self.published is None else self.ours - self.published

    @property
    def verdict(self) -> str:
        if self.published is None:
            return "not published"
        if round(self.ours, 3) == self.published:
            return "same"
        return "same, printed cut off" if math.floor(self.ours * 1000) / 1000 == self.published else "DIFFERS"


def domain_of(sizes: tuple[int, ...]) -> rp.Domain:
    return rp.Domain({f"attribute {number}": size for number, size in enumerate(sizes)})


def pair(workload: rp.Workload) -> tuple[float, float]:
    """The RMSE and the maximum variance at privacy cost 1, each with the plan that is best for it."""
    one = rp.pcost(1)
    return rp.select(workload, budget=one).rmse, rp.select(workload, budget=one, loss="max", gap=GAP).max_variance


def real_domains() -> Iterator[Figure]:
    for workload_name, arguments in WORKLOADS.items():
        for column, (domain_name, sizes) in enumerate(DOMAINS.items()):
            rmse, largest = pair(rp.marginals(domain_of(sizes), **arguments))
            yield Figure("RMSE", domain_name, workload_name, rmse, RMSE[workload_name][column])
            yield Figure("max variance", domain_name, workload_name, largest, MAX_VARIANCE[workload_name][column])


def synthetic_domains() -> Iterator[Figure]:
    shapes = {f"{n}^5": ((n,) * 5, figures) for n, figures in SYNTH_BY_SIZE.items()}
    shapes |= {f"10^{d}": ((10,) * d, figures) for d, figures in SYNTH_BY_DIMENSION.items()}
    for name, (sizes, published) in shapes.items():
        for table, ours, figure in zip(
            ("RMSE", "max variance"), pair(rp.marginals(domain_of(sizes), up_to=3)), published, strict=True
        ):
            yield Figure(table, f"Synth-{name}", "<=3-way", ours, figure)


def line(figure: Figure) -> str:
    published = "-" if figure.published is None else f"{figure.published:.3f}"
    difference = "-" if figure.difference is None else f"{figure.difference:+.4f}"
    return (
        f"{figure.table:<14}{figure.domain:<14}{figure.workload:<10}{figure.ours:>14.4f}{published:>14}"
        f"{difference:>12}  {figure.verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Published figures for pure marginals, beside ours.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    print(f"{'table':<14}{'domain':<14}{'workload':<10}{'ours':>14}{'published':>14}{'difference':>12}")
    figures = printed(chain(real_domains(), synthetic_domains()), line)
    compared = [figure for figure in figures if figure.published is not None]
    agreeing = sum(figure.verdict.startswith("same") for figure in compared)
    print(f"{agreeing} of {len(compared)} published figures reproduced to the printed digits")
    save_rows(arguments.json, ({**figure._asdict(), "verdict": figure.verdict} for figure in figures))
    return 0 if agreeing == len(compared) else 1


if __name__ == "__main__":
    sys.exit(main())
