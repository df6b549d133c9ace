"""One hierarchy planned, measured and published, in whatever checkout is on the path: what `benchmarks.trees` runs.

    python benchmarks/trees_cases.py CASE LOSS

Prints JSON: seconds of the processor, the loss, how near the basis is to the best, and the most memory.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import residualplanner as rp

#: Counties and their equivalents in each state and the District of Columbia, in the order of FIPS codes: U.S. Census
#: Bureau, 2020 Census, 3,143 in all.
COUNTIES = (
    *(67, 30, 15, 75, 58, 64, 8, 3, 1, 67, 159, 5, 44, 102, 92, 99, 105, 120, 64, 16, 24, 14, 83, 87, 82, 115),
    *(56, 93, 17, 10, 21, 33, 62, 100, 53, 88, 77, 36, 67, 5, 46, 66, 95, 254, 29, 14, 133, 39, 55, 72, 23),
)
#: Divisions of the United States and how many states each has.
DIVISIONS = (6, 3, 5, 7, 9, 4, 4, 8, 5)
LEAVES = 100_000

Levels = list[dict[str, list[str]]]


def counties(count: int) -> tuple[list[str], Levels]:
    """States with counties: those of the United States, or as many in proportion."""
    sizes = [max(1, round(size * count / sum(COUNTIES))) for size in COUNTIES]
    level = {f"{state:02}": [f"{state:02}{number:03}" for number in range(size)] for state, size in enumerate(sizes)}
    return [name for names in level.values() for name in names], [level]


def even(width: int = 10) -> tuple[list[str], Levels]:
    """100,000 values in six levels, each node with ten children."""
    parents = [np.repeat(np.arange(width**depth), width) for depth in range(1, 5)]
    return _named(parents)


def uneven() -> tuple[list[str], Levels]:
    """About 100,000 values in six levels: nation, divisions, states, counties, tracts, blocks.

    Divisions, states and counties are in their real numbers; counties have tracts in lognormal numbers, tracts blocks
    in Poisson numbers, with a fixed seed.
    """
    draw = np.random.default_rng(0)
    people = draw.lognormal(0, 1.4, sum(COUNTIES))
    tracts = np.maximum(1, np.rint(people / people.sum() * LEAVES / 5)).astype(np.int64)
    blocks = np.maximum(1, draw.poisson(LEAVES / tracts.sum(), int(tracts.sum())))
    sizes = [np.array(DIVISIONS), np.array(COUNTIES), tracts, blocks]
    return _named([np.repeat(np.arange(len(size)), size) for size in sizes])


def _named(parents: list[Any]) -> tuple[list[str], Levels]:
    """Labels and levels from the parent of each node, level by level."""
    levels: Levels = []
    for depth, parent in enumerate(parents):
        level: dict[str, list[str]] = {}
        for child, above in enumerate(parent.tolist()):
            level.setdefault(f"{depth}.{above}", []).append(f"{depth + 1}.{child}")
        levels.append(level)
    return [f"{len(parents)}.{value}" for value in range(len(parents[-1]))], levels


CASES: dict[str, Callable[[], tuple[list[str], Levels]]] = {
    "500 counties": lambda: counties(500),
    "1,500 counties": lambda: counties(1500),
    "3,143 counties": lambda: counties(3143),
    "100,000 even": even,
    "100,000 uneven": uneven,
}


def run(case: str, loss: str) -> dict[str, Any]:
    """Plan the place by age and sex, the place, and age by sex; measure half a million records; publish a table."""
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        start = time.process_time()
        yield
        seconds[step] = round(time.process_time() - start, 2)

    labels, levels = CASES[case]()
    query = {"place": rp.Hierarchy(levels), "age": rp.Identity(), "sex": rp.Identity()}
    with timed("workload"):
        workload = rp.Workload(
            rp.Domain({"place": labels, "age": 18, "sex": 2}), [query, {"place": query["place"]}, ["age", "sex"]]
        )
    with timed("select"):
        plan = rp.select(workload, budget=rp.zcdp("0.5"), loss=loss)
    with timed("errors of a table"):
        plan.variance(query)
    data = np.random.default_rng(1).integers(0, (len(labels), 18, 2), (500_000, 3))
    with timed("measure"):
        measurement = rp.measure(plan, data)
    with timed("reconstruct"):
        rp.reconstruct(measurement)[query]
    gap = float(plan.strategy.of_attributes[0].gap)
    return {
        "values": len(labels),
        "seconds": seconds,
        "loss": plan.loss_value,
        "basis_gap": gap if np.isfinite(gap) else None,
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:3])))
