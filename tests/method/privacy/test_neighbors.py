"""Neighbors: what one person may change, in words and as a factor of the cost."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp


@given(notion=st.sampled_from(["add-remove", "replace"]), records=st.integers(1, 10**6))
def test_k_records_of_a_person_cost_k_squared_times_one_and_are_named(notion, records):
    neighbors = rp.privacy.Neighbors(notion, records)
    assert neighbors.cost_factor == records * records
    change = {"add-remove": "adding or removing", "replace": "replacing"}[notion]
    assert neighbors.words == f"{change} " + ("one record" if records == 1 else f"up to {records} records")


@pytest.mark.parametrize("notion", ["replace-one", "Replace", "", "add", None, 1, ("replace",)])
def test_another_notion_is_refused(notion):
    with pytest.raises(rp.errors.BudgetError, match=r"neighbors must be one of \['add-remove', 'replace'\], got"):
        rp.privacy.Neighbors(notion)


@pytest.mark.parametrize("records", [0, -1, 10**6 + 1, 1.0, 2.5, math.nan, True, "2", None, np.float64(2)])
def test_a_number_of_records_that_is_not_whole_and_positive_is_refused(records):
    with pytest.raises(rp.errors.BudgetError, match="records_per_person must be an integer from 1 to 1,000,000, got"):
        rp.privacy.Neighbors("replace", records)
