"""The tables of a release as SDMX, read back by the standard library: every cell, every code, and what defines them."""

import csv
import itertools
import json
import re
import shutil
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from geographies import LEVELS, leaf_rows
from made_releases import any_release

NAME, CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*"), re.compile(r"[A-Za-z0-9_@$-]+")
URN = re.compile(r"urn:sdmx:org\.sdmx\.infomodel\.(\w+\.\w+)=(STATS\.UNIT):(.+)\(2\.1\.0\)(?:\.(.+))?")
COUNTIES = rp.Hierarchy.from_frame(pd.DataFrame(leaf_rows()[1:], columns=leaf_rows()[0]), LEVELS)
DOMAIN = rp.Domain(
    {
        "county": COUNTIES,
        "Job": rp.Attribute("Job", labels={1: "nurse", 2: "2", 3: "baker"}, about=rp.About(title="Job", unit="code")),
        "job": ["a b", "a,b", "a_b", "ä-b", "北京", "(total)"],
        "obs value": [False, True],
        "age": rp.Bins([0, 18, 65, 120]),
        "pay": rp.Numeric(0, 40, bins=4, squares=True),
    }
)
BANDS = rp.Hierarchy([{"young": ["[0, 18)"], "older": ["[18, 65)", "[65, 120]"]}], total=True)
QUERIES = [
    (),
    {"county": COUNTIES, "Job": rp.Identity()},
    rp.Among(("job",), where={"Job": 1}),
    {"age": rp.Prefix(), "obs value": rp.Identity()},
    {"Job": rp.Prefix()},
    {"age": rp.Range()},
    {"age": BANDS, "job": rp.Identity()},
    {"age": rp.Custom([[1, 1, 1], [2, 0, 1]], labels=["all", "x, y"])},
    {"job": rp.Identity(), "pay": rp.Sum()},
    {"pay": rp.Sum(by="bin")},
    {"Job": rp.Identity(), "pay": rp.Mean()},
    {"pay": rp.Quantiles([0.1, 0.5])},
    {"Job": rp.Identity(), "age": rp.Proportions()},
    {"pay": rp.statistics.StandardDeviation()},
]


@pytest.fixture(scope="module")
def release():
    """A release in every kind of query, with every statistic."""
    return any_release(rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp("0.5")))


@pytest.fixture(scope="module")
def home(release, tmp_path_factory):
    home = tmp_path_factory.mktemp("sdmx") / "all"
    rp.publish.write_sdmx(release, home, agency="STATS.UNIT", version="2.1.0")
    return home


def message_of(home):
    return json.loads((home / "structure.json").read_text("ascii"))


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def by_id(message, artefacts):
    found = {each["id"]: each for each in message["data"][artefacts]}
    assert len(found) == len(message["data"][artefacts])
    return found


class Defined:
    """A file, with what defines it."""

    def __init__(self, home, flow, message):
        self.flow, self.notes = flow, {note["type"]: note["text"] for note in flow["annotations"]}
        self.rows = rows_of(home / self.notes["file"])
        parts = by_id(message, "dataStructures")[target(flow["structure"])]["dataStructureComponents"]
        self.dimensions = parts["dimensionList"]["dimensions"]
        self.numbers = parts["measureList"]["measures"] + parts["attributeList"]["attributes"]
        lists = by_id(message, "codelists")
        self.lists = [lists[target(each["localRepresentation"]["enumeration"])]["codes"] for each in self.dimensions]
        self.concepts = {
            each["id"]: each for scheme in message["data"]["conceptSchemes"] for each in scheme["concepts"]
        }

    def concept(self, component):
        return self.concepts[URN.fullmatch(component["conceptIdentity"])[4]]

    def column(self, name):
        """The texts of the column that had a name."""
        (component,) = [each for each in self.numbers if self.concept(each)["name"] == name]
        return [row[component["id"]] for row in self.rows]


def target(urn):
    return URN.fullmatch(urn)[3]


def defined(home):
    message = message_of(home)
    return [Defined(home, flow, message) for flow in message["data"]["dataflows"]]


def by_file(home):
    return {each.notes["file"]: each for each in defined(home)}


