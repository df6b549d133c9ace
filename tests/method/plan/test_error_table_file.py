"""The error table in a file, or some rows of it, is that of the plan, however few rows are made at a time."""

import pandas as pd
import pytest

import residualplanner as rp

DOMAIN = rp.Domain({"a": 3, "b": ["x", 'say "y"'], "c": 4, "d, e": 5})
QUERIES = [("c", "a"), {"d, e": rp.Prefix(), "b": rp.Identity()}, {"c": rp.Range(), "a": rp.Identity()}]
PLAN = rp.select(rp.marginals(DOMAIN, up_to=3) + rp.Workload(DOMAIN, QUERIES), budget=rp.pcost(1))
WITH_TARGETS = rp.select(
    rp.marginals(DOMAIN, up_to=2), budget=rp.pcost(1), loss=rp.losses.Targets({("a",): 9.0, ("b",): 0.1})
)


@pytest.fixture(params=[1, 5, 10**6])
def _rows(request, monkeypatch):
    monkeypatch.setattr("residualplanner.method.plan.error_table._ROWS", request.param)


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("plan", [PLAN, WITH_TARGETS], ids=["kinds", "targets"])
def test_files_hold_the_rows_of_the_error_table(plan, tmp_path):
    errors = plan.errors(0.9)
    plan.save_errors(tmp_path / "e.parquet", 0.9)
    plan.save_errors(tmp_path / "e.csv", 0.9)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "e.parquet"), errors)
    types = {name: str(errors[name].dtype) for name in errors if name != "kinds"}
    empty = {"target": "", "meets_target": ""}
    from_text = pd.read_csv(tmp_path / "e.csv", keep_default_na=False, na_values=empty, dtype=types)
    as_written = errors.astype({"kinds": str})
    pd.testing.assert_frame_equal(from_text, as_written, check_exact=True)


def test_a_level_that_is_none_leaves_no_file(tmp_path):
    with pytest.raises(rp.errors.BudgetError, match="level"):
        PLAN.save_errors(tmp_path / "e.csv", 2)
    assert list(tmp_path.iterdir()) == []
