"""Proportions by group: a kind of query, errors against explicit matrices, and everywhere where statistics stand."""

import json

import numpy as np
import pandas as pd
import pytest

import dense
import residualplanner as rp
from random_plans import mechanism
from residualplanner.method.queries.json import kind_from_json

IDENTITY = rp.Identity()
VOTES = ["yes", "no", "unknown"]
DOMAIN = rp.Domain({"region": ["north", "south"], "vote": VOTES, "pay": rp.Numeric(0, 100, bins=[40])})
VALID = {"region": IDENTITY, "vote": rp.Proportions(["yes", "no"])}
RECORDS = pd.DataFrame(
    {
        "region": np.repeat(["north", "south"], [600, 400]),
        "vote": np.tile(np.repeat(VOTES, [5, 3, 2]), 100),
        "pay": np.arange(1000) % 101.0,
    }
)


def release_of(queries, *, seed=1, budget=0.5):
    plan = rp.select(rp.Workload(DOMAIN, queries), budget=rp.zcdp(budget))
    return rp.reconstruct(rp.measure(plan, RECORDS, noise="gaussian", seed=seed))


@pytest.mark.parametrize("queries", [[VALID], [("region", "vote")], [{**VALID, "pay": IDENTITY}]])
def test_proportions_and_their_errors_are_those_of_explicit_matrices(queries):
    release = release_of(queries)
    found = rp.statistics.proportions(release, "vote", ["region"], among=("yes", "no"))
    cells = release["region", "vote"].estimate[:, :2]
    np.testing.assert_allclose(found.estimate, cells / cells.sum(axis=1, keepdims=True), rtol=1e-9)
    rows = np.kron(np.eye(2), np.kron(np.eye(3)[:2], np.ones((1, DOMAIN["pay"].size))))
    covariance = dense.least_squares_covariance(*mechanism(release.plan), rows)
    for region in range(2):
        for value in range(2):
            gradient = np.zeros(4)
            gradient[2 * region : 2 * region + 2] = -found.estimate[region, value]
            gradient[2 * region + value] += 1
            std_err = np.sqrt(gradient @ covariance @ gradient) / found.total[region, value]
            assert found.std_err[region, value] == pytest.approx(std_err, rel=1e-6)
    frame = found.to_frame()
    assert frame[["region", "value"]].to_numpy().tolist()[:2] == [["north", "yes"], ["north", "no"]]


@pytest.mark.parametrize("count", [1, 10, 1000])
@pytest.mark.cases(1)
def test_intervals_of_proportions_cover_as_often_as_they_say_in_groups_of_any_size(count):
    domain = rp.Domain({"group": 2, "vote": 2})
    records = np.concatenate([np.tile([[0, 0]], (count, 1)), np.tile([[0, 1]], (3 * count, 1)), [[1, 1]]])
    plan = rp.select(rp.Workload(domain, [{"group": IDENTITY, "vote": rp.Proportions()}]), budget=rp.zcdp(0.05))
    runs, covered = 200, 0
    for seed in range(runs):
        release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))
        found = rp.statistics.proportions(release, "vote", ["group"], level=0.9)
        covered += bool(found.low[0, 0] <= 0.25 <= found.high[0, 0])
        assert (found.low >= 0).all()
        assert (found.high <= 1).all()
    assert covered / runs >= 0.9 - 3 * np.sqrt(0.09 / runs)


def test_amounts_have_the_proportions_of_their_bins():
    release = release_of([{"pay": rp.Proportions()}], budget=100)
    found = rp.statistics.proportions(release, "pay")
    truth = [(RECORDS["pay"] < 40).mean(), (RECORDS["pay"] >= 40).mean()]
    np.testing.assert_allclose(found.estimate, truth, atol=0.01)
    assert [*found.to_frame()["value"]] == ["[0, 40)", "[40, 100]"]


