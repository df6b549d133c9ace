"""The check of a kind passes all kinds of the package, and finds every fault that is planted in one."""

import numpy as np
import pytest
from scipy import sparse

import residualplanner as rp
from kinds import tied as tied_kind
from residualplanner import Attribute, Bins, Hierarchy, Identity, Matching, Numeric, Prefix, Range, Selection, testing
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.rows import Centered
from residualplanner.more.queries.json import READERS

STATE = Attribute("state", labels={"CA": "California", "OR": "Oregon", "TX": "Texas"}, unknown="Other")
AGE = Attribute("age", bins=Bins([0, 18, 65, 120]), missing="Not stated")
PAY = Attribute("pay", numeric=Numeric(0, 40, bins=[10, 30]), missing="none")
SQUARES = Attribute("pay", numeric=Numeric(0, 40, bins=[10], squares=True), missing="none")
REGIONS = Hierarchy([{"West": ["CA", "OR"], "South": ["TX"], "else": ["Other"]}], total="USA")
RIGHT = [
    (Identity(), [1, 3, STATE, AGE, PAY]),
    (Prefix(), [1, 4, AGE, PAY]),
    (Range(), [1, 4, AGE]),
    (REGIONS, [STATE]),
    (Hierarchy([2]), [4, AGE, PAY]),
    (rp.Custom([[1, 1, 1], [0, 1, 2]]), [3]),
    (Matching(1), [3]),
    (Matching(2), [2]),
    (Selection(["CA", "TX"]), [STATE]),
    (Selection(["CA", "TX"], Identity()), [STATE]),
    (rp.Proportions(), [3, AGE, PAY]),
    (rp.Proportions(["CA", "TX"]), [STATE]),
    (rp.Quantiles(0.25, 0.5), [AGE, PAY, SQUARES]),
    (rp.Sum(), [PAY, SQUARES]),
    (rp.Sum("bin"), [PAY, SQUARES]),
    (rp.Mean((10, 20)), [PAY, SQUARES]),
    (rp.statistics.StandardDeviation(), [SQUARES]),
    (rp.statistics.Moments(), [SQUARES]),
]


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("kind", "attributes"), RIGHT, ids=lambda value: repr(value) if isinstance(value, Kind) else ""
)
def test_every_kind_of_the_package_passes(kind, attributes):
    testing.check_kind(kind, *attributes)


def test_every_kind_of_the_package_is_among_them():
    words = set()
    for kind, attributes in RIGHT:
        every = [Attribute("own", given) if isinstance(given, int) else given for given in attributes]
        ties = [kind] if kind.at_least else [tied_kind(kind, attribute) for attribute in every]
        words |= {tied.to_json()["kind"] for tied in ties}
    assert words == {"identity", "prefix", "range", "custom", *READERS}


class EveryOther(Kind):
    """All values, and each second one: no kind of the package, with all that a kind needs."""

    name = "every other"

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def sparse_rows(self, size):
        return sparse.csr_array(np.concatenate([np.ones((1, size)), np.eye(size)[::2]]))

    def labels(self, attribute):
        return ("all", *attribute.value_labels[::2])


def rows_by_definition(size):
    return [[1] * size] + [[int(column == row) for column in range(size)] for row in range(0, size, 2)]


def test_a_kind_of_ones_own_passes_that_has_no_more_than_it_needs():
    testing.check_kind(EveryOther(), 2, 5, STATE, rows=rows_by_definition)


def first_row_doubled(method):
    """The method of `Kind` with a slip in its first entry."""

    def changed(self, *given):
        found = np.array(getattr(Kind, method)(self, *given), dtype=float)
        found.flat[0] += 1e-6 * np.abs(found).max()
        return found

    return changed


def written_to(self, array, axis):
    found = Kind.apply(self, array, axis).copy()
    array[...] = 0
    return found


def centered_elsewhere(self, size):
    rest, constant = Kind.centered(self, size)
    return Centered(rest, constant + 1)


