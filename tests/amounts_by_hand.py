"""Records with amounts, weights and persons, and what they count, by a loop over records, for the tests of sources."""

from collections import defaultdict
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd

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
    edges, denominator = [0, 1000, 3000], 2000
    pay, totals = np.zeros((2, 4), dtype=object), np.zeros(2, dtype=object)
    for record in records:
        amount, sex = min(max(record.cents, 0), 3000), "FM".index(record.sex)
        (low, high), number = next(
            (bounds, number) for number, bounds in enumerate(pairwise(edges)) if amount < bounds[1] or bounds[1] == 3000
        )
        weight, at_high = int(2 * record.hours), (amount - low) * denominator // (high - low)
        pay[sex, 2 * number : 2 * number + 2] += [weight * (denominator - at_high), weight * at_high]
        totals[sex] += weight
    return [pay.tolist(), totals.tolist(), totals.sum()]


def as_lists(tables):
    return [tables[0][0].tolist(), tables[1][0].tolist(), int(tables[2][0])]
