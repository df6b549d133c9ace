"""The checks of bases and plans pass those of the package, and find every fault that is planted in one."""

from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from random_plans import basis_of, plan_by_hand, plan_by_set, sample_workload
from residualplanner import Domain, Identity, Prefix, Range, Workload, testing
from residualplanner.method.kron.axis_maps import matrix_map
from residualplanner.more.nested.axis_maps import NestedLayer
from residualplanner.more.nested.nested import nested_basis

NESTED = nested_basis(
    [NestedLayer(np.array([2]), np.array([3, -2])), NestedLayer(np.array([2, 1]), np.array([2, 1]))],
    np.array([2, 0, 1]),
    "given",
)
RIGHT = {
    "subtraction of one value": basis_of(1, None),
    "subtraction": basis_of(4, None),
    "all values": basis_of(3, [[1, 0, 2], [-1, 3, 0]]),
    "few answers": basis_of(4, [[1, 1, -1, -1]]),
    "large": basis_of(3, [[2**30, 1, 0], [1, -(2**30) - 1, 1]]),
    "nested": NESTED,
    "searched for": rp.select(Workload(Domain({"a": 6}), [{"a": Prefix()}]), budget=rp.pcost(1)).bases["a"],
}


@pytest.mark.parametrize("name", RIGHT)
def test_every_sort_of_basis_passes(name):
    testing.check_basis(RIGHT[name])


def with_faults(noun, **faults):
    """The same object of a class in which some members say something else."""
    members = {name: property(lambda _, found=found: found) for name, found in faults.items()}
    own = {each.name: getattr(noun, each.name) for each in fields(noun) if each.init and each.name not in faults}
    faulty = type("Faulty", (type(noun),), members)
    made = object.__new__(faulty)
    for name, value in own.items():
        object.__setattr__(made, name, value)
    return made


B = basis_of(3, [[1, 0, 2], [-1, 3, 0]])  # columns of squared lengths 2, 9 and 4
PAIRS = B.extreme_pairs
FAULTS = {
    "`pcost` is 8, and the longest column has the squared length 9: a record would cost more": {"pcost": Fraction(8)},
    "`pcost` is 10, .* more noise would be added than is needed": {"pcost": Fraction(10)},
    "`column_squares` are .*'2', '9', '9'.*, and of the columns .*'2', '9', '4'": {
        "column_squares": [Fraction(2), Fraction(9), Fraction(9)]
    },
    "no row of `extreme_pairs` surpasses .* of two values: replacing one would cost more": {"extreme_pairs": PAIRS[:0]},
    "a row of `extreme_pairs` is of no two values": {"extreme_pairs": np.vstack([PAIRS, [9.0, 9.0, -9.0]])},
    "`farthest_pair` is 7 apart, and some values are 17": {"farthest_pair": np.array([[9.0, 4.0, 3.0]])},
    "`random_pair` at": {"random_pair": (5.0, 0.0)},
    "`largest_entry` is 2, not 3; integers of 64 bits": {"largest_entry": 2},
    "the maps before and after the noise have shapes": {"answers": 1},
    "must have integers for entries, so that its noise is exact": {"before_noise": matrix_map(B.matrix / 2)},
    "the rows of 3 answers, the total among them, have rank 2": {
        "before_noise": matrix_map(np.array([[1.0, 0, 3], [2, 0, 6]])),
        "largest_entry": 6,
    },
    "`reconstruction` at": {"reconstruction": matrix_map(np.eye(3))},
    "`u` and `G` at": {"u": np.ones(3) / 3, "reconstruction": B.reconstruction},
    "`reconstruction_transposed` at": {"reconstruction_transposed": matrix_map(np.eye(3))},
    "whether two values are in one group at": {"value_groups": np.array([0, 0, 1])},
    "`spans_rows` is False for its own rows": {"spans_rows": lambda _: False},
    "the answers of .*'own'.* to single records at .*`integer_maps`, is not": {
        "integer_maps": basis_of(3, [[1, 0, 2], [-1, 3, 1]]).integer_maps
    },
    "the variances divided by those of least squares": {"_spread": 1.01 * B.G},
}


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_of_a_basis_is_found_and_named(words):
    with pytest.raises(AssertionError, match=words):
        testing.check_basis(with_faults(B, **FAULTS[words]))


def test_rows_that_too_few_answers_are_said_to_span_are_found():
    few = with_faults(basis_of(4, [[1, 1, -1, -1]]), spans_rows=lambda _: True)
    with pytest.raises(AssertionError, match="`spans_rows` is True for single values, of which 1 answers"):
        testing.check_basis(few)
    with pytest.raises(rp.errors.WorkloadError, match="the domain has 1,002 cells"):
        testing.check_basis(basis_of(501, None))


# Plans.

