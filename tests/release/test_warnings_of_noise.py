"""A table of noise that promises no privacy says so by itself, wherever it is from and however it is shown."""

import numpy as np
import pytest

import residualplanner as rp

SEEDED = "no guarantee: seeded, not private"


def made(tables, folder, product):
    if product in ("csv", "parts"):
        tables.save(folder / "out", product)
        return rp.load_tables(folder / "out")
    return {"unbiased": lambda found: found, "non-negative": rp.nonnegative, "rounded": rp.rounded}[product](tables)


@pytest.mark.parametrize("product", ["unbiased", "non-negative", "rounded", "csv", "parts"])
@pytest.mark.parametrize("is_seeded", [True, False])
def test_a_table_says_that_its_noise_was_seeded(product, is_seeded, tmp_path):
    plan = rp.select(rp.marginals(rp.Domain({"a": 3, "b": 2}), up_to=2), budget=rp.zcdp(1))
    options = {"noise": "gaussian", "seed": 3} if is_seeded else {}
    measurement = rp.measure(plan, np.zeros((30, 2), int), ledger=rp.Ledger.unlimited("a test"), **options)
    table = made(rp.reconstruct(measurement), tmp_path, product)["a", "b"]
    assert (SEEDED in repr(table)) is is_seeded
    assert (SEEDED in table._repr_html_()) is is_seeded
    assert table.to_frame().attrs == ({"noise": SEEDED} if is_seeded else {})
    assert table.to_xarray().attrs.get("noise", "") == (SEEDED if is_seeded else "")


def test_what_is_made_of_a_release_is_a_table_in_a_notebook():
    plan = rp.select(rp.marginals(rp.Domain({"a": ["<b>", "c"], "d": 2}), up_to=2), budget=rp.zcdp(1))
    measurement = rp.measure(plan, np.zeros((30, 2), int), ledger=rp.Ledger.unlimited("a test"))
    records = rp.synthesize(rp.reconstruct(measurement), records=30)
    html = records._repr_html_()
    assert "and 10 more" in html
    assert html.count("<tr>") == 21
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert records.quality._repr_html_().count("<tr") == len(records.quality.names) + 1
