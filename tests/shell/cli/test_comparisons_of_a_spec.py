"""Comparisons that a spec asks for: made of the release, and refused before anything is measured or charged."""

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from command_line import outcome

SPEC = """
budget = {{ zcdp = "0.5" }}
ledger = {{ file = "people.ledger", budget = {{ zcdp = "2" }} }}
[domain]
region = ["north", "south"]
ill = ["yes", "no"]
[[workload]]
up_to = 2
[output]
format = "csv"
level = 0.9
{more}
"""
RATIO = """
[[output.comparisons]]
name = "ill-per-1000"
kind = "ratio"
query = ["region"]
where = { ill = "yes" }
to = { query = ["region"] }
factor = 1000
simultaneous = true
[[output.comparisons]]
name = "order"
kind = "ranks"
query = ["ill", "region"]
"""
SINCE = """
[[output.comparisons]]
name = "since"
kind = "change"
query = ["region"]
where = { ill = "yes" }
to = { release = "first" }
[[output.comparisons]]
name = "less"
kind = "difference"
query = ["region"]
to = { release = "first", where = { ill = "no" } }
"""


def entry(*lines):
    return "\n".join(["[[output.comparisons]]", 'name = "one"', *lines])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC.format(more=RATIO))
    cells = [["north", "yes"], ["north", "no"], ["south", "yes"], ["south", "no"]]
    records = np.repeat(cells, [30, 70, 60, 40], axis=0)
    pd.DataFrame(records, columns=["region", "ill"]).to_csv(tmp_path / "records.csv", index=False)
    return tmp_path


def release(folder, name, *options):
    return outcome("release", folder / "spec.toml", folder / "records.csv", "-o", folder / name, *options)


def test_the_comparisons_of_a_spec_are_those_of_its_tables(folder):
    result = release(folder, "first")
    assert result.exit_code == 0, result.output
    assert "comparison-*.csv have 2 comparisons" in result.output
    (folder / "spec.toml").write_text(SPEC.format(more=SINCE))
    result = release(folder, "second", "--nonnegative", "--again")
    assert result.exit_code == 0, result.output
    first, second = (rp.load_tables(folder / name) for name in ("first", "second"))
    old, new = rp.reconstruct(first), rp.reconstruct(second)
    ill, well = (rp.Among(("region",), where={"ill": label}) for label in ("yes", "no"))
    ratio = rp.statistics.ratio(old[ill], old["region",], factor=1000, level=0.9, simultaneous=True)
    expected = [
        ("ill-per-1000", first, ratio),
        ("order", first, rp.statistics.ranks(old["ill", "region"], level=0.9)),
        ("since", second, rp.statistics.change(new[ill], old[ill], level=0.9)),
        ("less", second, rp.statistics.difference(new["region",], old[well], level=0.9)),
    ]
    for name, saved, compared in expected:
        pd.testing.assert_frame_equal(saved.numbers.comparison(name), compared.to_frame(), check_exact=True)


def test_reconstruct_makes_those_of_another_spec(folder):
    (folder / "spec.toml").write_text(SPEC.format(more=""))
    assert release(folder, "first").exit_code == 0
    (folder / "spec.toml").write_text(SPEC.format(more=RATIO))
    made = outcome("reconstruct", folder / "first", "-o", folder / "again", "--spec", folder / "spec.toml")
    assert made.exit_code == 0, made.output
    assert list(rp.load_tables(folder / "again").numbers.described.comparisons) == ["ill-per-1000", "order"]


MOMENTS = """
budget = { zcdp = "0.5" }
[domain]
sex = ["F", "M"]
pay = { numeric = { low = 0, high = 40, squares = true } }
age = { numeric = { low = 15, high = 75, squares = true } }
[[workload]]
queries = [{ sex = "identity", pay = "moments", age = "moments" }, { sex = "identity", pay = "moments" }]
[output]
format = "csv"
[[output.comparisons]]
name = "together"
kind = "correlation"
of = ["pay", "age"]
by = ["sex"]
[[output.comparisons]]
name = "slopes"
kind = "regression"
outcome = "pay"
on = ["sex"]
"""


def test_a_correlation_and_a_regression_are_those_of_the_release(tmp_path):
    (tmp_path / "spec.toml").write_text(MOMENTS)
    chance = np.random.default_rng(0)
    records = {"sex": chance.choice(["F", "M"], 500), "pay": chance.integers(0, 41, 500)}
    pd.DataFrame(records | {"age": records["pay"] + 20}).to_csv(tmp_path / "records.csv", index=False)
    result = outcome("release", tmp_path / "spec.toml", tmp_path / "records.csv", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    saved = rp.load_tables(tmp_path / "out")
    release, statistics = rp.reconstruct(saved), rp.statistics
    for name, expected in (
        ("together", statistics.correlation(release, "pay", "age", ["sex"])),
        ("slopes", statistics.regression(release, "pay", ["sex"])),
    ):
        pd.testing.assert_frame_equal(saved.numbers.comparison(name), expected.to_frame(), check_exact=True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (entry('kind = "rank"', "query = []"), "number 1, kind: expected 'difference', 'ratio'"),
        (entry('kind = "ratio"', 'query = ["ill"]'), "number 1: a ratio needs to = { ... }"),
        (entry('kind = "ranks"', 'query = ["ill"]', "to = { query = [] }"), "'to' does not belong to the kind 'ranks'"),
        (entry('kind = "change"', 'query = ["ill"]', "to = {}"), "number 1, to: say what to compare with"),
        (entry('kind = "change"', 'query = ["ill"]', "factor = 2", "to = { query = [] }"), "'factor' does not belong"),
        (entry('kind = "ranks"', 'query = ["age"]'), "number 1: unknown attribute 'age'"),
        (entry('kind = "ratio"', "query = []", 'to = { query = ["ill"] }'), "the first table has no attribute"),
        (entry('kind = "change"', 'query = ["ill"]', 'to = { release = "old" }'), "old has no manifest.json"),
        (
            entry('kind = "ratio"', 'query = { ill = "prefix" }', 'to = { query = ["ill"] }'),
            "number 1: the two tables have other labels of 'ill'",
        ),
        (entry('kind = "ranks"', 'query = ["ill"]').replace("one", "a b"), "letters from A to Z, digits"),
        (entry('kind = "correlation"', 'of = ["ill", "region"]'), "number 1: 'ill' has no amounts to correlate"),
        (entry('kind = "correlation"', 'of = ["ill"]'), "number 1, of: "),
        (entry('kind = "regression"', 'outcome = "ill"'), "number 1: a regression needs on = [...]"),
        (entry('kind = "regression"', 'outcome = "ill"', 'on = ["region"]', "query = []"), "'query' does not belong"),
        (RATIO + RATIO, "number 3: an earlier one is called 'ill-per-1000', too"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_charged(folder, more, message):
    (folder / "spec.toml").write_text(SPEC.format(more=more))
    result = release(folder, "out")
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
    assert not (folder / "people.ledger").exists()
    assert not (folder / "out").exists()
