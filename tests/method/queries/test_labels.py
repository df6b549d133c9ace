"""Labels of answers, in the words of the attribute: a label says what its answer sums."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinds import tied as tied_kind
from residualplanner import Attribute, Bins, Hierarchy, Identity, Prefix, Range


def meanings_of(kind, attribute):
    return kind.columns_beside(attribute).get("meaning")


AGES = Attribute("age", bins=Bins([0, 18, 65]), unknown="Other", missing="Not stated")
GRADES = Attribute("grade", labels={"a": "good", "b": "fair", "c": "same"}, missing="Not graded")
MONTHS = Attribute("month", bins=Bins.months("2020-01", "2020-03"), missing="Not stated")


def test_labels_are_in_the_words_of_the_attribute():
    letters, codes = Attribute("a", labels=["a", "b", "c"]), Attribute("a", 3)
    bins, named = (
        Attribute("a", bins=Bins([0, 18, 65, 120])),
        Attribute("a", bins=Bins([0, 18, 65], ["minor", "adult"])),
    )
    assert Identity().labels(letters) == ("a", "b", "c")
    assert Identity().labels(codes) == (0, 1, 2)
    assert Identity().labels(named) == ("minor", "adult")
    assert Prefix().labels(letters) == ("≤ a", "≤ b", "≤ c")
    assert Prefix().labels(codes) == ("≤ 0", "≤ 1", "≤ 2")
    assert Prefix().labels(bins) == ("[0, 18)", "[0, 65)", "[0, 120]")
    assert Prefix().labels(named) == ("≤ minor", "≤ adult")
    assert Range().labels(letters) == ("a", "a – b", "a – c", "b", "b – c", "c")
    assert Range().labels(codes) == ("0", "0 – 1", "0 – 2", "1", "1 – 2", "2")
    assert Range().labels(bins) == ("[0, 18)", "[0, 65)", "[0, 120]", "[18, 65)", "[18, 120]", "[65, 120]")
    assert Range().labels(named) == ("minor", "minor – adult", "adult")
    assert Range().labels(Attribute("a", bins=Bins([-np.inf, 0, np.inf]))) == ("(-inf, 0)", "(-inf, inf)", "[0, inf)")
    assert Range().labels(Attribute("a", labels=["18–24", "25–34"])) == ("18–24", "18–24 – 25–34", "25–34")


texts = st.text('a–" ', min_size=1, max_size=5) | st.sampled_from(["x or Not stated", "x", "≤ x"])


@given(st.lists(texts, min_size=1, max_size=5, unique=True))
def test_labels_of_ranges_differ_whatever_the_values_are_called(values):
    for attribute in (Attribute("a", labels=values), Attribute("a", labels=values, missing="Not stated")):
        for kind in (Prefix(), Range()):
            assert len(set(kind.labels(attribute))) == kind.rows(attribute.size)


def test_runs_say_which_labels_of_their_own_they_hold():
    assert Prefix().labels(AGES) == ("[0, 18)", "[0, 65]", "[0, 65] or Other", "[0, 65] or Other or Not stated")
    assert Range().labels(AGES)[3] == "[0, 65] or Other or Not stated"
    assert Range().labels(AGES)[-3:] == ("Other", "Other or Not stated", "Not stated")
    assert Prefix().labels(GRADES) == ("≤ a", "≤ b", "≤ c", "≤ c or Not graded")
    assert Range().labels(MONTHS)[1:3] == ("2020-01 – 2020-02", "2020-01 – 2020-03")
    assert Range().labels(MONTHS)[3] == "2020-01 – 2020-03 or Not stated"
    assert Prefix().labels(MONTHS)[1] == "≤ 2020-02"


def test_meanings_follow_the_labels_of_every_kind():
    assert meanings_of(Identity(), GRADES) == ("good", "fair", "same", "Not graded")
    assert meanings_of(Prefix(), GRADES) == ("≤ good", "≤ fair", "≤ same", "≤ same or Not graded")
    assert meanings_of(Range(), GRADES)[1] == "good – fair"
    tied = tied_kind(Hierarchy([{"passed": ["a", "b"], "rest": ["c", "Not graded"]}]), GRADES)
    assert meanings_of(tied, GRADES) == ("(total)", "passed", "rest", "good", "fair", "same", "Not graded")
    assert meanings_of(Identity(), AGES) is None
