"""The singular value bound against dense matrices, against mechanisms, and against the printed figures."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks.figures import domain_of
from benchmarks.published import DOMAINS, MAX_VARIANCE, RMSE, WORKLOADS
from dense import Matrix, product
from kinds import kinds_of
from residualplanner import Hierarchy, Identity, Prefix, Range
from residualplanner.more.bounds.svd_bound import _bound_for
from strategies import NAMES, cases

PREFIXES = {"Adult": 5, "CPS": 2, "Loans": 4}


@st.composite
def asked_workloads(draw, most_cells=60):
    """A small workload with several kinds, its matrix with a row for each cell, and the weights of these rows."""
    sizes: list[int] = []
    for _ in range(draw(st.integers(1, 4))):
        sizes.append(draw(st.integers(1, max(1, min(6, most_cells // math.prod(sizes))))))
    kinds = [draw(st.lists(kinds_of(size, ((1.0, *(0.0,) * (size - 1)),)), min_size=1, max_size=2)) for size in sizes]
    queries: dict[tuple, tuple[Matrix, float]] = {}
    for _ in range(draw(st.integers(1, 5))):
        members = sorted(draw(st.sets(st.integers(0, len(sizes) - 1))))
        chosen = {i: draw(st.sampled_from(kinds[i])) for i in members}
        rows = product(chosen[i][1] if i in chosen else np.ones((1, n)) for i, n in enumerate(sizes))
        queries[tuple((NAMES[i], kind) for i, (kind, _) in chosen.items())] = rows, draw(st.floats(0.05, 20))
    try:
        domain = rp.Domain(dict(zip(NAMES, sizes, strict=False)))
        workload = rp.Workload(domain, [dict(query) for query in queries], weights=[w for _, w in queries.values()])
    except rp.errors.WorkloadError:
        assume(False)
    assume(len(workload) == len(queries))  # kinds may be equal that were drawn apart
    dense = np.vstack([rows for rows, _ in queries.values()])
    return workload, dense, np.concatenate([np.full(len(rows), weight) for rows, weight in queries.values()])


def dense_bound(rows: Matrix, weights: np.ndarray) -> float:
    """Eq. (33) as it is written."""
    values = np.linalg.svd(np.sqrt(weights)[:, None] * rows, compute_uv=False)
    return float(values.sum()) ** 2 / rows.shape[1]


def dense_greatest_bound(rows: Matrix, steps: int = 400) -> tuple[float, float]:
    """What the greatest bound over row weights lies between, by a plain multiplicative update."""
    weights, lowest, highest = np.full(len(rows), 1 / len(rows)), 0.0, np.inf
    for _ in range(steps):
        left, values, _ = np.linalg.svd(np.sqrt(weights)[:, None] * rows, full_matrices=False)
        left = left[:, values > 1e-9 * values[0]]
        ratio = (left**2 * values[: left.shape[1]]).sum(axis=1) / weights / values.sum()
        # The root f of the bound is concave and of degree 1/2: f(p)^2 <= f(w)^2 * max ratio for any weights p.
        bound = values.sum() ** 2 / rows.shape[1]
        lowest, highest = max(lowest, bound), min(highest, bound * ratio.max())
        weights = np.maximum(weights * ratio, 1e-30)
        weights /= weights.sum()
    return float(lowest), float(highest)


def random_mechanism(rng: np.random.Generator, size: int) -> Matrix:
    """The privacy matrix of some mechanism of cost 1: positive definite with unit diagonal."""
    spread = rng.normal(size=(size, size)) + np.eye(size) * rng.choice([0.5, 3.0, 10.0])
    K = spread.T @ spread
    scale = 1 / np.sqrt(np.diag(K))
    return K * scale[:, None] * scale


@settings(max_examples=120, deadline=None)
@given(asked_workloads())
def test_the_bound_is_that_of_the_singular_values_or_above(problem):
    workload, rows, weights = problem
    dense = dense_bound(rows, weights)
    assert rp.losses.svd_bound(workload) >= dense * (1 - 1e-6)
    if (workload.uses.sum(axis=1) > 1).all():
        assert rp.losses.svd_bound(workload) == pytest.approx(dense, rel=1e-6)


@settings(max_examples=50, deadline=None)
@given(problem=asked_workloads(most_cells=24), seed=st.integers(0, 2**32 - 1))
def test_the_bounds_are_the_greatest_over_weights_of_all_cells_and_no_mechanism_is_below_them(problem, seed):
    workload, rows, weights = problem
    of_sum, of_maximum = (rp.losses.svd_bound(workload, loss=loss) for loss in ("sum", "max"))
    lowest, highest = dense_greatest_bound(np.sqrt(weights)[:, None] * rows)
    assert lowest * (1 - 1e-4) <= of_maximum <= highest * (1 + 1e-6)
    inverse = np.linalg.inv(random_mechanism(np.random.default_rng(seed), rows.shape[1]))
    variances = np.einsum("ri,ij,rj->r", rows, inverse, rows) * weights
    assert of_sum <= variances.sum() * (1 + 1e-6)
    assert of_maximum <= variances.max() * (1 + 1e-6)


@settings(max_examples=40, deadline=None)
@given(case=cases(), loss=st.sampled_from(["sum", "max"]))
def test_plans_for_marginals_reach_the_bound(case, loss):
    plan = rp.select(case.workload, budget=rp.pcost(1), loss=loss)
    near = 1e-7 if loss == "sum" else 2e-4  # the search for weights ends within a ten-thousandth of the root
    assert rp.losses.svd_bound(case.workload, loss=loss) == pytest.approx(plan.loss_value, rel=near)


@pytest.mark.parametrize(
    "loss", [rp.losses.SumOfVariances("equal"), rp.losses.SumOfVariances("sqrt"), rp.losses.MaxVariance([1, 4, 9])]
)
def test_losses_with_weights_of_their_own_are_reached_too(loss):
    workload = rp.Workload(rp.Domain({"a": 3, "b": 4, "c": 1}), ["a", ("a", "b"), ("b", "c")], weights=[2, 1, 3])
    plan = rp.select(workload, budget=rp.pcost(1), loss=loss)
    assert rp.losses.svd_bound(workload, loss=loss) == pytest.approx(plan.loss_value, rel=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("loss", ["sum", "max"])
def test_the_residual_bases_come_close_from_above(order, loss):
    kinds = {"a": Prefix(), "b": Range(), "c": Hierarchy([{"low": [0, 1, 2], "high": [3, 4]}])}
    workload = rp.marginals(rp.Domain({"a": 6, "b": 4, "c": 5}), order=order, kinds=kinds)
    least = rp.select(workload, budget=rp.pcost(1), loss=loss).loss_value
    assert least * 0.75 < rp.losses.svd_bound(workload, loss=loss) < least


@pytest.mark.parametrize("table", WORKLOADS)
@pytest.mark.parametrize("data", DOMAINS)
def test_figures_for_marginals_are_the_published_ones(table, data):
    workload = rp.marginals(domain_of(DOMAINS[data]), **WORKLOADS[table])
    place = list(DOMAINS).index(data)
    assert round(math.sqrt(rp.losses.svd_bound(workload) / workload.cells.sum()), 3) == RMSE[table][place]
    assert rp.losses.svd_bound(workload, loss="max") == pytest.approx(MAX_VARIANCE[table][place], rel=2e-5, abs=6e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("data", "printed"), [("CPS", 9.603), ("Adult", 25.53), ("Loans", 22.06)])
def test_bounds_on_the_maximum_for_prefix_sums_are_the_printed_ones(data, printed):
    domain = domain_of(DOMAINS[data])
    kinds = {name: Prefix() for name in domain.names[: PREFIXES[data]]}
    bound = rp.losses.svd_bound(rp.marginals(domain, order=1, kinds=kinds), loss="max")
    assert bound == pytest.approx(printed, abs=0.0006 if data == "CPS" else 0.006)


@pytest.mark.parametrize(
    ("order", "equal", "printed"), [(1, 2.120, 2.162), (2, 2.927, 3.081), (3, 2.976, 3.337)], ids=str
)
def test_bounds_for_prefix_sums_on_three_attributes_are_the_printed_ones(order, equal, printed):
    domain = rp.Domain({"a": 8, "b": 8, "c": 8})
    workload = rp.marginals(domain, order=order, kinds=dict.fromkeys("abc", Prefix()))
    importance = rp.losses.SumOfVariances().importance(workload)
    for bound, expected in ((_bound_for(workload, importance, {}), equal), (rp.losses.svd_bound(workload), printed)):
        assert round(math.sqrt(bound / workload.cells.sum()), 3) == expected


def test_hundreds_of_attributes_are_no_obstacle():
    workload = rp.marginals(rp.Domain({f"a{i}": 2 + i % 9 for i in range(120)}), up_to=2)
    for loss in ("sum", "max"):
        reached = rp.select(workload, budget=rp.pcost(1), loss=loss).loss_value
        assert rp.losses.svd_bound(workload, loss=loss) == pytest.approx(reached, rel=2e-5)


def test_a_product_is_bounded_at_any_size():
    domain = rp.Domain({**{f"a{i}": 64 for i in range(10)}, "value": 10**9})
    query = {f"a{i}": Prefix() if i % 2 else Range() for i in range(10)} | {"value": Identity()}
    single = {kind: np.linalg.svd(kind.matrix(64), compute_uv=False).sum() ** 2 / 64 for kind in (Prefix(), Range())}
    expected = single[Prefix()] ** 5 * single[Range()] ** 5 * 1e9
    workload = rp.Workload(domain, [query])
    equal = _bound_for(workload, rp.losses.SumOfVariances().importance(workload), {})
    assert equal == pytest.approx(expected, rel=1e-9)
    assert expected < rp.losses.svd_bound(workload) <= rp.select(workload, budget=rp.pcost(1)).loss_value


def test_queries_of_weight_0_do_not_count():
    domain = rp.Domain({"a": 5, "b": 3})
    with_both = rp.Workload(domain, [{"a": Prefix()}, {"b": Range()}, ("a", "b")], weights=[1, 0, 0])
    alone = rp.Workload(domain, [{"a": Prefix()}])
    for loss in ("sum", "max"):
        expected = rp.losses.svd_bound(alone, loss=loss)
        assert rp.losses.svd_bound(with_both, loss=loss) == pytest.approx(expected, rel=1e-9)


AGES = rp.Domain({"age": 90, "income": 90, "sex": 2})
MANY = rp.Domain({name: 90 for name in NAMES[:6]})


@pytest.mark.parametrize(
    ("workload", "loss", "message"),
    [
        (
            rp.Workload(AGES, [{"age": Prefix(), "income": Prefix()}, {"age": Range()}, {"income": Range()}]),
            "sum",
            r"8,100 rows for the queries of 'age', 'income' together; .*up to 6,000",
        ),
        (
            rp.marginals(MANY, order=5, kinds=dict.fromkeys(NAMES[:6], Prefix())),
            "sum",
            r"of 34,\d{3},\d{3},\d{3} rows",
        ),
        (rp.Workload(AGES, [{"age": Prefix(), "income": Prefix()}, {"age": Range()}]), "max", "up to 2,000"),
        (
            rp.marginals(rp.Domain({"age": 7000, "b": 2}), order=1, kinds={"age": Prefix()}),
            "sum",
            r"'age' has values, 7,000; it is computed up to 6,000",
        ),
        (rp.Workload(rp.Domain({"age": 1599}), [{"age": Range()}]), "max", "a weight for each of 1,279,200 cells"),
        *((rp.Workload(rp.Domain({"a": 2}), ["a"]), loss, "'sum'") for loss in (sum, "least", 3)),
        ([("a",)], "sum", "got a list; make one with marginals"),
    ],
)
def test_what_is_too_large_is_refused_with_the_way_out_and_so_are_other_losses(workload, loss, message):
    with pytest.raises((rp.errors.WorkloadError, rp.errors.ArgumentError), match=message):
        rp.losses.svd_bound(workload, loss=loss)


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_a_plan_says_how_far_it_is_above_the_bound(loss):
    """Whatever the budget and the number of records a person has; marginals' sum of variances is at the bound."""
    domain = rp.Domain({"a": 6, "b": 3, "c": 4})
    prefixes = rp.marginals(domain, up_to=2, kinds={"a": Prefix()})
    found = [
        rp.select(prefixes, budget=rp.pcost(cost), loss=loss, records_per_person=count).above_svd_bound(loss)
        for cost, count in ((1, 1), (7, 1), (0.3, 3))
    ]
    assert found == pytest.approx([found[0]] * 3, abs=1e-6)
    assert 0 < found[0] < 0.2
    assert found[0] == pytest.approx(
        rp.select(prefixes, budget=rp.pcost(1), loss=loss).loss_value / rp.losses.svd_bound(prefixes, loss=loss) - 1,
        abs=1e-6,
    )
    at_bound = rp.select(rp.marginals(domain, up_to=2), budget=rp.pcost(2), loss=loss).above_svd_bound(loss)
    assert at_bound == pytest.approx(0, abs=1e-9 if loss == "sum" else 1e-3)


def test_the_bound_is_not_for_replaced_records():
    plan = rp.select(rp.marginals(rp.Domain({"a": 6, "b": 3}), up_to=2), budget=rp.pcost(1), neighbors="replace")
    with pytest.raises(rp.errors.BudgetError, match="adding or removing"):
        plan.above_svd_bound()
