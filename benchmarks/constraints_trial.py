"""What of the dependencies the demonstration does not use: a program of its own for `benchmarks.constraints`.

It runs where the package is installed with the extras ``report`` and ``convex``, in an empty folder.
"""

import subprocess
import sys
from pathlib import Path

import cvxpy
import numpy as np
import pandas as pd
import pyarrow as pa

import residualplanner as rp

GROUPS = ["north", "east", "south"]
SPEC = """
[domain]
sex = { labels = [[1, "female"], [2, "male"]] }
age = { bins = [0, 18, 65, 120] }

[[workload]]
up_to = 2

[budget]
zcdp = 0.5
"""
DOMAIN = rp.Domain({"age": rp.Bins([0, 18, 65, 120]), "group": GROUPS})


def main() -> None:
    """Plan, measure, and write a release in every format, with all that the extras bring."""
    chance = np.random.default_rng(1)
    records = pd.DataFrame({"age": chance.integers(0, 120, 400), "group": chance.choice(GROUPS, 400)})
    workload = rp.marginals(DOMAIN, up_to=2)
    convex = rp.select(workload, budget=rp.zcdp(1), loss=lambda variances: cvxpy.norm(variances, 4))
    assert convex.gap < 1e-3, convex.status
    ranges = rp.marginals(DOMAIN, up_to=2, kinds={"age": rp.Prefix()})
    plan = rp.select(ranges, budget=rp.zcdp(1), loss=rp.losses.MaxVariance())
    plan.save("a.plan")
    records.to_csv("records.csv", index=False)
    ledger = rp.Ledger.create("a.ledger", budget=rp.zcdp(10), data_set="trial")
    for number, form in enumerate((records, pa.table(records), "records.csv")):
        release = rp.reconstruct(rp.measure(rp.load_plan("a.plan"), form, ledger=ledger, again=True))
        table = release["group"].to_frame()
        assert abs(table["estimate"].sum() - 400) < 60, form
        for style in ("parquet", "csv", "xlsx", "workbook", "parts"):
            release.save(Path(f"{number}-{style}"), format=style)
            read = rp.load_tables(f"{number}-{style}")
            assert all((read[query].estimate == release[query].estimate).all() for query in ranges), style
    counts = rp.select(workload, budget=rp.zcdp(1))
    rp.nonnegative(rp.reconstruct(rp.measure(counts, records, ledger=ledger))).save("nonnegative", format="csv")
    plan.plot()
    Path("spec.toml").write_text(SPEC, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "residualplanner", "plan", "spec.toml"], check=True)


if __name__ == "__main__":
    main()
