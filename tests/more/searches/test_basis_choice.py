"""The bases that are chosen: never worse than orthogonal ones, shared where they may be, near the best there are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import (
    Custom,
    Domain,
    Hierarchy,
    Identity,
    Prefix,
    Range,
    Workload,
    load_plan,
    marginals,
    pcost,
    select,
)
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.more.searches import attribute_grams
from residualplanner.more.searches import basis_choice as choice
from residualplanner.more.searches import joint_choice as joint
from residualplanner.more.searches.rounding import rounded_matrix

ONE = pcost(1)


@st.composite
def workloads(draw, most=7):
    """Random queries of random kinds over few small attributes, one attribute in several kinds too."""
    count = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, most), min_size=count, max_size=count))
    domain = Domain({f"a{number}": size for number, size in enumerate(sizes)})
    kinds = st.sampled_from([Prefix(), Range(), Identity(), Hierarchy([2]), Hierarchy([3], leaves=False)])
    queries = []
    for _ in range(draw(st.integers(1, 4))):
        chosen = draw(st.lists(st.integers(0, count - 1), unique=True, max_size=3))
        query = {}
        for number in chosen:
            kind = draw(kinds)
            is_small = isinstance(kind, Hierarchy) and sizes[number] < 5
            query[f"a{number}"] = Prefix() if is_small else kind
        queries.append(query)
    weights = draw(st.lists(st.sampled_from([0.1, 1.0, 5.0]), min_size=len(queries), max_size=len(queries)))
    return Workload(domain, queries, weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "most", "allowed"),  # integers; the search for the maximum ends there
    [("sum", 7, 1e-4), (rp.losses.MaxVariance(), 5, 3e-4)],
    ids=["sum", "max"],
)
@given(data=st.data())
@settings(max_examples=30)
def test_optimal_bases_are_never_worse_than_orthogonal_ones(loss, most, allowed, data):
    workload = data.draw(workloads(most))
    ours, orthogonal = (select(workload, budget=ONE, loss=loss, bases=word) for word in ("optimal", "orthogonal"))
    assert ours.loss_value <= orthogonal.loss_value * (1 + allowed)


@given(workload=workloads(), seed=st.integers(0, 999))
@settings(max_examples=25)
def test_no_bases_nearby_are_better(workload, seed):
    """Every basis moved a little at random, in integers of more digits: the loss does not fall."""
    plan = select(workload, budget=ONE)
    generator = np.random.default_rng(seed)
    for scale in (1e-3, 1e-2):
        moved = {}
        for name, basis in plan.bases.items():
            if basis.matrix is None or len(basis.matrix) < basis.size - 1:
                continue
            S = basis.matrix / np.sqrt(float(basis.pcost))
            moved[name] = integer_basis(rounded_matrix(S + scale * generator.normal(size=S.shape), 20), "given")
        other = select(workload, budget=ONE, bases={**plan.bases, **moved})
        assert other.loss_value >= plan.loss_value * (1 - 2e-4)


def test_equal_attributes_in_equal_company_share_a_basis():
    domain = Domain({"a": 8, "b": 8, "c": 8, "d": 5})
    workload = marginals(domain, order=2, kinds=dict.fromkeys("abc", Prefix()))
    for loss in ("sum", "max"):
        bases = select(workload, budget=ONE, loss=loss).bases
        assert bases["a"].matrix.tolist() == bases["b"].matrix.tolist() == bases["c"].matrix.tolist()
        assert bases["d"].matrix is None


def test_attributes_of_one_size_may_have_different_bases():
    """Warning 2 of docs/mathematics.md section 10."""
    domain = Domain({"a": 8, "b": 8, "c": 20})
    workload = Workload(domain, [{"a": Prefix()}, {"b": Prefix(), "c": Prefix()}])
    bases = select(workload, budget=ONE).bases
    assert bases["a"].matrix.tolist() != bases["b"].matrix.tolist()


def test_nothing_is_measured_that_no_query_depends_on():
    domain = Domain({"a": 12})
    basis = select(Workload(domain, [{"a": Hierarchy([4], leaves=False)}]), budget=ONE).bases["a"]
    assert basis.matrix.shape == (2, 12)
    assert (np.diff(basis.matrix.reshape(2, 3, 4), axis=2) == 0).all()


def test_a_custom_matrix_of_low_rank_costs_hardly_more_than_its_rows():
    """A line through 30 values: total and slope.  Two numbers are known to cost at most what two measured rows do."""
    line = Custom(np.vstack([np.ones(30), np.linspace(-1, 1, 30)]))
    plan = select(Workload(Domain({"a": 30}), [{"a": line}]), budget=ONE)
    assert plan.loss_value <= 4.01  # (1 + 1)**2: both rows have largest entry 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Prefix(), Range()], ids=lambda kind: kind.name)
def test_merging_values_loses_little(kind, monkeypatch):
    workload = marginals(Domain({"a": 150, "b": 3}), up_to=2, kinds={"a": kind})
    direct = select(workload, budget=ONE)
    monkeypatch.setattr(attribute_grams, "COARSE_VALUES", 20)
    assert direct.loss_value * (1 - 1e-5) <= select(workload, budget=ONE).loss_value <= direct.loss_value * 1.005


@pytest.mark.slow
def test_the_largest_attributes_are_within_5_percent_and_say_so(monkeypatch, tmp_path):
    """The steps that attributes of thousands of values get, on 150 values, where the optimum is known."""
    workload = marginals(Domain({"a": 150, "b": 2}), up_to=2, kinds={"a": Prefix()})
    direct = select(workload, budget=ONE).loss_value
    monkeypatch.setattr(attribute_grams, "COARSE_VALUES", 20)
    monkeypatch.setattr(choice, "_STEPS", ((20, 20), (65, 30), (10_000, 8)))
    monkeypatch.setattr(choice, "_FULL_VALUES", 100)
    plan = select(workload, budget=ONE)
    assert plan.loss_value <= direct * 1.05
    plan.save(tmp_path / "plan")
    assert load_plan(tmp_path / "plan").basis_summary == {"near_optimal": 1, "subtraction": 1}


@pytest.mark.slow
def test_few_rounds_for_large_attributes_are_near_many(monkeypatch):
    workload = marginals(Domain({"a": 120, "b": 3}), up_to=2, kinds={"a": Prefix()})
    many = select(workload, budget=ONE, loss="max").max_variance
    orthogonal = select(workload, budget=ONE, loss="max", bases="orthogonal").max_variance
    monkeypatch.setattr(joint, "_EFFORT", ((10, 150, 12), (2048, 14, 4)))
    assert many < select(workload, budget=ONE, loss="max").max_variance < many + (orthogonal - many) / 4
    monkeypatch.setattr(joint, "_EFFORT", ((10, 150, 12), (20, 14, 4)))
    assert select(workload, budget=ONE, loss="max").max_variance < orthogonal


@pytest.mark.slow
def test_rows_that_share_weights_lose_little(monkeypatch):
    workload = marginals(Domain({"a": 30, "b": 25, "c": 4}), order=2, kinds={"a": Prefix(), "b": Range()})
    each = select(workload, budget=ONE, loss="max").max_variance
    monkeypatch.setattr(joint, "_WEIGHTS", 4000)
    assert select(workload, budget=ONE, loss="max").max_variance < each * 1.08
