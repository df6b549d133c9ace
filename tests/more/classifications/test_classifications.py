"""A hierarchy from a public file: its rows, codes and names; and what is wrong with a file, by line and column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from geographies import COUNTIES, LEVELS, STATES, csv_text, geographies, leaf_rows
from kinds import read_kind
from residualplanner import Domain, Hierarchy


@pytest.fixture
def read(tmp_path):
    """Read a text, or rows, as a file."""

    def reading(content, levels=("state", "county"), **options):
        path = tmp_path / "counties.csv"
        text = content if isinstance(content, str | bytes) else csv_text(content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return Hierarchy.from_file(path, list(levels) if isinstance(levels, tuple) else levels, **options)

    return reading


def rows_of(hierarchy):
    """By label which leaves a row sums, as codes."""
    attribute = hierarchy.attribute("county")
    matrix, codes = hierarchy.on(attribute).matrix(attribute.size), np.array(attribute.value_labels)
    return {label: set(codes[row == 1]) for label, row in zip(hierarchy.labels(attribute), matrix, strict=True)}


def frame_of(rows):
    return pd.DataFrame(rows[1:], columns=rows[0], dtype=str)


@settings(max_examples=12)
@given(geography=geographies())
def test_every_frame_gives_the_same_hierarchy(geography):
    states, counties = geography
    leaves = frame_of(leaf_rows(states, counties))
    expected = {"(total)": set(counties)} | {
        state: {code for code, (_, parent) in counties.items() if parent == state} for state in states
    }
    expected |= {code: {code} for code in counties}
    for frame in (leaves, pl.from_pandas(leaves), pa.Table.from_pandas(leaves), pl.from_pandas(leaves).lazy()):
        found = Hierarchy.from_frame(frame, LEVELS)
        assert rows_of(found) == expected
        assert found.attribute("county").meanings == tuple(name for name, _ in counties.values())


@settings(max_examples=12)
@given(
    geography=geographies(), rules=st.sampled_from([{}, {"missing": "none"}, {"unknown": "other", "missing": "none"}])
)
def test_plans_hold_all_of_it(geography, rules):
    hierarchy = Hierarchy.from_frame(frame_of(leaf_rows(*geography)), LEVELS, total="all", leaves=False)
    attribute = hierarchy.attribute("county", **rules)
    tied = hierarchy.on(attribute)
    again = read_kind(tied.to_json())
    assert again == tied
    assert again.columns_beside(attribute) == tied.columns_beside(attribute)
    assert read_kind(hierarchy.to_json()) == hierarchy
    assert (again.matrix(attribute.size) == tied.matrix(attribute.size)).all()


def test_rows_are_sums_over_the_leaves_of_each_item_with_level_code_name_and_parent_beside(read):
    hierarchy = read(leaf_rows())
    assert rows_of(hierarchy) == {
        "(total)": {"01001", "01003", "02013"},
        "01": {"01001", "01003"},
        "02": {"02013"},
        **{code: {code} for code in COUNTIES},
    }
    attribute = hierarchy.attribute("county")
    assert hierarchy.labels(attribute) == ("(total)", "01", "02", "01001", "01003", "02013")
    assert hierarchy.columns_beside(attribute) == {
        "level": ("(total)", "state", "state", "county", "county", "county"),
        "code": ("", "01", "02", "01001", "01003", "02013"),
        "name": ("(total)", *STATES.values(), *(name for name, _ in COUNTIES.values())),
        "parent": ("", "(total)", "(total)", "01", "01", "02"),
    }
    assert hierarchy.full_names(attribute)[4] == ("Baldwin County", "Baldwin County, Alabama")


def test_codes_that_levels_share_are_told_apart_by_the_level(read):
    hierarchy = read("region,county,county_name\n1,1,A\n1,2,B\n2,3,C\n", ("region", "county"))
    assert rows_of(hierarchy) == {
        "(total)": {"1", "2", "3"},
        "region 1": {"1", "2"},
        "region 2": {"3"},
        "1": {"1"},
        "2": {"2"},
        "3": {"3"},
    }
    beside = hierarchy.columns_beside(hierarchy.attribute("county"))
    assert beside["code"] == ("", "1", "2", "1", "2", "3")
    assert beside["parent"] == ("", "(total)", "(total)", "region 1", "region 1", "region 2")


def test_a_label_that_no_leaf_has_is_a_group_of_its_own_on_every_level(read):
    hierarchy = read(leaf_rows())
    attribute = hierarchy.attribute("county", unknown="elsewhere", missing="elsewhere")
    tied = hierarchy.on(attribute)
    position = tied.labels(attribute).index("elsewhere")
    assert tied.matrix(attribute.size)[position].tolist() == [0, 0, 0, 1]
    assert {word: entries[position] for word, entries in tied.columns_beside(attribute).items()} == {
        "level": "county",
        "code": "elsewhere",
        "name": "elsewhere",
        "parent": "(total)",
    }


def test_a_domain_takes_its_values_and_names_from_the_hierarchy(read):
    hierarchy = read(leaf_rows())
    attribute = Domain({"county": hierarchy})["county"]
    assert attribute == hierarchy.attribute("county")
    assert dict(zip(attribute.value_labels, attribute.value_meanings, strict=True)) == {
        code: name for code, (name, _) in COUNTIES.items()
    }
    with pytest.raises(rp.errors.WorkloadError, match=r"attribute\(\) is for a hierarchy from a file or a frame"):
        Domain({"county": Hierarchy([2])})


@pytest.mark.parametrize(
    ("levels", "header"),
    [
        (["state", "county"], "state_code,state,county_code,county"),
        (["state", "county"], "state_code,state_name,county_code,county_name"),
        (["state", "county"], "state,state_name,county,county_name"),
        ({"state": ("ST", "STNAME"), "county": ("GEOID", "NAME")}, "ST,STNAME,GEOID,NAME"),
    ],
)
def test_columns_of_codes_and_names_are_found_or_named(read, levels, header):
    rows = csv_text(leaf_rows()[1:])
    assert rows_of(read(f"{header}\n{rows}", levels)) == rows_of(read(leaf_rows()))
    assert read(f"{header}\n{rows}", levels).attribute("c") == read(leaf_rows()).attribute("c")


def test_names_may_be_absent(read):
    hierarchy = read("state,county\n01,01001\n02,02013\n")
    assert hierarchy.attribute("county").meanings == ()
    assert hierarchy.columns_beside(hierarchy.attribute("county"))["name"] == ("(total)", "01", "02", "01001", "02013")
    assert rows_of(read("GEO,C\n01,01001\n02,02013\n", {"state": "GEO", "county": "C"})) == rows_of(hierarchy)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"\xef\xbb\xbf" + csv_text(leaf_rows()).encode(), {}),
        (csv_text(leaf_rows()).replace("\n", "\r\n"), {}),
        (csv_text(leaf_rows()).replace(",", " , ") + "\n   \n,,,\n", {}),
        (csv_text(leaf_rows(), ";"), {"separator": ";"}),
        (csv_text(leaf_rows(), "|"), {"separator": "|"}),
        (csv_text(leaf_rows()).encode("utf-16"), {"encoding": "utf-16"}),
        (csv_text(leaf_rows()).encode("cp1252"), {"encoding": "cp1252"}),
        (csv_text(leaf_rows()).replace("01003,", '"01003",').replace("Alaska", '"Alaska"'), {}),
    ],
    ids=["byte-order mark", "CRLF", "spaces", "semicolons", "bars", "UTF-16", "CP1252", "quotes"],
)  # fmt: skip
def test_files_of_many_programs_hold_the_same(read, content, options):
    found = read(content, **options)
    assert rows_of(found) == rows_of(read(leaf_rows()))
    assert found.attribute("county").meanings == tuple(name for name, _ in COUNTIES.values())
    if options.get("encoding") == "cp1252":
        names = read("county,county_name\n35013,Doña Ana\n".encode("cp1252"), ("county",), **options)
        assert names.attribute("county").meanings == ("Doña Ana",)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"state,county\n01,01001\n35,Do\xf1a\n", {}, r"counties.csv is not CSV in the encoding 'utf-8': .*'cp1252'"),
        (csv_text(leaf_rows()).encode("utf-16"), {}, "counties.csv is not CSV in the encoding 'utf-8'"),
        ("a,b\n1,2\n", {"encoding": "klingon"}, "not CSV in the encoding 'klingon': unknown encoding"),
        ("a,b\n1,2\n", {"encoding": 5}, "not CSV in the encoding 5"),
        ("", {}, "counties.csv is not CSV"),
        ("state,county\n", {}, "counties.csv has no lines after the names"),
        *((f"state,{name}\n01,01001\n", {}, "line 1: every column must have a name") for name in ("state", "")),
        ("state,county\n01,01001\n01,01003,Lee\n", {}, "Expected 2 fields in line 3, saw 3; check its quotes"),
        ('state,county\n01,"01001\n', {}, "EOF inside string starting at row 1; check its quotes"),
    ],
)
def test_a_file_that_is_no_such_text_is_refused_with_its_line(read, content, options, message):
    with pytest.raises(rp.errors.FileFormatError, match=message):
        read(content, **options)


@pytest.mark.parametrize("kind", ["string", "str", object])
def test_frames_may_lack_names_in_any_way_that_pandas_knows(kind):
    names = pd.Series(["Autauga", None], dtype=kind)
    frame = pd.DataFrame({"county": ["01001", "01003"], "county_name": names})
    assert Hierarchy.from_frame(frame, ["county"]).attribute("county").meanings == ("Autauga", "")


SHORTER = "line 3, column 'state': the code '1' of 'state' is shorter than '01' in line 2; it may have lost leading"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("state,town\n01,01001\n", "counties.csv lacks the level 'county': it has no column 'county_code' or 'county'"),
        ("state;county\n01;01001\n", "lacks the level 'state': .*; it has 'state;county'"),
        ("state,county\n01,01001\n01,\n", "line 3, column 'county': '' is no code of the level 'county'"),
        ("state,county\n01,1001.0\n", "line 2, column 'county': '1001.0' is no code of the level"),
        ('state,county\n"=""01""",01001\n', "line 2, column 'state': '=\"01\"' is no code of the level"),
        ("state,county\n01,1\n02,3\n02,1\n", "line 4, .*: county '1' lies in '02', and '01' in line 2; where codes"),
        ("state,state_name,county\n01,AL,1\n01,AK,2\n", "line 3, .*state': state '01' is called 'AK', and 'AL' in"),
        ("state,county\n01,01001\n1,01003\n", SHORTER + r" zeros; declare code_lengths=\{'state': N\}"),
        ("state,county\n9,9001\n10,10001\n", r"'9' of 'state' is shorter than '10' in line 3"),
        ("state,county\nFR,2A\nFR,1\n", "the code '1' of 'county' is shorter than '2A' in line 2"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_hierarchy_is_refused_with_its_line_and_column(read, content, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        read(content)


LOST = "state,county\n1,1001\n1,1003\n10,10001\n"


@pytest.mark.parametrize(
    ("content", "lengths", "rows"),
    [
        ("state,county\nOhio,Lee\nUtah,Cache\n", None, {"Ohio": {"Lee"}, "Utah": {"Cache"}}),
        (LOST, {"state": 2, "county": 5}, {"01": {"01001", "01003"}, "10": {"10001"}}),
        (LOST, {"state": None, "county": None}, {"1": {"1001", "1003"}, "10": {"10001"}}),
    ],
    ids=["words have lost nothing", "lost zeros are put back", "lengths that differ"],
)
def test_codes_have_the_lengths_that_are_declared(read, content, lengths, rows):
    found = rows_of(read(content, code_lengths=lengths))
    leaves = set().union(*rows.values())
    assert found == {"(total)": leaves, **rows, **{code: {code} for code in leaves}}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_integers_are_no_codes_unless_their_length_is_declared(frame):
    numbers = frame({"state": [1, 2], "county": [1001, 2013]})
    with pytest.raises(
        rp.errors.WorkloadError, match="the frame, column 'state': the codes of 'state' are integers, which have"
    ):
        Hierarchy.from_frame(numbers, LEVELS)
    found = Hierarchy.from_frame(numbers, LEVELS, code_lengths={"state": 2, "county": 5})
    assert rows_of(found)["01"] == {"01001"}


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"state": ["01"], "county": [None]}, "the frame, row 1, column 'county': '' is no code of the level"),
        *(({"state": ["01"], "county": [bad]}, "no column .*county' .*of text or integers") for bad in (1.5, True)),
        ({"state": [], "county": []}, "the frame has no rows"),
        (pd.DataFrame([["1", "2"]], columns=["county", "county"]), "whose columns have different names"),
    ],
)
def test_a_frame_that_is_no_hierarchy_is_refused_with_its_row_and_column(frame, message):
    for levels in (LEVELS, {"state": "state", "county": "county"}):
        with pytest.raises(rp.errors.WorkloadError, match=message):
            Hierarchy.from_frame(pd.DataFrame(frame), levels)
    with pytest.raises(rp.errors.WorkloadError, match=r"expected a data frame .*, got"):
        Hierarchy.from_frame("counties.csv", LEVELS)


