"""An adversary against all stages of a run, with fixed bits, and with a fault planted that it must see."""

import math

import pytest

from benchmarks.auditing import audit
from benchmarks.auditing_stages import StagesExperiment
from inner_parts import InsecureTestBits

RUNS = 90


def audited(experiment):
    scores = (
        experiment.likelihood_scores(side, RUNS, InsecureTestBits(seed)) for side, seed in ((False, 1), (True, 2))
    )
    return audit(*scores, mu=math.sqrt(experiment.cost))


@pytest.mark.parametrize(("rho", "records"), [("0.5", 300), ("0.05", 20)], ids=["with triples", "alone"])
@pytest.mark.thorough
def test_all_stages_together_reveal_what_they_cost_and_no_more(rho, records):
    experiment = StagesExperiment.of(rho, records)
    found = audited(experiment)
    assert not found.contradicts(math.sqrt(experiment.cost))
    assert found.mu > math.sqrt(experiment.cost) - 5 * found.mu_error


@pytest.mark.thorough
def test_stages_that_cost_more_than_is_charged_are_seen():
    """The noise is half of what the claim needs: as if a record changed tables by twice as much."""
    experiment = StagesExperiment.of("0.5", 300, really="2")
    assert audited(experiment).contradicts(math.sqrt(experiment.cost))
