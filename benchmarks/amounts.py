"""Plans with sums of amounts beside the best of all matrix mechanisms, on domains small enough for dense matrices.

    python -m benchmarks.amounts [--json FILE]

Prints, at privacy cost 1 and in units of the largest amount, the least sum of variances that `benchmarks.dense_optimum`
finds for all mechanisms, and how far above it plans are, with one basis for each attribute and with bases by set, and
how far the bound that plans state is below.  Exits with 1 if a plan with bases by set is more than 1% above the best.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import residualplanner as rp
from benchmarks.dense_optimum import gram_matrix, least_loss
from benchmarks.rows import printed, save_rows

#: How far above the best mechanism a plan may be, as a fraction of the sum of variances.
LIMIT = 0.01
IDENTITY, SUM, SUMS, PREFIX, RANGE = rp.Identity(), rp.Sum(), rp.Sum("bin"), rp.Prefix(), rp.Range()


class Result(NamedTuple):
    """One workload: the least sum of variances, how well it is proved, and how far others are from it, as fractions."""

    name: str
    cells: int
    least: float
    gap: float
    one_basis: float
    by_set: float
    bound: float


def cases() -> Iterator[tuple[str, rp.Workload]]:
    """The workloads, by name."""
    one, five = rp.Numeric(0, 100), rp.Numeric(0, 100, bins=5)
    by_sex = {"sex": IDENTITY}
    for words, pay in (("0 to 100", one), ("-50 to 50", rp.Numeric(-50, 50)), ("50 to 100", rp.Numeric(50, 100))):
        yield f"count and sum by sex, {words}", _workload(pay, [("sex",), by_sex | {"pay": SUM}])
    yield "the sum alone, by sex", _workload(one, [by_sex | {"pay": SUM}])
    yield "five bins, and the sum", _workload(five, [("pay",), {"pay": SUM}])
    yield "five bins, and their sums, by sex", _workload(five, [("sex", "pay"), by_sex | {"pay": SUMS}])
    yield (
        "prefix sums of five bins by sex; count, sum and sums by sex",
        _workload(five, [by_sex | {"pay": PREFIX}, ("sex",), by_sex | {"pay": SUM}, by_sex | {"pay": SUMS}]),
    )
    uneven = rp.Numeric(0, 100, bins=[10, 20, 50])
    yield "ranges of uneven bins, and the sum by sex", _workload(uneven, [{"pay": RANGE}, by_sex | {"pay": SUM}])


def _workload(pay: rp.Numeric, queries: list[Any]) -> rp.Workload:
    return rp.Workload(rp.Domain({"sex": ["F", "M"], "pay": pay}), queries)


def result(name: str, queries: rp.Workload) -> Result:
    """Compute one line of the table."""
    least, gap = least_loss(gram_matrix(queries))
    one_basis = rp.select(queries, budget=rp.pcost(1), bases="optimal").loss_value
    plan = rp.select(queries, budget=rp.pcost(1), bases="optimal_by_set")
    others = (one_basis, plan.loss_value, plan.loss_value / (1 + plan.suboptimality) ** 2)
    return Result(name, queries.domain.cells(), least, gap, *(other / least - 1 for other in others))


def line(found: Result) -> str:
    return (
        f"{found.name:<62}{found.cells:>4}{found.least:>10.4f}{found.gap:>9.0e}{found.one_basis:>+10.3%}"
        f"{found.by_set:>+10.3%}{found.bound:>+10.3%}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Plans with sums of amounts beside the best of all mechanisms.")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    arguments = parser.parse_args()
    print(f"{'workload':<62}{'N':>4}{'least':>10}{'gap':>9}{'optimal':>10}{'by set':>10}{'bound':>10}")
    results = printed((result(name, queries) for name, queries in cases()), line)
    save_rows(arguments.json, (each._asdict() for each in results))
    return int(any(each.by_set > LIMIT for each in results))


if __name__ == "__main__":
    sys.exit(main())
