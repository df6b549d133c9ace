"""Records with amounts, weights and persons, for the tests of sources."""

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