AMOUNTS = Domain({"sex": 2, "pay": rp.Attribute("pay", numeric=rp.Numeric(0, 40, bins=[10]), missing="none")})
PLANS = {
    "marginals": (rp.marginals(Domain({"a": 3, "b": 2, "one": 1}), up_to=3), {}),
    "replaced": (rp.marginals(Domain({"a": 3, "b": 2}), up_to=2), {"neighbors": "replace", "records_per_person": 3}),
    "replaced, in prefixes": (Workload(Domain({"a": 4, "b": 2}), [{"a": Prefix()}, "b"]), {"neighbors": "replace"}),
    "largest variance": (Workload(Domain({"a": 4, "b": 2}), [{"a": Range()}, ("a", "b")]), {"loss": "max"}),
    "by set": (Workload(Domain({"a": 4, "b": 2}), [{"a": Range()}, ("a", "b")]), {"bases": "optimal_by_set"}),
    "weights": (
        rp.marginals(Domain({"a": 3, "b": 2}, weight=rp.Weight("w", maximum=3, unit=0.5)), up_to=2),
        {"records_per_person": 2},
    ),
    "amounts": (
        Workload(AMOUNTS, [{"sex": Identity(), "pay": rp.Mean()}, {"pay": rp.Sum("bin")}, ("pay",)]),
        {"neighbors": "replace"},
    ),
    "some and thresholds": (
        Workload(
            Domain({"a": 3, "b": 2, "c": 2}),
            [rp.Threshold(("c", "a", "b"), 2), rp.Among({"a": Prefix()}, where={"b": [1]}), ("c", "a")],
        ),
        {},
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_every_sort_of_plan_passes(name):
    workload, options = PLANS[name]
    testing.check_plan(rp.select(workload, budget=rp.zcdp("0.5"), **options))


def test_a_plan_passes_that_nobody_searched_for():
    testing.check_plan(plan_by_set(sample_workload(), 3))


def some_plan(basis, **options):
    workload = Workload(Domain({"a": 3, "b": 2}), [{"a": Identity(), "b": Identity()}])
    strategy = rp.strategies.constant_strategy(workload.closure, [basis, basis_of(2, None)])
    return plan_by_hand(workload, strategy, np.array([1.0, 2.0, 0.5, 3.0]), **options)


def test_a_plan_whose_basis_hides_its_longest_column_is_found():
    testing.check_plan(some_plan(B))
    with pytest.raises(AssertionError, match=r"of one person of {'a': 1, 'b': 0} cost pcost .* the plan states"):
        testing.check_plan(some_plan(with_faults(B, pcost=Fraction(8))))


def test_a_charge_that_is_less_than_the_cost_or_more_than_the_plan_states_is_found():
    hidden = with_faults(some_plan(with_faults(B, pcost=Fraction(8))), pcost=100.0)
    with pytest.raises(AssertionError, match=r"cost pcost .*, and `measure` charges"):
        testing.check_plan(hidden)
    generous = with_faults(some_plan(with_faults(B, pcost=Fraction(10))), pcost=some_plan(B).pcost)
    with pytest.raises(AssertionError, match=r"`measure` charges .*, and the plan states"):
        testing.check_plan(generous)
    plan = some_plan(B)
    object.__setattr__(plan, "budget", rp.pcost(1))
    with pytest.raises(AssertionError, match="is more than the budget"):
        testing.check_plan(plan)


def test_estimates_that_are_not_the_truth_without_noise_are_found():
    biased = with_faults(B, reconstruction=matrix_map(1.001 * B.reconstruction.matrix))
    with pytest.raises(AssertionError, match=r"the estimates of \('a', 'b'\) for a record of each cell at"):
        testing.check_plan(some_plan(biased))


def test_a_plan_that_replaces_records_and_hides_the_farthest_values_is_found():
    replaced = {"neighbors": rp.privacy.Neighbors("replace", 2)}
    testing.check_plan(some_plan(B, **replaced))
    near = with_faults(B, extreme_pairs=np.array([[9.0, 4.0, 3.0]]))
    with pytest.raises(AssertionError, match=r"of one person of .* replaced by ones of {'a': .*} cost pcost"):
        testing.check_plan(some_plan(near, **replaced))


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"pcost": 1.0}, r"cost pcost 2\.\d+, and the plan states 1; a basis states too little"),
        ({"average_variances": np.ones(1)}, r"the average variance of \('a', 'b'\): expected .*, got 1"),
        ({"max_variances": np.ones(1)}, r"the largest variance of \('a', 'b'\): expected .*, got 1"),
        ({"variance": lambda query: np.ones((3, 2))}, "the variances divided by those of least squares"),
        ({"covariance": lambda query: np.eye(6)}, "the correlations of"),
    ],
)
def test_a_plan_that_states_another_cost_or_error_is_found(faults, words):
    plan = rp.select(Workload(Domain({"a": 3, "b": 2}), [("a", "b")]), budget=rp.pcost(2.5))
    with pytest.raises(AssertionError, match=words):
        testing.check_plan(with_faults(plan, **faults))
