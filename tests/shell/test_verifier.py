"""The verifier: it is short and needs nothing, finds what is forged, and takes what is honest."""

import ast
import json
import shutil
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from benchmarks import forgeries
from residualplanner.shell import verifier

SOURCE = Path(verifier.__file__)
DOMAIN = rp.Domain({"age": 3, "sex": ["F", "M"], "region": 4})
RECORDS = np.random.default_rng(0).integers(0, [3, 2, 4], (100, 3))
WORKLOAD = rp.marginals(DOMAIN, up_to=2)


def claims(path, *tables):
    """The status, and what is said of each claim."""
    lines = []
    status = verifier.verify(Path(path), tables, lines.append)
    return status, dict(line.split(": ", 1) for line in lines)


def released(folder, workload=WORKLOAD, file_format="csv", **how):
    plan = rp.select(workload, **{"budget": rp.zcdp("0.5"), **how})
    rp.reconstruct(rp.measure(plan, RECORDS)).save(folder, format=file_format)
    return plan


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("verified") / "release"
    released(path)
    return path


@pytest.fixture(scope="module")
def sorts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorts")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(forgeries.honest(folder / "honest", 3))


def test_it_has_at_most_450_lines_of_120_columns_and_needs_nothing_but_the_standard_library():
    lines = SOURCE.read_text().splitlines()
    assert len(lines) <= 450
    assert max(map(len, lines)) <= 120
    nodes = [node for node in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} - {"pyarrow"} <= sys.stdlib_module_names
    assert "from pyarrow" not in SOURCE.read_text().partition("def ")[0]  # it is read only where there is Parquet


def test_it_runs_alone_without_the_package(release, tmp_path):
    alone = shutil.copy(SOURCE, tmp_path)
    run = [sys.executable, "-I", "-S", str(alone)]  # without any installed package
    found = subprocess.run([*run, str(release)], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert [line for line in found.stdout.splitlines() if ": verified" not in line] == []
    assert subprocess.run([*run, str(tmp_path / "absent")], check=False).returncode == 2
    assert subprocess.run(run, check=False).returncode == 2


def test_honest_releases_of_every_sort_are_verified_as_they_are_and_written_again(sorts, tmp_path):
    for path in sorts.values():
        assert forgeries.is_accepted(path, tmp_path / "again")
        assert all(
            said.startswith(("verified", "not checked: this program knows no proof"))
            for said in claims(path)[1].values()
        )


@pytest.mark.cases(10)
@pytest.mark.parametrize("way", forgeries.WAYS, ids=lambda way: way.__name__)
def test_forgeries_are_found(way, sorts, tmp_path):
    chance, found = forgeries.random.Random(way.__name__), 0
    for path in sorts.values():
        copy = tmp_path / path.name
        shutil.copytree(path, copy)
        try:
            way(forgeries.Forged(copy, chance))
        except forgeries.NotThisOne:
            continue
        assert claims(copy)[0] == 1
        found += 1
    assert found


@pytest.mark.parametrize(
    ("way", "claim"),
    [
        (forgeries.all_noise_lowered, "privacy cost"),
        (forgeries.budget_understated, "privacy cost"),
        (forgeries.bound_understated, "distance"),
        (forgeries.sentence_changed, "privacy statement"),
        (forgeries.answers_changed, "tables/"),
        (forgeries.margin_shrunk, "tables/"),
        (forgeries.error_table_changed, "tables/"),
        (forgeries.file_lost_or_added, "files"),
    ],
)
def test_the_claim_that_is_forged_is_the_one_that_is_not_verified(way, claim, sorts, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(sorts["marginals"], copy)
    way(forgeries.Forged(copy, forgeries.random.Random(2)))
    wrong = [what for what, said in claims(copy)[1].items() if said.startswith("NOT VERIFIED")]
    assert wrong
    assert wrong[0].startswith(claim)


def test_the_exact_cost_is_the_one_that_the_library_states(sorts):
    for path in sorts.values():
        noise = json.loads((path / "manifest.json").read_text())["noise"]
        plan = verifier.StatedPlan(*verifier.read_archive(path / "release.plan", "plan"))
        stated = Fraction(noise["pcost"])
        assert plan.cost == stated or (plan.is_replaced and stated * (1 - Fraction(1, 10**9)) < plan.cost <= stated)


def test_variances_are_those_of_the_library(sorts):
    for path in sorts.values():
        plan, stated = (
            rp.load_plan(path / "release.plan"),
            verifier.StatedPlan(*verifier.read_archive(path / "release.plan", "plan")),
        )
        for query, (members, kinds) in zip(plan.workload, stated.queries, strict=True):
            names = [
                plan.domain.names[i]
                for i, kind in zip(members, kinds, strict=True)
                if plan.workload.kinds[kind].is_axis
            ]
            axes = [[name for name in query if name in names].index(name) for name in names]
            expected = plan.variance(query).transpose(axes).ravel()
            assert [variance for variance, _ in stated.table(members, kinds).values()] == pytest.approx(expected)


def test_dual_weights_prove_the_distance_and_without_them_it_is_not_checked(tmp_path):
    plan = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.pcost(1), loss="max")
    plan.save(tmp_path / "max.plan")
    again = rp.load_plan(tmp_path / "max.plan")
    assert plan.dual_weights.sum() == pytest.approx(1)
    assert np.array_equal(again.dual_weights, plan.dual_weights)
    status, said = claims(tmp_path / "max.plan")
    assert (status, said["distance"][:8]) == (0, "verified")
    rp.Plan(**{name: getattr(plan, name) for name in plan.__dataclass_fields__} | {"dual_weights": None}).save(
        tmp_path / "older.plan"
    )
    status, said = claims(tmp_path / "older.plan")
    assert (status, said["distance"][:11]) == (0, "not checked")


def test_a_plan_whose_cost_is_not_checked_is_not_verified(tmp_path, monkeypatch):
    rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.pcost(1), neighbors="replace").save(tmp_path / "one.plan")
    assert claims(tmp_path / "one.plan")[0] == 0
    monkeypatch.setattr(verifier, "MOST_TERMS", 1)
    status, said = claims(tmp_path / "one.plan")
    assert (status, said["privacy cost"][:11]) == (1, "not checked")


