"""Records of every kind of value, and what a counter makes of them, for the tests of all sources."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import strategies as st

from residualplanner import Attribute, Bins, Domain
from residualplanner.gate.sources.columns import codes_of_values
from residualplanner.gate.sources.opening import open_source
from residualplanner.method.domain.families import MISSING

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


def naive_codes(domain, record):
    """The record's codes after the rules, or None where it leaves."""
    codes = []
    for name in domain:
        code = int(codes_of_values(domain[name], [record[name]])[0])
        if code < 0:
            rule = domain[name].missing if code == MISSING else domain[name].unknown
            if rule == "drop":
                return None
            code = domain[name].value_labels.index(rule.label)
        codes.append(code)
    return codes


def naive_tables(domain, records, groups):
    kept = [codes for codes in (naive_codes(domain, record) for record in records) if codes is not None]
    stacks = []
    for rows in groups:
        stack = []
        for row in rows.tolist():
            counter = Counter(tuple(codes[i] for i in row) for codes in kept)
            shape = [domain.sizes[i] for i in row]
            stack.append(np.array([counter[cell] for cell in product(*map(range, shape))]).reshape(shape))
        stacks.append(np.array(stack))
    return stacks


def assert_counts(data, records, domain=DOMAIN, groups=GROUPS):
    stacks = open_source(data, domain).count(groups)
    for stack, expected in zip(stacks, naive_tables(domain, records, groups), strict=True):
        assert stack.dtype == np.int64
        assert stack.shape == expected.shape
        assert (stack == expected).all()


def columns_of(records):
    return {name: [record[name] for record in records] for name in records[0]}
