"""The privacy audit at the size that is run before a release, exact coverage, and how long draws take by their size.

    python -m benchmarks.audit [--runs N] [--end-to-end N] [--draws N] [--workers N] [--json FILE]

Unlike in the tests, the random bytes are the operating system's.  Adversaries are compared with continuous noise of the
same cost, mu = sqrt(2 rho) and its exact epsilon.  That is a comparison for research: for its discrete noise the
library claims no more than zCDP, whose epsilon is larger.  Exits with 1 if an adversary achieves more than that, or
less than so many runs can show, by five standard errors, or if the coverage of an interval is below its level; that is
summed exactly, as by `benchmarks.coverage`, and not simulated.  A right library fails so once in 100,000 times.  The
last part only warns, since on a shared machine time depends on others.
"""

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

import residualplanner as rp
from benchmarks.auditing import (
    STANDARD_ERRORS,
    Audit,
    Experiment,
    Scores,
    audit,
    claimed_power,
    expected_epsilon,
    gaussian_epsilon,
    likelihood_scores,
    plan_by_set,
    released_tables,
    table_cells,
    table_scores,
)
from benchmarks.coverage import is_right, total_missed
from residualplanner.discrete_gaussian import OperatingSystemBits, Scales, discrete_gaussian_flat

#: Of the time of a draw and its size, at most; above it a warning is printed.
RANK_CORRELATION = 0.02
#: Of the intervals whose coverage is printed.
LEVEL = 0.95
PART = 500_000
PAIR = rp.Domain({"a": 2, "b": 3})
TRIPLE = rp.Domain({"a": 2, "b": 2, "c": 3})


class Found(NamedTuple):
    """One audit beside what continuous noise of the same cost would have.

    Attributes:
        what: the adversary sees.
        claim: the mu that is expected.
        audit: what was found.
    """

    what: str
    claim: float
    audit: Audit

    @property
    def is_right(self) -> bool:
        """Whether no more was found than is expected, and not much less."""
        too_far = abs(self.audit.mu - self.claim) > STANDARD_ERRORS * self.audit.mu_error
        least = expected_epsilon(self.claim, self.audit.runs, errors=STANDARD_ERRORS)
        return not too_far and least <= self.audit.epsilon <= gaussian_epsilon(self.claim)


def plans() -> dict[str, rp.Plan]:
    return {
        "sum of variances": rp.select(rp.marginals(PAIR, up_to=2), budget=rp.zcdp("0.5")),
        "maximum variance": rp.select(rp.marginals(TRIPLE, up_to=2), budget=rp.zcdp("0.5"), loss="max"),
        "weights": rp.select(rp.Workload(PAIR, [("a",), ("a", "b")], weights=[25, 0.5]), budget=rp.zcdp("0.5")),
        "bases by set": plan_by_set(),
    }


def amounts() -> dict[str, tuple[rp.Plan, list[int]]]:
    """Plans with sums of amounts, each with a record: at the end of a bin, inside, and inside two."""
    pay, hours = rp.Numeric(0, 30, bins=[10], outside="clip"), rp.Numeric(-8, 60, unit=4)
    by_sex = {"sex": rp.Identity(), "pay": rp.Sum()}
    one = rp.Workload(rp.Domain({"sex": 2, "pay": pay}), [("sex", "pay"), by_sex])
    two = rp.Workload(rp.Domain({"pay": pay, "hours": hours}), [{"pay": rp.Sum(), "hours": rp.Sum()}, ("pay",)])
    first, second = (rp.select(workload, budget=rp.zcdp("0.5")) for workload in (one, two))
    return {
        "amount at an end": (first, [1, 30]),
        "amount beyond the end": (first, [1, 3000]),
        "amount inside a bin": (first, [0, 17]),
        "amounts at two ends": (second, [30, 60]),
        "amounts inside two bins": (second, [4, 24]),
    }


def weights() -> dict[str, tuple[rp.Plan, list[int]]]:
    """Plans of weighted records, each with a record of the largest weight, of another, and of one that is cut."""
    hours = rp.Weight("hours", maximum=60, unit=0.5, above="clip")
    two = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 3}, weight=hours), up_to=2), budget=rp.zcdp("0.5"))
    pay = rp.Domain({"sex": 2, "pay": rp.Numeric(0, 30, bins=[10])}, weight=hours)
    by_sex = {"sex": rp.Identity(), "pay": rp.Sum()}
    both = rp.select(rp.Workload(pay, [("sex", "pay"), by_sex]), budget=rp.zcdp("0.5"))
    return {
        "weight at the maximum": (two, [1, 2, 60]),
        "weight above the maximum": (two, [1, 2, 3000]),
        "weight between": (two, [1, 2, 47]),
        "weight and amount": (both, [1, 17, 47]),
    }


def record_scores_of(name: str, is_after: bool, runs: int) -> Scores:
    """The best adversary's scores; called in another process."""
    experiment = Experiment.adding_entries(*(amounts() | weights())[name])
    table = experiment.neighbor if is_after else experiment.table
    return likelihood_scores(experiment, table, runs, OperatingSystemBits())


def scores_of(name: str, is_after: bool, runs: int) -> Scores:
    """The best adversary's scores; called in another process."""
    plan = plans()[name]
    experiment = Experiment.adding(plan, [size - 1 for size in plan.domain.sizes])
    table = experiment.neighbor if is_after else experiment.table
    return likelihood_scores(experiment, table, runs, OperatingSystemBits())


def cells_of(name: str, is_after: bool, runs: int) -> Any:
    """The last cell of the reconstructed table over the first two attributes; called in another process."""
    plan = plans()[name]
    experiment = Experiment.adding(plan, [size - 1 for size in plan.domain.sizes])
    table = experiment.neighbor if is_after else experiment.table
    return table_cells(experiment, table, runs, OperatingSystemBits(), (0, 1))[:, -1]


