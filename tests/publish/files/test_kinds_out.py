"""What a table of any kind says of its errors is the explicit covariance, and what is saved is what was there."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release, index_of
from random_plans import IDENTITY, plan_of, planned, plans, plans_by_set, random_matrix, table_covariance
from replayed_measuring import integers_of, noise_frozen
from residualplanner.method.queries.json import kind_from_json
from residualplanner.publish.files.file_names import parts_of_kinds

COLUMNS = ["estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"]


@given(plan=planned(most_cells=30) | plans(most_cells=30, most_queries=2) | plans_by_set())
@settings(max_examples=150)
def test_variances_covariances_and_combinations_are_those_of_eq_26(plan):
    release = any_release(plan)
    for query in plan.workload:
        table, covariance = release[query], table_covariance(plan, query)
        largest = np.abs(covariance).max()
        np.testing.assert_allclose(table.covariance(), covariance, atol=1e-9 * largest)
        np.testing.assert_allclose(table.variance.ravel(), np.diag(covariance), atol=1e-9 * largest)
        assert table.variance.shape == table.std_err.shape == table.estimate.shape
        weights = np.random.default_rng(1).normal(size=table.estimate.shape)
        combined = table.combine(weights)
        assert combined.estimate == pytest.approx(float((weights * table.estimate).sum()), rel=1e-9, abs=1e-9)
        expected = float(weights.ravel() @ covariance @ weights.ravel())
        assert combined.variance == pytest.approx(expected, rel=1e-9, abs=1e-9 * largest)


#: One attribute queried in five kinds, two pairs of one name; one for its values only; both sorts of basis.
FIRST, SECOND = (
    rp.Custom([[1, 1, 1, 1], [1, 0, 0, 0]]),
    rp.Custom([[1, 1, 1, 1], [0, 1, 0, 0]], labels=["all", "it, too"]),
)
GROUPS = [rp.Hierarchy([{"x": low, "y": high}]) for low, high in (([0, 1], [2, 3]), ([0], [1, 2, 3]))]
FIRST_BASIS = random_matrix(4, 3, 1)
SEVERAL = plan_of(
    (4, 3, 1),
    (FIRST_BASIS, None, None),
    [
        {"a": kind, **dict.fromkeys("bc"[:others], IDENTITY)}
        for kind in (IDENTITY, rp.Prefix(), FIRST, SECOND, *GROUPS)
        for others in (0, 1, 2)
    ],
)
RELEASE = any_release(SEVERAL)


@pytest.fixture(scope="module", params=["parquet", "csv"])
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "out"
    RELEASE.save(folder, format=request.param)
    return folder


def test_the_index_says_which_kinds_a_file_answers(saved):
    found = {(row["query"], row["kinds"], row["file"].split("/")[1].rsplit(".", 1)[0]) for row in index_of(saved)}
    assert ("a", "prefix", "a@prefix") in found
    assert {name for query, kinds, name in found if query == "a" and kinds == "custom"} == {"a@custom1", "a@custom2"}
    assert {name for query, _, name in found if query == "a × b"} == {
        "a.b", "a@prefix.b", "a@custom1.b", "a@custom2.b", "a@hierarchy1.b", "a@hierarchy2.b"
    }  # fmt: skip


def test_the_manifest_says_what_is_queried_and_was_measured(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    assert tuple(map(kind_from_json, manifest["plan"]["kinds"])) == SEVERAL.workload.kinds
    pcost = max(sum(int(x) ** 2 for x in column) for column in FIRST_BASIS.T)
    assert manifest["plan"]["bases"] == {
        "a": {"family": "given", "answers": 3, "pcost": str(pcost)},
        "b": {"family": "subtraction", "answers": 2, "pcost": "2/3"},
        "c": {"family": "subtraction", "answers": 0, "pcost": "0"},
    }


@given(names=st.lists(st.sampled_from(["a", "a@prefix", "prefix", "a%40", "a@custom1"]), min_size=1, unique=True))
def test_names_that_look_like_kinds_do_not_collide_with_them(names):
    from residualplanner.publish.files.file_names import encoded_names

    kinds = [IDENTITY, rp.Prefix(), FIRST, SECOND]
    parts = [part for name in encoded_names(names) for part in parts_of_kinds(name, kinds)]
    assert len(set(parts)) == len(names) * len(kinds)


def test_wide_integers_with_any_basis_are_saved_and_reconstructed(tmp_path, monkeypatch):
    """Counts so large that 64 bits do not hold their products: stored, loaded and divided without loss."""
    sizes, most = (4, 3), 2**40
    plan = plan_of(sizes, (random_matrix(4, 3, 1, most=2**30), None), [{"a": rp.Prefix(), "b": IDENTITY}])
    table = np.random.default_rng(1).integers(0, most, sizes)
    noise_frozen(monkeypatch)
    saved = rp.measure(plan, {("a", "b"): table})
    saved.save(tmp_path / "file")
    loaded = rp.load_measurement(tmp_path / "file")
    assert loaded.residuals.wide
    before, after = integers_of(saved), integers_of(loaded)
    assert all(before[members].tolist() == after[members].tolist() for members in before)
    found = rp.reconstruct(loaded)[{"a": rp.Prefix(), "b": IDENTITY}].estimate
    np.testing.assert_allclose(found, np.cumsum(table, axis=0), rtol=1e-6)