@pytest.mark.parametrize("style", ["csv", "parquet", "workbook", "parts"])
def test_files_have_proportions_as_they_are_here_and_beside_published_tables_the_unbiased_ones(tmp_path, style):
    release = release_of([VALID, ("pay",)])
    here = rp.statistics.proportions(release, "vote", ["region"], among=("yes", "no"))
    for name, own, ending in (("plain", release, ""), ("nonnegative", rp.nonnegative(release), "_unbiased")):
        own.save(tmp_path / name, style)
        saved = rp.load_tables(tmp_path / name).numbers.statistic(VALID)
        for column in ("std_err", "low", "high"):
            np.testing.assert_allclose(saved[column + ending], getattr(here, column).ravel(), rtol=1e-12)
        assert saved["value"].tolist() == ["yes", "no"] * 2
        if own is release:
            np.testing.assert_allclose(saved["proportion"], here.estimate.ravel(), rtol=1e-12)


@pytest.mark.parametrize("style", ["csv", "parts"])
@pytest.mark.parametrize("adjust", [rp.nonnegative, lambda release: rp.rounded(rp.nonnegative(release))])
def test_beside_non_negative_counts_proportions_are_theirs_and_add_up_to_1(tmp_path, adjust, style):
    domain = rp.Domain({"group": 6, "vote": VOTES})
    records = pd.DataFrame({"group": [0, 1, 2, 3, 4] * 8, "vote": ["yes"] * 38 + ["no"] * 2})
    query = {"group": IDENTITY, "vote": rp.Proportions()}
    plan = rp.select(rp.Workload(domain, [query, ("group",)]), budget=rp.zcdp(0.02))
    release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=3))
    assert rp.statistics.proportions(release, "vote", ["group"]).estimate.sum(axis=1).tolist()[0] > 1.1
    tables = adjust(release)
    tables.save(tmp_path / "out", style, with_unbiased=True)
    saved = rp.load_tables(tmp_path / "out").numbers.statistic(query)
    share, count, total = (saved[each + tables.product.ending] for each in ("proportion", "count", "total"))
    has_records = total > 0
    np.testing.assert_allclose(share[has_records], (count / total)[has_records], rtol=1e-9)
    np.testing.assert_allclose(share[has_records].groupby(saved["group"]).sum(), 1, rtol=1e-9)
    assert 0 < has_records.sum() < len(saved)
    assert share[~has_records].isna().all()
    assert "proportion_unbiased" not in saved
    assert {"count_unbiased", "low_unbiased"} <= set(saved)


@pytest.mark.parametrize("style", ["csv", "parquet", "workbook", "parts"])
def test_files_have_the_meanings_of_the_values_beside_their_labels(tmp_path, style):
    domain = rp.Domain({"region": 2, "vote": rp.Attribute("vote", labels={1: "Yes", 2: "No", 3: "Unknown"})})
    query = {"region": IDENTITY, "vote": rp.Proportions([3, 1])}
    release = rp.reconstruct(
        rp.measure(rp.select(rp.Workload(domain, [query]), budget=rp.zcdp(1)), np.zeros((9, 2), int))
    )
    release.save(tmp_path / "out", style)
    saved = rp.load_tables(tmp_path / "out")
    found = saved.numbers.statistic(query)
    assert list(found)[:4] == ["region", "value", "value_meaning", "proportion"]
    assert found["value"].tolist() == ["1", "3"] * 2
    assert found["value_meaning"].tolist() == ["Yes", "Unknown"] * 2
    assert saved[query].to_frame()["vote_meaning"].tolist()[:3] == ["count", "Yes", "Unknown"]


def test_metadata_of_csv_files_have_the_type_of_every_column(tmp_path):
    domain = rp.Domain(
        {"vote": rp.Attribute("vote", labels={"y": "Yes", "": "No answer"}), "pay": rp.Numeric(0, 9, bins=3)}
    )
    workload = rp.Workload(domain, [{"vote": rp.Proportions()}, {"pay": rp.Quantiles(0.5)}])
    release = rp.reconstruct(rp.measure(rp.select(workload, budget=rp.zcdp(1)), np.zeros((9, 2), int)))
    release.save(tmp_path / "out", "csv")
    about = json.loads((tmp_path / "out" / "statistics" / "csv-metadata.json").read_text())["tables"]
    of = {column["titles"]: column for table in about for column in table["tableSchema"]["columns"]}
    types = {
        name: of[name]["datatype"] for name in ("value", "value_meaning", "probability", "proportion", "too_noisy")
    }
    assert list(types.values()) == ["string", "string", "double", "double", "boolean"]
    assert of["value"]["null"] == []
    assert "meaning of the label" in of["value_meaning"]["dc:description"]


