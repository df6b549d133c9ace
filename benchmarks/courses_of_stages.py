"""Random courses of events of records in stages: their cost by the operators of all stages on every record.

    python -m benchmarks.courses_of_stages [--courses 1000] [--seed 0]

Each course has a schema, records, a budget and neighbors of its own, and noise that decides on what is measured.  The
cost of a stage is that of the record, or of the pair of records, that changes its answers most, in units of their
noise, from the matrix of the stage on all combinations of values; it shares nothing with how plans compute theirs.
Exits with 1 if the stages of a course cost more together than was charged.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product

import numpy as np

import residualplanner as rp
from residualplanner.fits.stages.measuring import measure_with_bits
from residualplanner.fits.stages.staged_plan import StagedPlan, choose
from residualplanner.fits.synthesis.measured_tables import Stage
from residualplanner.fits.synthesis.staged_release import StagedRelease
from residualplanner.gate.discrete_gaussian import InsecureTestBits
from residualplanner.gate.measurement.precision import precision_of


def stages_of(plan: StagedPlan, release: StagedRelease) -> list[Stage]:
    """The stages as they were measured, one after another, each by the choice that led to it."""
    found: list[Stage] = []
    for measurement in release.measurements:
        choice = choose(plan, found)
        assert choice is not None
        found.append(Stage(measurement, choice.coarsenings, choice.order))
    return found


def largest_change(stage: Stage, sizes: Sequence[int], neighbors: str) -> float:
    """The cost of a stage, by its operator on every record of the original domain."""
    plan = stage.measurement.plan
    records, precision = np.array(list(product(*map(range, sizes)))), precision_of(plan.noise_variances)
    rows = [np.zeros((len(records), 1))]
    for number, members in enumerate(plan.closure):
        table = np.ones((len(records), 1))
        for each in (stage.coarsenings[position] for position in members):
            centered = np.eye(each.count)[each.groups[records[:, each.attribute]]] - 1 / each.count
            table = (table[:, :, None] * centered[:, None, :]).reshape(len(records), -1)
        if members or neighbors == "add-remove":  # where records are replaced their number is public
            rows.append(np.sqrt(float(precision[number])) * table)
    matrix = np.hstack(rows)
    if neighbors == "add-remove":
        return float((matrix**2).sum(axis=1).max())
    return max(float(((matrix - row) ** 2).sum(axis=1).max()) for row in matrix)


def spent(chance: np.random.Generator) -> float:
    """What all stages of a random course cost together, as a part of what was charged."""
    sizes = chance.integers(2, 9, chance.integers(1, 4)).tolist()
    neighbors = str(chance.choice(["add-remove", "replace"]))
    records = int(10 ** chance.uniform(1, 4))
    codes = np.stack([chance.integers(0, size, records) * (chance.random(records) < 0.7) for size in sizes], axis=1)
    domain = rp.Domain({f"a{number}": size for number, size in enumerate(sizes)})
    budget = rp.zcdp(str(10 ** chance.uniform(-5, 1.5)))
    plan = StagedPlan(domain, budget=budget, neighbors="replace" if neighbors == "replace" else "add-remove")
    release = measure_with_bits(plan, codes, InsecureTestBits(int(chance.integers(2**31))))
    return sum(largest_change(stage, sizes, neighbors) for stage in stages_of(plan, release)) / float(plan.cost)


def main() -> int:
    parser = argparse.ArgumentParser(description="Random courses of events of records in stages.")
    parser.add_argument("--courses", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = np.random.default_rng(arguments.seed)
    found = np.array([spent(chance) for _ in range(arguments.courses)])
    print(f"{len(found):,} courses: at most {found.max():.9f} of what was charged, at least {found.min():.3f}")
    return int(found.max() > 1 + 1e-9)


if __name__ == "__main__":
    sys.exit(main())
