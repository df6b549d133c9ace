"""A workload of many kinds from the schema to the tables, through files, with exact noise."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dense
import residualplanner as rp

AGE, SEX, PLACE, CHILDREN = range(4)
SIZES = (6, 2, 5, 3)
PLACES = rp.Hierarchy([{"north": ["a", "b"], "south": ["c", "d", "e"]}], total="all")
FAMILY = rp.Custom([[1, 1, 1], [0, 1, 2]], labels=["households", "children"])
#: Each kind written out by hand, one row for each answer.
PREFIX = np.tril(np.ones((6, 6)))
RANGES = np.array(
    [[float(first <= value <= last) for value in range(6)] for first in range(6) for last in range(first, 6)]
)
GROUPS = np.vstack([np.ones(5), [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], np.eye(5)])
SUMS = np.array([[1.0, 1, 1], [0, 1, 2]])
ASKED = [
    ((), {}),
    (("sex", "children"), {SEX: np.eye(2), CHILDREN: np.eye(3)}),
    ({"age": rp.Range(), "sex": rp.Identity()}, {AGE: RANGES, SEX: np.eye(2)}),
    ({"age": rp.Prefix(), "place": PLACES}, {AGE: PREFIX, PLACE: GROUPS}),
    ({"place": PLACES, "sex": rp.Identity(), "children": FAMILY}, {SEX: np.eye(2), PLACE: GROUPS, CHILDREN: SUMS}),
    ({"children": FAMILY}, {CHILDREN: SUMS}),
]
#: Queries that nobody planned for, on attributes that were measured together.
UNASKED = [
    (("age", "sex"), {AGE: np.eye(6), SEX: np.eye(2)}),
    ({"age": rp.Range(), "place": rp.Identity()}, {AGE: RANGES, PLACE: np.eye(5)}),
    (("place",), {PLACE: np.eye(5)}),
]


@dataclass(frozen=True)
class Made:
    """A release that went through files, and the counts that it is about."""

    plan: rp.Plan
    release: rp.Release
    counts: np.ndarray

    def true(self, matrices):
        """The true answers in domain order."""
        return dense.generalized_marginal(SIZES, matrices) @ self.counts.ravel()


def in_domain_order(table, values):
    """Numbers of a table's cells, flat, its attributes in domain order."""
    return values.transpose(np.argsort(table.positions)).ravel()


@pytest.fixture(scope="module", params=["optimal", "orthogonal"])
def made(request, tmp_path_factory) -> Made:
    folder: Path = tmp_path_factory.mktemp("flow")
    domain = rp.Domain({"age": 6, "sex": ["F", "M"], "place": list("abcde"), "children": 3})
    workload = rp.Workload(domain, [query for query, _ in ASKED])
    rp.select(workload, budget=rp.zcdp("0.5"), loss="max", bases=request.param).save(folder / "plan")
    plan = rp.load_plan(folder / "plan")
    random = np.random.default_rng(11)
    records = np.column_stack([random.integers(0, size, 3_000) for size in SIZES])
    rp.measure(plan, records).save(folder / "measurement")
    measurement = rp.load_measurement(folder / "measurement")
    counts = np.zeros(SIZES)
    np.add.at(counts, tuple(records.T), 1)
    return Made(plan, rp.reconstruct(measurement), counts)


@pytest.mark.parametrize(("query", "matrices"), [*ASKED, *UNASKED], ids=str)
def test_estimates_are_within_six_standard_errors_of_the_truth(made, query, matrices):
    table = made.release[query]
    errors = np.abs(in_domain_order(table, table.estimate) - made.true(matrices))
    assert (errors < 6 * in_domain_order(table, table.std_err)).all()


def test_standard_errors_are_not_overstated(made):
    """Were standard errors three times too large, so many cells would not come so near to them."""
    deviations = [
        (in_domain_order(table, table.estimate) - made.true(matrices)) / in_domain_order(table, table.std_err)
        for table, matrices in ((made.release[query], matrices) for query, matrices in ASKED)
    ]
    assert np.sqrt(np.mean(np.concatenate(deviations) ** 2)) > 1 / 3


@pytest.mark.parametrize(("query", "matrices"), [*ASKED, *UNASKED], ids=str)
def test_every_table_is_the_sum_of_the_cells_that_were_measured_with_it(made, query, matrices):
    """Tables of kinds are their matrices times the table of single values, whatever was asked."""
    names = [made.plan.domain.names[position] for position in sorted(matrices)]
    cells = made.release[tuple(names)].estimate
    for axis, position in enumerate(sorted(matrices)):
        cells = np.moveaxis(np.tensordot(matrices[position], cells, axes=(1, axis)), 0, axis)
    table = made.release[query]
    np.testing.assert_allclose(in_domain_order(table, table.estimate), cells.ravel(), atol=1e-7)


def test_ranges_groups_and_totals_agree(made):
    ages = made.release[{"age": rp.Range(), "sex": rp.Identity()}]
    whole = ages.labels[0].index("0 – 5")
    np.testing.assert_allclose(ages.estimate[whole], made.release["sex"].estimate, atol=1e-7)
    places = made.release[{"place": PLACES}]
    assert places.labels == (("all", "north", "south", "a", "b", "c", "d", "e"),)
    np.testing.assert_allclose(places.estimate[0], made.release[()].estimate, atol=1e-7)
    np.testing.assert_allclose(places.estimate[1:3].sum(), places.estimate[0], atol=1e-7)
    np.testing.assert_allclose(places.estimate[5:].sum(), places.estimate[2], atol=1e-7)


def test_the_noise_is_exact_and_within_the_budget(made):
    noise = made.release.measurement.noise
    assert noise.kind == "discrete"
    assert made.plan.pcost <= 1.0
    assert "exact discrete Gaussian noise from the operating system's random bits" in noise.guarantee


def test_no_cell_is_worse_than_the_plan_says(made):
    worst = max(made.release[query].variance.max() for query, _ in ASKED)
    assert worst == pytest.approx(made.plan.max_variance)
    assert made.plan.loss_value == pytest.approx(worst)
