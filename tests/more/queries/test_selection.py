"""A selection has the rows of a kind for some values only, and says which in words."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from kinds import kinds_of, read_kind
from kinds import tied as tied_kind
from residualplanner import Attribute, Bins, Custom, Hierarchy, Identity, Matching, Prefix, Range, Selection

AGE = Attribute("age", bins=Bins([0, 5, 18, 65, 120]))
STATE = Attribute("state", labels={"CA": "California", "OR": "", "TX": "Texas"})


@st.composite
def selections(draw):
    size = draw(st.integers(2, 5))
    kind, rows = draw(kinds_of(size))
    codes = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size - 1))
    return size, kind, np.array(rows), sorted(codes)


@settings(max_examples=60)
@given(case=selections())
def test_rows_are_those_of_the_kind_without_other_values_each_once(case):
    size, kind, rows, codes = case
    assume(np.ptp(rows, axis=1).any())  # a kind that gives the total only is refused without a selection, too
    attribute = Attribute("a", size)
    only = rows * np.isin(np.arange(size), codes)
    if not only.any():
        with pytest.raises(rp.errors.WorkloadError, match="is about the values that are selected"):
            tied_kind(Selection(codes, kind), attribute)
        return
    tied = tied_kind(Selection(codes, kind), attribute)
    found = tied.matrix(size)
    assert {tuple(row) for row in found} == {tuple(row) for row in only if row.any()}
    assert len({tuple(row) for row in found}) == len(found) == tied.rows(size) == len(set(tied.labels(attribute)))
    np.testing.assert_allclose(tied.gram(size), found.T @ found, atol=1e-9)


def test_the_number_of_selected_records_is_one_row_of_ones_and_zeros():
    tied = tied_kind(Selection(["TX", "CA"]), STATE)
    assert tied.matrix(3).tolist() == [[1, 0, 1]]
    assert (tied.where, tied.is_axis, tied.labels(STATE)) == (("CA", "TX"), False, ("CA or TX",))
    assert tied.meanings(STATE) == ("California or Texas",)
    assert tied_kind(Selection("TX"), STATE).name == "among TX"


@pytest.mark.parametrize(
    ("kind", "labels", "rows"),
    [
        (Identity(), ("[5, 18)", "[18, 65)"), [[0, 1, 0, 0], [0, 0, 1, 0]]),
        (Prefix(), ("[0, 18)", "[0, 65)"), [[0, 1, 0, 0], [0, 1, 1, 0]]),
        (Range(), ("[5, 18)", "[5, 65)", "[18, 65)"), [[0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]]),
        (Hierarchy([2], leaves=False, total=False), ("[0, 18)", "[18, 120]"), [[0, 1, 0, 0], [0, 0, 1, 0]]),
        (Custom([[1, 1, 1, 1], [0, 1, 2, 3]], labels=["n", "sum"]), ("n", "sum"), [[0, 1, 1, 0], [0, 1, 2, 0]]),
    ],
)  # fmt: skip
def test_an_answer_about_the_same_records_is_that_of_the_fewest_values(kind, labels, rows):
    tied = tied_kind(Selection("[5, 65)", kind), AGE)
    assert tied.labels(AGE) == labels
    assert tied.matrix(4).tolist() == rows


@pytest.mark.parametrize(
    ("attribute", "labels", "words"),
    [
        (AGE, ["[5, 18)", "[18, 65)"], "[5, 65)"),
        (AGE, ["[0, 5)", "[65, 120]"], "[0, 5) or [65, 120]"),
        (Attribute("n", 100), range(18, 65), "18 – 64"),
        (Attribute("b", labels=[True, False], missing="Not stated"), [True], "true"),
        (Attribute("day", labels=[dt.date(2020, 1, 1), dt.date(2020, 1, 2)]), [dt.date(2020, 1, 2)], "2020-01-02"),
        (Attribute("x", labels=list("abcdefghi")), list("abcdefgh"), "a or b or c or 5 more"),
        (Attribute("n", 100), [2 * i for i in range(9)], "0 or 2 or 4 or 6 more"),
    ],
)
def test_selected_values_are_said_in_few_words(attribute, labels, words):
    assert tied_kind(Selection(labels), attribute).where_words == words


def test_true_is_not_1_and_a_label_of_its_own_can_be_selected():
    stated = Attribute("b", labels=[False, True], missing="Not stated")
    assert tied_kind(Selection("true"), stated).codes == (1,)
    assert tied_kind(Selection("Not stated"), stated).codes == (2,)
    truth, numbers = Attribute("b", labels=[False, True]), Attribute("b", labels=[0, 1])
    assert tied_kind(Selection(True), truth) != tied_kind(Selection(1), numbers)
    with pytest.raises(rp.errors.DomainError, match="'b' has no value True"):
        tied_kind(Selection(True), numbers)


@pytest.mark.parametrize("of", [None, Identity(), Range(), Hierarchy([2]), Custom([[1, 1, 1, 1], [0, 1, 2, 3]])])
def test_json_holds_a_selection_and_an_empty_label(of):
    empty = tied_kind(Selection(""), Attribute("state", labels=["", "CA"]))
    assert read_kind(empty.to_json()) == empty
    tied = tied_kind(Selection(["[0, 5)", "[18, 65)"], of), AGE)
    again = read_kind(tied.to_json())
    assert again == tied
    assert (again.name, again.where, again.file_word) == (tied.name, tied.where, tied.file_word)
    again.require_fit(AGE)


FORGED = [("codes", [True, 2]), ("labels", [None, 1.5]), ("size", 10**9), ("size", True), ("of", [])]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": [2, 1]}, "ascending"),
        *(({"codes": codes}, "below its size") for codes in ([1, 4], [])),
        ({"labels": ["x"]}, "a label for each of its codes"),
        *(({field: bad}, f"field '{field}'") for field, bad in FORGED),
        ({"words": ""}, "the same in words"),
        ({"of": {"kind": "matching", "at_least": 1}}, "a threshold matches"),
        ({"of": {"kind": "selection"}}, "fields"),
        ({"size": 2, "codes": [0, 1]}, "selects nothing"),
    ],
)
def test_a_forged_selection_is_refused(change, message):
    value = tied_kind(Selection(["[5, 18)", "[18, 65)"]), AGE).to_json()
    with pytest.raises(rp.errors.FileFormatError, match=message):
        read_kind(value | change)


def test_a_selection_of_another_attribute_is_refused():
    tied = tied_kind(Selection("TX"), STATE)
    other = Attribute("state", labels=["CA", "OR", "WA"])
    with pytest.raises(rp.errors.WorkloadError, match="the selection from 'state' is tied to other values"):
        tied.require_fit(other)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Selection([]), "counts no records"),
        (lambda: Selection("a", Matching(1)), "a threshold matches cannot be selected from"),
        (lambda: Selection("a", Selection("b")), "not of a selection"),
        (lambda: Selection("a", "prefix"), "those of a kind such as Prefix"),
        (lambda: Selection("a", Prefix), "those of a kind such as Prefix"),
    ],
)
def test_what_cannot_be_selected_is_refused(make, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        make()


def test_too_many_values_or_answers_are_refused():
    with pytest.raises(rp.errors.WorkloadError, match="more than 10,000 allow only one count per value"):
        tied_kind(Selection(1), Attribute("n", 20_000))
    with pytest.raises(rp.errors.WorkloadError, match="too large: 500,500 answers of range on 1,000 values"):
        tied_kind(Selection(1, Range()), Attribute("n", 1000))
    with pytest.raises(rp.errors.DomainError, match="'n' has no value '1 – 2'"):
        tied_kind(Selection("1 – 2"), Attribute("n", 1000))