def test_a_group_is_not_called_like_the_column_of_meanings(tmp_path):
    domain = rp.Domain({"value_meaning": 2, "vote": rp.Attribute("vote", labels={1: "Yes", 2: "No"})})
    workload = rp.Workload(domain, [{"value_meaning": IDENTITY, "vote": rp.Proportions()}])
    release = rp.reconstruct(rp.measure(rp.select(workload, budget=rp.zcdp(1)), np.zeros((9, 2), int)))
    with pytest.raises(rp.errors.WorkloadError, match="value_meaning"):
        release.save(tmp_path / "out", "csv")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["count", "N"], ["count", '"count"', '"N"', 'not "count"', 'not "N"']),
        (["Y", "not Y"], ["count", '"Y"', '"not Y"', 'not "Y"', 'not "not Y"']),
        (["counts", "not"], ["count", "counts", "not", "not counts", "not not"]),
    ],
)
def test_what_is_counted_has_a_label_of_its_own_though_values_are_called_alike(tmp_path, labels, expected):
    domain = rp.Domain({"vote": labels})
    plan = rp.select(rp.Workload(domain, [{"vote": rp.Proportions()}]), budget=rp.zcdp(100))
    release = rp.reconstruct(rp.measure(plan, np.repeat([[0], [1]], [30, 70], axis=0)))
    release.save(tmp_path / "out", "csv")
    assert pd.read_csv(tmp_path / "out" / "tables" / "vote@proportions.csv")["vote"].tolist() == expected
    table = release[{"vote": rp.Proportions()}]
    assert [round(table.at(vote=label).estimate, -1) for label in expected] == [100, 30, 70, 70, 30]
    assert rp.statistics.proportions(release, "vote").to_frame()["value"].tolist() == labels
    rp.publish.write_sdmx(tmp_path / "out", tmp_path / "sdmx")
    assert len((tmp_path / "sdmx" / "tables" / "vote@proportions.csv").read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("attribute", "kind", "message"),
    [
        ("vote", rp.Proportions(["yes"]), "needs two values or more for proportions"),
        ("vote", rp.Proportions(["perhaps", "no"]), "perhaps"),
        ("one", rp.Proportions(), "needs two values or more"),
    ],
)
def test_proportions_that_say_nothing_are_refused(attribute, kind, message):
    domain = rp.Domain({"vote": VOTES, "one": 1})
    with pytest.raises((rp.errors.WorkloadError, rp.errors.DomainError), match=message):
        rp.Workload(domain, [{attribute: kind}])


def test_a_selection_of_proportions_is_refused_and_one_in_another_attribute_is_not():
    for name, value in (("vote", "yes"), ("pay", "[0, 40)")):
        with pytest.raises(rp.errors.WorkloadError, match=f"proportions of '{name}' cannot be about some of its own"):
            rp.Workload(DOMAIN, [{name: rp.Selection(value, of=rp.Proportions())}])
    among = rp.Among({"vote": rp.Proportions()}, where={"region": "north"})
    release = release_of([among], budget=100)
    found = rp.statistics.proportions(release, "vote", rp.Among((), where={"region": "north"}))
    np.testing.assert_allclose(found.estimate, [0.5, 0.3, 0.2], atol=0.01)


def test_a_plan_s_file_has_the_kind_and_a_wrong_one_is_refused():
    tied = rp.Proportions(["yes", "no"]).on(DOMAIN["vote"])
    value = json.loads(json.dumps(tied.to_json()))
    assert kind_from_json(value) == tied
    assert tied.written == rp.Proportions(["yes", "no"]) != rp.Proportions()
    for change in ({"cells": [[0], [0]]}, {"cells": [[0], [9]]}, {"cells": [[0]]}, {"cells": [[], [1]]}, {"size": -1}):
        with pytest.raises(rp.errors.FileFormatError):
            kind_from_json(value | change)
