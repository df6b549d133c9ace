"""Small made geographies, for tests."""

import csv
import io

from hypothesis import strategies as st

STATES = {"01": "Alabama", "02": "Alaska"}
COUNTIES = {
    "01001": ("Autauga County", "01"),
    "01003": ("Baldwin County", "01"),
    "02013": ("Aleutians East Borough", "02"),
}
LEVELS = ["state", "county"]


def csv_text(rows, separator=","):
    """Rows as CSV."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def leaf_rows(states=STATES, counties=COUNTIES):
    """A row for each county."""
    rows = [[state, states[state], code, name] for code, (name, state) in counties.items()]
    return [["state", "state_name", "county", "county_name"], *rows]


@st.composite
def geographies(draw):
    """States and counties: each state has some, in any order, with names that may repeat or need quotes."""
    words = st.sampled_from(["Lee", "Lake, the", 'St. "Tammany"', "Doña Ana", "O'Brien"])
    count = draw(st.integers(1, 4))
    states = {f"{number:02}": draw(words) + f" {number}" for number in range(count)}
    counties = {}
    for state in states:
        for number in range(draw(st.integers(1, 4))):
            counties[f"{state}{number:03}"] = (draw(words), state)
    order = draw(st.permutations(list(counties)))
    return states, {code: counties[code] for code in order}
