"""A report on sums of amounts compares nothing in dollars with anything in counts, and shows amounts by bin."""

import re

import numpy as np

import residualplanner as rp
from residualplanner.publish.report import fairness_data

PAY = rp.Attribute("pay", numeric=rp.Numeric(0, 100_000, bins=[20_000], outside="clip"), about=rp.About(unit="EUR"))
TOTAL = {"sex": rp.Identity(), "pay": rp.Sum()}
PLAN = rp.select(rp.Workload(rp.Domain({"sex": ["F", "M"], "pay": PAY}), [("sex", "pay"), TOTAL]), budget=rp.pcost(1))


def test_errors_of_sums_are_compared_in_units_of_the_largest_amount():
    expected = [np.sqrt(PLAN.variance(("sex", "pay")).mean()), np.sqrt(PLAN.variance(TOTAL).mean()) / 100_000]
    np.testing.assert_allclose(fairness_data(PLAN)["std_err"], expected, rtol=1e-12)


def test_a_page_shows_bins_and_no_error_of_a_sum_beside_errors_of_counts(tmp_path):
    rp.publish.write_report(PLAN, tmp_path / "page.html")
    page = " ".join(re.sub(r"<[^>]+>", "", (tmp_path / "page.html").read_text()).split())
    assert "[0, 20000), [20000, 100000]" in page
    assert "low end" not in page
    assert "standard error of a cell in counts; sums in units of the largest amount" in page
    assert "Of sums it is in units of the largest amount." in page
    largest = re.search(r"the largest is ([0-9.,]+) times the least", page)
    errors = fairness_data(PLAN)["std_err"]
    assert float(largest[1]) == round(errors.max() / errors.min(), 2)
