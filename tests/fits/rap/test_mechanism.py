"""RAP as a mechanism: costs, choices, answers, refusals, and what leaves it."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Ledger

DOMAIN = rp.Domain({"a": 3, "b": 4, "c": 5})
PAIRS = rp.marginals(DOMAIN, order=2)
RECORDS = np.random.default_rng(0).integers(0, [3, 4, 5], (300, 3))
FEW = rp.fits.rap.ProjectionSettings(relaxed_records=20, steps=5)


def plan_of(**changes):
    given = {"budget": rp.zcdp("0.5"), "neighbors": "replace", "rounds": 3, "choices": 2, "projection": FEW}
    given |= changes
    return rp.fits.rap.RapPlan(given.pop("workload", PAIRS), **given)


def truth(names):
    positions = [DOMAIN.names.index(name) for name in names]
    table = np.zeros([DOMAIN.sizes[i] for i in positions], dtype=int)
    for record in RECORDS:
        table[tuple(record[positions])] += 1
    return table


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("unit", ["cell", "table"])
@pytest.mark.parametrize("sensitivity", ["joint", "per-cell"])
def test_costs_add_up_to_the_budget_and_never_exceed_it(neighbors, unit, sensitivity):
    plan = plan_of(neighbors=neighbors, unit=unit, sensitivity=sensitivity, rounds=3, choices=1, records_per_person=2)
    result = rp.fits.rap.rap(plan, RECORDS)
    assert plan.cost <= plan.budget.pcost_exact
    assert 1 - Fraction(1, 10**9) < result.spent / plan.cost <= 1
    most = {"choices": plan.choice_cost, "answers": plan.answer_cost, "the number": plan.total_cost}
    assert all(cost <= most[what.split(" of ")[0]] for what, cost in result.costs)
    kinds = [what.split(" of ")[0] for what, _ in result.costs]
    total = [] if neighbors == "replace" else ["the number"]
    assert kinds == total + ["choices", "answers"] * 3


@pytest.mark.parametrize("relaxation", ["softmax", "sparsemax"])
def test_a_round_may_choose_the_number_of_records_alone(relaxation):
    """It says nothing of the relaxed records, and the run that was paid for goes on."""
    total, settings = rp.Workload(DOMAIN, [()]), rp.fits.rap.ProjectionSettings(5, relaxation, steps=3)
    plan = plan_of(workload=total, rounds=1, choices=1, neighbors="add-remove", budget=rp.zcdp(50), projection=settings)
    result = rp.fits.rap.rap(plan, RECORDS)
    assert result.rounds[0].answers[0] == pytest.approx(300, abs=5)
    assert result.table(()) == pytest.approx(300, abs=60)


def test_the_cost_of_answers_is_that_of_their_noise_and_everything_can_be_chosen_once():
    result = rp.fits.rap.rap(plan_of(unit="table", rounds=1, choices=2), RECORDS)
    [one] = result.rounds
    assert dict(result.costs)["answers of round 1"] == 2 * 2 / one.noise_variance  # two tables, two cells of each
    assert sorted(map(len, one.answers.values())) == sorted(len(cells) for cells in one.cells.values())
    assert len(set(rp.fits.rap.rap(plan_of(rounds=1, choices=47), RECORDS).rounds[0].chosen)) == 47
    assert rp.fits.rap.rap(plan_of(unit="table", rounds=3, choices=1), RECORDS).rounds[2].chosen


@pytest.mark.parametrize("r", [1, 2, 3])
def test_joint_sensitivity_is_that_of_all_pairs_of_records(r):
    threshold = rp.Threshold(("a", "b", "c"), r)
    plan = plan_of(workload=rp.Workload(rp.Domain({"a": 2, "b": 3, "c": 2}), [threshold]), choices=1)
    (table,) = plan.thresholds
    marginals = []
    for record in product(*map(range, table.shape)):
        marginals.append(np.zeros(table.shape, dtype=int))
        marginals[-1][record] = 1
    answers = [table.answers(each) for each in marginals]
    all_cells = {table: table.cells}
    assert plan.bound(all_cells, rp.privacy.Neighbors()) == max((each**2).sum() for each in answers)
    pairs = product(answers, repeat=2)
    assert plan.bound(all_cells, rp.privacy.Neighbors("replace")) == max(((x - y) ** 2).sum() for x, y in pairs)
    assert plan.bound({table: 1}, rp.privacy.Neighbors()) == 1
    assert replace(plan, sensitivity="per-cell").bound(all_cells, rp.privacy.Neighbors()) == 12


def test_answers_come_near_the_truth_where_there_is_hardly_any_noise():
    settings = rp.fits.rap.ProjectionSettings(relaxed_records=200, steps=600)
    plan = plan_of(budget=rp.zcdp(10**6), rounds=1, choices=None, projection=settings)
    result = rp.fits.rap.rap(plan, RECORDS)
    for names in PAIRS:
        assert np.abs(result.table(names) - truth(names)).max() / len(RECORDS) < 0.02
    assert result.table(("b", "a")).shape == (4, 3)
    table = result.table(("a", "b"))
    one_or_both = table.sum(axis=0)[None] + table.sum(axis=1)[:, None] - table
    assert np.allclose(result.table(rp.Threshold(("a", "b"), 1)), one_or_both, rtol=1e-3)


@pytest.mark.parametrize("unit", ["cell", "table"])
def test_without_noise_the_worst_are_chosen_and_none_twice(unit):
    result = rp.fits.rap.rap(plan_of(budget=rp.zcdp(10**9), unit=unit, rounds=1, choices=3), RECORDS, seed=1)
    blocks_seed = np.random.default_rng(1)
    assert len(set(result.rounds[0].chosen)) == 3
    plan = result.plan
    kind, blocks = plan.projection.kind, result.records.blocks
    start = kind.values(kind.start(blocks, 20, blocks_seed), blocks)
    errors = []
    for number, table in enumerate(plan.thresholds):
        columns = [start[blocks.rows(i)].astype(float) for i in table.positions]
        model = np.rint(np.einsum("ic,jc->ij", *columns) / 20 * len(RECORDS))
        wrong = np.abs(truth([DOMAIN.names[i] for i in table.positions]) - model)
        errors += [(wrong.max(), number)] if unit == "table" else [(each, number) for each in wrong.flat]
    expected = sorted((error for error, _ in errors), reverse=True)[:3]
    scores = {}
    for error, number in errors:
        scores.setdefault(number, []).append(error)
    assert [scores[table][cell] for table, cell in result.rounds[0].chosen] == expected


def test_the_same_seed_gives_the_same_result_and_no_guarantee():
    first, second = (rp.fits.rap.rap(plan_of(), RECORDS, seed=7) for _ in range(2))
    assert [each.chosen for each in first.rounds] == [each.chosen for each in second.rounds]
    assert (first.records.values == second.records.values).all()
    assert first.noise.guarantee.startswith("none: ")
    assert not rp.fits.rap.rap(plan_of(), RECORDS).noise.guarantee.startswith("none: ")


def test_a_noisy_number_of_records_is_used_where_it_is_not_public():
    measured = rp.fits.rap.rap(plan_of(neighbors="add-remove", budget=rp.zcdp(10**6)), RECORDS)
    assert abs(measured.total - 300) < 3
    few = plan_of(neighbors="add-remove", budget=rp.zcdp("0.01"))
    assert len({rp.fits.rap.rap(few, RECORDS).total for _ in range(5)}) > 1  # of a standard deviation of 70
    assert rp.fits.rap.rap(plan_of(neighbors="add-remove", total=299), RECORDS).total == 299
    assert rp.fits.rap.rap(plan_of(), RECORDS).total == 300


def test_records_are_drawn_from_the_model():
    result = rp.fits.rap.rap(plan_of(), RECORDS, seed=5)
    codes = result.codes()
    assert codes.shape == (300, 3)
    found = np.zeros((3, 4))
    np.add.at(found, (codes[:, 0], codes[:, 1]), 1)
    assert np.abs(found - result.table(("a", "b"))).max() < 15
    assert np.abs(np.bincount(codes[:, 2], minlength=5) - result.table(("c",))).max() < 12
    assert len(result.codes(7, seed=1)) == 7


def test_thresholds_are_chosen_from_as_marginals_are():
    workload = rp.Workload(DOMAIN, [rp.Threshold(("a", "b", "c"), r) for r in (1, 2)] + [("a", "c"), ()])
    plan = plan_of(workload=workload, budget=rp.zcdp(10**7), rounds=1, choices=2, unit="table")
    result = rp.fits.rap.rap(plan, RECORDS)
    for table, answers in result.rounds[0].answers.items():
        at_least = result.plan.thresholds[table].at_least
        positions = list(result.plan.thresholds[table].positions)
        values = np.indices(result.plan.thresholds[table].shape).reshape(len(positions), -1).T
        matches = (RECORDS[:, None, positions] == values[None]).sum(axis=2)
        assert (answers == (matches >= at_least).sum(axis=0)).all()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        *((change, rp.errors.WorkloadError) for change in ({"rounds": 0}, {"choices": 0}, {"total": 0})),
        *(({"rounds": r, "choices": c}, rp.errors.WorkloadError) for r, c in ((4, 12), (2, None))),
        *((change, rp.errors.WorkloadError) for change in ({"unit": "query"}, {"sensitivity": "both"})),
        ({"workload": rp.Workload(DOMAIN, [{"a": rp.Prefix()}])}, rp.errors.WorkloadError),
        *(({"answer_fraction": part}, rp.errors.BudgetError) for part in (0, 1)),
        *((change, rp.errors.BudgetError) for change in ({"neighbors": "bounded"}, {"total_fraction": float("nan")})),
        *(({"budget": budget}, rp.errors.BudgetError) for budget in (rp.privacy.gdp(1), rp.pcost(2**61))),
        *((change, TypeError) for change in ({"budget": 0.5}, {"workload": [("a",)]})),
    ],
)
def test_plans_that_cannot_be_are_refused(changes, error):
    with pytest.raises(error):
        plan_of(**changes)


@pytest.mark.parametrize("charge", ["counted", "first"])
@pytest.mark.parametrize("memory", [2**30, 2**12])
def test_a_run_is_charged_once_and_records_that_do_not_fit_cost_nothing_unless_the_charge_comes_first(charge, memory):
    ledger = Ledger(rp.zcdp(1), neighbors="replace")
    rp.fits.rap.rap(plan_of(), RECORDS, ledger=ledger)
    [entry] = ledger.entries
    assert entry.cost == plan_of().cost
    assert entry.plan_sha256 == plan_of().sha256
    with pytest.raises(rp.errors.DataError) as caught:
        rp.fits.rap.rap(plan_of(), np.array([[0, 0, 77]]), ledger=ledger, charge=charge, memory=memory, again=True)
    assert "77" not in str(caught.value)
    assert any("The charge stays" in note for note in caught.value.__notes__) == (charge == "first")
    assert ledger.spent == (1 + (charge == "first")) * plan_of().cost
    assert caught.value.__context__ is None
    if charge == "counted":
        rp.fits.rap.rap(plan_of(), RECORDS, ledger=ledger, again=True)
    with pytest.raises(rp.errors.BudgetError, match="left"):
        rp.fits.rap.rap(plan_of(), RECORDS, ledger=ledger, again=True)
    with pytest.raises(rp.errors.BudgetError, match=r"entry 1 of the ledger is for this plan .*has too little left"):
        rp.fits.rap.rap(plan_of(), RECORDS, ledger=ledger)
    with pytest.raises(rp.errors.BudgetError, match="neighbors"):
        rp.fits.rap.rap(plan_of(), RECORDS, ledger=Ledger(rp.zcdp(1)))
    assert plan_of(rounds=2).sha256 != plan_of().sha256


@pytest.mark.parametrize(
    ("given", "error"),
    [
        *(({"memory": memory}, rp.errors.ResourceError) for memory in (8, "1 GB", np.nan)),
        *(({"seed": seed}, rp.errors.BudgetError) for seed in (-1, True)),
        *((given, TypeError) for given in ({"ledger": "file"}, {"plan": RECORDS, "data": plan_of()})),
    ],
)
def test_what_can_be_refused_is_refused_before_the_charge(given, error):
    ledger = Ledger(rp.zcdp(1), neighbors="replace")
    with pytest.raises(error):
        rp.fits.rap.rap(**{"plan": plan_of(), "data": RECORDS, "ledger": ledger} | given)
    assert not ledger.entries


def test_a_result_refuses_what_it_cannot_tell_and_settings_what_means_nothing():
    result = rp.fits.rap.rap(plan_of(), RECORDS, seed=1)
    for asked, words in (
        (lambda: result.table({"a": rp.Matching(1)}), "for more than 1 attribute of a query"),
        (lambda: result.codes(-1), "records must be an integer, at least 0"),
        (lambda: result.codes(3, seed=-1), "seed must be an integer, at least 0"),
        (lambda: result.codes(10**13), "too little memory"),
    ):
        with pytest.raises(rp.errors.ResidualPlannerError, match=words):
            asked()
    wrong = {
        "learning_rate": ["0.1", True, 0.0, float("nan")],
        "spread": ["1", -1.0, float("inf")],
        "relaxation": [["softmax"], "soft", "clip"],
        "steps": [0, 1.5],
    }
    for name, values in (wrong | {"stops_at_noise": ["no"], "relaxed_records": [True]}).items():
        for value in values:
            with pytest.raises(rp.errors.WorkloadError, match=name):
                rp.fits.rap.ProjectionSettings(**{name: value})


def test_weights_change_the_fit_and_neither_choices_nor_noise():
    known, past = rp.Workload(DOMAIN, [("a", "b")]), rp.Workload(DOMAIN, [("b", "c")])
    once = {"rounds": 1, "choices": 12}
    weighed = [rp.questions.with_history(known, past, history_weight=part) for part in (0.5, 0.01)]
    results = [rp.fits.rap.rap(plan_of(workload=each, **once), RECORDS, seed=1) for each in weighed]
    one, other = (result.rounds[0] for result in results)
    assert one.chosen == other.chosen
    assert one.answers.keys() == {0, 1}
    assert one.noise_variance == other.noise_variance
    assert [found.tolist() for found in one.answers.values()] == [found.tolist() for found in other.answers.values()]
    assert one.losses[0] != other.losses[0]
    equal, unequal = (result.plan for result in results)
    assert equal.importance == (1.0, 1.0)
    assert unequal.importance == (1.0, pytest.approx(1 / 99))
    assert equal.sha256 == plan_of(workload=known + past, **once).sha256 != unequal.sha256
