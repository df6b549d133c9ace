"""Adversaries against plans of `synthesis_plan`, with fixed bits, and with faults planted that they must see."""

import inspect
import math
from dataclasses import replace

import pytest

import residualplanner as rp
from benchmarks.auditing import audit
from benchmarks.auditing_synthesis import SynthesisExperiment
from inner_parts import InsecureTestBits

RUNS, MORE = 4_000, 20_000
SINGLES, TRIPLES = SynthesisExperiment.of("0.1"), SynthesisExperiment.of("1")


def audited(scores_of, cost, runs=RUNS):
    before, after = (scores_of(side, runs, InsecureTestBits(seed)) for side, seed in ((False, 1), (True, 2)))
    return audit(before, after, mu=math.sqrt(cost))


@pytest.mark.parametrize("experiment", [SINGLES, TRIPLES], ids=["with single attributes", "with triples"])
def test_all_answers_reveal_what_they_cost_and_no_more(experiment):
    found = audited(experiment.likelihood_scores, experiment.cost)
    assert not found.contradicts(math.sqrt(experiment.cost))
    assert found.mu > math.sqrt(experiment.cost) - 5 * found.mu_error


def test_two_tables_of_one_shape_reveal_what_their_noise_allows_and_no_more():
    found = audited(TRIPLES.difference_scores, TRIPLES.difference_cost)
    assert abs(found.mu - math.sqrt(TRIPLES.difference_cost)) <= 5 * found.mu_error


@pytest.mark.parametrize(
    "fault",
    [lambda honest: honest.with_deviation(0.5), lambda honest: honest.measuring_twice(4)],
    ids=["a sensitivity that is off by two", "a pair that is measured once more than it is charged"],
)
def test_answers_that_cost_more_than_is_charged_are_seen(fault):
    broken = replace(TRIPLES, mechanism=fault(TRIPLES.mechanism))
    assert audited(broken.likelihood_scores, TRIPLES.cost, MORE).contradicts(math.sqrt(TRIPLES.cost))


def test_what_is_measured_is_chosen_without_records():
    """No argument of `synthesis_plan` can hold a record: there is no choice that would have to be charged."""
    told = "domain budget triples max_cells neighbors records_per_person"
    assert list(inspect.signature(rp.fits.synthesis_plan).parameters) == told.split()
