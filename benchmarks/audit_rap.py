"""The privacy audit of RAP at the size that is run before a release.

    python -m benchmarks.audit_rap [--runs N] [--workers N] [--json FILE]

The random bytes are the operating system's.  Adversaries see what a round chose, what it chose and answered, and the
answers of two rounds.  Exits with 1 if one achieves more than the mechanism's cost allows, by five standard errors, or
the likelihood adversary much less than that, which would show that the audit is blind.
"""

import argparse
import itertools
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import residualplanner as rp
from benchmarks.auditing import DELTA, STANDARD_ERRORS, Scores, audit
from benchmarks.auditing_rap import (
    Adversary,
    RapExperiment,
    choice_scores,
    contradicts,
    difference_scores,
    likelihood_scores,
)
from residualplanner.discrete_gaussian import OperatingSystemBits

PART = 5_000
COST = Fraction(1)
ONE_ROUND = RapExperiment.of(COST)
TWO_ROUNDS = RapExperiment.of(COST, rounds=2, unit="table", moves_apart=True)


class Seen(NamedTuple):
    """What an adversary sees.

    Attributes:
        what: in words.
        experiment: the plan and the data sets.
        adversary: gives its scores.
        cost: the pcost that is claimed for what it sees.
        is_sharp: whether the adversary should achieve all that the cost allows.
    """

    what: str
    experiment: RapExperiment
    adversary: Adversary
    cost: Fraction
    is_sharp: bool


SEEN = (
    Seen("choices of a round", ONE_ROUND, choice_scores, ONE_ROUND.plan.choice_cost, is_sharp=True),
    Seen("choices and answers of a round", ONE_ROUND, likelihood_scores, COST, is_sharp=True),
    Seen("answers of two rounds", TWO_ROUNDS, difference_scores, COST, is_sharp=False),
)


def scores_of(number: int, is_after: bool, runs: int) -> Scores:
    """Some runs of one side; called in another process."""
    seen = SEEN[number]
    return seen.adversary(seen.experiment, is_after, runs, OperatingSystemBits())


def audited(pool: ProcessPoolExecutor, number: int, runs: int) -> dict[str, Any]:
    """Both sides of one audit."""
    sizes, seen = [min(PART, runs - start) for start in range(0, runs, PART)], SEEN[number]
    sides = [
        np.concatenate([*pool.map(scores_of, itertools.repeat(number), itertools.repeat(side), sizes)])
        for side in (False, True)
    ]
    found = audit(*sides, mu=math.sqrt(seen.cost))
    least = 0.97 * math.sqrt(seen.cost) - STANDARD_ERRORS * found.mu_error if seen.is_sharp else 0.0
    right = not contradicts(found, seen.cost) and found.mu >= least
    claim = rp.pcost(seen.cost).epsilon(DELTA)
    print(
        f"{seen.what:<34}{runs:>10,}{math.sqrt(seen.cost):>9.4f}{found.mu:>9.4f} +- {found.mu_error:.4f}"
        f"{claim:>10.3f}{found.epsilon:>9.3f}  {'right' if right else 'WRONG'}",
        flush=True,
    )
    return {
        "what": seen.what,
        "mu_claim": math.sqrt(seen.cost),
        "epsilon_claim": claim,
        **found.__dict__,
        "right": right,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="The privacy audit of RAP.")
    parser.add_argument("--runs", type=int, default=200_000, help="of every mechanism, on each side")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    print(f"{'adversary sees':<34}{'runs a side':>10}{'most mu':>9}{'found':>9}{'epsilon: most':>23}{'found':>9}")
    with ProcessPoolExecutor(arguments.workers) as pool:
        told = [audited(pool, number, arguments.runs) for number in range(len(SEEN))]
    if arguments.json:
        arguments.json.write_text(json.dumps(told, indent=1) + "\n")
    return 0 if all(each["right"] for each in told) else 1


if __name__ == "__main__":
    sys.exit(main())
