"""The privacy audit at the size that is run before a release, exact coverage, and how long draws take by their size.

    python -m benchmarks.audit [--runs N] [--end-to-end N] [--draws N] [--workers N] [--json FILE]

Unlike in the tests, the random bytes are the operating system's.  Adversaries are compared with continuous noise of the
same cost, mu = sqrt(2 rho) and its exact epsilon.  That is a comparison for research: for its discrete noise the
library claims no more than zCDP, whose epsilon is larger.  Exits with 1 if an adversary achieves more than that, or
less than so many runs can show, by five standard errors, or if the coverage of an interval is below its level; that is
summed exactly, as by `benchmarks.coverage`, and not simulated.  A right library fails so once in 100,000 times.  The
last part only warns, since on a shared machine time depends on others.

Records with amounts, with weights and several of one person are audited, each against what the fractions of this record
cost, which the plan's cost bounds.  At last mechanisms that break their claim are audited with fewer runs, and each
must be found.
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

from benchmarks.audit_cases import FAULTS, counts, records
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
    released_tables,
    table_cells,
    table_scores,
)
from benchmarks.coverage import is_right, total_missed
from residualplanner.gate.discrete_gaussian import OperatingSystemBits, draw_flat
from residualplanner.gate.discrete_gaussian.envelope import Scales

#: Of the time of a draw and its size, at most; above it a warning is printed.
RANK_CORRELATION = 0.02
#: Of the intervals whose coverage is printed.
LEVEL = 0.95
PART = 500_000
#: Of a mechanism that breaks its claim, on each side.
FAULT_RUNS = 500_000


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


def record_scores_of(name: str, is_after: bool, runs: int) -> Scores:
    """The best adversary's scores; called in another process."""
    return side_of(records()[name].experiment, is_after, runs)


def fault_scores_of(name: str, is_after: bool, runs: int) -> Scores:
    """The same for a mechanism that breaks its claim; called in another process."""
    return side_of(FAULTS[name](), is_after, runs)


def side_of(experiment: Experiment, is_after: bool, runs: int) -> Scores:
    """The best adversary's scores on one side, with the operating system's bits."""
    table = experiment.neighbor if is_after else experiment.table
    return likelihood_scores(experiment, table, runs, OperatingSystemBits())


def scores_of(name: str, is_after: bool, runs: int) -> Scores:
    """The best adversary's scores; called in another process."""
    plan = counts()[name]
    return side_of(Experiment.adding(plan, [size - 1 for size in plan.domain.sizes]), is_after, runs)


def cells_of(name: str, is_after: bool, runs: int) -> Any:
    """The last cell of the reconstructed table over the first two attributes; called in another process."""
    plan = counts()[name]
    experiment = Experiment.adding(plan, [size - 1 for size in plan.domain.sizes])
    table = experiment.neighbor if is_after else experiment.table
    return table_cells(experiment, table, runs, OperatingSystemBits(), (0, 1))[:, -1]


def end_to_end_of(is_after: bool, runs: int) -> Scores:
    """Scores from the tables of real releases; called in another process."""
    plan = counts()["sum of variances"]
    people = np.array([[0, 0], [0, 2], [1, 1], *([[1, 2]] if is_after else [])])
    tables = released_tables(plan, [people], ("a", "b"), runs)
    return table_scores(tables, plan.covariance(("a", "b")), 5)


def engine(pool: ProcessPoolExecutor, runs: int) -> Iterator[Found]:
    """Every plan, by the best adversary; one also by an adversary who sees a cell."""
    for name, plan in counts().items():
        sides = [gathered(pool, scores_of, runs, name, is_after) for is_after in (False, True)]
        claim = math.sqrt(plan.pcost)
        yield Found(f"answers, {name}", claim, audit(*sides, mu=claim))
    for name, case in records().items():
        sides = [gathered(pool, record_scores_of, runs, name, is_after) for is_after in (False, True)]
        power = claimed_power(case.experiment)
        if not power <= case.plan.pcost * (1 + 1e-9):
            raise SystemExit(f"{name}: the records cost {power}, more than the plan's {case.plan.pcost}")
        yield Found(name, math.sqrt(power), audit(*sides, mu=math.sqrt(power)))
    plan = counts()["sum of variances"]
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
    claim = math.sqrt(counts()["sum of variances"].pcost)
    return Found("records to tables", claim, audit(before - center, after - center, mu=claim))