def test_weights_that_prove_nothing_are_found(tmp_path):
    plan = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.pcost(1), loss="max")
    fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    even = np.full(len(plan.workload), 1 / len(plan.workload))
    for weights in (even, 2 * plan.dual_weights):
        path = tmp_path / f"{weights[0]}.plan"
        rp.Plan(**fields | {"dual_weights": weights}).save(path)
        status, said = claims(path)
        assert (status, said["distance"][:12]) == (1, "NOT VERIFIED")


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_equal_attributes_that_are_counted_together_have_the_distance_that_all_sets_have(loss, tmp_path):
    names = [f"a{i}" for i in range(6)]
    equal = rp.Domain(dict(zip(names, [2, 3, 2, 3, 3, 4], strict=True)))
    for name, workload in {
        "complete": rp.marginals(equal, up_to=3),
        "incomplete": rp.Workload(equal, [names[:3], names[2:5], names[5:], ()]),
    }.items():
        rp.select(workload, budget=rp.pcost(1), loss=loss).save(tmp_path / f"{name}.plan")
        stated = verifier.StatedPlan(*verifier.read_archive(tmp_path / f"{name}.plan", "plan"))
        assert stated.is_complete == (name == "complete")
        together = stated.distance()
        stated.is_complete = False
        assert stated.distance() == together


def test_a_column_of_two_values_is_none_whose_basis_is_kept_layer_by_layer(tmp_path):
    pairs = rp.Hierarchy([{f"g{pair}": [2 * pair, 2 * pair + 1] for pair in range(450)}])
    for name, values, kind, said in (("two", 2, rp.Proportions(), "verified"), ("many", 900, pairs, "layer by layer")):
        made = rp.select(rp.Workload(rp.Domain({"area": values}), [{"area": kind}]), budget=rp.zcdp(1))
        made.save(tmp_path / f"{name}.plan")
        line = claims(tmp_path / f"{name}.plan")[1]["plan"]
        assert said in line


def test_a_number_that_is_changed_in_parquet_is_found(tmp_path):
    released(tmp_path / "release", file_format="parquet")
    path = tmp_path / "release" / "tables" / "age.parquet"
    assert claims(tmp_path / "release", "tables/age.parquet")[1]["tables/age.parquet"] == "verified: 3 cells"
    table = pd.read_parquet(path)
    table.loc[1, "estimate"] += 1
    table.to_parquet(path)
    forgeries.Forged(tmp_path / "release", forgeries.random.Random(0)).rehash()
    status, said = claims(tmp_path / "release")
    assert (status, said["tables/age.parquet"][:26]) == (1, "NOT VERIFIED: ['estimate']")


