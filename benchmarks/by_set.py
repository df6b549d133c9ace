"""Bases by set beside one basis for an attribute, where queries have different kinds on numerical attributes.

    python -m benchmarks.by_set [--json FILE] [--only NAME]

Schemas of real data; sums of single numerical attributes beside counts of all pairs, or also of all triples.
Prints root mean square errors at privacy cost 1, the least that any mechanism can have where the singular value bound
is feasible, and seconds: with one basis, by set, and as estimated for the latter.  Exits with 1 if
bases by set are not at least 1% better, or more than 0.5% above the bound.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import residualplanner as rp
from benchmarks.figures import domain_of
from benchmarks.published import DOMAINS
from benchmarks.published_general import NUMERICAL

GAIN, LIMIT = 1.01, 1.005


class Result(NamedTuple):
    """One workload: root mean square errors at privacy cost 1."""

    workload: str
    tables: int
    optimal: float
    by_set: float
    gap: float
    bound: float | None
    optimal_seconds: float
    by_set_seconds: float
    estimated_seconds: float

    @property
    def verdict(self) -> str:
        is_near = self.bound is None or self.by_set <= self.bound * LIMIT
        return "met" if self.optimal >= self.by_set * GAIN and is_near else "MISSED"


def workloads() -> Iterator[tuple[str, rp.Workload]]:
    """The workloads by name."""
    for name, sizes in DOMAINS.items():
        domain = domain_of(sizes)
        numerical = domain.names[: NUMERICAL[name]]
        for words, kind in (("prefix sums", rp.Prefix()), ("ranges", rp.Range())):
            singles = rp.Workload(domain, [{attribute: kind} for attribute in numerical])
            pairs = rp.marginals(domain, order=2)
            yield f"{name}: {words} of single attributes, counts of pairs", singles + pairs
            if name == "CPS":
                triples = rp.marginals(domain, order=3)
                yield f"{name}: {words} of single attributes, counts of pairs and triples", singles + pairs + triples


def planned(name: str, workload: rp.Workload) -> Result:
    """Both plans of a workload."""
    estimated = rp.questions.resource_estimate(workload, bases="optimal_by_set").planning_seconds
    start = time.perf_counter()
    optimal = rp.select(workload, budget=rp.pcost(1), bases="optimal")
    middle = time.perf_counter()
    by_set = rp.select(workload, budget=rp.pcost(1), bases="optimal_by_set")
    end = time.perf_counter()
    bound = by_set.rmse / (1 + by_set.suboptimality) or None  # too large a computation
    seconds = middle - start, end - middle, estimated
    return Result(name, len(workload), optimal.rmse, by_set.rmse, by_set.gap, bound, *seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--only", default="", help="workloads whose names contain this")
    options = parser.parse_args()
    print(f"{'workload':<72}{'tables':>7}{'optimal':>9}{'by set':>9}{'bound':>9}{'gap':>10}{'seconds':>25}")
    results = []
    for name, workload in workloads():
        if options.only in name:
            found = planned(name, workload)
            results.append(found)
            bound = "-" if found.bound is None else f"{found.bound:.4f}"
            seconds = f"{found.optimal_seconds:.2f} and {found.by_set_seconds:.1f} ({found.estimated_seconds:.0f})"
            print(
                f"{name:<72}{found.tables:>7}{found.optimal:>9.4f}{found.by_set:>9.4f}{bound:>9}{found.gap:>10.0e}"
                f"{seconds:>25}  {found.verdict}",
                flush=True,
            )
    missed = sum(found.verdict == "MISSED" for found in results)
    print(f"{len(results)} workloads, {missed} missed")
    if options.json:
        told = [found._asdict() for found in results]
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
