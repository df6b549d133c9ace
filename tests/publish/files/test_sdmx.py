"""The tables of a release as SDMX, read back by the standard library: every cell, every code, and what defines them."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from command_line import outcome
from geographies import LEVELS, leaf_rows
from made_releases import any_release, rows_of_list
from residualplanner.fits.nonnegative.published_errors_simulation import published_errors

NAME, CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*"), re.compile(r"[A-Za-z0-9_@$-]+")
URN = re.compile(r"urn:sdmx:org\.sdmx\.infomodel\.\w+\.\w+=STATS\.UNIT:(\w+)\(2\.1\.0\)(?:\.(\w+))?")
COUNTIES = rp.Hierarchy.from_frame(pd.DataFrame(leaf_rows()[1:], columns=leaf_rows()[0]), LEVELS)
JOBS = {1: "nurse", 2: "2", 3: "baker"}
DOMAIN = rp.Domain(
    {
        "county": COUNTIES,
        "Job": rp.Attribute("Job", labels=JOBS, about=rp.About(title="Occupation", unit="code", source="ISCO")),
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
    {"job": rp.Identity(), "age": BANDS},
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
    return any_release(rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp("0.5"), bases="orthogonal", time=0))


@pytest.fixture(scope="module")
def home(release, tmp_path_factory):
    home = tmp_path_factory.mktemp("sdmx")
    release.save(home / "csv", "csv")
    rp.publish.write_sdmx(release, home / "sdmx", agency="STATS.UNIT", version="2.1.0")
    return home


class Defined:
    """A file, with what defines it."""

    def __init__(self, home, flow, data):
        self.name, self.title = flow["id"], flow["name"]
        self.notes = {note["type"]: note["text"] for note in flow["annotations"]}
        self.rows = rows_of_list(home / self.notes["file"])
        (structure,) = [each for each in data["dataStructures"] if each["id"] == target(flow["structure"])]
        parts = structure["dataStructureComponents"]
        self.dimensions = parts["dimensionList"]["dimensions"]
        self.numbers = parts["measureList"]["measures"] + parts["attributeList"]["attributes"]
        lists, (scheme,) = {each["id"]: each["codes"] for each in data["codelists"]}, data["conceptSchemes"]
        self.lists = [lists[target(each["localRepresentation"]["enumeration"])] for each in self.dimensions]
        concepts = {each["id"]: each for each in scheme["concepts"]}
        components = [*self.dimensions, *self.numbers]
        self.concepts = {each["id"]: concepts[URN.fullmatch(each["conceptIdentity"])[2]] for each in components}

    def column(self, name):
        """The texts of the column whose concept has a name."""
        (component,) = [each["id"] for each in self.numbers if self.concepts[each["id"]]["name"] == name]
        return [row[component] for row in self.rows]


def target(urn):
    return URN.fullmatch(urn)[1]


def data_of(home):
    return json.loads((home / "structure.json").read_text("ascii"))["data"]


def defined(home):
    """The files of a folder by their paths, in the order of their dataflows."""
    data = data_of(home)
    files = [Defined(home, flow, data) for flow in data["dataflows"]]
    found = {each.notes["file"]: each for each in files}
    assert {path.relative_to(home).as_posix() for path in home.rglob("*.csv")} == set(found)
    assert len(found) == len(files)
    return found


def test_every_file_has_the_columns_and_the_codes_that_its_structure_defines(home):
    for each in defined(home / "sdmx").values():
        names = list(each.concepts)
        assert list(each.rows[0]) == ["STRUCTURE", "STRUCTURE_ID", "ACTION", *names]
        own = {(row["STRUCTURE"], row["STRUCTURE_ID"], row["ACTION"]) for row in each.rows}
        assert own == {("dataflow", f"STATS.UNIT:{each.name}(2.1.0)", "R")}
        keys = [tuple(row[dimension["id"]] for dimension in each.dimensions) for row in each.rows]
        assert keys == list(itertools.product(*([code["id"] for code in codes] for codes in each.lists)))
        for component in each.numbers:
            values = [row[component["id"]] for row in each.rows]
            assert component["usage"] == "optional" or "" not in values
            read = {"Double": float, "Long": int, "String": str, "Boolean": {"true": True, "false": False}.__getitem__}
            list(map(read[component["localRepresentation"]["format"]["dataType"]], filter(None, values)))
            if component["id"] == "UNIT_MEASURE":
                assert component["attributeRelationship"] == {"dataflow": {}}
                assert len(set(values)) == 1
        assert each.numbers[0]["id"] == "OBS_VALUE"


def test_every_identifier_has_the_form_of_one_and_is_defined_once(home):
    data = data_of(home / "sdmx")
    for artefacts in data.values():
        assert len({each["id"] for each in artefacts}) == len(artefacts)
        assert all(NAME.fullmatch(each["id"]) and each["name"] for each in artefacts)
        assert {(each["agencyID"], each["version"]) for each in artefacts} == {("STATS.UNIT", "2.1.0")}
    for codelist in data["codelists"]:
        codes = [code["id"] for code in codelist["codes"]]
        assert len(set(codes)) == len(codes)
        assert all(CODE.fullmatch(code) for code in codes)
        assert all(code["parent"] in codes for code in codelist["codes"] if "parent" in code)
    concepts = data["conceptSchemes"][0]["concepts"]
    assert len({each["id"] for each in concepts}) == len(concepts)
    assert all(NAME.fullmatch(each["id"]) for each in concepts)


def test_every_cell_and_label_is_that_of_the_release(release, home):
    files = [each for path, each in defined(home / "sdmx").items() if path.startswith("tables/")]
    for table, found in zip(release.tables(), files, strict=True):
        frame = table.to_frame()
        assert len(found.lists) == max(1, len(table.names))
        for labels, words, codes in zip(table.labels, table.labels_in_words, found.lists, strict=False):
            for label, word, code in zip(labels, words, codes, strict=True):
                text = str(label).lower() if isinstance(label, bool) else str(label)
                assert code["id"] == text or code["name"] == word
                assert text in code["name"] or word == f"{text} ({code['name']})"
        for name in ("estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"):
            assert list(map(float, found.column(name))) == frame[name].tolist()
        assert [row["OBS_VALUE"] for row in found.rows] == found.column("estimate")
        assert set(found.column("unit")) == {table.unit}
        assert found.title == table.title.replace("Job", "Occupation, code") or "Job" not in found.title
        assert found.notes["privacy"] == release.noise.guarantee
    assert files[0].rows[0]["RECORDS"] == "_T"


def test_statistics_are_those_of_the_saved_release(home):
    files = {path: each for path, each in defined(home / "sdmx").items() if path.startswith("statistics/")}
    assert len(files) == 4
    for path, found in files.items():
        rows = rows_of_list(home / "csv" / path)
        names = [found.concepts[each["id"]]["name"] for each in found.numbers if each["id"] != "UNIT_MEASURE"]
        assert list(rows[0])[-len(names) :] == names
        assert all(found.column(name) == [row[name] for row in rows] for name in names)
        assert [row["OBS_VALUE"] for row in found.rows] == [row[names[0]] for row in rows]
        assert ("UNIT_MEASURE" in found.concepts) == ("proportions" not in path)


def test_proportions_have_the_attribute_for_a_dimension_and_its_words_for_names(tmp_path):
    vote = rp.Attribute("vote", labels={1: "Yes", 2: "No"}, about=rp.About(title="Answer"))
    domain = rp.Domain({"region": ["N", "S"], "vote": vote})
    workload = rp.Workload(domain, [{"region": rp.Identity(), "vote": rp.Proportions()}])
    release = any_release(rp.select(workload, budget=rp.zcdp("0.5")))
    release.save(tmp_path / "csv", "csv")
    rp.publish.write_sdmx(tmp_path / "csv", tmp_path / "sdmx", agency="STATS.UNIT", version="2.1.0")
    files = defined(tmp_path / "sdmx")
    share, table = (files[f"{folder}/region.vote@proportions.csv"] for folder in ("statistics", "tables"))
    for found, codes in (
        (share, [("1", "Yes"), ("2", "No")]),
        (
            table,
            [("count", "count"), ("1", "Yes"), ("2", "No"), ("not_1", "not 1 (not Yes)"), ("not_2", "not 2 (not No)")],
        ),
    ):
        assert [each["id"] for each in found.dimensions] == ["REGION", "VOTE"]
        assert found.concepts["VOTE"]["name"] == "Answer"
        assert [(code["id"], code["name"]) for code in found.lists[1]] == codes


def test_comparisons_are_left_out_and_the_command_says_so(release, tmp_path):
    ranks = rp.statistics.ranks(release[{"Job": rp.Prefix()}])
    release.save(tmp_path / "csv", "csv", comparisons={"ranks": ranks})
    rp.publish.write_sdmx(tmp_path / "csv", tmp_path / "sdmx", agency="STATS.UNIT", version="2.1.0")
    assert (tmp_path / "csv" / "comparison-ranks.csv").exists()
    assert not [path for path in defined(tmp_path / "sdmx") if "ranks" in path]
    assert "Comparisons, the report and errors.csv are left out" in " ".join(
        outcome("sdmx", "--help").stdout.replace("│", " ").split()
    )


def test_codes_are_labels_where_these_are_identifiers_and_else_what_is_left_of_them(home):
    lists = {each["id"]: each["codes"] for each in data_of(home / "sdmx")["codelists"]}
    by_name = {code["name"]: code["id"] for codes in lists.values() for code in codes}
    assert {by_name[name] for name in ("nurse", "baker", "(total)", "a_b", "ä-b")} == {"1", "3", "_T", "a_b", "a-b"}
    assert by_name["≤ 1 (≤ nurse)"] == "LE_1"
    assert by_name["[0, 65)"] == "0_65"
    assert by_name["0.5"] == "0_5"
    assert all(re.fullmatch("a_b_[0-9a-f]{12}", by_name[name]) for name in ("a b", "a,b"))
    assert re.fullmatch("[0-9a-f]{12}", by_name["北京"])
    county = next(codes for name, codes in lists.items() if "COUNTY" in name)
    autauga = next(code for code in county if code["id"] == "01001")
    assert (autauga["name"], autauga["parent"]) == ("Autauga County", "01")
    assert {"type": "level", "text": "county"} in autauga["annotations"]
    assert county[0]["id"] == "_T"


def test_names_that_differ_in_case_alone_or_are_columns_of_sdmx_have_identifiers_of_their_own(home):
    concepts = {each["name"]: each for each in data_of(home / "sdmx")["conceptSchemes"][0]["concepts"]}
    assert all(re.fullmatch("JOB_[0-9a-f]{12}", concepts[name]["id"]) for name in ("Occupation", "job"))
    assert re.fullmatch("OBS_VALUE_[0-9a-f]{12}", concepts["obs value"]["id"])
    assert concepts["Occupation"]["annotations"] == [
        {"type": "unit", "text": "code"},
        {"type": "source", "text": "ISCO"},
    ]


@pytest.mark.cases(2)
@pytest.mark.parametrize(("file_format", "profile"), [("parquet", "acs"), ("xlsx", "gls"), ("workbook", "default")])
def test_a_folder_gives_what_it_was_saved_with(release, tmp_path, file_format, profile):
    about = rp.publish.Publication(title="Pay", author="Office", date="2026-11-22")
    quality = rp.publish.Quality(suppress=True)
    release.save(tmp_path / "saved", file_format, profile=profile, quality=quality, publication=about)
    rp.publish.write_sdmx(tmp_path / "saved", tmp_path / "sdmx", agency="STATS.UNIT", version="2.1.0")
    saved, files = rp.load_tables(tmp_path / "saved"), defined(tmp_path / "sdmx")
    tables = [each for path, each in files.items() if path.startswith("tables/")]
    for query, found in zip(saved, tables, strict=True):
        frame = saved.numbers.frame(query)
        estimate = {"default": "estimate", "acs": "E", "gls": "estimate"}[profile]
        texts = ["" if np.isnan(value) else float(value) for value in frame[estimate]]
        assert [float(row["OBS_VALUE"]) if row["OBS_VALUE"] else "" for row in found.rows] == texts
        assert found.column("quality") == frame["quality"].tolist()
        assert (found.notes["title"], found.notes["date"]) == ("Pay", "2026-11-22")
    assert any(not row["OBS_VALUE"] for each in tables for row in each.rows)
    meta = json.loads((tmp_path / "sdmx" / "structure.json").read_text())["meta"]
    assert (meta["name"], meta["sender"]) == ("Pay", {"id": "STATS", "name": "Office"})


def test_published_numbers_stand_beside_unbiased_ones_and_their_errors_in_notes(tmp_path):
    workload = rp.marginals(rp.Domain({"a": 3, "b": ["x", "y"]}), up_to=2)
    tables = rp.nonnegative(any_release(rp.select(workload, budget=rp.zcdp("0.5"))))
    errors = published_errors(tables, simulations=10)
    tables.save(tmp_path / "saved", "csv", with_unbiased=True, errors=errors)
    rp.publish.write_sdmx(tmp_path / "saved", tmp_path / "sdmx", agency="STATS.UNIT", version="2.1.0")
    found = defined(tmp_path / "sdmx")["tables/a.b.csv"]
    rows = rows_of_list(tmp_path / "saved" / "tables" / "a.b.csv")
    assert [row["OBS_VALUE"] for row in found.rows] == [row["estimate_nonneg"] for row in rows]
    assert found.column("estimate_unbiased") == [row["estimate_unbiased"] for row in rows]
    assert found.notes["rmse"] == str(errors.rmse[-1])
    assert "biased" in found.notes["numbers"]


def test_nothing_is_left_where_a_file_was_altered_or_the_release_is_in_parts(release, tmp_path):
    release.save(tmp_path / "saved", "csv")
    last = sorted((tmp_path / "saved" / "statistics").glob("*.csv"))[-1]
    last.write_text(last.read_text().replace("1", "2"))
    release.save(tmp_path / "parts", "parts")
    with pytest.raises(rp.errors.FileFormatError, match=re.escape(last.name)):
        rp.publish.write_sdmx(tmp_path / "saved", tmp_path / "sdmx")
    with pytest.raises(rp.errors.ArgumentError, match="parts already"):
        rp.publish.write_sdmx(tmp_path / "parts", tmp_path / "sdmx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "saved"]


@pytest.mark.parametrize(
    "given",
    [{"agency": ""}, {"agency": "1A"}, {"agency": "A..B"}, {"agency": None}, {"version": "1"}, {"version": "1.0.0-x"}],
)
def test_what_is_no_identifier_is_refused_and_what_would_be_one_is_said(release, tmp_path, given):
    with pytest.raises(rp.errors.WorkloadError, match=rf'as in {next(iter(given))}="'):
        rp.publish.write_sdmx(release, tmp_path / "sdmx", **given)
    assert not any(tmp_path.iterdir())


def test_the_command_writes_the_same(home, tmp_path):
    stated = ("--agency", "STATS.UNIT", "--version", "2.1.0")
    result = outcome("sdmx", home / "csv", "-o", tmp_path / "out", *stated)
    assert (result.exit_code, "structure.json" in result.stdout) == (0, True)
    for path in (home / "sdmx").rglob("*.csv"):
        assert (tmp_path / "out" / path.relative_to(home / "sdmx")).read_bytes() == path.read_bytes()
    assert data_of(tmp_path / "out") == data_of(home / "sdmx")
    assert outcome("sdmx", home / "csv", "-o", tmp_path / "other", "--agency", "?").exit_code == 2