FAULTS = {
    "the matrix of .* at \\[0, 0\\]: expected 1, got 2; it is not the definition": {
        "sparse_rows": lambda self, size: 2 * EveryOther.sparse_rows(self, size)
    },
    "`sparse_rows` at": {"matrix": lambda self, size: 2 * EveryOther.sparse_rows(self, size).toarray()},
    "needs a column for each of 4 values": {"sparse_rows": lambda self, size: EveryOther().sparse_rows(size + 1)},
    "4 values, finite": {"matrix": lambda self, size: np.full((2, size), np.nan)},
    "`rows` is 4, and the matrix has 3 rows": {"rows": lambda self, size: size},
    "`gram` at \\[0, 0\\]": {"gram": first_row_doubled("gram")},
    "`weighted_gram` at": {"weighted_gram": first_row_doubled("weighted_gram")},
    "`row_forms` at": {"row_forms": first_row_doubled("row_forms")},
    "`augmented_gram` at": {"augmented_gram": first_row_doubled("augmented_gram")},
    "`augmented_gram` of weights": {
        "augmented_gram": lambda self, size, _weights=None: Kind.augmented_gram(self, size)
    },
    "the sum of the parts of `centered`": {"centered": centered_elsewhere},
    "the answers of `apply` along axis 0 at": {"apply": first_row_doubled("apply")},
    "`apply` gives shape": {"apply": lambda self, array, axis: np.moveaxis(Kind.apply(self, array, axis), axis, 0)},
    "do not write to it": {"apply": written_to},
    "`equal_columns` at": {"equal_columns": lambda self, size: np.arange(size)},
    "`exchangeable_values` has one number for the values 0 and 1": {
        "exchangeable_values": lambda self, size: np.zeros(size, dtype=int)
    },
    "has 4 labels, and 3 answers; give each answer one": {"labels": lambda self, attribute: attribute.value_labels},
    "two answers of the label \\['x'\\]": {"labels": lambda self, attribute: ("all", "x", "x")},
    "`meanings` of .* are 2, and there are 3 answers": {"meanings": lambda self, attribute: ("a", "b")},
    "is another kind; define `__eq__`": {"__eq__": object.__eq__, "__hash__": object.__hash__},
    "the row of ones as the rows give it": {"sparse_rows": lambda self, size: sparse.csr_array(np.eye(3, size))},
    "is not read from its `to_json` as it was": {"name": "prefix"},
    "the variances divided by those of least squares of {'own'": {"is_identity": True},
}


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_is_found_and_named(words):
    faulty = type("Faulty", (EveryOther,), FAULTS[words])
    attribute = Attribute("own", labels=["w", "x", "y", "z"])
    with pytest.raises(AssertionError, match=words):
        testing.check_kind(faulty(), attribute, rows=rows_by_definition if "definition" in words else None)


def test_a_prefix_that_leaves_out_its_own_value_is_found_by_its_definition_alone():
    shifted = type(
        "Shifted", (EveryOther,), {"sparse_rows": lambda self, size: EveryOther().sparse_rows(size)[:, ::-1]}
    )
    testing.check_kind(shifted(), 3)  # it is consistent: no plan can know what it ought to be
    with pytest.raises(AssertionError, match="is not the definition"):
        testing.check_kind(shifted(), 4, rows=rows_by_definition)


def test_what_a_kind_or_the_check_cannot_take_is_refused():
    with pytest.raises(rp.errors.WorkloadError, match="'own'"):
        testing.check_kind(rp.Custom([[1, 1, 1]]), 3)
    with pytest.raises(rp.errors.WorkloadError, match="the domain has 1,200 cells; check at most 1,000"):
        testing.check_kind(Range(), 600)
    with pytest.raises(AssertionError, match="name an attribute"):
        testing.check_kind(Prefix())
    for arguments, words in (((3, 4), "kind must be a Kind, got 3"), ((Prefix(), "x"), "an Attribute or an int")):
        with pytest.raises(rp.errors.ArgumentError, match=words):
            testing.check_kind(*arguments)
    with pytest.raises(rp.errors.ArgumentError, match="plan must be a Plan"):
        testing.check_plan(3)