def test_what_is_not_checked_is_said(tmp_path, monkeypatch):
    released(tmp_path / "parquet", file_format="parquet")
    monkeypatch.setattr(verifier, "find_spec", lambda name: None)
    status, said = claims(tmp_path / "parquet")
    assert (status, said["tables/age.parquet"][:11]) == (0, "not checked")
    plan = rp.select(WORKLOAD, budget=rp.zcdp("0.5"))
    two = [rp.measure(plan, RECORDS) for _ in range(2)]
    rp.reconstruct(two).save(tmp_path / "two", format="csv")
    status, said = claims(tmp_path / "two")
    assert (status, said["measurement"][:11]) == (0, "not checked")


@pytest.mark.parametrize("file_format", ["parts", "workbook"])
def test_formats_that_are_not_read_are_not_wrong(file_format, tmp_path):
    released(tmp_path / "release", file_format=file_format)
    assert claims(tmp_path / "release")[0] == 0


def test_numbers_that_are_no_estimates_are_not_taken_for_such(tmp_path):
    plan = rp.select(WORKLOAD, budget=rp.zcdp("0.5"))
    rp.nonnegative(rp.reconstruct(rp.measure(plan, RECORDS))).save(tmp_path / "release", format="csv")
    status, said = claims(tmp_path / "release")
    assert (status, said["tables/age.csv"]) == (0, "not checked: its numbers are no unbiased estimates")


def test_estimates_that_are_left_out_are_not_wrong_and_margins_under_another_name_are(tmp_path):
    plan = rp.select(WORKLOAD, budget=rp.zcdp("0.5"))
    release, path = rp.reconstruct(rp.measure(plan, RECORDS)), tmp_path / "release"
    release.save(path, format="csv", quality=rp.publish.Quality(suppress=True))
    assert claims(path)[0] == 0
    forged = forgeries.Forged(path, forgeries.random.Random(0))
    table = path / "tables/age.csv"
    table.write_bytes(table.read_bytes().replace(b'"moe"', b'"margin"'))
    forged.rehash()
    status, said = claims(path)
    assert (status, said["tables/age.csv"]) == (1, "NOT VERIFIED: it has other columns than tables have")


def test_equal_attributes_that_are_not_treated_alike_are_counted_one_by_one(tmp_path):
    equal = rp.marginals(rp.Domain({"a": 3, "b": 3, "c": 2}), up_to=2)
    plan = rp.select(equal, budget=rp.pcost(1))
    noise = plan.noise_variances.copy()
    noise[1:3] *= [1.5, 1 / 1.5]
    noise *= 1.5  # no more than the budget
    fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    rp.Plan(**fields | {"noise_variances": noise}).save(tmp_path / "uneven.plan")
    status, said = claims(tmp_path / "uneven.plan")
    assert (status, said["distance"][:12]) == (1, "NOT VERIFIED")


def test_a_damaged_file_has_a_message_and_no_traceback(tmp_path):
    path = tmp_path / "a.plan"
    rp.select(WORKLOAD, budget=rp.zcdp("0.5")).save(path)
    whole, chance = path.read_bytes(), forgeries.random.Random(1)
    for content in (b"", b"PK", whole[:500], whole[:-1], whole.replace(b"sizes", b"sized"), chance.randbytes(5000)):
        path.write_bytes(content)
        if content != whole:
            assert claims(path)[0] == 1


def test_a_value_that_is_a_group_by_itself_has_one_row(tmp_path):
    """A label for entries that are no values is a group of its own, and so is a last value beside bands of two."""
    values = rp.Attribute("a", labels=["u", "v", "w", "x"], unknown="Other", missing="Other")
    nested = rp.Hierarchy([{"first": ["one", "w"], "x": ["x"]}, {"one": ["u", "v"], "w": ["w"], "x": ["x"]}])
    domain = rp.Domain({"a": values, "b": 5, "c": ["u", "v", "w", "x"]})
    kinds = {"a": rp.Hierarchy([2]), "b": rp.Hierarchy([2]), "c": nested}
    workload = rp.Workload(domain, [{name: kind} for name, kind in kinds.items()])
    plan = rp.select(workload, budget=rp.zcdp(1))
    rp.reconstruct(rp.measure(plan, np.zeros((20, 3), dtype=int))).save(tmp_path / "r", format="csv")
    status, said = claims(tmp_path / "r")
    assert status == 0
    assert [line for what, line in said.items() if what != "distance" and not line.startswith("verified")] == []