@pytest.mark.parametrize(
    ("levels", "options", "message"),
    [
        *((levels, {}, "levels must be different names from coarse") for levels in ("state", [], ["state", "state"])),
        ({"state": ("a", "b", "c")}, {}, "for each level write its column of codes, or a pair"),
        ({"state": "stat"}, {}, "has no column 'stat' of text or integers; it has 'state', .*did you mean 'state'"),
        (LEVELS, {"code_lengths": {"town": 5}}, "code_lengths must be a mapping from some of"),
        (LEVELS, {"code_lengths": {"county": 0}}, r"code_lengths\['county'\] must be a positive integer or None"),
        (LEVELS, {"code_lengths": {"county": 4}}, "'01001' is not of 4 characters, as declared for 'county'"),
        (LEVELS, {"code_lengths": {"county": 6, "state": True}}, r"code_lengths\['state'\] must be"),
        *(
            (LEVELS, {"separator": mark}, "separator of a file must be one character such as ';', got")
            for mark in ("", ";;", '"', "\n", None)
        ),
    ],
)  # fmt: skip
def test_levels_lengths_and_separators_that_cannot_be_are_refused(read, levels, options, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        read(leaf_rows(), levels, **options)


CROSSWALK = pd.DataFrame({"county": list(COUNTIES), "district": ["7", "1", "1"], "title": ["Seven", "One", "One"]})


def test_a_crosswalk_puts_the_same_leaves_into_other_groups(read, tmp_path):
    counties = read(leaf_rows())
    CROSSWALK.to_csv(tmp_path / "districts.csv", index=False)
    for source in (CROSSWALK, tmp_path / "districts.csv"):
        districts = counties.crosswalk(source, leaf="county", group="district", name="title")
        assert rows_of(districts)["1"] == {"01003", "02013"}
        assert rows_of(districts)["7"] == {"01001"}
        beside = districts.columns_beside(counties.attribute("county"))
        assert beside["level"] == ("(total)", "district", "district", "county", "county", "county")
        assert beside["name"][1:3] == ("Seven", "One")
        assert beside["parent"][3:] == ("7", "1", "1")
    assert [each["file"] for each in districts.to_json()["classification"]["files"]] == [
        "counties.csv",
        "districts.csv",
    ]


def test_groups_may_be_cut_along_a_level_of_the_other_geography(read):
    counties = read(leaf_rows())
    parts = counties.crosswalk(CROSSWALK, leaf="county", group="district", name="title", within="state")
    assert rows_of(parts) == rows_of(counties) | {"01-7": {"01001"}, "01-1": {"01003"}, "02-1": {"02013"}}
    attribute = counties.attribute("county")
    names = dict(zip(parts.labels(attribute), parts.full_names(attribute), strict=True))
    assert names["01-1"] == ("One", "One, Alabama")
    assert names["01003"] == ("Baldwin County", "Baldwin County, One", "Baldwin County, One, Alabama")
    for level in ("county", "nation"):
        with pytest.raises(
            rp.errors.WorkloadError, match=f"there is no level '{level}' above the leaves; the levels are"
        ):
            counties.crosswalk(CROSSWALK, leaf="county", group="district", within=level)


def test_parts_that_would_have_one_code_are_refused_and_not_put_together():
    """Of item 1 and group 2-3, and of item 1-2 and group 3: leaves of the second were those of the first."""
    frame = pd.DataFrame({"county": ["1", "1-2"], "tract": ["a", "b"], "cd": ["2-3", "3"]})
    tracts = Hierarchy.from_frame(frame, ["county", "tract"], code_lengths={"county": None})
    with pytest.raises(rp.errors.WorkloadError, match="'1-2-3'"):
        tracts.crosswalk(frame, leaf="tract", group="cd", within="county", code_lengths={"cd": None})


def test_leaves_without_a_group_are_refused_or_declared(read):
    counties, some = read(leaf_rows()), CROSSWALK.iloc[:2]
    columns = {"leaf": "county", "group": "district"}
    with pytest.raises(
        rp.errors.WorkloadError, match="the frame has no district for '02013'; add them, or declare a group"
    ):
        counties.crosswalk(some, **columns)
    assert rows_of(counties.crosswalk(some, **columns, ungrouped="ZZ"))["ZZ"] == {"02013"}
    blank = CROSSWALK.assign(district=["7", "1", ""])
    assert rows_of(counties.crosswalk(blank, **columns, ungrouped="ZZ"))["ZZ"] == {"02013"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("01001", "1"), ("01001", "2")], "row 2, column 'district': county '01001' lies in '2', and '1' in row 1"),
        ([("99", "1")], "row 1, column 'county': '99' is no county of the hierarchy; .*check leading zeros"),
        (
            [("01001", "1"), ("01003", "10")],
            "row 1, column 'district': the code '1' of 'district' is shorter than '10'",
        ),
    ],
)
def test_a_crosswalk_that_is_not_many_to_one_or_gives_two_names_is_refused(read, rows, message):
    frame, columns = pd.DataFrame(rows, columns=["county", "district"]), {"leaf": "county", "group": "district"}
    with pytest.raises(rp.errors.WorkloadError, match=message):
        read(leaf_rows()).crosswalk(frame, **columns, ungrouped="ZZ")
    named = CROSSWALK.assign(title=["Seven", "One", "Uno"])
    with pytest.raises(
        rp.errors.WorkloadError, match="column 'title': district '1' is called 'Uno', and 'One' in row 2"
    ):
        read(leaf_rows()).crosswalk(named, **columns, name="title")
    twice = pd.concat([CROSSWALK, CROSSWALK.iloc[1:2].assign(title="Uno")], ignore_index=True)
    twice.loc[1, "title"] = "One"
    with pytest.raises(rp.errors.WorkloadError, match="district '1' is called 'Uno', and 'One' in row 2"):
        read(leaf_rows()).crosswalk(twice, **columns, name="title")
    with pytest.raises(rp.errors.WorkloadError, match=r"crosswalk\(\) is for a hierarchy from a file or a frame"):
        Hierarchy([2]).crosswalk(frame, **columns)


