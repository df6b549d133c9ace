"""Tables by a geography: their columns in frames and files, cells by code or name, two geographies in one workload."""

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from geographies import LEVELS, leaf_rows
from made_releases import any_release, exact_release

FRAME = pd.DataFrame(leaf_rows()[1:], columns=leaf_rows()[0])
COUNTIES = rp.Hierarchy.from_frame(FRAME, LEVELS)
DISTRICTS = COUNTIES.crosswalk(FRAME.assign(district=["7", "1", "1"]), leaf="county", group="district")
DOMAIN = rp.Domain({"county": COUNTIES, "sex": ["F", "M"]})
QUERIES = [{"county": COUNTIES, "sex": rp.Identity()}, {"county": COUNTIES}, {"county": DISTRICTS}, ["county"]]


@pytest.fixture(scope="module")
def plan():
    return rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp("0.5"))


@pytest.fixture(scope="module")
def release(plan):
    return any_release(plan)


def test_rows_are_the_counts_of_their_areas(plan):
    release = exact_release(plan, np.array([[1, 2], [10, 20], [100, 200]]))
    assert release[{"county": COUNTIES}].estimate.round(9).tolist() == [333, 33, 300, 3, 30, 300]
    assert release[{"county": DISTRICTS}].estimate.round(9).tolist() == [333, 3, 330, 3, 30, 300]
    assert release[QUERIES[0]].estimate.round(9)[1].tolist() == [11, 22]


def test_frames_have_level_code_name_and_parent(release):
    frame = release[QUERIES[0]].to_frame()
    assert list(frame.columns)[:6] == [
        "county", "county_level", "county_code", "county_name", "county_parent", "sex",
    ]  # fmt: skip
    row = frame[(frame["county"] == "01003") & (frame["sex"] == "M")].iloc[0]
    assert row["county_level":"county_parent"].tolist() == ["county", "01003", "Baldwin County", "01"]
    assert row["estimate"] == release[QUERIES[0]].estimate[4, 1]


@pytest.mark.parametrize("file_format", ["csv", "parquet", "workbook"])
def test_files_have_the_same_columns_and_are_read_back(release, tmp_path, file_format):
    release.save(tmp_path / "out", format=file_format)
    if file_format == "csv":
        text = (tmp_path / "out" / "tables" / "csv-metadata.json").read_text()
        assert '"titles": "county_parent"' in text
        assert "the label of what it is a part of" in text
    saved = rp.load_tables(tmp_path / "out")
    for query in QUERIES:
        columns = [name for name in release[query].to_frame() if name.startswith("county")]
        expected = release[query].to_frame()[columns]
        assert saved.numbers.frame(query)[columns].to_numpy().tolist() == expected.to_numpy().tolist()
        assert saved[query].estimate.tolist() == release[query].estimate.tolist()


@pytest.mark.parametrize("name", ["01003", "Baldwin County", "Baldwin County, Alabama"])
def test_a_cell_is_found_by_code_or_by_name(release, name):
    table = release[{"county": COUNTIES}]
    assert table.at(county=name).estimate == table.estimate[4]
    assert table.at(county="Alabama").estimate == table.estimate[1]
    assert table.at(county="01").estimate == table.estimate[1]


def test_names_of_several_areas_are_refused_and_the_areas_listed():
    frame = pd.DataFrame(
        leaf_rows(counties={"01081": ("Lee", "01"), "02081": ("Lee", "02")})[1:], columns=FRAME.columns
    )
    counties = rp.Hierarchy.from_frame(frame, LEVELS)
    plan = rp.select(
        rp.Workload(rp.Domain({"county": counties}), [{"county": counties}, ["county"]]), budget=rp.pcost(1)
    )
    table, leaves = any_release(plan)[{"county": counties}], any_release(plan)["county"]
    with pytest.raises(rp.errors.DomainError, match=r"'county' has several labels called 'Lee': '01081' \(Lee"):
        table.at(county="Lee")
    assert table.at(county="Lee, Alaska").estimate == table.estimate[4]
    with pytest.raises(rp.errors.DomainError, match=r"several labels called 'Lee': '01081' \(Lee\), '02081' \(Lee\)"):
        leaves.at(county="Lee")
    with pytest.raises(rp.errors.DomainError, match=r"'county' has no label 'Lee, Alabma'.* did you mean 'Alabama'"):
        table.at(county="Lee, Alabma")


def test_a_meaning_stands_for_its_label_unless_another_label_is_called_so():
    domain = rp.Domain({"sex": {1: "female", 2: "1"}})
    table = any_release(rp.select(rp.marginals(domain, order=1), budget=rp.pcost(1)))["sex"]
    assert table.at(sex="female").estimate == table.estimate[0]
    assert table.at(sex="1").estimate == table.estimate[0]
    assert table.at(sex=2).estimate == table.estimate[1]
