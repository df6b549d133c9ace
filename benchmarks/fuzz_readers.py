"""Every reader of files that strangers may hand over, with good files to begin from.

Gives: READERS.  Nothing here is random: the same version of the library begins from the same bytes.
"""

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import residualplanner as rp
from benchmarks.fuzz_files import (
    FILE,
    Files,
    changed_archive,
    changed_folder,
    changed_geojson,
    changed_ledger,
    changed_table,
    changed_toml,
)
from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.measurement.precision import lattice_divisors, measured_cost, precision_of
from residualplanner.ground.errors import ResidualPlannerError
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.publish.maps.boundaries import plane_rings
from residualplanner.publish.report.privacy import promise_of
from residualplanner.publish.report.subject import subject_of
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec, targets_of_spec, workload_of_spec

_SPEC = """
budget = { zcdp = "0.5" }
loss = { sum = "equal" }
gap = 1e-6
neighbors = "add-remove"
records_per_person = 1

[domain]
age = { bins = [0, 18, 65, 120], labels = ["young", "middle", "old"], unknown = "drop" }
sex = ["F", "M"]
region = { size = 4, missing = 0 }
state = { labels = ["CA", "TX", "WA"], unknown = "TX" }

[[workload]]
up_to = 2
max_cells = 100
weight = 2.0

[[workload]]
queries = [
  ["sex"],
  { age = "prefix", state = { kind = "hierarchy", levels = [{ West = ["CA", "WA"], South = ["TX"] }] } },
]
kinds = { sex = "identity" }

[[workload]]
queries = [{ region = { kind = "custom", matrix = [[1, 1, 1, 1], [0, 1, 2, 3]], labels = ["all", "sum"] } }]

[output]
format = "csv"
profile = "acs"
level = 0.9
"""
_TARGETS = """
reserve = 0.05
bases = "optimal_by_set"

[domain]
a = 3
b = [true, false]

[[workload]]
up_to = 2

[[targets]]
queries = [["a"], ["a", "b"]]
moe = 100
"""
_LEAVES = "county,county_name,tract,tract_name\n" + "".join(
    f'{county},"County, {county}",{county}{tract},Tract {tract}\n' for county in ("01", "02") for tract in "123"
)
_SHAPES = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"code": code, "name": "x"},
                "geometry": {"type": "MultiPolygon", "coordinates": [[[[x, 0], [x + 1, 0], [x, 1], [x, 0]]]]},
            }
            for x, code in enumerate(("011", "012", "021"))
        ],
    }
)
_RECORDS = "sex,age,region,note\n" + "".join(
    f'{sex},{age},{region},"text, {age}"\n'
    for sex, age, region in (("F", 5, 0), ("M", 70, 3), ("F", 18.5, 2), ("M", 44, 1)) * 5
)


@dataclass(frozen=True, eq=False)
class Reader:
    """A reader.

    Attributes:
        name: what it is called.
        weight: how many of a hundred changed files it gets.
        make: makes the good files.
        changed: changes them.
        read: reads all there is at a path: of a folder, or of a file.
    """

    name: str
    weight: int
    make: Callable[[], list[Files]]
    changed: Callable[[random.Random, Files], Files]
    read: Callable[[Path], None]

    def written(self, files: Mapping[str, bytes], folder: Path) -> Path:
        """Put files into an empty folder; the path to read."""
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        return folder / FILE if set(files) <= {FILE} else folder


