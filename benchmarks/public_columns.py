"""The columns of every frame that the library gives, and of every table that it writes into files."""

import csv
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import residualplanner as rp
from residualplanner import linked, statistics

DOMAIN = rp.Domain(
    {
        "pay": rp.Numeric(0, 100, bins=[10, 50], squares=True),
        "sex": {"F": "female", "M": "male"},
        "age": rp.Bins([0, 18, 65, 120]),
    }
)
QUERIES: list[Any] = [
    {"pay": rp.Mean(), "sex": rp.Identity()},
    {"pay": rp.Quantiles([0.5]), "sex": rp.Identity()},
    {"pay": statistics.StandardDeviation(), "sex": rp.Identity()},
    {"sex": rp.Proportions(), "age": rp.Identity()},
    ("sex", "age"),
    "sex",
]
RECORDS = {"pay": [1.0, 20.0, 70.0] * 40, "sex": ["F", "M"] * 60, "age": [1, 30, 70, 80] * 30}


def columns() -> Iterator[str]:
    """A line for each frame and file, with the columns in their order."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        plan = rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp(1), bases="orthogonal")
        release = rp.reconstruct(rp.measure(plan, pd.DataFrame(RECORDS)))
        for name, frame in (*of_plans(plan), *of_statistics(release), *of_synthesis()):
            yield f"{name}: {', '.join(map(str, frame.columns))}"
        for name, (made, options) in saved(release).items():
            home = Path(folder) / name
            made.save(home, **options)
            yield from (f"{name}: {line}" for line in of_folder(home))


def saved(release: rp.Release) -> dict[str, tuple[rp.Release, dict[str, Any]]]:
    """Releases, and how they are saved."""
    nonnegative, table, integers = rp.nonnegative(release), release["sex"], of_integers()
    compared = {"difference": statistics.difference(table, table), "ranks": statistics.ranks(table)}
    formats = {form: (release, {"format": form}) for form in ("csv", "parquet", "xlsx", "workbook", "parts")}
    return formats | {
        "acs": (release, {"format": "csv", "profile": "acs", "quality": rp.publish.Quality(), "comparisons": compared}),
        "gls": (release, {"format": "csv", "profile": "gls", "publication": rp.publish.Publication(title="Pay")}),
        "nonnegative": (nonnegative, {"format": "csv", "with_unbiased": True}),
        "nonnegative-parts": (nonnegative, {"format": "parts"}),
        "rounded": (integers, {"format": "csv", "errors": rp.fits.published_errors(integers, simulations=10)}),
    }


def of_plans(plan: rp.Plan) -> Iterator[tuple[str, Any]]:
    """Frames that need no records, or a check of these."""
    counts = rp.marginals(rp.Domain({"sex": ["F", "M"]}), order=1)
    targets = rp.select(counts, loss=rp.losses.Targets({("sex",): 5}))
    homes = linked.LinkedTables({"homes": (counts, 1), "people": (counts, 2)}, unit="home")
    yield "Plan.errors", rp.select(counts, budget=rp.zcdp(1)).errors()
    yield "Plan.errors of amounts", plan.errors()
    yield "Plan.errors with targets", targets.errors()
    yield "questions.sweep", rp.questions.sweep(counts, [rp.zcdp(1)])
    yield "LinkedPlan.errors", linked.select(homes, budget=rp.zcdp(1)).errors()
    yield "check", rp.check(counts.domain, pd.DataFrame({"sex": ["F", "X"]})).to_frame()


def of_statistics(release: rp.Release) -> Iterator[tuple[str, Any]]:
    """Frames of the tables of a release, and of statistics."""
    table, quality = release["sex"], rp.publish.Quality()
    for profile in ("default", "acs", "gls"):
        yield f"Table.to_frame {profile}", table.to_frame(profile=profile)
        yield f"Table.to_frame {profile} with quality", table.to_frame(profile=profile, quality=quality)
    yield "statistics.means", statistics.means(release, "pay", ("sex",)).to_frame()
    yield "statistics.quantiles", statistics.quantiles(release, "pay", 0.5, ("sex",)).to_frame()
    yield "statistics.standard_deviations", statistics.standard_deviations(release, "pay", ("sex",)).to_frame()
    yield "statistics.proportions", statistics.proportions(release, "sex", ("age",)).to_frame()
    yield "statistics.difference", statistics.difference(table, table).to_frame()
    yield "statistics.ratio", statistics.ratio(table, table).to_frame()
    yield "statistics.change", statistics.change(table, table).to_frame()
    yield "statistics.ranks", statistics.ranks(table).to_frame()
    rounded = of_integers()
    yield "Table.to_frame rounded", rounded["sex"].to_frame()
    yield "published_errors", rp.fits.published_errors(rounded, simulations=10).to_frame()


def of_integers() -> rp.Release:
    """A release of integers, none negative."""
    counts = rp.marginals(rp.Domain({"sex": ["F", "M"]}), up_to=1)
    plan = rp.select(counts, budget=rp.zcdp(1))
    return rp.rounded(rp.nonnegative(rp.reconstruct(rp.measure(plan, pd.DataFrame({"sex": RECORDS["sex"]})))))


def of_synthesis() -> Iterator[tuple[str, Any]]:
    """Frames of what synthetic records are made from."""
    domain, records = rp.Domain({"a": 2, "b": 3}), np.array([[0, 0], [1, 2], [1, 1]] * 200)
    staged = rp.fits.measure_in_stages(rp.fits.StagedPlan(domain, budget=rp.zcdp(1)), records)
    made = rp.synthesize(staged, records=20)
    yield "SyntheticRecords.to_frame", made.to_frame()
    yield "SyntheticRecords.dependence", made.dependence
    yield "SyntheticRecords.quality_of_records", made.quality_of_records.to_frame()


def of_folder(home: Path) -> Iterator[str]:
    """The columns of each file of a release with columns, and the keys of its metadata."""
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                yield f"{name}: {', '.join(next(csv.reader(file)))}"
        elif path.suffix == ".parquet":
            yield f"{name}: {', '.join(pq.read_schema(path).names)}"
        elif path.name == "metadata.json":
            stated = json.loads(path.read_text(encoding="utf-8"))
            yield f"{name}: {', '.join(stated)}; of tables: {', '.join(stated['tables'])}"
        elif path.is_file():
            yield name
