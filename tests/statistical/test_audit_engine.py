"""The base mechanisms, run in bulk on two neighboring tables: the best adversary achieves what is claimed, and no more.

Bits are fixed.  With fresh ones a right mechanism would fail each test once in a million times.
"""

import itertools
import math
import zlib

import numpy as np
import pytest
from scipy.optimize import brentq

from benchmarks.audit_cases import FAULTS as RECORD_FAULTS
from benchmarks.audit_cases import hours_by_pair, mixtures, pay_by_sex
from benchmarks.auditing import (
    DELTA,
    Experiment,
    audit_cell,
    audit_likelihood,
    claimed_power,
    epsilon_at_least,
    gaussian_epsilon,
    plan_by_set,
)
from inner_parts import InsecureTestBits
from residualplanner import Domain, Workload, marginals, select, zcdp

#: Runs on each side: of the main audit, of the others, and of mechanisms that are far off.
MANY, SOME, FEW = 300_000, 60_000, 30_000
PAIR = Domain({"a": 2, "b": 3})
TRIPLE = Domain({"a": 2, "one": 1, "b": 2, "c": 3})
PLANS = {
    "sum": select(marginals(PAIR, up_to=2), budget=zcdp("0.5")),
    "max": select(marginals(TRIPLE, up_to=2), budget=zcdp("0.5"), loss="max"),
    "weights": select(Workload(PAIR, [("a",), ("a", "b")], weights=[25, 0.5]), budget=zcdp("0.5")),
    "by set": plan_by_set(),
    "less noise": select(marginals(TRIPLE, order=2), budget=zcdp(1)),
}


def bits(name: str):
    """Fixed bits for each side of a test."""
    return lambda side: InsecureTestBits(zlib.crc32(f"{name} {side}".encode()))


def experiment(name: str, **options) -> Experiment:
    plan = PLANS[name]
    return Experiment.adding(plan, [size - 1 for size in plan.domain.sizes], **options)


def discrete_claim(plan) -> float:
    """The epsilon that the plan claims for discrete noise."""
    return plan.budget.epsilon(DELTA, noise="discrete")


def assert_achieves(found, mu, least=0.0):
    """The adversary achieves what is claimed, or ``least`` of its epsilon, and no more."""
    assert abs(found.mu - mu) <= 5 * found.mu_error
    assert least * gaussian_epsilon(mu) <= found.epsilon <= gaussian_epsilon(mu)


@pytest.mark.parametrize(
    ("name", "runs"), [("sum", MANY), ("max", SOME), ("weights", SOME), ("less noise", SOME), ("by set", SOME)]
)
def test_the_best_adversary_achieves_the_claim_and_no_more(name, runs):
    mu = math.sqrt(2 * float(PLANS[name].budget.rho))
    assert gaussian_epsilon(mu) <= discrete_claim(PLANS[name])
    assert_achieves(audit_likelihood(experiment(name), runs, bits(name)), mu, 0.88 if runs == MANY else 0.78)


@pytest.mark.parametrize("name", ["sum", "weights"])
def test_an_adversary_who_picks_a_cell_of_a_reconstructed_table_achieves_what_its_variance_says(name):
    plan = PLANS[name]
    mu = 1 / math.sqrt(plan.variance(("a", "b")).flat[-1])
    assert mu < math.sqrt(plan.pcost)
    assert_achieves(audit_cell(experiment(name), SOME, bits(f"cell {name}"), (0, 1)), mu, 0.7)


def test_where_records_are_replaced_the_worst_replacement_achieves_the_claim_and_no_more():
    """One record replaced by another, in every set of columns that can differ."""
    base = Experiment.adding(select(marginals(TRIPLE, up_to=2), budget=zcdp("0.5"), neighbors="replace"), (1, 0, 1, 2))
    others = itertools.product((0, 1), (0,), (0, 1), (0, 2))
    replacements = [base.replacing((1, 0, 1, 2), by) for by in others][:-1]
    powers = [claimed_power(each) for each in replacements]
    assert max(powers) == pytest.approx(1.0, rel=1e-6)
    assert_achieves(audit_likelihood(replacements[int(np.argmax(powers))], SOME, bits("replace")), 1, 0.78)


