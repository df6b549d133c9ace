"""An audit of RAP: many runs of the real mechanism on two neighboring data sets, and adversaries who tell them apart.

Every run makes the mechanism's own draws, through `Run.drawn`, from counts that are made once for each data set.  The
fits between the rounds are left out: they are post-processing, and by the proof the privacy of a round holds whatever
model it begins with; here every round begins with the first relaxed records.

The likelihood adversary knows both data sets, the plan and the first relaxed records, and sees what one round chose and
answered; the choice adversary sees the same runs without their answers.  The difference adversary sees the answers of
two rounds, and looks for noise that came twice.  Two figures follow from their scores, as in `benchmarks.auditing`: mu,
an estimate that is sqrt(pcost) at most for such data, and a bound on epsilon at a delta of 0.01, which disproves the
claim of zCDP wherever it is larger.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.auditing import DELTA, STANDARD_ERRORS, Audit, Scores, audit
from benchmarks.rap_cases import counts_of
from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.mechanism import RapRound, Run
from residualplanner.fits.rap.plan import root_down
from residualplanner.fits.rap.relaxed_records import RelaxedRecords
from residualplanner.fits.rap.tiles import ExactCounts, tiles_of
from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.sources.opening import open_source
from residualplanner.gate.sources.source import Source

Codes = NDArray[np.int64]
DOMAIN = rp.Domain({"a": 2, "b": 2})
#: The first relaxed records do not matter to privacy; these have about half of the records in each cell.
START, RELAXED, RECORDS = 0, 50, 40


def first_model(plan: rp.fits.rap.RapPlan) -> list[Codes]:
    """The answers of the first relaxed records to both tables, as integers."""
    blocks, kind = OneHot(DOMAIN.sizes), plan.projection.kind
    start = kind.start(blocks, RELAXED, np.random.default_rng(START))
    fitted = RelaxedRecords(blocks, kind.values(start, blocks))
    return list(map(fitted.integers(RECORDS), tiles_of(plan.thresholds, relaxed_records=RELAXED)))


@dataclass(frozen=True)
class RapExperiment:
    """A plan and two neighboring data sets, 40 records each; a record is replaced.

    Attributes:
        plan: what is audited.
        before, after (40, 2): the records.
    """

    plan: rp.fits.rap.RapPlan
    before: Codes
    after: Codes

    @classmethod
    def of(cls, pcost: Fraction, *, rounds: int = 1, unit: str = "cell", moves_apart: bool = False) -> "RapExperiment":
        """The worst replacements there are.

        Args:
            pcost: of the plan.
            rounds: of the plan.
            unit: what it chooses.
            moves_apart: the counts of the first cells of both tables change in opposite directions; else all four
                cells' scores change, half of them up and half down.
        """
        plan = rp.fits.rap.RapPlan(
            rp.marginals(DOMAIN, order=1),
            budget=rp.pcost(pcost),
            neighbors="replace",
            rounds=rounds,
            choices=1,
            unit=unit,
            projection=rp.fits.rap.ProjectionSettings(relaxed_records=RELAXED, steps=1),
        )
        high, low = (int(model[0]) + shift for model, shift in zip(first_model(plan), (5, -5), strict=True))
        numbers = {(0, 0): 10, (0, 1): high - 10, (1, 0): low - 10, (1, 1): RECORDS + 10 - high - low}
        before = np.array([values for values, number in numbers.items() for _ in range(number)])
        after = before.copy()
        after[10 if moves_apart else 0] = [1, 0] if moves_apart else [1, 1]
        return cls(plan, before, after)

    def side(self, is_after: bool) -> Codes:
        """The records of one side."""
        return self.after if is_after else self.before

    def outcomes(self, is_after: bool, runs: int, source: ByteSource) -> Iterator[list[RapRound]]:
        """What the draws of all rounds give, in so many runs."""
        counts = ExactCounts(self.opened(is_after), tiles_of(self.plan.thresholds, relaxed_records=RELAXED))
        model = first_model(self.plan)
        for _ in range(runs):
            run = Run(self.plan, counts, source, np.random.default_rng(START))
            yield [run.drawn(lambda tile: model[tile.table], number) for number in range(self.plan.rounds)]

    def opened(self, is_after: bool) -> Source:
        """The records of one side, as a source."""
        return open_source(self.side(is_after), DOMAIN, records_per_person=1)

    def counts(self, is_after: bool) -> list[NDArray[np.int64]]:
        """The exact answers of both tables."""
        codes = np.ascontiguousarray(self.side(is_after).T)
        return [counts_of(codes, DOMAIN, (i,)) for i in range(2)]


def round_scores(experiment: RapExperiment, is_after: bool, runs: int, source: ByteSource) -> tuple[Scores, Scores]:
    """How much likelier each outcome of one round is after the replacement, scaled as scores of unit variance are.

    Returns:
        The scores by the choice alone, and by the choice and its answer, of the same runs.
    """
    plan = experiment.plan
    sides = [experiment.counts(side) for side in (False, True)]
    first, second = (_choice_log_probabilities(plan, counts) for counts in sides)
    variance = float(1 / plan.answer_cost)
    by_choice, by_both = [], []
    for [drawn] in experiment.outcomes(is_after, runs, source):
        [(table, cell)] = drawn.chosen
        answer = int(drawn.answers[table][0])
        before, after = (float(answer - counts[table][cell]) ** 2 / (2 * variance) for counts in sides)
        by_choice.append(second[table, cell] - first[table, cell])
        by_both.append(by_choice[-1] + before - after)
    return _scaled(by_choice, plan.choice_cost), _scaled(by_both, plan.cost)


def _scaled(ratios: list[float], pcost: Fraction) -> Scores:
    """Logarithms of ratios of likelihoods (runs,), as scores with mean 0 before and sqrt(pcost) after."""
    mu = math.sqrt(pcost)
    return np.array(ratios) / mu + mu / 2


def likelihood_scores(experiment: RapExperiment, is_after: bool, runs: int, source: ByteSource) -> Scores:
    """The scores by what one round chose and answered."""
    return round_scores(experiment, is_after, runs, source)[1]


def choice_scores(experiment: RapExperiment, is_after: bool, runs: int, source: ByteSource) -> Scores:
    """The scores by what one round chose, without its answer."""
    return round_scores(experiment, is_after, runs, source)[0]


def _choice_log_probabilities(plan: rp.fits.rap.RapPlan, counts: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """The logarithm of the probability of each cell (2, 2), from the definition of the exponential mechanism."""
    utility = float(root_down(plan.choice_cost)) * np.abs(np.array(counts) - np.array(first_model(plan)))
    return utility - np.log(np.exp(utility).sum())


def difference_scores(experiment: RapExperiment, is_after: bool, runs: int, source: ByteSource) -> Scores:
    """How far the first cells of both tables are apart, each answered in a round of its own, in standard deviations."""
    deviation = math.sqrt(4 / float(experiment.plan.answer_cost))
    center = -float(np.subtract(*(counts[0] for counts in experiment.counts(False))))
    scores = []
    for rounds in experiment.outcomes(is_after, runs, source):
        answers = {table: found[0] for each in rounds for table, found in each.answers.items()}
        scores.append((float(answers[1] - answers[0]) - center) / deviation)
    blur = np.random.default_rng(int(is_after)).random(runs) / 1000  # scores that are all the same have no variance
    return np.array(scores) + blur


Adversary = Callable[[RapExperiment, bool, int, ByteSource], Scores]


def audit_rap(
    experiment: RapExperiment, adversary: Adversary, runs: int, sources: tuple[ByteSource, ByteSource]
) -> Audit:
    """What an adversary achieves on both sides."""
    before, after = (
        adversary(experiment, side, runs, source) for side, source in zip((False, True), sources, strict=True)
    )
    return audit(before, after, mu=math.sqrt(experiment.plan.cost))


def contradicts(found: Audit, pcost: Fraction) -> bool:
    """Whether the mechanism protects less than its cost says."""
    too_far = found.mu > math.sqrt(pcost) + STANDARD_ERRORS * found.mu_error
    return too_far or found.epsilon > rp.pcost(pcost).epsilon(DELTA)
