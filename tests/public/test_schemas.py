"""The JSON Schemas that ship with the package fit what it writes, and nothing that lacks a field."""

import copy
import datetime as dt
import json
import math
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
import referencing

import residualplanner as rp
from residualplanner.ground.format_version import FORMAT_VERSION
from residualplanner.method.domain.labels import Into

KEPT = Path(__file__).parents[1] / "kept" / f"v{FORMAT_VERSION}"
SCHEMAS = {
    each.name.removesuffix(".json"): json.loads(each.read_text(encoding="utf-8"))
    for each in (resources.files("residualplanner") / "schemas").iterdir()
}
REGISTRY = referencing.Registry().with_resources(
    (schema["$id"], referencing.Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
#: The schema of each file by the end of its name.
NAMES = {".plan": "plan", ".measurement": "measurement"}


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """What is in a file, with the name of its schema; nothing where it has none."""
    if path.suffix in NAMES:
        with zipfile.ZipFile(path) as archive:
            yield NAMES[path.suffix], json.loads(archive.read("header.json"))
    elif path.suffix == ".ledger":
        for line in path.read_bytes().splitlines():
            yield "ledger", json.loads(line.rpartition(b"\t")[2])
    elif path.name == "manifest.json":
        yield "store" if path.parent.name == "store" else "release", json.loads(path.read_bytes())
    elif path.name == "release.json":
        yield "store", json.loads(path.read_bytes())


def kept() -> dict[str, tuple[str, Any]]:
    return {
        f"{path.relative_to(KEPT)}:{number}": document
        for path in sorted(KEPT.rglob("*"))
        if path.is_file()
        for number, document in enumerate(documents(path))
    }


DOCUMENTS = kept()


def test_there_is_a_schema_of_each_kind_and_each_is_one():
    assert (
        set(SCHEMAS)
        == {"plan", "measurement", "release", "ledger", "store"}
        == {name for name, _ in DOCUMENTS.values()}
    )
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"https://residualplanner.readthedocs.io/schemas/{FORMAT_VERSION}/{name}.json"


@pytest.mark.parametrize("at", DOCUMENTS)
def test_files_that_were_kept_fit_their_schema(at):
    name, document = DOCUMENTS[at]
    validator(name).validate(document)


#: Fields that only some documents have, and those that hold names that users chose or what depends on a kind.
MAY_LACK = {
    *("suboptimality", "about", "meanings", "weight", "people", "level", "reserve", "weights", "words"),
    *("product", "with_unbiased", "quality"),
}
HOLD_ANYTHING = {"about", "arrays", "bases", "files", "kinds", "package_versions", "product", "values"}


def required(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the fields that a document must have, and of those in the first entry of its lists."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name not in MAY_LACK:
                yield (*path, name)
            if name not in HOLD_ANYTHING:
                yield from required(value, (*path, name))
    elif isinstance(document, list) and document:
        yield from required(document[0], (*path, 0))


def without(document: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(document)
    within = changed
    for step in path[:-1]:
        within = within[step]
    del within[path[-1]]
    return changed


@pytest.mark.parametrize("at", DOCUMENTS)
def test_a_document_without_a_required_field_fits_no_schema(at):
    name, document = DOCUMENTS[at]
    for path in required(document):
        assert not validator(name).is_valid(without(document, path)), path


@pytest.mark.parametrize("name", ["bases/of_attribute", "noise_variance", "integers"])
def test_a_header_without_an_array_fits_no_schema(name):
    _, document = DOCUMENTS["sum.measurement:0"]
    prefix = "" if name == "integers" else "plan/"
    assert not validator("measurement").is_valid(without(document, ("arrays", prefix + name)))
    assert not validator("measurement").is_valid(document | {"arrays": document["arrays"] | {"residuals": {}}})


def test_a_seed_fits_no_schema_of_a_release():
    name, document = DOCUMENTS["csv/manifest.json:0"]
    assert not validator(name).is_valid(document | {"noise": document["noise"] | {"seed": 1}})


@pytest.mark.parametrize("at", DOCUMENTS)
def test_a_document_of_another_version_fits_no_schema(at):
    name, document = DOCUMENTS[at]
    if "version" in document:
        for number in (0, 2, "1", None, True):
            assert not validator(name).is_valid(document | {"version": number})


DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
ITEMS = pd.DataFrame({"state": ["n", "n", "s"], "county": ["n1", "n2", "s1"]})
COUNTIES = rp.Hierarchy.from_frame(ITEMS, levels=["state", "county"])
DOMAIN = rp.Domain(
    {
        "day": DAYS,
        "county": COUNTIES,
        "job": rp.Attribute(
            "job", labels=["w", "x", "y"], missing=Into("x"), unknown="drop", about=rp.About(unit="jobs")
        ),
        "pay": rp.Numeric(0, 100, bins=[10, 50], squares=True),
        "old": rp.Bins([-math.inf, 0, 65, math.inf]),
    }
)
QUERIES: dict[str, Any] = {
    "classification": {"county": COUNTIES},
    "deviation": {"pay": rp.statistics.StandardDeviation(), "day": rp.Identity()},
    "proportions": {"job": rp.Proportions()},
    "universe": rp.Among(("old",), where={"day": DAYS[0]}),
    "threshold": rp.Threshold(("day", "job"), at_least=1),
}


@pytest.mark.parametrize("name", QUERIES)
def test_plans_of_other_kinds_fit_their_schema(name, tmp_path):
    rp.select(rp.Workload(DOMAIN, [QUERIES[name]]), budget=rp.zcdp(1)).save(tmp_path / "any.plan")
    for schema, document in documents(tmp_path / "any.plan"):
        validator(schema).validate(document)
