"""The check of records says what measuring does with them, in every source, and what is likely meant."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from command_line import outcome
from forms_of_records import FORMS, counts, dask_of

few = settings(derandomize=True, deadline=None, max_examples=60)
KEY = bytes(range(32))
RULES = st.sampled_from(["error", "drop", "Other"])
VALUES = {
    "sex": {"labels": ["F", "M", "01"]},
    "grade": {"size": 3},
    "pay": {"numeric": rp.Numeric(0, 100, bins=2)},
    "born": {"bins": rp.Bins.years(1984, 1988)},
}
ENTRIES = {
    "sex": ["F", "M", "01", "f", " M", "1", "é", None],
    "grade": ["0", "1", "2", "3", "2.0", "x", None],
    "pay": ["0", "50", "99.5", "100", "1,200", "-1", None],
    "born": ["1984-01-01", "1986-05-05 10:00", "1984", "5/5/1986", None],
    "w": ["0", "1", "2", "2", "1", "2", "3", "-1", "0.5", "x", None],
    "id": ["a", "a", "a", "b", "b", "7", "07", None],
    "when": ["1", "2", "10", "2020-01-01", "soon", None],
}


@st.composite
def schemas(draw):
    """A domain, perhaps with weights, of some of the columns."""
    names = draw(st.lists(st.sampled_from([*VALUES]), unique=True, min_size=1))
    rules = {name: {word: draw(RULES) for word in ("unknown", "missing")} for name in names}
    attributes = {name: rp.Attribute(name, **VALUES[name], **rules[name]) for name in names}
    return rp.Domain(attributes, weight=rp.Weight("w", maximum=2) if draw(st.booleans()) else None)


def frames(domain):
    def entry(name):
        return st.sampled_from(ENTRIES[name][:3]) | st.sampled_from(ENTRIES[name])

    row = st.tuples(*(entry(name) for name in ENTRIES))
    return st.lists(row, max_size=12).map(lambda rows: pd.DataFrame(rows, columns=[*ENTRIES], dtype=object))


def form_of(frame, form, folder):
    return ALL[form](pa.Table.from_pandas(frame, schema=pa.schema([(name, pa.string()) for name in frame])), folder)


ALL = {name: form for name, form in FORMS.items() if "Dask" not in name and "batch" not in name}


def counted(data, domain, keep):
    """What the counting pass counts in all, in units of the weights; None where it refuses the records."""
    try:
        return counts(data, domain, (), keep)
    except rp.errors.DataError:
        return None


@given(schema=schemas(), limited=st.sampled_from([None, "id", "when"]), keep=st.integers(1, 2), data=st.data())
@few
@pytest.mark.slow
def test_the_check_says_that_records_fit_if_and_only_if_they_are_counted(tmp_path_factory, schema, limited, keep, data):
    frame, form = data.draw(frames(schema)), data.draw(st.sampled_from([*ALL]))
    folder = tmp_path_factory.mktemp("check")
    order = "when" if limited == "when" else None

    def records():
        given_data = form_of(frame, form, folder)
        return given_data if limited is None else rp.LimitedRecords(given_data, "id", keep, order, KEY)

    found, total = rp.check(schema, records()), counted(records(), schema, keep)
    assert found.fits == bool(found) == (total is not None)
    assert found.fits == all(finding.outcome != "refused" for finding in found.findings)
    assert found.records == len(frame)
    if total is not None and not schema.weight.columns:
        assert found.records - found.dropped - found.left_out == total
    if total is not None and limited is None:
        assert found.dropped == sum(
            any(is_dropped(schema[name], entry) for name, entry in row.items() if name in schema.names)
            for row in frame.to_dict("records")
        )


def is_dropped(attribute, entry):
    domain = rp.Domain({attribute.name: attribute})
    one = pd.DataFrame({attribute.name: pd.Series([entry], dtype=object)})
    return counted(one, domain, 1) == 0


@given(rows=st.lists(st.sampled_from(ENTRIES["sex"]), max_size=20), form=st.sampled_from([*ALL]))
@few
def test_the_records_of_each_rule_are_those_that_tables_have_under_its_label(tmp_path_factory, rows, form):
    attribute = rp.Attribute("sex", labels=["F", "M", "01"], unknown="Other", missing="None given")
    domain = rp.Domain({"sex": attribute})
    frame, folder = pd.DataFrame({"sex": pd.Series(rows, dtype=object)}), tmp_path_factory.mktemp("check")
    by_label = counts(form_of(frame, form, folder), domain)
    found = rp.check(domain, form_of(frame, form, folder))
    records = {finding.outcome: finding.records for finding in found.findings}
    for label, count in zip(attribute.value_labels[3:], by_label[3:], strict=True):
        assert records.get(f"counted under {label!r}", 0) == count
    unknown = [value for value in rows if value not in (None, "F", "M", "01")]
    shown = next((finding.values for finding in found.findings if "Other" in finding.outcome), ())
    assert {value: number for value, number in shown} == {repr(value): unknown.count(value) for value in unknown}


def hint(values, entries, **options):
    domain = rp.Domain({"a": rp.Attribute("a", **values)}, **options)
    found = rp.check(domain, pd.DataFrame({"a": pd.Series(entries, dtype=object)}))
    return found.findings[0].hint


YEARS = {"bins": rp.Bins.years(1984, 1988)}
HINTS = [
    (YEARS, ["1984", "1985"], "holds years as numbers, .* declare integers"),
    (YEARS, [1984.0, 1985.0], "holds years as numbers"),
    (YEARS, ["5/31/1984"], "^widen its bins, or list labels in their place if it holds no dates, or declare unknown="),
    (
        {"bins": rp.Bins([0, 1, 2])},
        ["7", None],
        "^widen its bins, or list labels in their place if it holds no numbers",
    ),
    (
        {"bins": rp.Bins([0, 1, 2])},
        ["7", "F"],
        "^'F' is no number: correct such entries, list labels in place of inter",
    ),
    ({"numeric": rp.Numeric(0, 9)}, ["1,2"], "^'1,2' is no number: .* list labels in place of amounts"),
    ({"numeric": rp.Numeric(0, 9)}, ["10"], "^declare wider limits"),
    (
        {"labels": [0, 1]},
        ["9", "0.0"],
        "^'0.0' may be meant for 0; write the column as int.*, or declare labels such as",
    ),
    ({"labels": ["0", "1"]}, ["1.0"], "^'1.0' may be meant for 1; "),
    ({"size": 2}, ["1.00"], "^'1.00' may be meant for 1; "),
    ({"size": 2}, ["2.0", "0.5"], "^add them to the attribute"),
    ({"labels": ["F", "M"]}, ["x", "f"], "'f' may be meant for the label 'F'"),
    ({"labels": ["F", "M"]}, ["M "], "'M ' may be meant for the label 'M'"),
    ({"labels": ["01", "02"]}, [1], "'1' may be meant for the label '01'"),
    ({"labels": ["employed", "unemployed"]}, ["unemploid"], "'unemploid': did you mean the label 'unemployed'?"),
    ({"labels": ["F", "M"]}, ["NA"], "is 'NA' a missing value"),
    ({"labels": ["F", "M"]}, [" "], "is ' ' a missing value"),
    ({"size": 3}, ["x", None], '^add them to the attribute, or declare unknown="Other" or "drop"$'),
    ({"size": 3}, [0, None], '^fill them, or declare missing="Not stated" or "drop"$'),
    ({"size": 3, "missing": "drop"}, [0, None], "^$"),
]


@pytest.mark.parametrize(("values", "entries", "expected"), HINTS)
def test_what_is_likely_meant_is_said(values, entries, expected):
    assert re.search(expected, hint(values, entries))


def test_columns_by_type_name_and_person():
    """Years as integers in a typed column, a name in other letters, and records of nobody."""
    domain = rp.Domain({"year": rp.Bins.years(1984, 1988), "Age": 3}, weight=rp.Weight("w", maximum=2))
    frame = pd.DataFrame({"year": [1984, 1985], "age": [0, 1], "w": [1.0, 2.5], "id": ["a", None], "t": [None, 1.5]})
    found = rp.check(domain, rp.LimitedRecords(frame, person="id", keep=1, order="t"))
    shown = {finding.column: (finding.outcome, finding.records) for finding in found.findings}
    refused, last = ("refused", None), ("come last", 1)
    assert shown == {"year": refused, "Age": refused, "w": ("refused", 1), "id": ("refused", 1), "t": last}
    hints = found.to_frame().set_index("column").hint
    assert hints["w"].startswith("declare a larger one")
    assert "name everybody" in hints["id"]
    assert "years as numbers" in hints["year"]
    assert "did you mean 'age'?" in hints["Age"]
    missing = rp.check(rp.Domain({"age": 3}), rp.LimitedRecords(frame, person="ID", keep=1, order="t"))
    assert [(each.column, each.problem) for each in missing.findings] == [("ID", "missing column")]
    assert missing.findings[0].hint == "did you mean 'id'?  Columns are matched by exact name"


@pytest.mark.parametrize("outside", ["clip", "refuse"])
def test_amounts_that_count_as_a_limit_are_counted(outside):
    pay = rp.Numeric(10, 50, bins=[20, 45], outside=outside)
    found = rp.check(rp.Domain({"pay": pay}), pd.DataFrame({"pay": [10, 11, 20, 45, 49, 50, -3, 2000]}))
    clipped = [("amount at a limit or beyond it (10 to 50)", 4, "counted as the limit")]
    refused = [("value outside the schema", 2, "refused")]
    told = [(each.problem, each.records, each.outcome) for each in found.findings]
    assert told == (clipped if outside == "clip" else refused)
    assert bool(found) is (outside == "clip")


@pytest.mark.parametrize("rule", ["error", "drop"])
def test_lines_that_are_not_records_are_numbered(rule, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text('sex,note\nF,x\nM,5" tall\nF\nM,y\n')
    found = rp.check(rp.Domain({"sex": rp.Attribute("sex", labels=["F", "M"], unknown=rule)}), file)
    assert found.fits == (rule == "drop")
    assert (found.records, found.dropped) == (4, 2 * (rule == "drop"))
    assert found.findings[0].records == 2
    assert found.findings[0].hint.startswith("the first: 3, 4; see that quotes close")
    assert [each.column for each in found.findings[1:]] == ["sex"] * (rule == "drop")


def test_lines_that_are_not_records_are_told_once_and_not_for_every_column(tmp_path):
    """They are among neither what is no value, nor what is nobody's."""
    file = tmp_path / "a.csv"
    file.write_text('sex,w,id\nF,1,a\nM,5" tall,b\nX,1,b\nM,1\n')
    domain = rp.Domain({"sex": ["F", "M"]}, weight=rp.Weight("w", maximum=2))
    found = rp.check(domain, rp.LimitedRecords(file, person="id", keep=1))
    assert not found
    assert [(each.column, each.records, each.values) for each in found.findings] == [
        ("", 2, ()),
        ("sex", 1, (("'X'", 1),)),
    ]


