"""Makes the files of version 1 that are kept: ``python -m benchmarks.kept FOLDER``.

They were made once, into ``tests/kept/v1``, and are never made again: that they can still be read is the test.  A new
version of the format has files of its own, in ``v2`` beside these.  The records are invented, the noise is drawn.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from residualplanner import linked

DOMAIN = rp.Domain({"age": rp.Bins([0, 18, 65, 120]), "sex": {"F": "female", "M": "male"}, "area": 4})
RECORDS = np.random.default_rng(1).integers(0, (3, 2, 4), (60, 3))
PEOPLE = rp.marginals(DOMAIN, up_to=2)
TREE = rp.Hierarchy([{"north": [0, 1], "south": [2, 3]}])
PAID = rp.Domain(
    {"pay": rp.Numeric(0, 100, bins=[10, 50]), "sex": ["F", "M"], "year": rp.Bins([0, 1, 2, 3, 4, 5])},
    weight=rp.Weight("weight", maximum=4, unit="1/2"),
)


def plans() -> Iterator[tuple[str, rp.Plan]]:
    """Of each loss, each sort of bases and kinds with fields of their own, by the names of their files."""
    import cvxpy

    yield "sum", rp.select(PEOPLE, budget=rp.zcdp("0.5"))
    yield "max", rp.select(PEOPLE, budget=rp.approx_dp(1, "1e-9"), loss="max", neighbors="replace")
    yield "targets", rp.select(PEOPLE, loss=rp.losses.Targets({("age",): 3, ("sex", "area"): 9}))
    yield "convex", rp.select(PEOPLE, budget=rp.pcost(1), loss=lambda variances: cvxpy.norm(variances, 4))
    kinds = rp.marginals(DOMAIN, up_to=2, kinds={"age": rp.Prefix(), "area": TREE})
    yield "kinds", rp.select(kinds, budget=rp.zcdp(1))
    yield "orthogonal", rp.select(kinds, budget=rp.zcdp(1), bases="orthogonal", records_per_person=2)
    ways = rp.Workload(
        DOMAIN,
        [
            ("age", "sex", "area"),
            {"age": rp.Range(), "area": rp.Identity()},
            {"age": rp.Prefix(), "sex": rp.Identity()},
            rp.Among(("age",), where={"sex": "F"}),
            {
                "area": rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, -1]], ["west", "east", "gap"]),
                "age": rp.Prefix(),
            },
        ],
    )
    yield "by-set", rp.select(ways, budget=rp.zcdp(1), bases="optimal_by_set")
    paid = [{"pay": rp.Mean()}, {"pay": rp.Sum(), "sex": rp.Identity()}, {"year": rp.Quantiles([0.5])}, ("sex",)]
    unweighted = rp.Domain({name: PAID[name] for name in PAID.names})
    yield "amounts", rp.select(rp.Workload(unweighted, paid), budget=rp.zcdp(1))
    yield "weighted", rp.select(rp.Workload(PAID, [{"pay": rp.Sum(), "sex": rp.Identity()}, "year"]), budget=rp.zcdp(1))


def make(folder: Path) -> None:
    """All files, and what they said when they were made."""
    folder.mkdir(parents=True)
    made = dict(plans())
    for name, plan in made.items():
        plan.save(folder / f"{name}.plan")
    ledger = rp.Ledger.create(folder / "people.ledger", budget=rp.zcdp(4), data_set="people")
    measured = {name: rp.measure(made[name], RECORDS, ledger=ledger) for name in ("sum", "kinds", "by-set")}
    measured["again"] = rp.measure(made["sum"], RECORDS, ledger=ledger, again=True)
    measured["continuous"] = rp.measure(made["sum"], RECORDS, noise="gaussian", seed=1)
    for name in ("sum", "by-set", "continuous"):
        measured[name].save(folder / f"{name}.measurement")
    free = rp.Ledger.create(
        folder / "free.ledger", budget=None, data_set="people", reason="the records are invented", neighbors="replace"
    )
    rp.scale.measure_in_store(made["max"], RECORDS, folder / "store", ledger=free)
    make_releases(folder, measured)
    numbers = {path.relative_to(folder).as_posix(): said(path) for path in sorted(folder.iterdir()) if is_known(path)}
    (folder / "numbers.json").write_text(json.dumps(numbers) + "\n")


def make_releases(folder: Path, measured: dict[str, rp.Measurement]) -> None:
    """Releases in several formats, of one and of two measurements, and of two tables about the same units."""
    release = rp.reconstruct(measured["sum"])
    release.save(folder / "csv", format="csv", publication=rp.publish.Publication(title="People"))
    rp.reconstruct(measured["kinds"]).save(folder / "parquet", format="parquet", profile="acs")
    rp.rounded(rp.nonnegative(release)).save(folder / "rounded", format="csv", with_unbiased=True)
    rp.reconstruct([measured["sum"], measured["again"]]).save(folder / "two", format="parts")
    homes = linked.LinkedTable(
        rp.marginals(rp.Domain({"size": [0, 1, 2]}), order=1), derived={"size": linked.CountOf("people")}
    )
    people = rp.marginals(rp.Domain({"sex": ["F", "M"]}), order=1)
    tables = linked.LinkedTables({"homes": homes, "people": (people, 2)}, unit="home")
    import pandas as pd

    data = {
        "homes": pd.DataFrame({"home": [1, 2]}),
        "people": pd.DataFrame({"home": [1, 1, 2], "sex": ["F", "M", "M"]}),
    }
    linked.reconstruct(linked.measure(linked.select(tables, budget=rp.zcdp(1)), data)).save(
        folder / "linked", format="csv"
    )


def is_known(path: Path) -> bool:
    """Whether it is one of the files that are kept, not what the system made beside them."""
    return path.suffix in (".plan", ".measurement", ".ledger") or path.is_dir()


def said(path: Path) -> dict[str, Any]:
    """What a file says, as numbers."""
    if path.suffix == ".plan":
        return about_plan(rp.load_plan(path))
    if path.suffix == ".ledger":
        ledger = rp.Ledger.open(path)
        return {
            "spent": str(ledger.spent),
            "charges": len(ledger.entries),
            "plans": [e.plan_sha256 for e in ledger.entries],
        }
    if path.suffix == ".measurement":
        return about_release(rp.reconstruct(rp.load_measurement(path)))
    if path.name == "store":
        return about_release(rp.reconstruct(rp.scale.load_stored_measurement(path)))
    if path.name == "linked":
        return {name: about_release(release) for name, release in linked.load(path).items()}
    return about_release(rp.load_tables(path))


def about_plan(plan: rp.Plan) -> dict[str, Any]:
    """The cost, the loss, and the errors of all queries."""
    errors = plan.errors()
    words = {name: errors[name].tolist() for name in ("query", "kinds")}
    numbers = {name: rounded(errors[name]) for name in ("std_err", "max_std_err", "moe")}
    return {"pcost": plan.pcost, "budget": str(plan.budget), "loss": plan.loss_value, **words, **numbers}


def about_release(release: rp.Release) -> dict[str, Any]:
    """The guarantee, and the estimates of every table with their standard errors."""
    tables = [release[query] for query in release]
    return {
        "guarantee": release.noise.guarantee,
        "estimates": [rounded(table.estimate) for table in tables],
        "std_errs": [rounded(table.std_err) for table in tables],
    }


def rounded(numbers: Any) -> list[float]:
    """Numbers of any shape, to nine digits."""
    return [float(f"{number:.9g}") for number in np.asarray(numbers).ravel()]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    make(Path(sys.argv[1]))