@cache
def _plans() -> list[rp.Plan]:
    domain = rp.Domain(
        {
            "age": rp.Bins([0, 18, 65, 120]),
            "sex": ["F", "M"],
            "one": 1,
            "region": rp.Attribute("region", 4, missing="drop"),
        }
    )
    marginals = rp.marginals(domain, up_to=2)
    kinds = rp.Workload(
        domain,
        [
            {"age": rp.Prefix(), "sex": rp.Identity()},
            {"region": rp.Hierarchy([{"low": [0, 1], "high": [2, 3]}]), "sex": rp.Identity()},
            {"age": rp.Custom([[1, 1, 1], [0, 1, 2]], labels=["all", "sum"])},
        ],
    )
    leaves = {"side": ["W", "W", "E"], "town": ["1", "2", "3"], "town_name": ["A", "B", "C"]}
    towns = rp.Hierarchy.from_frame(pd.DataFrame(leaves), ["side", "town"])
    short = rp.Domain({"a": 3, "b": [True, False], "c": [10, -5, 2**40]})
    mixed = rp.marginals(short, up_to=2) + rp.Workload(
        short, [{"a": rp.Range()}, {"a": rp.Range(), "b": rp.Identity()}, rp.Threshold(("b", "c"), 1)]
    )
    return [
        rp.select(marginals, budget=rp.zcdp("0.5")),
        rp.select(marginals + kinds, budget=rp.approx_dp(1, "1e-6")),
        rp.select(rp.marginals(short, up_to=3), budget=rp.privacy.gdp("0.3"), loss="max", neighbors="replace"),
        rp.select(mixed, budget=rp.pcost(2), bases="optimal_by_set", records_per_person=2),
        rp.select(rp.marginals(short, up_to=1), loss=rp.losses.Targets([(("a",), 40.0)])),
        rp.select(rp.Workload(rp.Domain({"town": towns}), [{"town": towns}]), budget=rp.zcdp("0.5")),
    ]


def _measurement(plan: rp.Plan, shift: int = 0) -> Measurement:
    """Answers that are no data's, under a record of noise as of a release."""
    groups = basis_groups(plan.strategy)
    integers = (np.arange(AnswerLayout(groups).count, dtype=np.int64) * 7919) % 1000 - 500 + shift
    precision = precision_of(plan.noise_variances)
    cost, divisors = measured_cost(plan, precision), lattice_divisors(groups, precision, plan.neighbors)
    record = NoiseRecord("discrete", pcost=cost, neighbors=plan.neighbors.words)
    return Measurement(plan, Residuals(groups, integers, divisors), record)


