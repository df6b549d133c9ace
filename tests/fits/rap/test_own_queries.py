"""Query classes of one's own: slopes, sensitivity, costs and answers, against what all records together show."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import mixture
from residualplanner.fits.rap.own_queries import OwnAnswers
from residualplanner.fits.rap.projection import TableTargets
from residualplanner.fits.rap.tiles import own_table, tiles_of

QueryClass, RapPlan = rp.fits.rap.QueryClass, rp.fits.rap.RapPlan
DOMAIN = rp.Domain({"a": 3, "b": 4, "c": 2})
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.sizes, (300, 3))
SINGLE = rp.marginals(DOMAIN, order=1)
FEW = rp.fits.rap.ProjectionSettings(relaxed_records=30, steps=60)


def sums_of_both(values):
    """Whether b and a, in this order, are together at least 1, 2, .., 5: linear threshold functions."""
    b, a = values
    return np.stack(
        [sum(b[i] * a[j] for i, j in product(range(4), range(3)) if i + j >= least) for least in range(1, 6)]
    )


def slopes_of_both(values, weights):
    b, a = values
    held = np.array([[weights[: i + j].sum() for j in range(3)] for i in range(4)])  # those with least <= i + j
    return held @ a, held.T @ b


BOTH = QueryClass(("b", "a"), sums_of_both, slopes_of_both, sensitivity=5)


def plan_of(query=BOTH, **changes):
    given = {"budget": rp.zcdp("0.5"), "neighbors": "replace", "rounds": 2, "choices": 3, "projection": FEW}
    return RapPlan(SINGLE, own_queries=[query], **(given | changes))


def truth():
    return [int((RECORDS[:, 0] + RECORDS[:, 1] >= least).sum()) for least in range(1, 6)]


def test_exact_answers_are_those_of_all_records_whatever_the_order_of_names():
    counts = np.zeros((3, 4), dtype=np.int64)
    np.add.at(counts, (RECORDS[:, 0], RECORDS[:, 1]), 1)
    assert (OwnAnswers.of(BOTH, DOMAIN).matrix @ counts.ravel()).tolist() == truth()


def test_the_gradient_of_the_loss_is_that_of_finite_differences():
    generator, blocks = np.random.default_rng(1), mixture.OneHot(DOMAIN.sizes)
    values, targets = generator.random((blocks.count, 4)), generator.random(3)
    own = TableTargets.of(blocks, (own_table(BOTH, DOMAIN), np.array([0, 2, 4]), targets, 7.0, 1.0))
    assert own.enough == 3
    slopes = np.zeros_like(values)
    loss = own.add_slopes(values, slopes)
    assert loss == pytest.approx(
        7 * ((sums_of_both((values[3:7], values[:3])).mean(axis=1)[[0, 2, 4]] - targets) ** 2).sum(), rel=1e-5
    )
    for place in product(range(blocks.count), range(4)):
        shifted = [values.copy(), values.copy()]
        for sign, each in zip((1, -1), shifted, strict=True):
            each[place] += sign * 1e-5
        low, high = (own.add_slopes(each, np.zeros_like(values)) for each in reversed(shifted))
        assert slopes[place] == pytest.approx((high - low) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a_sensitivity_below_that_of_all_pairs_of_records_is_refused(neighbors):
    answers = [sums_of_both((np.eye(4)[b][:, None], np.eye(3)[a][:, None]))[:, 0] for a in range(3) for b in range(4)]
    others = answers if neighbors == "replace" else [0 * answers[0]]
    most = int(max(((x - y) ** 2).sum() for x, y in product(answers, others)))
    assert plan_of(replace(BOTH, sensitivity=most), neighbors=neighbors)
    with pytest.raises(rp.errors.WorkloadError, match=f"can change {most} answers.*state at least {most}"):
        plan_of(replace(BOTH, sensitivity=most - 1), neighbors=neighbors)


def test_a_class_whose_pairs_are_too_many_must_state_what_they_might_change(monkeypatch):
    apart = QueryClass(("a",), lambda values: values[0], lambda values, weights: [weights[:, None] + 0 * values[0]], 2)
    monkeypatch.setattr("residualplanner.fits.rap.own_queries._PAIRS", 1)
    assert plan_of(apart)
    with pytest.raises(rp.errors.WorkloadError, match="can change 2 answers"):
        plan_of(replace(apart, sensitivity=1))


@pytest.mark.parametrize(("stated", "cost"), [(5, 5), (9, 5)])
def test_the_stated_sensitivity_is_charged_up_to_the_answers_that_are_measured(stated, cost):
    wide = replace(BOTH, sensitivity=stated)
    result = rp.fits.rap.rap(plan_of(wide, rounds=1, choices=1, unit="table", budget=rp.zcdp(2)), RECORDS)
    [(table, _)] = result.rounds[0].chosen
    expected = cost if table == 3 else 2
    assert dict(result.costs)["answers of round 1"] == expected / result.rounds[0].noise_variance
    assert result.spent <= result.plan.cost <= result.plan.budget.pcost_exact


def test_answers_come_near_the_truth_where_there_is_hardly_any_noise_and_can_be_chosen():
    everything = plan_of(budget=rp.zcdp(10**6), rounds=1, choices=None, projection=replace(FEW, steps=600))
    result = rp.fits.rap.rap(everything, RECORDS)
    assert np.abs(result.rounds[0].answers[3] - truth()).max() <= 1
    assert np.abs(result.answers(BOTH) - truth()).max() < 6
    some = rp.fits.rap.rap(plan_of(budget=rp.zcdp(10**6), rounds=2, choices=7), RECORDS)
    chosen = [each for one in some.rounds for each in one.chosen]
    assert {number for table, number in chosen if table == 3} == set(range(5))  # all of 14 candidates
    assert len(set(chosen)) == 14


def test_plans_of_other_queries_have_other_names_and_a_seed_gives_the_same_run():
    wider = plan_of(replace(BOTH, sensitivity=6))
    assert len({plan_of().sha256, wider.sha256, replace(plan_of(), own_queries=()).sha256}) == 3
    one, other = (rp.fits.rap.rap(plan_of(), RECORDS, seed=2) for _ in range(2))
    assert one.rounds[1].chosen == other.rounds[1].chosen


@pytest.mark.parametrize(
    "answers",
    [
        lambda values: values[0][0] / 2 + values[1][0] / 2,
        lambda values: 0.5 * values[0],
        lambda values: values[0] + np.nan,
        lambda values: 2 * values[0],
    ],
)
def test_answers_that_are_neither_true_nor_false_of_a_record_are_refused_before_one_is_read(answers):
    with pytest.raises(rp.errors.WorkloadError, match="0 or 1 for every combination"):
        plan_of(replace(BOTH, answers=answers))


def test_a_class_is_not_divided_into_tiles():
    table = plan_of().thresholds[3]
    assert (table.cells, table.shape) == (5, (3, 4))
    [tile] = tiles_of([table], relaxed_records=1)
    assert tile.numbers == range(5)
    with pytest.raises(rp.errors.ResourceError, match="class of one's own"):
        tiles_of([table], relaxed_records=1, room=100)