def test_every_file_has_the_columns_and_the_codes_that_its_structure_defines(home):
    for each in defined(home):
        components = [*each.dimensions, *each.numbers]
        units = [component for component in components if component["id"] == "UNIT_MEASURE"]
        names = [component["id"] for component in components]
        assert list(each.rows[0]) == ["STRUCTURE", "STRUCTURE_ID", "ACTION", *names]
        assert len(set(names)) == len(names) and all(map(NAME.fullmatch, names))
        own = {(row["STRUCTURE"], row["STRUCTURE_ID"], row["ACTION"]) for row in each.rows}
        assert own == {("dataflow", f"STATS.UNIT:{each.flow['id']}(2.1.0)", "R")}
        keys = [tuple(row[dimension["id"]] for dimension in each.dimensions) for row in each.rows]
        codes = [[code["id"] for code in codes] for codes in each.lists]
        assert keys == list(itertools.product(*codes))  # each once, the last dimension changing fastest
        for component in each.numbers:
            kind = component["localRepresentation"]["format"]["dataType"]
            values = [row[component["id"]] for row in each.rows]
            assert component["usage"] == "optional" or "" not in values
            read = {"Double": float, "Long": int, "String": str, "Boolean": {"true": True, "false": False}.get}[kind]
            assert all(read(value) is not None for value in values if value)
        for component in units:
            assert component["attributeRelationship"] == {"dataflow": {}}
            assert len({row["UNIT_MEASURE"] for row in each.rows}) == 1


def test_every_identifier_is_one_and_is_defined_once(home):
    message = message_of(home)
    for artefacts in message["data"].values():
        for each in artefacts:
            assert NAME.fullmatch(each["id"]) and each["name"]
            assert (each["agencyID"], each["version"]) == ("STATS.UNIT", "2.1.0")
        assert max(Counter(each["id"] for each in artefacts).values()) == 1
    for codelist in message["data"]["codelists"]:
        codes = [code["id"] for code in codelist["codes"]]
        assert len(set(codes)) == len(codes) and all(map(CODE.fullmatch, codes))
        assert all(code["parent"] in codes for code in codelist["codes"] if "parent" in code)
    (scheme,) = message["data"]["conceptSchemes"]
    assert max(Counter(each["id"] for each in scheme["concepts"]).values()) == 1
    assert message["meta"]["sender"] == {"id": "STATS"}


def label_of(code):
    """The label that a code is of, or its meaning."""
    return code["name"]


def test_every_cell_is_that_of_the_release(release, home):
    files = iter(defined(home))
    count = 0
    for table in release.tables():
        found, frame = next(files), table.to_frame()
        texts = [
            [str(label).lower() if isinstance(label, bool) else str(label) for label in axis] for axis in table.labels
        ]
        for name, labels, words, codes in zip(table.names, texts, table.labels_in_words, found.lists, strict=True):
            for label, word, code in zip(labels, words, codes, strict=True):
                assert code["id"] == label or code["name"] == word, name
        for name in ("estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"):
            assert list(map(float, found.column(name))) == frame[name].tolist()
        assert set(found.column("unit")) == {table.unit}
        assert found.notes["privacy"] == release.noise.guarantee
        count += 1
        statistic = {"Mean": rp.statistics.means, "Quantiles": rp.statistics.quantiles}
        if any(kind.is_statistic for kind in table.kinds):
            found = next(files)
            assert found.notes["file"].startswith("statistics/")
            assert found.rows
    assert next(files, None) is None and count == len(QUERIES)


def test_statistics_are_those_that_are_saved(release, home, tmp_path):
    release.save(tmp_path / "csv", format="csv")
    files = by_file(home)
    saved = sorted(path.name for path in (tmp_path / "csv" / "statistics").glob("*.csv"))
    assert sorted(name.partition("/")[2] for name in files if name.startswith("statistics/")) == saved
    assert len(saved) == 4
    for name in saved:
        found, rows = files[f"statistics/{name}"], rows_of(tmp_path / "csv" / "statistics" / name)
        columns = [each["name"] for each in map(found.concept, found.numbers) if each["name"] != "unit"]
        assert list(rows[0])[-len(columns) :] == columns
        for column in columns:
            assert found.column(column) == [row[column] for row in rows]
        assert list(map(str, [row["OBS_VALUE"] for row in found.rows])) == [row[columns[0]] for row in rows]


def test_codes_are_labels_where_these_are_identifiers(home):
    files = by_file(home)
    (jobs,) = files["tables/job.Job@among-1.csv"].lists if "tables/job.Job@among-1.csv" in files else ([],)
    print(sorted(files))