def _saved(save: Callable[[Path], object]) -> Files:
    """The bytes of what ``save`` writes: a file, or all files of a folder."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / FILE
        save(path)
        if path.is_file():
            return {FILE: path.read_bytes()}
        return {
            file.relative_to(path).as_posix(): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()
        }


def _plan_files() -> list[Files]:
    return [_saved(plan.save) for plan in _plans()]


def _measurement_files() -> list[Files]:
    return [_saved(_measurement(plan).save) for plan in _plans()]


def _ledger_files() -> list[Files]:
    def write(path: Path, budget: rp.privacy.Budget | None) -> None:
        reason = "" if budget else "a test"
        ledger = rp.Ledger.create(path, budget=budget, data_set="people", reason=reason)
        for plan in (*_plans()[:2], *_plans()[:1]):
            cost = measured_cost(plan, precision_of(plan.noise_variances))
            ledger.charge(cost, "ab" * 32, neighbors="add-remove", label="tables")

    return [_saved(partial(write, budget=budget)) for budget in (rp.zcdp(10), None)]


def _folder_files(file_format: str) -> list[Files]:
    made = []
    profiles = ("default",) * 4 if file_format == "parts" else ("default", "acs", "gls", "default")
    for plan, profile in zip(_plans()[:4], profiles, strict=True):
        release = rp.reconstruct(_measurement(plan))
        made.append(
            _saved(lambda path, release=release, profile=profile: release.save(path, file_format, profile=profile))
        )
    return made


def _combined_files() -> list[Files]:
    """Folders of two measurements each, one in every format, with bases that vary by set in the last."""
    made = []
    pairs = [(_plans()[0], _second(_plans()[0]))] * 3 + [(_plans()[3], _second(_plans()[3]))]
    for pair, file_format in zip(pairs, ("parquet", "csv", "xlsx", "parts"), strict=True):
        release = rp.reconstruct([_measurement(plan, shift) for shift, plan in enumerate(pair)])
        made.append(_saved(lambda path, release=release, file_format=file_format: release.save(path, file_format)))
    return made


def _second(plan: rp.Plan) -> rp.Plan:
    """A plan for another measurement of the same, with more noise."""
    return replace(plan, noise_variances=plan.noise_variances * 1.5)


def _read_all(*steps: Callable[[], object]) -> None:
    """Take every step, also where one before was refused; raise the first refusal."""
    refusals: list[ResidualPlannerError] = []
    for step in steps:
        try:
            step()
        except ResidualPlannerError as refusal:
            refusals.append(refusal)
    if refusals:
        raise refusals[0]


def _read_plan(path: Path) -> None:
    _read_all(partial(rp.load_plan, path), lambda: promise_of(subject_of(path, level=0.9)))


def _read_measurement(path: Path) -> None:
    measurement = rp.load_measurement(path)
    _ = measurement.noise.guarantee
    for _ in rp.reconstruct(measurement).tables():
        pass


def _read_ledger(path: Path) -> None:
    ledger = rp.Ledger.open(path)
    _ = ledger.spent, ledger.remaining, ledger.entries


def _read_folder(path: Path) -> None:
    _read_all(*_folder_steps(path))


def _folder_steps(path: Path) -> Iterator[Callable[[], object]]:
    """Everything that reads a release folder."""

    def read_tables() -> None:
        tables = rp.load_tables(path)
        _read_all(lambda: tables.numbers.errors, *(partial(tables.__getitem__, query) for query in tables))

    def read_report() -> None:
        subject = subject_of(path, level=0.9)
        promise_of(subject)
        _read_all(*(partial(subject.read_table, row) for row in range(len(subject.errors))))

    yield read_tables
    yield read_report


def _read_spec(path: Path) -> None:
    spec = read_spec(path)
    _read_all(
        lambda: workload_of_spec(spec, domain_of_spec(spec)),
        lambda: spec.budget,
        lambda: targets_of_spec(spec),
    )


@cache
def _strict_plan() -> rp.Plan:
    """For the same records, where whatever does not fit is an error."""
    domain = {"sex": ["F", "M"], "age": rp.Bins([0, 18, 65, 120]), "region": 4}
    return rp.select(rp.marginals(rp.Domain(domain), up_to=2), budget=rp.zcdp("0.5"))


@cache
def _counting_plan() -> rp.Plan:
    domain: dict[str, Any] = {
        "sex": rp.Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="?"),
        "age": rp.Attribute("age", bins=rp.Bins([0, 18, 65, 120]), unknown="drop", missing="drop"),
        "region": rp.Attribute("region", 4, unknown=0, missing="drop"),
    }
    return rp.select(rp.marginals(rp.Domain(domain), up_to=2), budget=rp.zcdp("0.5"))


def _read_records(path: Path) -> None:
    target = path.with_suffix(".csv")
    path.rename(target)
    rp.measure(_counting_plan(), target)
    rp.measure(_strict_plan(), target)


def _read_geography(path: Path) -> None:
    island = rp.Hierarchy.from_file(path, ["county", "tract"])
    attribute = island.attribute("tract")
    tied = island.on(attribute)
    _ = tied.columns_beside(attribute), tied.full_names(attribute)


def _read_boundaries(path: Path) -> None:
    boundaries = rp.publish.Boundaries.from_geojson(path, "code")
    if any(boundaries.rings.values()):
        plane_rings({code: rings for code, rings in boundaries.rings.items() if rings})


def _text_files(*texts: str) -> list[Files]:
    return [{FILE: text.encode("utf-8")} for text in texts]


READERS = (
    Reader("plan", 37, _plan_files, changed_archive, _read_plan),
    Reader("measurement", 25, _measurement_files, changed_archive, _read_measurement),
    Reader("ledger", 12, _ledger_files, changed_ledger, _read_ledger),
    Reader("spec", 12, partial(_text_files, _SPEC, _TARGETS), changed_toml, _read_spec),
    Reader("release in parts", 1, partial(_folder_files, "parts"), changed_folder, _read_folder),
    Reader("release of Parquet", 2, partial(_folder_files, "parquet"), changed_folder, _read_folder),
    Reader("release of CSV", 2, partial(_folder_files, "csv"), changed_folder, _read_folder),
    Reader("release of workbooks", 2, partial(_folder_files, "xlsx"), changed_folder, _read_folder),
    Reader("release of several measurements", 3, _combined_files, changed_folder, _read_folder),
    Reader("geography", 4, partial(_text_files, _LEAVES), changed_table, _read_geography),
    Reader("boundaries", 4, partial(_text_files, _SHAPES), changed_geojson, _read_boundaries),
    Reader("records as CSV", 4, partial(_text_files, _RECORDS), changed_table, _read_records),
)
