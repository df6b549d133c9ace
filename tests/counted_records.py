"""Records of every kind of value, and what a counter makes of them, for the tests of all sources."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from dense import counts
from forms_of_records import opened
from residualplanner import Attribute, Bins, Domain

TEXT = ["01", "1", "NO", "None", "é", "nan", "a b"]
RULES = {"unknown": "drop", "missing": "drop"}
DOMAIN = Domain(
    {
        "text": Attribute("text", labels=[*TEXT, "other"], unknown="other", missing="NO"),
        "code": Attribute("code", 4, **RULES),
        "integer": Attribute("integer", labels=[5, -3, 0, 2**40], **RULES),
        "truth": Attribute("truth", labels=[True, False], unknown=True, missing=False),
        "number": Attribute("number", bins=Bins([-1, 0, 2.5, 10]), unknown="drop", missing="[-1, 0)"),
    }
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.sampled_from([*TEXT, "odd", None]),
            "code": st.sampled_from([0, 1, 2, 3, 4, -1, None]),
            "integer": st.sampled_from([5, -3, 0, 2**40, 7, None]),
            "truth": st.sampled_from([True, False, None]),
            "number": st.sampled_from([-1.0, -0.5, 0.0, 2.5, 3.0, 10.0, 11.0, None]),
        }
    ),
    min_size=1,
    max_size=30,
)
GROUPS = [
    np.array([[0, 3]]),
    np.array([[1], [2]]),
    np.array([[4]]),
    np.empty((1, 0), dtype=int),
    np.array([[0, 1, 2, 3, 4]]),
]


TYPES = pa.schema(
    {"text": pa.string(), "code": pa.int8(), "integer": pa.int64(), "truth": pa.bool_(), "number": pa.float64()}
)


def some_records(number):
    """The same ones each time, with entries of every sort."""
    draw = np.random.default_rng(5)
    values = {
        "text": [*TEXT, "odd", "NO ", "no", None],
        "code": [0, 1, 2, 3, 4, -1, None],
        "integer": [5, -3, 0, 2**40, 7, None],
        "truth": [True, False, None],
        "number": [-1.0, -0.0, 0.0, 2.5, 10.0, 11.0, None],
    }
    return [{name: column[draw.integers(len(column))] for name, column in values.items()} for _ in range(number)]


VALUES = {"text": [*TEXT, "other"], "code": range(4), "integer": [5, -3, 0, 2**40], "truth": [True, False]}
EDGES = [-1, 0, 2.5, 10]


def code_of(name, entry):
    """By a search in the list of values, or of the bin that it is in; None where it is no value."""
    if name == "number":
        is_inside = entry is not None and EDGES[0] <= entry <= EDGES[-1]
        return min(sum(edge <= entry for edge in EDGES), len(EDGES) - 1) - 1 if is_inside else None
    return list(VALUES[name]).index(entry) if entry in VALUES[name] else None


def naive_codes(record):
    """The record's codes after the rules, or None where it leaves."""
    codes = []
    for name in DOMAIN:
        attribute, entry = DOMAIN[name], record[name]
        code = code_of(name, entry)
        if code is None:
            rule = (
                attribute.missing if entry is None or (str(entry) == "nan" and name == "number") else attribute.unknown
            )
            if rule == "drop":
                return None
            code = attribute.value_labels.index(rule.label)
        codes.append(code)
    return codes


def naive_tables(domain, records, groups):
    kept = [codes for codes in map(naive_codes, records) if codes is not None]
    table = counts(domain.sizes, np.array(kept, dtype=int).reshape(-1, len(domain)))
    others = [[tuple(i for i in range(table.ndim) if i not in row) for row in rows.tolist()] for rows in groups]
    return [np.array([table.sum(axis=axes) for axes in of_group]) for of_group in others]


def assert_counts(data, records, domain=DOMAIN, groups=GROUPS):
    stacks = opened(data, domain).count(groups)
    for stack, expected in zip(stacks, naive_tables(domain, records, groups), strict=True):
        assert stack.dtype == np.int64
        assert stack.shape == expected.shape
        assert (stack == expected).all()


def columns_of(records):
    return {name: [record[name] for record in records] for name in records[0]}