def test_a_matrix_counts_and_frames_of_engines():
    domain = rp.Domain({"a": 2, "b": 3})
    assert rp.check(domain, np.array([[0, 2], [1, 0]]))
    wrong = rp.check(domain, np.array([[0, 3], [-1, 0]]))
    assert [(each.column, each.values) for each in wrong.findings] == [("a", (("-1", 1),)), ("b", (("3", 1),))]
    assert rp.check(domain, {("a", "b"): np.ones((2, 3), dtype=int)})
    contradiction = {("a",): np.array([1, 2]), ("b",): np.array([1, 1, 2])}
    assert "contradict each other" in rp.check(domain, contradiction).findings[0].problem
    with pytest.raises(rp.errors.DataError, match=r"of Dask frame\.compute\(\), of PySpark frame\.toPandas\(\)"):
        rp.check(domain, dask_of(pd.DataFrame({"a": [0], "b": [1]})))
    with pytest.raises(rp.errors.ArgumentError, match=r"write check\(domain, records\)"):
        rp.check(pd.DataFrame({"a": [0]}), domain)


SPEC = """\
budget = { zcdp = "0.5" }
loss = "sum"
people = { person = "id", keep = 1 }
[domain]
sex = { labels = ["F", "M"], missing = "drop" }
[[workload]]
up_to = 1
"""


