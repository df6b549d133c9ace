"""Records from a peer's mechanism; runs in an environment that has the peer, and needs nothing of this library.

    PYTHON peer_worker.py JOB.json RECORDS.npy

JOB.json holds the mechanism, epsilon, delta, a seed, the columns, their sizes and the file of the records; for
mechanisms of mbi the folder of its programs, too.  Prints a JSON line at every model that is estimated: how many so
far, and seconds of the processor; and in the end one line: seconds of the processor, of the clock, the most memory,
versions.
"""

import contextlib
import io
import itertools
import json
import os
import resource
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

#: Of dpmm's AIM: megabytes of its model, and rounds an attribute.
SMALL = (4, 2)
#: The package that has each mechanism.
PACKAGES = {"mst": "dpmm", "aim": "dpmm", "mst-mbi": "mbi", "aim-published": "mbi"}
#: mbi counts in single precision, and advises against that for more records.
SINGLE = 100_000


class Progress:
    """Prints a line after every model that is estimated: a run that is stopped has said how far it came."""

    def __init__(self) -> None:
        self.models, self.out = 0, sys.stdout

    def say(self, megabytes: float) -> None:
        self.models += 1
        row = {"models": self.models, "cpu": sum(os.times()[:4]), "model MB": round(megabytes, 2)}
        print(json.dumps(row), file=self.out, flush=True)


def made_by_dpmm(job: dict[str, Any], codes: Any, progress: Progress) -> Any:
    """Records of dpmm's MST as it comes, or of its AIM with a small model and few rounds."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.base.mbi import FactoredInference
    from dpmm.models.mst import MSTGM

    estimate = FactoredInference.estimate

    def said(self: Any, *arguments: Any, **options: Any) -> Any:
        model = estimate(self, *arguments, **options)
        progress.say(model.size * 8 / 2**20)
        return model

    FactoredInference.estimate = said
    common = {
        "epsilon": job["epsilon"],
        "delta": job["delta"],
        "domain": dict(zip(job["columns"], job["sizes"], strict=True)),
        "random_state": np.random.RandomState(job["seed"]),
        "n_jobs": 1,
    }
    megabytes, rounds = SMALL
    if job["mechanism"] == "mst":
        model = MSTGM(**common)
    else:
        model = AIMGM(**common, rounds=rounds * len(job["columns"]), max_model_size=megabytes)
    model.fit(pd.DataFrame(codes, columns=job["columns"]))
    return model.generate(len(codes))[job["columns"]]


def made_by_mbi(job: dict[str, Any], codes: Any, progress: Progress) -> Any:
    """Records of MST, or of AIM for all pairs of attributes, as mbi's programs have them, with their defaults.

    These are a model of 80 MB, 16 rounds an attribute, 1,000 steps a model, pairs of at most 10,000 cells.
    """
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import jax

    jax.config.update("jax_enable_compilation_cache", False)
    jax.config.update("jax_enable_x64", len(codes) > SINGLE)
    import mbi

    estimate = mbi.estimation.MirrorDescent.estimate

    def said(self: Any, *arguments: Any, potentials: Any = None, **options: Any) -> Any:
        """The programs give starting values by their older name."""
        model = estimate(self, *arguments, warm_start=potentials, **options)
        progress.say(mbi.junction_tree.hypothetical_model_size(model.domain, list(model.cliques)))
        return model

    mbi.estimation.MirrorDescent.estimate = said
    mbi.Domain.attrs = property(lambda self: self.attributes)  # likewise
    project = mbi.MarkovRandomField.project

    def uncompiled(self: Any, attributes: Any) -> Any:
        """AIM asks each model once for each table: to compile every such question takes most of its time."""
        with jax.disable_jit():
            return project(self, attributes)

    mbi.MarkovRandomField.project = uncompiled
    sys.path.insert(0, job["programs"])
    columns = tuple(job["columns"])
    data = mbi.Dataset(dict(zip(columns, codes.T, strict=True)), mbi.Domain(columns, tuple(job["sizes"])))
    if job["mechanism"] == "mst-mbi":
        import mst

        made = mst.MST(data, job["epsilon"], job["delta"])
    else:
        import aim

        pairs = [(pair, 1.0) for pair in itertools.combinations(columns, 2) if data.domain.size(pair) <= 10_000]
        _, made = aim.AIM(job["epsilon"], job["delta"]).run(data, pairs, num_synth_rows=len(codes))
    return pd.DataFrame(made.to_dict())[job["columns"]]


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    codes = np.load(job["records"])
    np.random.seed(job["seed"])  # noqa: NPY002 - the peers draw from the global generator, too
    package, progress = PACKAGES[job["mechanism"]], Progress()
    start, clock = os.times(), time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()):
        synthetic = {"dpmm": made_by_dpmm, "mbi": made_by_mbi}[package](job, codes, progress)
    end = os.times()
    np.save(sys.argv[2], synthetic.to_numpy().astype(np.int64))
    row = {
        "cpu": sum(end[:4]) - sum(start[:4]),
        "clock": time.monotonic() - clock,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        package: version(package),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
