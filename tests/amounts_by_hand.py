"""Records with amounts, weights and persons, and what they count, by a loop over records, for the tests of sources."""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

import amounts
import residualplanner as rp

PAY = rp.Numeric(0, 30, unit="0.01", bins=[10], outside="clip")
DOMAIN = rp.Domain({"sex": ["F", "M"], "pay": PAY}, weight=rp.Weight("hours", maximum=60, unit=0.5))
GROUPS = [np.array([[0, 1]]), np.array([[0]]), np.empty((1, 0), dtype=int)]


def some_records(number=60):
    """Cents from -500 to 4500, half hours, and of each person at most one record a day, so that no choice is left."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": draw.choice(["F", "M"], number), "cents": draw.integers(-500, 4500, number)})
    frame["hours"] = draw.integers(0, 121, number) / 2
    people, days = np.divmod(draw.permutation(4 * number)[:number], 12)
    return frame.assign(pay=frame.cents / 100, name=[f"p{person}" for person in people], day=days)


RECORDS = some_records()
EXACT = [Decimal(int(cents)) / 100 for cents in RECORDS.cents]


def first_of_each_person(frame, keep):
    records = defaultdict(list)
    for record in frame.itertuples():
        records[record.name].append(record)
    return [record for own in records.values() for record in sorted(own, key=lambda each: each.day)[:keep]]


def tables_by_hand(records):
    """By sex and end of a bin as (104) says, in half hours and 2000ths of a record; by sex, and all, in half hours."""
    pay, totals = np.zeros((2, 4), dtype=object), np.zeros(2, dtype=object)
    for record in records:
        sex, weight = "FM".index(record.sex), int(2 * record.hours)
        pay[sex] += 2000 * weight * amounts.record(DOMAIN["pay"], Fraction(int(record.cents), 100))
        totals[sex] += weight
    return [pay.astype(np.int64).tolist(), totals.tolist(), totals.sum()]


def as_lists(tables):
    return [tables[0][0].tolist(), tables[1][0].tolist(), int(tables[2][0])]
