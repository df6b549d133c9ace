"""Records from a peer's mechanism; runs in an environment that has the peer, and needs nothing of this library.

    PYTHON peer_worker.py JOB.json RECORDS.npy

JOB.json holds the mechanism, epsilon, delta, a seed, the columns, their sizes and the file of the records.  Prints a
JSON line at every model that AIM estimates: how many so far, and seconds of the processor; and in the end one line:
seconds of the processor, of the clock, the most memory, versions.
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

#: What AIM is given, by the name of the mechanism: megabytes of its model, and rounds an attribute.
AIM = {"aim": (4, 2), "aim-published": (80, 16)}


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
    megabytes, rounds = AIM[job["mechanism"]]
    return AIMGM(**common, rounds=rounds * len(job["columns"]), max_model_size=megabytes)


def say_models() -> None:
    """Print a line after every model that is estimated: a run that is stopped has said how far it came."""
    from dpmm.models.base.mbi import FactoredInference

    estimate, found = FactoredInference.estimate, [0]

    def said(self: Any, *arguments: Any, **options: Any) -> Any:
        model = estimate(self, *arguments, **options)
        found[0] += 1
        megabytes = model.size * 8 / 2**20
        row = {"models": found[0], "cpu": sum(os.times()[:4]), "model MB": round(megabytes, 2)}
        print(json.dumps(row), flush=True)
        return model

    FactoredInference.estimate = said


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    codes = np.load(job["records"])
    frame = pd.DataFrame(codes, columns=job["columns"])
    np.random.seed(job["seed"])  # noqa: NPY002 - the peer draws from the global generator, too
    start, clock = os.times(), time.monotonic()
    say_models()
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
