"""Drivers and workers that die, stall and come back while a release is measured into a store.

    python -m benchmarks.protocol [--deaths 1000] [--seed 0] [--json FILE]

Histories are run until so many deaths have been injected, before and after every step of drivers and workers: most on
a store in memory, some on a folder, some on a server with the interface of Amazon S3 (which needs moto).  Besides,
answers of the store are lost, attempts are doubled, and attempts that were reported as dead go on in later generations
and after the manifest.  Exits with 1 unless in every history each set of attributes has one answer at most, and one in
the end; nothing is drawn or published before the charge, after a lost claim, or in a generation that is over; nothing
can be read before the manifest, and nothing changes after it; and the ledger is charged once, or, where that is wanted,
once more for each task that is drawn again.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.protocol_world import MemoryStore, World
from benchmarks.s3_server import s3_server
from residualplanner.ground.stores import ObjectStore
from residualplanner.ground.stores.object_store import Folder

MakeStore = Callable[[int], ObjectStore]


def histories(deaths: int, seed: int, stores: dict[str, MakeStore]) -> dict[str, Any]:
    """What happened until so many deaths."""
    injected: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    wrongs: list[str] = []
    start, number = time.process_time(), 0
    names = ["memory"] * 18 + [name for name in stores if name != "memory"]
    while sum(count for step, count in injected.items() if step.startswith("death")) < deaths:
        kind = names[number % len(names)]
        world = World(stores[kind](number), random.Random(f"{seed}:{number}")).history()
        injected += world.injected
        kinds[kind] += 1
        wrongs += [f"history {number}: {wrong}" for wrong in world.wrongs]
        number += 1
    totals = Counter(step.split(" ")[0] for step in injected.elements())
    return {
        "histories": dict(kinds),
        "deaths": totals["death"],
        "stalls of workers that went on later": totals["stall"],
        "answers of the store that were lost": totals["error"],
        "steps": dict(sorted(injected.items())),
        "wrongs": wrongs,
        "cpu seconds": round(time.process_time() - start, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deaths", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bucket = stack.enter_context(s3_server())
        found = histories(
            options.deaths,
            options.seed,
            {
                "memory": lambda _: MemoryStore(),
                "folder": lambda number: Folder(folder / str(number)),
                "object store": lambda number: bucket(str(number)),
            },
        )
    for step, count in found["steps"].items():
        print(f"{count:5} {step}")
    print(*(f"{name}: {value}" for name, value in found.items() if name != "steps"), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if found["wrongs"] else 0


if __name__ == "__main__":
    sys.exit(main())
