"""Adversaries against RAP, with fixed bits, and with faults planted that they must see."""

import math
from fractions import Fraction

import pytest

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
from residualplanner.fits.rap.plan import RapPlan
from residualplanner.gate.discrete_gaussian import InsecureTestBits

pytestmark = pytest.mark.slow
COST = Fraction(1)
ONE_ROUND = RapExperiment.of(COST)
TWO_ROUNDS = RapExperiment.of(COST, rounds=2, unit="table", moves_apart=True)
RUNS = 700


def audited(experiment, adversary, runs=RUNS):
    return audit_rap(experiment, adversary, runs, (InsecureTestBits(1), InsecureTestBits(2)))


def test_one_round_reveals_what_its_cost_says_and_no_more():
    found = audited(ONE_ROUND, likelihood_scores)
    assert not contradicts(found, COST)
    assert found.mu > 0.97 * math.sqrt(COST) - STANDARD_ERRORS * found.mu_error


def test_the_answers_of_two_rounds_reveal_no_more_than_both_cost():
    assert not contradicts(audited(TWO_ROUNDS, difference_scores, 300), COST)


def test_choices_that_are_not_charged_are_seen(monkeypatch):
    monkeypatch.setattr(RapPlan, "answer_cost", property(lambda plan: plan.round_cost))
    monkeypatch.setattr(RapPlan, "choice_cost", property(lambda plan: plan.round_cost))
    charge = mechanism.Account.charge

    def only_answers(account, what, cost):
        if not what.startswith("choices"):
            charge(account, what, cost)

    monkeypatch.setattr(mechanism.Account, "charge", only_answers)
    assert contradicts(audited(ONE_ROUND, likelihood_scores), COST)


def test_without_that_fault_the_account_refuses_to_overspend(monkeypatch):
    monkeypatch.setattr(RapPlan, "answer_cost", property(lambda plan: plan.round_cost))
    monkeypatch.setattr(RapPlan, "choice_cost", property(lambda plan: plan.round_cost / 2))
    with pytest.raises(ValueError, match="would cost more than its budget"):
        audited(ONE_ROUND, likelihood_scores, 1)


def test_a_score_sensitivity_that_is_off_by_two_is_seen(monkeypatch):
    root = mechanism.root_down
    monkeypatch.setattr(mechanism, "root_down", lambda cost: 2 * root(cost))
    monkeypatch.setattr(mechanism.Account, "charge", lambda *_: None)
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
