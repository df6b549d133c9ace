"""Amounts and sums on the command line: in specs, plans, releases, files and reports."""

import re

import numpy as np
import pandas as pd
import pytest

from residualplanner import Identity, Mean, load_plan

SPEC = """\
budget = { zcdp = "0.5" }
[domain]
sex = ["F", "M"]
[domain.pay]
numeric = { low = 0, high = 200000, unit = 100, bins = [50000], outside = "clip" }
title = "Salary"
unit = "US dollars"
missing = "Not stated"
[[workload]]
queries = [["sex", "pay"], { sex = "identity", pay = "sum" }, { pay = { kind = "sum", by = "bin" } }]
"""


@pytest.fixture
def people(folder):
    chance = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": chance.choice(["F", "M"], 400), "pay": chance.lognormal(10.8, 0.6, 400).round(2)})
    frame.loc[:20, "pay"] = np.nan
    frame.to_csv(folder / "people.csv", index=False)
    return frame


STATISTICS = (
    SPEC[: SPEC.index("[[workload]]")]
    + """\
[[workload]]
queries = [["sex", "pay"]]
kinds = { pay = "mean" }
[[workload]]
queries = [{ pay = { kind = "mean", between = [20000, 90000] } }, { sex = "identity", pay = "quantiles" }]
[[workload]]
queries = [{ pay = { kind = "quantiles", probabilities = [0.5] } }]
"""
)


def test_plans_tell_of_means_in_the_unit_of_the_amounts_and_releases_write_them(folder, people, run):
    (folder / "pay.toml").write_text(STATISTICS)
    told = run("plan", "pay.toml").stdout
    plan = load_plan(folder / "pay.plan")
    variance = plan.variance({"sex": Identity(), "pay": Mean()})[:, 1:].max()
    margin = 1.96 * 200_000 * variance**0.5 / 1000
    found = re.search(r"sex × pay: ± (\S+) US dollars", told)
    assert float(found[1].replace(",", "")) == pytest.approx(margin, rel=1e-3)
    assert "Means  " in told
    (folder / "sums.toml").write_text(SPEC)
    assert "errors of sums in units of the largest amount" in " ".join(run("plan", "sums.toml").stdout.split())
    said = run("release", "pay.toml", "people.csv", "-o", "out", "--format", "csv", status=0).stdout
    assert "statistics/ has the means and the quantiles\n" in said
    names = ["csv-metadata.json", "pay@mean2.csv", "pay@quantiles2.csv", "sex.pay@mean1.csv", "sex.pay@quantiles1.csv"]
    assert sorted(path.name for path in (folder / "out" / "statistics").iterdir()) == names
    found = pd.read_csv(folder / "out" / "statistics" / "sex.pay@mean1.csv")
    truth = people["pay"].clip(0, 200_000).groupby(people["sex"]).mean()
    assert (np.abs(found["mean"].to_numpy() - truth.to_numpy()) < 6 * found["std_err"].to_numpy()).all()
    assert (
        "statistics/ has the means and the quantiles"
        in run("reconstruct", "out", "-o", "adjusted", "--nonnegative").stdout
    )
    assert list((folder / "adjusted" / "statistics").iterdir())


PAYROLL = """
budget = {{ zcdp = 0.5 }}

[domain]
job = {jobs}
pay = {{ numeric = {{ low = 0, high = 100, unit = 1, bins = {bins} }} }}

[[workload]]
queries = [{{ job = "identity", pay = "{kind}" }}]
"""


@pytest.mark.parametrize("command", ["plan", "release"])
@pytest.mark.parametrize(
    ("jobs", "bins", "kind", "is_refused"),
    [(960, 4, "mean", True), (1100, 4, "identity", False), (2100, 1, "sum", False)],
)
def test_non_negative_amounts_that_would_not_be_found_are_refused_before_anything_is_read(
    folder, run, command, jobs, bins, kind, is_refused
):
    (folder / "pay.toml").write_text(PAYROLL.format(jobs=jobs, bins=bins, kind=kind))
    (folder / "pay.csv").write_text("job,pay\n0,50\n")
    options = {"plan": ["-o", "p"], "release": ["pay.csv", "-o", "out", "--dry-run"]}[command]
    with (folder / "pay.toml").open("a") as file:
        file.write("[output]\nnonnegative = true\n")
    told = run(command, "pay.toml", *options)
    words = "in several bins, or with squares, are found for up to 4,000 cells, and these have 4,800"
    assert (told.exit_code, words in told.stderr) == ((2, True) if is_refused else (0, False)), told.output
