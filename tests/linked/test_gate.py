"""The gate of several tables: one charge before any noise, exact answers, and nothing told of a record."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import residualplanner as rp
from inner_parts import InsecureTestBits, discrete
from leaks import TEXT
from linked_units import AGES, MOST, RULES, linked_tables, measured_with_bits, random_units, records_of
from residualplanner import linked

TABLES = linked_tables()
PLAN = linked.select(TABLES, budget=rp.zcdp("0.5"))
DRAW = random.Random(1)
DATA = records_of(random_units(random.Random(1), most=40), DRAW)


def ledger(budget="2", **terms):
    return rp.Ledger(rp.zcdp(budget), data_set="survey", **{"records_per_person": 4, **terms})


def test_all_tables_are_one_entry_at_the_exact_cost_of_all():
    account = ledger()
    found = linked.measure(PLAN, DATA, ledger=account)
    (entry,) = account.entries
    assert entry.cost == sum(own.noise.pcost for own in found.values()) == found.noise.pcost <= PLAN.budget.pcost_exact
    assert entry.plan_sha256 == PLAN.sha256
    assert entry.label == "16 tables of households and persons, planned for 0.5-zCDP"
    with pytest.raises(rp.errors.BudgetError, match="again"):
        linked.measure(PLAN, DATA, ledger=account)
    linked.measure(PLAN, DATA, ledger=account, again=True)
    assert len(account.entries) == 2


def test_answers_are_the_counts_and_their_stated_noise():
    """With so little noise that all cells are known, and columns as the rules say."""
    plan = linked.select(TABLES, budget=rp.zcdp(10**9))
    release = linked.reconstruct(linked.measure(plan, DATA, ledger=rp.Ledger.unlimited("test", records_per_person=4)))
    persons = DATA["persons"].to_pandas().sort_values("line").groupby("serial").head(MOST["persons"])
    by_age = persons["age"].value_counts().reindex(AGES, fill_value=0).to_numpy()
    assert np.allclose(release["persons"]["age"].estimate, by_age, atol=0.01)
    children = persons[persons["age"] == "0-17"]["serial"].astype(int).unique()
    expected = DATA["households"].to_pandas()["serial"].isin(children).sum()
    assert release["households"]["children"].estimate[1] == pytest.approx(expected, abs=0.01)


def test_the_sentence_is_about_a_unit_and_says_which_records_count():
    release = linked.reconstruct(linked.measure(PLAN, DATA, ledger=ledger()))
    change = (
        "under adding or removing all records of one 'serial', up to 1 record in 'households' and up to 3 records in"
    )
    assert change in release.sentence
    assert "so many count: in 'households' chosen at random, in 'persons' the first by 'line'." in release.sentence
    assert release.noise.has_guarantee
    assert "'line'" in release["persons"].noise.sentence


def test_records_of_replaced_units_all_count():
    plan = linked.select(TABLES, budget=rp.zcdp("0.5"), neighbors="replace")
    release = linked.reconstruct(linked.measure(plan, DATA, ledger=ledger(neighbors="replace")))
    assert release["persons"].noise.kept.person is None
    assert "so many count" not in release.sentence
    assert release["persons"]["age"].estimate.sum() == pytest.approx(len(DATA["persons"]))


def test_a_ledger_for_another_unit_is_refused_before_records_are_opened():
    for terms in ({"records_per_person": 3}, {"neighbors": "replace"}, {"budget": "0.4"}):
        account = ledger(**terms)
        with pytest.raises(rp.errors.BudgetError):
            linked.measure(PLAN, {"households": None, "persons": None}, ledger=account)
        assert not account.entries


@pytest.mark.parametrize(
    ("persons", "message"),
    [
        (
            {"serial": ["1"], "age": [TEXT], "hours": [1], "line": [1]},
            "table 'persons': column 'age' has values outside",
        ),
        ({"serial": [None], "age": ["0-17"], "hours": [1], "line": [1]}, "table 'persons': the column of persons"),
        ({"serial": ["1"], "age": ["0-17"], "hours": [1]}, "table 'persons': column 'line' is missing"),
        (
            {"serial": [0.5], "age": ["0-17"], "hours": [1], "line": [1]},
            "table 'persons': column 'serial' is of a type",
        ),
    ],
)
def test_records_that_do_not_fit_cost_nothing_and_are_not_quoted(persons, message):
    account = ledger()
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        linked.measure(PLAN, DATA | {"persons": pa.table(persons)}, ledger=account)
    assert not account.entries
    assert TEXT not in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert caught.value.__cause__ is caught.value.__context__ is None
    frames = []
    trace = caught.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert frames[1:] == ["entered"]


def test_who_may_not_see_the_records_pays_before_they_are_counted():
    account = ledger()
    wrong = pa.table({"serial": ["1"], "age": ["old"], "hours": [1], "line": [1]})
    with pytest.raises(rp.errors.DataError) as caught:
        linked.measure(PLAN, DATA | {"persons": wrong}, ledger=account, charge="first")
    assert len(account.entries) == 1
    assert "The charge stays" in caught.value.__notes__[0]


def test_what_fails_in_the_second_table_comes_before_the_charge_and_the_first_noise(monkeypatch):
    drawn = []
    monkeypatch.setattr(discrete.ExactNoise, "answers", lambda *_given, **_named: drawn.append(1))
    account = ledger()
    wrong = pa.table({"serial": ["1"], "age": ["old"], "hours": [1], "line": [1]})
    with pytest.raises(rp.errors.DataError):
        linked.measure(PLAN, DATA | {"persons": wrong}, ledger=account)
    assert not drawn
    assert not account.entries


def test_an_error_while_noise_is_drawn_says_what_was_charged(monkeypatch):
    def failing(*_given, **_named):
        raise RuntimeError(TEXT)

    monkeypatch.setattr(discrete.ExactNoise, "answers", failing)
    account = ledger()
    with pytest.raises(rp.errors.UnexpectedError) as caught:
        linked.measure(PLAN, DATA, ledger=account)
    assert "The charge stays" in caught.value.__notes__[0]
    assert TEXT not in str(caught.value)
    assert len(account.entries) == 1


def test_a_defect_in_a_rule_tells_no_record(monkeypatch):
    def failing(*_given):
        raise ValueError(TEXT)

    monkeypatch.setattr(linked.CountOf, "_numbers", failing)
    account = ledger()
    with pytest.raises(rp.errors.UnexpectedError) as caught:
        linked.measure(PLAN, DATA, ledger=account)
    assert TEXT not in str(caught.value) + caught.value.__notes__[0]
    assert not account.entries


def test_arguments_that_do_not_fit_are_refused():
    for data, error, message in (
        ({"households": DATA["households"]}, rp.errors.DomainError, "data must be a mapping with an entry for each"),
        (DATA["households"], rp.errors.DomainError, "data must be a mapping"),
        (
            DATA | {"persons": rp.LimitedRecords(DATA["persons"], person="serial")},
            rp.errors.DataError,
            "give the records of table 'persons' alone, without LimitedRecords",
        ),
    ):
        with pytest.raises(error, match=message):
            linked.measure(PLAN, data, ledger=ledger())
    with pytest.raises(rp.errors.ArgumentError, match=r"plan must be a LinkedPlan.*linked\.select"):
        linked.measure(PLAN["persons"], DATA)
    with pytest.raises(rp.errors.BudgetError, match="noise must be"):
        linked.measure(PLAN, DATA, noise="laplace")
    with pytest.raises(rp.errors.BudgetError, match="does not hold for discrete noise"):
        linked.measure(linked.select(TABLES, budget=rp.privacy.gdp(1)), DATA)
    with pytest.raises(rp.errors.ArgumentError, match=r"write linked\.reconstruct"):
        linked.reconstruct(DATA)


def test_units_without_records_of_their_own_rules_are_refused_where_records_are_replaced():
    domain = rp.Domain({"age": rp.Attribute("age", labels=AGES, unknown="?", missing="?")})
    tables = linked.LinkedTables(
        {
            "households": linked.LinkedTable(
                rp.marginals(rp.Domain({"size": 4}), order=1), derived={"size": RULES["households"]["size"]}
            ),
            "persons": (rp.marginals(domain, order=1), 3),
        },
        unit="serial",
    )
    with pytest.raises(rp.errors.DomainError, match="their number is public, and records of"):
        linked.select(tables, budget=rp.zcdp(1), neighbors="replace")


def test_progress_goes_through_all_tables_and_its_errors_pass():
    told = []
    linked.measure(PLAN, DATA, ledger=ledger(), progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert {total for _, total in told} == {told[-1][0]}

    def stop(_done, _total):
        raise KeyError(TEXT)

    account = ledger()
    with pytest.raises(KeyError, match=TEXT):
        linked.measure(PLAN, DATA, ledger=account, progress=stop)
    assert not account.entries


def test_noise_for_research_is_another_for_each_table_and_has_no_guarantee():
    one, same = (linked.measure(PLAN, DATA, noise="gaussian", seed=3) for _ in range(2))
    assert all(one[name].answers_sha256 == same[name].answers_sha256 for name in one)
    assert repr(one) == "<LinkedMeasurement of 'households' and 'persons'; no guarantee: seeded, not private>"
    assert linked.reconstruct(one).sentence.startswith("whoever knows the seed")
    domain = rp.Domain({"age": AGES})
    twins = linked.LinkedTables({name: (rp.marginals(domain, order=1), 1) for name in ("a", "b")}, unit="serial")
    data = {name: pa.table({"serial": [1], "age": AGES[:1]}) for name in twins}
    plan = linked.select(twins, budget=rp.zcdp(1))
    noisy = linked.reconstruct(linked.measure(plan, data, noise="gaussian", seed=3))
    assert not np.allclose(noisy["a"]["age"].estimate, noisy["b"]["age"].estimate)


def test_the_same_bits_give_the_same_answers_and_the_cost_is_that_of_the_worst_unit():
    """What one unit changes, in all tables together, costs no more than is stated, and may cost that.  Eq. (146)."""
    found = [measured_with_bits(PLAN, DATA, InsecureTestBits(5)) for _ in range(2)]
    for name in PLAN:
        assert found[0][name].answers_sha256 == found[1][name].answers_sha256
    each = {
        name: rp.select(PLAN[name].workload, budget=PLAN[name].budget, records_per_person=MOST[name]) for name in PLAN
    }
    alone = sum(
        Fraction(rp.measure(own, RECORD[name], ledger=alone_ledger(name)).noise.pcost) for name, own in each.items()
    )
    assert found[0].noise.pcost == pytest.approx(alone, rel=1e-9)


RECORD = {name: np.zeros((1, len(TABLES[name].domain)), dtype=int) for name in TABLES}


def alone_ledger(name):
    return rp.Ledger(rp.zcdp(1), data_set=name, records_per_person=MOST[name])