def test_the_command_says_the_same_and_writes_no_file_unless_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SPEC)
    (tmp_path / "a.csv").write_text("sex,id\nF,1\nM,1\n,2\nf,3\n")
    before = sorted(tmp_path.iterdir())
    said = outcome("check", "s.toml", "a.csv")
    assert said.exit_code == 1
    assert said.stdout.startswith("Confidential: ")
    assert "'f' may be meant for the label 'F'" in said.stdout
    assert sorted(tmp_path.iterdir()) == before

    events = [json.loads(line) for line in outcome("check", "s.toml", "a.csv", "--json").stdout.splitlines()]
    assert [event["event"] for event in events] == ["check", "finding", "finding"]
    assert events[0]["text"].startswith("Confidential")
    assert (events[0]["fits"], events[0]["records"]) == (False, 4)

    (tmp_path / "a.csv").write_text("sex,id\nF,1\nM,1\n,2\n")
    told = outcome("check", "s.toml", "a.csv", "-o", "found.txt")
    assert told.exit_code == 0
    assert "Read: 3 records; counted: 1; left out by rules: 1; left out since their person has" in told.stdout
    assert (tmp_path / "found.txt").read_text().startswith("Confidential")
    assert outcome("check", "s.toml", "a.csv", "-o", "found.txt").exit_code == 2


def test_entries_that_are_not_utf8_are_told_from_others(tmp_path):
    (tmp_path / "r.csv").write_bytes(b"a\nx\n\xe9\n")
    (found,) = rp.check(rp.Domain({"a": ["x", "y"]}), tmp_path / "r.csv").findings
    assert found.hint == "some entries are not UTF-8; save the file with that encoding"


def test_a_file_that_cannot_be_read_is_told_in_a_sentence(tmp_path):
    (tmp_path / "r.csv").write_text("a;b\nx;y\n")
    told = str(rp.check(rp.Domain({"a": ["x", "y"]}), tmp_path / "r.csv"))
    assert "Read:" not in told
    assert told.splitlines()[-1].startswith(
        "the first line of 'r.csv' is separated by semicolons, not by commas; write"
    )
    assert not told.endswith("refused")
