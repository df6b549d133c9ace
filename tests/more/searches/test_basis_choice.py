"""The bases that are chosen: never worse than orthogonal ones, shared where they may be, near the best there are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from more.limits import limited
from random_plans import basis_of
from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Workload, marginals, pcost, select
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
        query = {f"a{number}": (sizes[number], draw(kinds)) for number in chosen}
        small = {name for name, (size, kind) in query.items() if isinstance(kind, Hierarchy) and size < 5}
        queries.append({name: Prefix() if name in small else kind for name, (_, kind) in query.items()})
    weights = draw(st.lists(st.sampled_from([0.1, 1.0, 5.0]), min_size=len(queries), max_size=len(queries)))
    return Workload(domain, queries, weights=weights)


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "most", "allowed"),  # integers; the search for the maximum ends there
    [("sum", 7, 1e-4), (rp.losses.MaxVariance(), 4, 3e-4)],
    ids=["sum", "max"],
)
@given(data=st.data())
@settings(max_examples=12)
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
            moved[name] = basis_of(basis.size, rounded_matrix(S + scale * generator.normal(size=S.shape), 20))
        other = select(workload, budget=ONE, bases={**plan.bases, **moved})
        assert other.loss_value >= plan.loss_value * (1 - 2e-4)


def test_attributes_share_a_basis_where_kinds_and_company_are_equal_and_only_there():
    """Warning 2 of docs/mathematics.md section 10."""
    domain = Domain({"a": 8, "b": 8, "c": 8, "d": 5})
    workload = marginals(domain, order=2, kinds=dict.fromkeys("abc", Prefix()))
    for loss in ("sum", "max"):
        bases = select(workload, budget=ONE, loss=loss).bases
        assert bases["a"].matrix.tolist() == bases["b"].matrix.tolist() == bases["c"].matrix.tolist()
        assert bases["d"].matrix is None
    workload = Workload(Domain({"a": 8, "b": 8, "c": 20}), [{"a": Prefix()}, {"b": Prefix(), "c": Prefix()}])
    bases = select(workload, budget=ONE).bases
    assert bases["a"].matrix.tolist() != bases["b"].matrix.tolist()


def test_nothing_is_measured_that_no_query_depends_on():
    workload = Workload(Domain({"a": 12}), [{"a": Hierarchy([4], leaves=False)}])
    basis = select(workload, budget=ONE).bases["a"]
    assert basis.matrix.shape == (2, 12)
    assert (np.diff(basis.matrix.reshape(2, 3, 4), axis=2) == 0).all()


def test_a_custom_matrix_of_low_rank_costs_hardly_more_than_its_rows():
    """A line through 30 values: total and slope.  Two numbers are known to cost at most what two measured rows do."""
    line = Custom(np.vstack([np.ones(30), np.linspace(-1, 1, 30)]))
    plan = select(Workload(Domain({"a": 30}), [{"a": line}]), budget=ONE)
    assert plan.loss_value <= 4.01  # (1 + 1)**2: both rows have largest entry 1


@pytest.mark.slow
def test_merging_values_loses_little_and_the_largest_attributes_are_within_5_percent_and_say_so(tmp_path):
    """The steps that attributes of hundreds and of thousands of values get, on 80, where the optimum is known."""
    ranges, prefixes = (
        marginals(Domain({"a": 80, "b": 3}), up_to=2, kinds={"a": kind}) for kind in (Range(), Prefix())
    )
    direct = [select(workload, budget=ONE).loss_value for workload in (ranges, prefixes)]
    with limited("more.searches.attribute_grams", COARSE_VALUES=20):
        for workload, least in zip((ranges, prefixes), direct, strict=True):
            assert least * (1 - 1e-5) <= select(workload, budget=ONE).loss_value <= least * 1.005
        with limited("more.searches.basis_choice", _STEPS=((20, 20), (65, 30), (10_000, 8)), _FULL_VALUES=70):
            plan = select(prefixes, budget=ONE)
    assert plan.loss_value <= direct[1] * 1.05
    plan.save(tmp_path / "plan")
    assert rp.load_plan(tmp_path / "plan").basis_summary == {"near_optimal": 1, "subtraction": 1}
