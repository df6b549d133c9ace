"""Every two features meet: each pair of values of the factors in a case, checked by arithmetic of its own.

``python -m benchmarks.meetings`` does the same for every triple.  A case that fails is run alone by
``python -m benchmarks.meetings --case '{...}'`` with what its message shows.
"""

from functools import cache
from itertools import combinations, count
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from inner_parts import nonnegative
from meetings.covering import Covering
from meetings.factors import FACTORS, PLAIN, Case
from meetings.one_case import check, check_refused, plain_refusals
from meetings.refusals import manual, rule_of

PAGE = Path(__file__).parents[2] / "docs" / "pitfalls.md"
COVERING = Covering({factor: list(values) for factor, values in FACTORS.items()}, rule_of)
ROWS = list(COVERING.rows(2))
REFUSALS = plain_refusals(COVERING)
#: Triples that failed once.
FOUND = [
    # The noise of what is published ranges from 1e-10 to 1e8: the ascent for published errors did not end.
    "source: csv; column: moments; odd entries: both, each with a label; people: 1 is kept, by text; "
    "kind: hierarchy without leaves; universe: the table's own attribute; amounts: sum by bin; threshold: 2 of 3; "
    "bases: orthogonal; loss: targets; road: plan, measure, reconstruct; product: with published errors; "
    "format: workbook; quality: graded; reader: another; report: of the folder",
    # LAPACK found no eigenvalues of a matrix in the search for a bound.
    "source: Polars, lazy; column: codes of 8 bits; odd entries: unknown, with a label; people: at most 2, promised; "
    "neighbors: replace; kind: hierarchy; universe: one value; amounts: sum by bin; bases: given; loss: max; "
    "road: linked tables; noise: test bits; product: with the unbiased; format: workbook; profile: acs; "
    "report: of the folder, few cells",
    # A set that no query needs had noise of 1e157 with bases by set, and tables of it estimates of 1e58.
    "column: decimals; neighbors: replace; kind: proportions; universe: a kind; amounts: mean between; "
    "threshold: 1 of 2, of some records; bases: by set; loss: max; product: non-negative",
    # Tables that keep to all facts had been found, and others, which did not, were preferred.
    "source: Parquet; column: decimals; odd entries: unknown, with a label; people: 1 is kept, by text; "
    "kind: hierarchy without leaves; universe: a kind; amounts: sum by bin; weights: integers; threshold: 2 of 3; "
    "bases: by set; loss: sum, equal; road: linked tables; noise: test bits; product: with known counts; "
    "level: 0.8; quality: graded; reader: a third; report: of the folder, few cells",
    # A set that no query needs had noise of 1e150 in the search for a convex loss.
    "source: Polars; column: truth values; odd entries: missing, with a label; people: at most 2, promised; "
    "neighbors: replace; kind: hierarchy; universe: a kind; threshold: 1 of 2, of some records; bases: by set; "
    "loss: convex; road: store; product: non-negative and rounded; quality: suppressed; reader: a third; "
    "report: of the folder",
]
#: Nothing is compared of the pictures of a report, whose layout and text take a third of a case: all are made, as
#: figures of matplotlib.  Nor is it of published errors but that they are in the files: two simulations are made,
#: and come again.  One case in so many writes its pictures and makes all simulations.
WHOLE = 8
DRAWS = nonnegative.nonnegative_draws
#: The first cases hold three in four of all pairs: the usual suite makes these.
USUAL = 60
NUMBERS = [pytest.param(number, marks=[pytest.mark.thorough] * (number >= USUAL)) for number in range(len(ROWS))]

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # what other libraries warn of is theirs
    pytest.mark.slow,
]


def save_nothing(_figure, stream, **_options):
    stream.write("<svg></svg>")


def two_draws(*given, **named):
    draw, turns = DRAWS(*given, **named), count()
    made = cache(lambda turn: draw(np.random.default_rng(turn)))
    return lambda _generator: made(next(turns) % 2)


def test_every_pair_of_values_meets_or_is_refused():
    met = {frozenset((one, two)) for row in ROWS for one in row.items() for two in row.items() if one != two}
    assert {frozenset(map(COVERING.values.__getitem__, pair)) for pair in COVERING.tuples(2)} <= met


def test_the_usual_suite_makes_three_in_four_of_all_pairs():
    first, every = ({pair for row in rows for pair in combinations(row.items(), 2)} for rows in (ROWS[:USUAL], ROWS))
    assert len(first) > 0.75 * len(every)


def test_the_manual_says_what_is_refused():
    assert f"<!-- refused -->\n{manual()}\n<!-- end -->" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_case_gives_the_truth_at_the_stated_cost(number, tmp_path, monkeypatch):
    if number % WHOLE:
        monkeypatch.setattr(Figure, "savefig", save_nothing)
        monkeypatch.setattr(nonnegative, "nonnegative_draws", two_draws)
    check(Case(ROWS[number]), tmp_path)


@pytest.mark.parametrize("number", range(len(FOUND)))
@pytest.mark.thorough
def test_what_failed_once_holds(number, tmp_path):
    check(Case(PLAIN | dict(pair.split(": ") for pair in FOUND[number].split("; "))), tmp_path)


@pytest.mark.parametrize(("rule", "row"), REFUSALS, ids=[str(number) for number in range(len(REFUSALS))])
@pytest.mark.cases(24)
def test_what_is_refused_is_refused_before_the_charge(rule, row, tmp_path):
    check_refused(Case(row), rule, tmp_path)