def test_all_records_of_a_person_together_achieve_the_claim_and_no_more():
    plan = select(marginals(PAIR, up_to=2), budget=zcdp("0.5"), records_per_person=3)
    three = Experiment.adding(plan, (1, 2), times=3)
    assert_achieves(audit_likelihood(three, SOME, bits("three records")), 1, 0.78)


#: Plans, and the entries of a record: of any amount, and of any weight, which counts as 60 at most.
RECORDS = {f"amount {amount}": (pay_by_sex(), [1, amount]) for amount in (0, 17, 3000)}
RECORDS |= {f"weight {hours}": (hours_by_pair(), [1, 2, hours]) for hours in (61, 47, 1)}
MIXTURES = mixtures()


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_achieves_what_its_amount_or_its_weight_says_and_no_more_than_the_claim(name):
    plan, entries = RECORDS[name]
    each = Experiment.adding_entries(plan, [entries])
    mu = math.sqrt(claimed_power(each))
    assert mu <= math.sqrt(plan.pcost) * (1 + 1e-9)
    if name == "amount 3000":
        assert mu == math.sqrt(claimed_power(Experiment.adding(plan, (1, 3))))
    if name.startswith("weight"):
        assert mu == pytest.approx(min(entries[-1], 60) / 60 * math.sqrt(plan.pcost))
    assert_achieves(audit_likelihood(each, FEW, bits(name)), mu)


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", MIXTURES)
def test_records_of_one_person_and_amounts_in_universes_achieve_no_more_than_the_claim(name):
    case = MIXTURES[name]
    mu = math.sqrt(claimed_power(case.experiment))
    assert mu <= math.sqrt(case.plan.pcost) * (1 + 1e-9)
    assert_achieves(audit_likelihood(case.experiment, FEW, bits(name)), mu)


# Mechanisms that break their claim.


FAULTS = RECORD_FAULTS | {
    "noise 10% low": lambda: experiment("sum").with_deviation(0.9),
    "the total measured twice": lambda: experiment("sum").measuring_twice(0),
    "a table measured twice": lambda: experiment("sum").measuring_twice(3),
    "a record that weighs 2": lambda: experiment("sum", times=2),
    "one record replaced, called added": lambda: experiment("sum").replacing((1, 2), (0, 0)),
    "noise 10% low with bases by set": lambda: experiment("by set").with_deviation(0.9),
}


@pytest.mark.cases(5)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_mechanism_that_breaks_its_claim_is_found(fault):
    found = audit_likelihood(FAULTS[fault](), FEW, bits(fault))
    assert found.contradicts(experiment("sum").mu)
    # also against the weaker claim for discrete noise
    assert fault != "a record that weighs 2" or found.epsilon > discrete_claim(PLANS["sum"])


def test_noise_two_percent_low_is_found():
    """It moves mu by 0.0204; five standard errors are 0.0135: with fresh bits 99 in 100 such tests would find it."""
    found = audit_likelihood(experiment("sum").with_deviation(0.98), MANY, bits("two percent"))
    assert found.contradicts(experiment("sum").mu)


# The audit's own arithmetic.


@pytest.mark.parametrize("runs", [50, 500])
def test_the_bound_on_epsilon_is_that_of_clopper_and_pearson(runs):
    """The rates at the bounds are those at which so extreme a count has half the probability of a false alarm."""
    right, wrong = 9 * runs // 10, runs // 10
    found = epsilon_at_least(right, wrong, runs)

    def tail(rate, counts):
        return sum(math.comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in counts)

    low = brentq(lambda rate: tail(rate, range(right, runs + 1)) - 5e-7, 0, 1, xtol=1e-15)
    high = brentq(lambda rate: tail(rate, range(wrong + 1)) - 5e-7, 0, 1, xtol=1e-15)
    assert found == pytest.approx(math.log((low - DELTA) / high), rel=1e-6)