@pytest.mark.parametrize(
    "change",
    [
        {"levels": ["state"]},
        {"levels": ["state", "state"]},
        {"levels": "state"},
        {"items": [[["01", "A", ""]], [["01001", "B", "02"]]]},
        {"items": [[["01", "A", "US"]], [["01001", "B", "01"]]]},
        {"items": [[["01", "A", ""], ["02", "A", ""]], [["01001", "B", "01"]]]},
        {"items": [[["01", "A", ""]], [["01001", "B", "01"], ["01001", "C", "01"]]]},
        {"items": [[["01", "A"]], [["01001", "B", "01"]]]},
        {"items": [[["01", 1, ""]], [["01001", "B", "01"]]]},
        {"items": [[["01", "", ""]], [["01001", "B", "01"]]]},
        {"items": {}},
        {"files": [{"file": "x"}]},
        {"files": None},
        {"more": 1},
    ],
    ids=str,
)
def test_a_classification_in_a_plan_that_cannot_be_is_refused(read, change):
    value = read("state,county\n01,01001\n").to_json()
    with pytest.raises(
        rp.errors.FileFormatError, match=r"classification|first level|must be|must have|parent|no items"
    ):
        read_kind(value | {"classification": value["classification"] | change})
    with pytest.raises(rp.errors.FileFormatError, match="must have the fields"):
        read_kind(value | {"levels": []})
