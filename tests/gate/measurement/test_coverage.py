"""Intervals cover the truth at least as often as they say, and hardly more often, for the discrete noise that is drawn.

Probabilities are summed exactly (`benchmarks.covering`), with scales as the sampler gets them.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import residualplanner as rp
from benchmarks.coverage import EXCESS, LEVELS, total_plan
from benchmarks.covering import Error, total_error
from dense import exact_inverse
from inner_parts import margins
from inner_parts import precision as precision_part
from replayed_measuring import drawn_scales, groups_of
from residualplanner import Domain, Prefix, Release, load_measurement, marginals, measure, reconstruct, select, zcdp
from slowness import slow

RHOS = ["1e-6", "0.001", "0.1", "0.3", "0.5", "1", "2", "3.3", "7", "20", "41", "100", "1e4", "1e8"]

# The theorem, eq. (47), at scales so small that every probability can be added up.

COEFFICIENTS = [(1,), (1, 1), (2, 1), (3, -1, 1), (64, 1), (5, 3, 1), (Fraction(1, 3), Fraction(1, 4)), (1, 30)]


@pytest.mark.cases(30)
@pytest.mark.parametrize("coefficients", COEFFICIENTS, ids=str)
@pytest.mark.parametrize("scale", [8, 16, slow(64)])
@pytest.mark.parametrize("wider", [Fraction(1), Fraction(7, 3)])
def test_no_sum_is_beyond_its_margin_more_often_than_a_normal_variable(coefficients, scale, wider):
    gamma2 = [(scale * wider**j) ** 2 for j in range(len(coefficients))]
    error = Error(tuple(map(Fraction, coefficients)), tuple(gamma2))
    for z in np.linspace(0, min(6, scale / 2 - 1), 40):
        margin = Fraction((z + 16 / scale) * math.sqrt(error.variance))
        assert error.beyond(margin) <= 2 * norm.sf(z) + 1e-13


# The noise of this library.


def divisors(release: Release) -> list[int]:
    """What the integers of each group are divided by."""
    answers = release.measurement.residuals
    return [answers.divisor(group) for group in range(len(answers.groups.shapes))]


def assert_covers(error: Error, variance: float, moe) -> None:
    assert float(error.variance) == pytest.approx(variance, rel=1e-10)
    for level in LEVELS:
        missed = error.beyond(Fraction(float(moe(level))))
        assert 1 - level - EXCESS <= missed <= 1 - level


@pytest.mark.parametrize("rho", RHOS)
def test_a_total_is_covered_as_often_as_its_interval_says(rho):
    plan = total_plan(rho)
    release = reconstruct(measure(plan, np.zeros((3, 1), dtype=np.int64)))
    error = Error((Fraction(1, *divisors(release)),), tuple(drawn_scales(plan)))
    assert error.gamma2[0] >= margins.NOISE_SCALE**2
    assert error == total_error(plan)
    assert_covers(error, float(release[()].variance), release[()].moe)


@pytest.mark.parametrize("rho", ["0.1", "0.5", "2", "20", "100"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_cells_and_their_combinations_are_covered_as_often_as_their_intervals_say(rho, size):
    """Eq. (12) by hand: a cell's error has the total's noise, and its own less the mean of all, over f and the size."""
    plan = select(marginals(Domain({"a": size}), up_to=1), budget=zcdp(rho))
    release = reconstruct(measure(plan, np.zeros((3, 1), dtype=np.int64)))
    table, (of_total, of_table), gamma2 = release["a"], divisors(release), drawn_scales(plan)
    for weights in ([1] + [0] * (size - 1), [0] * (size - 1) + [2], list(range(size)), [1] * size):
        mean = Fraction(sum(weights), size)
        coefficients = (mean / of_total, *((w - mean) / of_table for w in weights))
        combined = table.combine(weights)
        assert_covers(Error(coefficients, tuple(gamma2)), combined.variance, combined.moe)
    cell = (Fraction(1, size) / of_total, *((int(j == 0) - Fraction(1, size)) / of_table for j in range(size)))
    assert_covers(Error(cell, tuple(gamma2)), float(table.variance[0]), lambda level: table.moe(level)[0])


@pytest.mark.slow
@pytest.mark.parametrize("rho", ["0.1", "100"])
@pytest.mark.cases(1)
def test_prefix_sums_are_covered_as_often_as_their_intervals_say(rho):
    """Eq. (25) by hand, with the matrix that was measured, of integers."""
    plan = select(marginals(Domain({"a": 3}), up_to=1, kinds={"a": Prefix()}), budget=zcdp(rho))
    matrix = plan.strategy.of_attributes[0].matrix
    assert matrix is not None
    release = reconstruct(measure(plan, np.zeros((3, 1), dtype=np.int64)))
    table, (of_total, of_table) = release[{"a": Prefix()}], divisors(release)
    back = exact_inverse([[1, 1, 1], *matrix.tolist()])
    for last in range(3):
        sums = [sum(back[row][column] for row in range(last + 1)) for column in range(3)]
        error = Error((sums[0] / of_total, sums[1] / of_table, sums[2] / of_table), tuple(drawn_scales(plan)))
        assert_covers(error, float(table.variance[last]), lambda level, last=last: table.moe(level)[last])


# The lattice.


@given(divisor=st.integers(1, 10**9), exponent=st.floats(-900, 60))
def test_the_refinement_is_the_least_power_of_two_that_makes_the_noise_wide(divisor, exponent):
    precision = 2.0**exponent
    f, least = precision_part.refinement(divisor, precision), 2**44 * Fraction(precision)
    assert f.bit_count() == 1
    assert (f * divisor) ** 2 >= least
    assert f == 1 or (f * divisor) ** 2 < 4 * least


def test_a_public_total_is_published_as_it_is_and_its_margin_covers_it():
    workload = marginals(Domain({"a": 3}), up_to=1)
    plan = select(workload, budget=zcdp("0.5"), neighbors="replace")
    release = reconstruct(measure(plan, np.zeros((17, 1), dtype=np.int64)))
    assert divisors(release)[0] == 1
    assert release[()].estimate == 17
    assert float(release[()].moe(0.5)) > 0
    assert Error((Fraction(1),), (drawn_scales(plan)[0],)).beyond(Fraction(0)) < 1e-200


def test_a_total_that_is_public_and_has_noise_all_the_same_has_fine_noise():
    groups = groups_of(marginals(Domain({"a": 3}), up_to=1))
    replaced = rp.privacy.Neighbors("replace", 1)
    assert precision_part.lattice_divisors(groups, np.array([1.0, 1.0]), replaced)[0] == margins.NOISE_SCALE
    assert precision_part.lattice_divisors(groups, np.array([2.0**10, 1.0]), replaced)[0] == 1


# The factor.


@pytest.mark.parametrize("level", [1e-300, 1e-9, 0.5, 0.95, 1 - 2.0**-40, 1 - 2.0**-53])
def test_the_factor_is_the_quantile_of_the_tail_and_16_steps(level):
    assert margins.margin_factor(level) == pytest.approx(norm.isf((1 - level) / 2) + 2**-18, rel=1e-12)


def test_a_file_with_noise_too_small_to_be_any_is_refused(tmp_path):
    """What is read is divided as what is measured is: exactly, by less than 2**53."""
    plan = total_plan("1e19")
    measured = measure(total_plan("1e8"), np.zeros((3, 1), dtype=np.int64))
    noise = replace(
        measured.noise, pcost=precision_part.measured_cost(plan, precision_part.precision_of(plan.noise_variances))
    )
    replace(measured, plan=plan, noise=noise).save(tmp_path / "file")
    with pytest.raises(rp.errors.BudgetError, match="noise of standard deviation below 1e-9"):
        load_measurement(tmp_path / "file")


def test_one_refinement_serves_all_sets_with_the_same_bases():
    groups = groups_of(marginals(Domain(dict.fromkeys("abc", 4)), up_to=1))
    found = precision_part.lattice_divisors(
        groups, np.array([2.0**10, 1.0, 2.0**20, 2.0**-60]), rp.privacy.Neighbors("add-remove", 1)
    )
    assert found == (2**27, 4 * 2**30)
