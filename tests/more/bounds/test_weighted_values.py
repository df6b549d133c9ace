"""The singular value bound with weights of the values: against dense matrices, and against printed figures."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks.figures import domain_of
from benchmarks.published import DOMAINS
from residualplanner.more.bounds import blocks
from residualplanner.more.bounds.blocks import arrows_of, trace_of_pairs
from residualplanner.more.bounds.svd_bound import sum_bound

NUMERICAL = {"CPS": 2, "Loans": 4, "Adult": 5}


def dense_bound(workload: rp.Workload, weights: dict[int, np.ndarray]) -> float:
    """Eq. (33) with weights of the values as it is written: singular values of the weighted rows of all queries."""
    sizes = workload.domain.sizes
    roots = [np.sqrt(weights.get(i, np.full(n, 1 / n))) for i, n in enumerate(sizes)]
    rows = []
    for query, weight in zip(workload, workload.weights.tolist(), strict=True):
        kinds = dict(query) if isinstance(query, dict) else dict.fromkeys(query, rp.Identity())
        factors = [
            kinds[name].matrix(n) if name in kinds else np.ones((1, n))
            for name, n in zip(workload.domain.names, sizes, strict=True)
        ]
        rows.append(math.sqrt(weight) * reduce(np.kron, factors) * reduce(np.kron, roots))
    return float(np.linalg.svd(np.vstack(rows), compute_uv=False).sum()) ** 2


KINDS = st.sampled_from([rp.Identity(), rp.Prefix(), rp.Range(), rp.Hierarchy([2])])


@st.composite
def small_workloads(draw: st.DrawFn) -> rp.Workload:
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
    names = "abc"[: len(sizes)]
    chosen = st.dictionaries(st.sampled_from(names), KINDS, min_size=1)
    queries = draw(
        st.lists(chosen, min_size=1, max_size=5, unique_by=lambda query: str(sorted(query.items(), key=str)))
    )
    weights = draw(st.lists(st.floats(0.1, 10), min_size=len(queries), max_size=len(queries)))
    return rp.Workload(rp.Domain(dict(zip(names, sizes, strict=True))), queries, weights=weights)


@settings(max_examples=80, deadline=None)
@given(workload=small_workloads(), determinants=st.sampled_from([0, 10_000_000]))
def test_with_any_weights_of_values_it_is_that_of_the_singular_values(workload, determinants):
    importance = rp.losses.SumOfVariances().importance(workload)
    bases = rp.select(workload, budget=rp.pcost(1), bases="optimal", time=0).strategy.of_attributes
    weights = {i: basis.value_weights for i, basis in enumerate(bases) if basis.value_weights is not None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_DETERMINANTS", determinants)  # by pairs of attributes, or by all eigenvalues
        for values in ({}, weights):
            found, dense = sum_bound(workload, importance, values, None, math.inf), dense_bound(workload, values)
            assert dense * (1 - 1e-5) <= found <= dense * (1 + 1e-7)


def test_any_number_of_arrows_of_two_attributes_has_its_trace():
    rng = np.random.default_rng(3)
    heads = {}
    for attribute, size in enumerate((6, 5, 4)):
        for kind in range(2):
            head = np.diag(rng.uniform(0.5, 2, size))
            head[0, 1:] = head[1:, 0] = rng.uniform(-0.3, 0.3, size - 1) * (kind == 0)
            heads[attribute, kind] = head
    patterns = [(), ((0, 0),), ((0, 0), (1, 0)), ((0, 1), (1, 0)), ((0, 0), (2, 0)), ((0, 1), (1, 1), (2, 1))]
    entries = rng.uniform(0.2, 2, len(patterns))
    total = np.zeros((6, 5, 4, 6, 5, 4))
    corners = [np.diag(np.eye(size)[0]) for size in (6, 5, 4)]
    for pattern, entry in zip(patterns, entries, strict=True):
        chosen = dict(pattern)
        one, two, three = (heads[i, chosen[i]] if i in chosen else corner for i, corner in enumerate(corners))
        total += entry * np.einsum("ad,be,cf->abcdef", one, two, three)
    values = np.linalg.eigvalsh(total.reshape(120, 120))
    arrows = arrows_of(heads, patterns)
    assert arrows is not None
    trace = trace_of_pairs(patterns, entries, arrows, 1.0)
    assert trace == pytest.approx(np.sqrt(np.maximum(values, 0)).sum(), rel=1e-6)
    assert arrows_of(heads, [((0, 0), (1, 0), (2, 1))]) is None
    assert arrows_of({(0, 0): np.ones((3, 3))}, [((0, 0),)]) is None


@pytest.mark.parametrize(("data", "kind", "most"), [("CPS", rp.Prefix(), 0.004), ("Loans", rp.Range(), 0.005)])
def test_plans_with_one_kind_for_each_attribute_are_proved_to_be_close_to_the_best(data, kind, most):
    domain = domain_of(DOMAINS[data])
    kinds = dict.fromkeys(domain.names[: NUMERICAL[data]], kind)
    plan = rp.select(rp.marginals(domain, up_to=2, kinds=kinds), budget=rp.pcost(1))
    assert 0 < plan.suboptimality < most


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "kind", "printed"),
    [("CPS", rp.Prefix(), 2.3007), ("Loans", rp.Range(), 6.8774), ("Adult", rp.Prefix(), 6.5130)],
)
@pytest.mark.cases(1)
def test_sums_of_single_attributes_beside_counts_of_pairs_are_close_to_the_best_by_default(data, kind, printed):
    domain = domain_of(DOMAINS[data])
    numerical = domain.names[: NUMERICAL[data]]
    workload = rp.Workload(domain, [*({name: kind} for name in numerical), *rp.marginals(domain, order=2)])
    plan = rp.select(workload, budget=rp.pcost(1))
    assert plan.rmse / (1 + plan.suboptimality) == pytest.approx(printed, abs=1e-4)
    assert plan.suboptimality < 0.004
    assert "smaller than without it" in plan.status
