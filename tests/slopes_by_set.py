"""Slopes of the search for bases by set against differences of what they are slopes of."""

import numpy as np
import pytest

from residualplanner.more.by_set.cost import Maxima, Member
from residualplanner.more.by_set.search import Coordinates, Family


def require_right_slopes(family: Family, start: Member, *, weighed: bool) -> None:
    """Near a member, with smooth maxima that are weighed there or not."""
    rng, family = np.random.default_rng(1), family.with_worst(start)
    coordinates, maxima = Coordinates(family, start, unit=0.5), Maxima(30.0)
    coordinates.value_and_slope(coordinates.point(), maxima)  # where a convex loss looks for the sides of a kink
    point = coordinates.point()
    point = point + 0.05 * rng.normal(size=point.size)
    if weighed:
        maxima = family.maxima(coordinates.member(point), maxima, 30.0)
    _, slope = coordinates.value_and_slope(point, maxima)
    for direction in rng.normal(size=(5, point.size)):
        ahead, behind = (coordinates.value_and_slope(point + step * direction, maxima)[0] for step in (1e-6, -1e-6))
        assert slope @ direction == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-7)
