"""Adversaries against RAP, with fixed bits, and with faults planted that they must see."""

import math
from dataclasses import fields, replace
from fractions import Fraction

import pytest

import residualplanner as rp
from benchmarks.auditing import STANDARD_ERRORS
from benchmarks.auditing_rap import (
    RapExperiment,
    audit_rap,
    choice_scores,
    contradicts,
    difference_scores,
    likelihood_scores,
)
from residualplanner.fits.rap import mechanism
from residualplanner.gate.discrete_gaussian import InsecureTestBits

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


def test_a_score_sensitivity_that_is_off_by_two_is_seen(monkeypatch):
    root = mechanism.root_down
    monkeypatch.setattr(mechanism, "root_down", lambda cost: 2 * root(cost))
    charge_only(monkeypatch, "nothing")
    assert contradicts(audited(ONE_ROUND, choice_scores), ONE_ROUND.plan.choice_cost)


def test_a_key_that_is_used_in_every_round_is_seen(monkeypatch):
    noise, seeds = mechanism.Run._noise, [0]

    def same_every_round(run, variance, sizes):
        if run.account.entries[-1][0] == "answers of round 1":
            seeds.append(seeds[-1] + 1)
        run.source, source = InsecureTestBits(seeds[-1]), run.source
        drawn = noise(run, variance, sizes)
        run.source = source
        return drawn

    monkeypatch.setattr(mechanism.Run, "_noise", same_every_round)
    assert contradicts(audited(TWO_ROUNDS, difference_scores, 150), COST)