def faults(pool: ProcessPoolExecutor, runs: int) -> Iterator[dict[str, Any]]:
    """Mechanisms that break their claim, each audited against it: what was found, and whether that contradicts it."""
    for name, fault in FAULTS.items():
        claim = fault().mu
        found = audit(*(gathered(pool, fault_scores_of, runs, name, is_after) for is_after in (False, True)), mu=claim)
        is_found = found.contradicts(claim)
        print(
            f"planted: {name:<40}claim {claim:.4f}, found {found.mu:.4f} +- {found.mu_error:.4f}"
            f"  {'found' if is_found else 'MISSED'}",
            flush=True,
        )
        yield {"what": name, "claim": claim, **found.__dict__, "right": is_found}


def gathered(pool: ProcessPoolExecutor, function: Any, runs: int, *given: Any, part: int = PART) -> Any:
    """The results of ``runs`` runs, some at a time in each process."""
    sizes = [min(part, runs - start) for start in range(0, runs, part)]
    return np.concatenate([*pool.map(function, *(itertools.repeat(value) for value in given), sizes)])


def coverage() -> Iterator[tuple[str, float, bool]]:
    """Of each plan how often the 95% interval of its total covers the truth, exactly, and whether that is right."""
    for name, plan in counts().items():
        missed = total_missed(plan, LEVEL)
        yield name, 1 - missed, is_right(missed, LEVEL)


def time_and_size(draws: int) -> Iterator[tuple[float, float]]:
    """For several gamma the rank correlation of the time one draw takes and how large it is."""
    for gamma in (1, 10, 1000, 2**22):
        scales = Scales.of_ratios([gamma**2], [1])
        times, sizes = np.empty(draws), np.empty(draws)
        for number in range(draws):
            start = time.perf_counter_ns()
            drawn = draw_flat(scales, [1], OperatingSystemBits())
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
    figures: dict[str, list[dict[str, Any]]] = {"audits": [], "planted": [], "coverage": [], "time_and_size": []}
    with ProcessPoolExecutor(arguments.workers) as pool:
        for kind, figure in everything(pool, arguments):
            figures[kind].append(figure)
            if arguments.json:  # after each, as all together take half an hour
                arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if all(figure.get("right", True) for each in figures.values() for figure in each) else 1


def everything(pool: ProcessPoolExecutor, arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """All figures, one by one, each with the kind that it is of; printed as they are found."""
    yield from (("audits", show(found)) for found in engine(pool, arguments.runs))
    yield from (("planted", figure) for figure in faults(pool, min(FAULT_RUNS, arguments.runs)))
    yield "audits", show(end_to_end(pool, arguments.end_to_end))
    for name, found, right in coverage():
        print(f"exact coverage of the total's 95% interval, {name}: {found:.9f}  {'right' if right else 'WRONG'}")
        yield "coverage", {"plan": name, "coverage": found, "right": right}
    for gamma, correlation in time_and_size(arguments.draws):
        # Independent pairs stray by one over the root of their number: 0.007 for 20,000.
        is_high = abs(correlation) > max(RANK_CORRELATION, 4 / math.sqrt(arguments.draws))
        warning = "  warning: run again on a quiet machine" if is_high else ""
        print(f"time of a draw and its size, gamma {gamma}: rank correlation {correlation:+.4f}{warning}")
        yield "time_and_size", {"gamma": gamma, "rank_correlation": correlation}


if __name__ == "__main__":
    sys.exit(main())
