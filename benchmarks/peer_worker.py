"""Records from a peer's mechanism; runs in an environment that has the peer, and needs nothing of this library.

    PYTHON peer_worker.py JOB.json RECORDS.npy

JOB.json holds the mechanism, epsilon, delta, a seed, the columns, their sizes and the file of the records.  Prints one
JSON line: seconds of the processor, of the clock, the most memory, versions.
"""

import json
import os
import resource
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

#: What AIM is given: megabytes of its model and rounds.  Its publication uses 80 MB and 16 rounds an attribute.
AIM_MEGABYTES, AIM_ROUNDS_BY_ATTRIBUTE = 4, 2


def model_of(job: dict[str, Any]) -> Any:
    """The mechanism that a job names, with the parameters of the comparison."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    common = {
        "epsilon": job["epsilon"],
        "delta": job["delta"],
        "domain": dict(zip(job["columns"], job["sizes"], strict=True)),
        "random_state": np.random.RandomState(job["seed"]),
        "n_jobs": 1,
    }
    if job["mechanism"] == "mst":
        return MSTGM(**common)
    rounds = AIM_ROUNDS_BY_ATTRIBUTE * len(job["columns"])
    return AIMGM(**common, rounds=rounds, max_model_size=AIM_MEGABYTES)


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    codes = np.load(job["records"])
    frame = pd.DataFrame(codes, columns=job["columns"])
    np.random.seed(job["seed"])  # noqa: NPY002 - the peer draws from the global generator, too
    start, clock = os.times(), time.monotonic()
    model = model_of(job)
    model.fit(frame)
    synthetic = model.generate(len(codes))
    end = os.times()
    np.save(sys.argv[2], synthetic[job["columns"]].to_numpy().astype(np.int64))
    print(
        json.dumps(
            {
                "cpu": sum(end[:4]) - sum(start[:4]),
                "clock": time.monotonic() - clock,
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "dpmm": version("dpmm"),
            }
        )
    )


if __name__ == "__main__":
    main()
