"""The published figures of the mathematics, section 9, at privacy cost 1, to every printed digit.

Printed figures are rounded, but for five of the synthetic ones, which are cut after the third decimal: 40-digit
arithmetic gives 3.25176.., 2.34553.., 12.35959.., 26.91683.. for the RMSE and 26.90458.. for the maximum variance.
"""

import math

import pytest

from residualplanner.domain import Domain
from residualplanner.plan import Plan, select
from residualplanner.privacy import pcost
from residualplanner.workload import Workload, marginals

SIZES = {
    "Adult": (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2),
    "CPS": (100, 50, 7, 4, 2),
    "Loans": (101, 101, 101, 101, 51, 36, 15, 8, 6, 5, 4, 3),
}
FAMILIES = {
    "1-way": {"order": 1},
    "2-way": {"order": 2},
    "3-way": {"order": 3},
    "4-way": {"order": 4},
    "5-way": {"order": 5},
    "up to 3-way": {"up_to": 3},
    "small": {"max_cells": 5000},
}
RMSE = {
    "1-way": ("3.047", "1.744", "2.875"),
    "2-way": ("6.359", "2.035", "5.634"),
    "3-way": ("10.515", "2.048", "8.702"),
    "4-way": ("14.656", "1.627", "11.267"),
    "5-way": ("17.844", "1.000", "12.678"),
    "up to 3-way": ("10.665", "2.276", "8.876"),
    "small": ("9.945", "2.525", "8.206"),
}
MAX_VARIANCE = {
    "1-way": ("12.047", "4.346", "10.640"),
    "2-way": ("67.802", "7.897", "52.217"),
    "3-way": ("236.843", "7.706", "156.638"),
    "4-way": ("575.213", "4.141", "320.778"),
    "5-way": ("1030.948", "1.000", "474.243"),
    "up to 3-way": ("253.605", "13.216", "180.817"),
    "small": ("126.902", "11.774", "89.873"),
}
BY_SIZE = {
    2: ("1.890", "4.148"),
    4: ("2.681", "9.760"),
    8: ("3.156", "15.643"),
    16: ("3.366", "20.067"),
    32: ("3.423", "22.811"),
    64: ("3.407", "24.345"),
    128: ("3.367", "25.157"),
    256: ("3.322", "25.574"),
    512: ("3.283", "25.786"),
    1024: ("3.251", "25.893"),
}
BY_DIMENSION = {
    2: ("1.379", "3.306"),
    4: ("2.345", "10.480"),
    6: ("4.275", "26.904"),
    8: ("6.638", "56.961"),
    10: ("9.348", "105.031"),
    12: ("12.359", "175.496"),
    14: ("15.642", "272.738"),
    15: ("17.378", "332.769"),
    20: ("26.916", "768.941"),
    30: ("49.713", "2540.440"),
    50: ("107.258", "11597.037"),
    100: ("303.216", "91960.917"),
}


CUT = ["3.251", "2.345", "12.359", "26.916", "26.904"]


def table_of(sizes: tuple[int, ...], **family: int) -> Workload:
    return marginals(Domain({f"x{i}": size for i, size in enumerate(sizes)}), **family)


def printed(value: float, figure: str) -> str:
    """The value as the table prints it: rounded, or cut where the figure is one of those."""
    return f"{math.floor(value * 1000) / 1000 if figure in CUT else value:.3f}"


def best_rmse(workload: Workload) -> float:
    return select(workload, budget=pcost(1), loss="sum").rmse


def best_maximum(workload: Workload, *, gap: float = 1e-8) -> Plan:
    return select(workload, budget=pcost(1), loss="max", gap=gap)


def figures(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    return [(name, data, figure) for name, row in table.items() for data, figure in zip(SIZES, row, strict=True)]


@pytest.mark.parametrize(("family", "data", "figure"), figures(RMSE))
def test_rmse_is_the_published_figure(family, data, figure):
    assert printed(best_rmse(table_of(SIZES[data], **FAMILIES[family])), figure) == figure


@pytest.mark.parametrize(("family", "data", "figure"), figures(MAX_VARIANCE))
def test_maximum_variance_is_the_published_figure(family, data, figure):
    plan = best_maximum(table_of(SIZES[data], **FAMILIES[family]))
    assert printed(plan.max_variance, figure) == figure
    assert plan.gap <= 1e-8


@pytest.mark.parametrize(("size", "rmse", "maximum"), [(size, *row) for size, row in BY_SIZE.items()])
def test_five_attributes_of_one_size_have_the_published_figures(size, rmse, maximum):
    workload = table_of((size,) * 5, up_to=3)
    assert printed(best_rmse(workload), rmse) == rmse
    assert printed(best_maximum(workload).max_variance, maximum) == maximum


@pytest.mark.parametrize(("count", "rmse", "maximum"), [(count, *row) for count, row in BY_DIMENSION.items()])
def test_attributes_of_size_ten_have_the_published_figures(count, rmse, maximum):
    workload = table_of((10,) * count, up_to=3)
    assert printed(best_rmse(workload), rmse) == rmse
    assert printed(best_maximum(workload, gap=1e-9).max_variance, maximum) == maximum


def test_rmse_of_two_hundred_attributes_is_the_published_figure():
    assert printed(best_rmse(table_of((10,) * 200, up_to=3)), "855.330") == "855.330"