def end_to_end_of(is_after: bool, runs: int) -> Scores:
    """Scores from the tables of real releases; called in another process."""
    plan = plans()["sum of variances"]
    records = np.array([[0, 0], [0, 2], [1, 1], *([[1, 2]] if is_after else [])])
    tables = released_tables(plan, [records], ("a", "b"), runs)
    return table_scores(tables, plan.covariance(("a", "b")), 5)


def engine(pool: ProcessPoolExecutor, runs: int) -> Iterator[Found]:
    """Every plan, by the best adversary; one also by an adversary who sees a cell."""
    for name, plan in plans().items():
        sides = [gathered(pool, scores_of, runs, name, is_after) for is_after in (False, True)]
        claim = math.sqrt(plan.pcost)
        yield Found(f"answers, {name}", claim, audit(*sides, mu=claim))
    for name, (plan, entries) in (amounts() | weights()).items():
        sides = [gathered(pool, record_scores_of, runs, name, is_after) for is_after in (False, True)]
        power = claimed_power(Experiment.adding_entries(plan, entries))
        if not power <= plan.pcost * (1 + 1e-9):
            raise SystemExit(f"{name}: the record costs {power}, more than the plan's {plan.pcost}")
        yield Found(name, math.sqrt(power), audit(*sides, mu=math.sqrt(power)))
    plan = plans()["sum of variances"]
    before, after = (gathered(pool, cells_of, runs, "sum of variances", is_after) for is_after in (False, True))
    deviation = math.sqrt(plan.variance(("a", "b")).flat[-1])
    center = float(np.median(before))
    yield Found(
        "one cell, sum of variances",
        1 / deviation,
        audit((before - center) / deviation, (after - center) / deviation, mu=1 / deviation),
    )


def end_to_end(pool: ProcessPoolExecutor, runs: int) -> Found:
    """Records in, tables out."""
    before, after = (gathered(pool, end_to_end_of, runs, is_after, part=2000) for is_after in (False, True))
    center = float(np.median(before))
    claim = math.sqrt(plans()["sum of variances"].pcost)
    return Found("records to tables", claim, audit(before - center, after - center, mu=claim))


def gathered(pool: ProcessPoolExecutor, function: Any, runs: int, *given: Any, part: int = PART) -> Any:
    """The results of ``runs`` runs, some at a time in each process."""
    sizes = [min(part, runs - start) for start in range(0, runs, part)]
    return np.concatenate([*pool.map(function, *(itertools.repeat(value) for value in given), sizes)])


def coverage() -> Iterator[tuple[str, float, bool]]:
    """Of each plan how often the 95% interval of its total covers the truth, exactly, and whether that is right."""
    for name, plan in plans().items():
        missed = total_missed(plan, LEVEL)
        yield name, 1 - missed, is_right(missed, LEVEL)


def time_and_size(draws: int) -> Iterator[tuple[float, float]]:
    """For several gamma the rank correlation of the time one draw takes and how large it is."""
    for gamma in (1, 10, 1000, 2**22):
        scales = Scales.of_ratios([gamma**2], [1])
        times, sizes = np.empty(draws), np.empty(draws)
        for number in range(draws):
            start = time.perf_counter_ns()
            drawn = discrete_gaussian_flat(scales, [1])
            times[number] = time.perf_counter_ns() - start
            sizes[number] = abs(int(drawn[0]))
        yield gamma, float(spearmanr(times, sizes).statistic)


def show(found: Found) -> dict[str, Any]:
    """Print one audit, and give it as plain values."""
    result, truth = found.audit, gaussian_epsilon(found.claim)
    print(
        f"{found.what:<28}{result.runs:>12,}{found.claim:>9.4f}{result.mu:>9.4f} +- {result.mu_error:.4f}"
        f"{truth:>10.3f}{result.epsilon:>9.3f}  {'right' if found.is_right else 'WRONG'}",
        flush=True,
    )
    return {
        "what": found.what,
        "claim": found.claim,
        "epsilon_claim": truth,
        **result.__dict__,
        "right": found.is_right,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="The privacy audit at the size that is run before a release.")
    parser.add_argument("--runs", type=int, default=10**7, help="of the base mechanisms, on each side")
    parser.add_argument("--end-to-end", type=int, default=10**5, help="of measure and reconstruct, on each side")
    parser.add_argument("--draws", type=int, default=20_000, help="single draws that are timed")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    print(f"{'adversary sees':<28}{'runs a side':>12}{'expected':>9}{'mu':>9}{'epsilon: expected':>25}{'found':>9}")
    told = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        told += [show(found) for found in engine(pool, arguments.runs)]
        told.append(show(end_to_end(pool, arguments.end_to_end)))
    covered = list(coverage())
    for name, found, right in covered:
        print(f"exact coverage of the total's 95% interval, {name}: {found:.9f}  {'right' if right else 'WRONG'}")
    correlations = dict(time_and_size(arguments.draws))
    for gamma, correlation in correlations.items():
        # Independent pairs stray by one over the root of their number: 0.007 for 20,000.
        is_high = abs(correlation) > max(RANK_CORRELATION, 4 / math.sqrt(arguments.draws))
        warning = "  warning: run again on a quiet machine" if is_high else ""
        print(f"time of a draw and its size, gamma {gamma}: rank correlation {correlation:+.4f}{warning}")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"audits": told, "coverage": covered, "time_and_size": correlations}, indent=1) + "\n"
        )
    return 0 if all(entry["right"] for entry in told) and all(right for *_, right in covered) else 1


if __name__ == "__main__":
    sys.exit(main())
