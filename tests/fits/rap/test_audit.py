"""Adversaries against RAP, with fixed bits, and with faults planted that they must see."""

import math
from dataclasses import fields, replace
from fractions import Fraction

import pytest

import residualplanner as rp
from benchmarks.auditing import STANDARD_ERRORS
from benchmarks.auditing_rap import RapExperiment, audit_rap, contradicts, difference_scores, likelihood_scores
from inner_parts import InsecureTestBits
from residualplanner.fits.rap import mechanism

pytestmark = pytest.mark.slow
COST = Fraction(1)
ONE_ROUND = RapExperiment.of(COST)
TWO_ROUNDS = RapExperiment.of(COST, rounds=2, unit="table", moves_apart=True)
RUNS = 700


class PaysTwice(rp.fits.rap.RapPlan):
    """Choices and answers of a round both get all of it."""

    answer_cost = choice_cost = property(lambda plan: plan.round_cost)


def charge_only(monkeypatch, *words):
    """Let accounts charge only what begins with these words."""
    charge = mechanism.Account.charge

    def charged(account, what, cost):
        if what.startswith(words):
            charge(account, what, cost)

    monkeypatch.setattr(mechanism.Account, "charge", charged)


def audited(experiment, adversary, runs=RUNS):
    return audit_rap(experiment, adversary, runs, (InsecureTestBits(1), InsecureTestBits(2)))


def test_one_round_reveals_what_its_cost_says_and_no_more():
    found = audited(ONE_ROUND, likelihood_scores)
    assert not contradicts(found, COST)
    assert found.mu > 0.97 * math.sqrt(COST) - STANDARD_ERRORS * found.mu_error


def test_the_answers_of_two_rounds_reveal_no_more_than_both_cost():
    assert not contradicts(audited(TWO_ROUNDS, difference_scores, 300), COST)


def test_choices_that_are_not_charged_are_seen_and_an_account_refuses_to_overspend(monkeypatch):
    given = {each.name: getattr(ONE_ROUND.plan, each.name) for each in fields(rp.fits.rap.RapPlan)}
    experiment = replace(ONE_ROUND, plan=PaysTwice(**given))
    with pytest.raises(rp.errors.BudgetError, match="would cost more than its budget"):
        audited(experiment, likelihood_scores, 1)
    charge_only(monkeypatch, "answers")
    assert contradicts(audited(experiment, likelihood_scores), COST)
