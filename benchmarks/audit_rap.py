"""The privacy audit of RAP and of stages for records at the size that is run before a release.

    python -m benchmarks.audit_rap [rap] [stages] [--runs N] [--workers N] [--json FILE]

The random bytes are the operating system's.  Of RAP adversaries see what a round chose, what it chose and answered, and
the answers of two rounds; of stages, the answers of all of them.  The file keeps the audits that are not run again.
Exits with 1 if an adversary achieves more than the mechanism's cost allows, by five standard errors, or the likelihood
adversary much less than that, which would show that the audit is blind.
"""

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import residualplanner as rp
from benchmarks.auditing import DELTA, STANDARD_ERRORS, Audit, Scores, audit
from benchmarks.auditing_rap import RapExperiment, contradicts, difference_scores, round_scores
from benchmarks.auditing_stages import StagesExperiment
from residualplanner.gate.discrete_gaussian import OperatingSystemBits

COST = Fraction(1)
ONE_ROUND = RapExperiment.of(COST)
TWO_ROUNDS = RapExperiment.of(COST, rounds=2, unit="table", moves_apart=True)
WITH_TRIPLES, ALONE = StagesExperiment.of("0.5", 300), StagesExperiment.of("0.05", 20)


class Seen(NamedTuple):
    """What an adversary sees.

    Attributes:
        what: in words.
        cost: the pcost that is claimed for what it sees.
        is_sharp: whether the adversary should achieve all that the cost allows.
    """

    what: str
    cost: Fraction
    is_sharp: bool


def scores_of_a_round(is_after: bool, runs: int) -> tuple[Scores, ...]:
    """By its choice, and by its choice and answer; called in another process."""
    return round_scores(ONE_ROUND, is_after, runs, OperatingSystemBits())


def scores_of_two_rounds(is_after: bool, runs: int) -> tuple[Scores, ...]:
    """By the answers of both; called in another process."""
    return (difference_scores(TWO_ROUNDS, is_after, runs, OperatingSystemBits()),)


def scores_with_triples(is_after: bool, runs: int) -> tuple[Scores, ...]:
    """By the answers of all stages, the last one of triples; called in another process."""
    return (WITH_TRIPLES.likelihood_scores(is_after, runs, OperatingSystemBits()),)


def scores_alone(is_after: bool, runs: int) -> tuple[Scores, ...]:
    """By the answers of both stages of a weak signal; called in another process."""
    return (ALONE.likelihood_scores(is_after, runs, OperatingSystemBits()),)


class Audited(NamedTuple):
    """Adversaries who see the same runs.

    Attributes:
        adversaries: what each of them sees.
        scores_of: makes the scores of all of them, of one side and so many runs.
        runs: on each side, before a release.
        part: how many of them a process makes at a time.
    """

    adversaries: Sequence[Seen]
    scores_of: Callable[[bool, int], tuple[Scores, ...]]
    runs: int
    part: int


AUDITS = {
    "rap": (
        Audited(
            (
                Seen("choices of a round", ONE_ROUND.plan.choice_cost, is_sharp=True),
                Seen("choices and answers of a round", COST, is_sharp=True),
            ),
            scores_of_a_round,
            200_000,
            5_000,
        ),
        Audited((Seen("answers of two rounds", COST, is_sharp=False),), scores_of_two_rounds, 200_000, 5_000),
    ),
    "stages": tuple(
        Audited((seen,), scores_of, 4_000, 100)
        for seen, scores_of in (
            (Seen("stages with triples", WITH_TRIPLES.cost, is_sharp=True), scores_with_triples),
            (Seen("single attributes alone", ALONE.cost, is_sharp=True), scores_alone),
        )
    ),
}


def audited(pool: ProcessPoolExecutor, each: Audited, runs: int) -> Iterator[dict[str, Any]]:
    """Both sides of the audits of adversaries who see the same runs."""
    sizes = [min(each.part, runs - start) for start in range(0, runs, each.part)]
    sides = [
        [np.concatenate(found) for found in zip(*pool.map(each.scores_of, itertools.repeat(side), sizes), strict=True)]
        for side in (False, True)
    ]
    for seen, before, after in zip(each.adversaries, *sides, strict=True):
        yield judged(seen, audit(before, after, mu=math.sqrt(seen.cost)))


def judged(seen: Seen, found: Audit) -> dict[str, Any]:
    """Print one audit, and give it as plain values."""
    least = 0.97 * math.sqrt(seen.cost) - STANDARD_ERRORS * found.mu_error if seen.is_sharp else 0.0
    right = not contradicts(found, seen.cost) and found.mu >= least
    claim = rp.pcost(seen.cost).epsilon(DELTA)
    print(
        f"{seen.what:<34}{found.runs:>10,}{math.sqrt(seen.cost):>9.4f}{found.mu:>9.4f} +- {found.mu_error:.4f}"
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


def audit_row(found: dict[str, Any]) -> str:
    """The row of the manual's page."""
    distance = f"{found['mu_claim']:.4f} | {found['mu']:.4f} ± {found['mu_error']:.4f}"
    epsilon = f"{found['epsilon_claim']:.3f} | {found['epsilon']:.3f}"
    return f"| {found['what']} | {found['runs']:,} | {distance} | {epsilon} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="The privacy audit of RAP and of stages for records.")
    parser.add_argument("mechanisms", nargs="*", choices=[[], *AUDITS], help="some of them; all by default")
    parser.add_argument("--runs", type=int, help="on each side; by default as many as before a release")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file, by mechanism")
    arguments = parser.parse_args()
    print(f"{'adversary sees':<34}{'runs a side':>10}{'most mu':>9}{'found':>9}{'epsilon: most':>23}{'found':>9}")
    with ProcessPoolExecutor(arguments.workers) as pool:
        told = {
            name: [found for each in AUDITS[name] for found in audited(pool, each, arguments.runs or each.runs)]
            for name in arguments.mechanisms or AUDITS
        }
    if arguments.json:
        kept = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        arguments.json.write_text(json.dumps(kept | told, indent=1) + "\n")
    return 0 if all(each["right"] for found in told.values() for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
