"""At most k records of each person, against a loop over persons, in every source."""

import datetime as dt
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import FORMS, counts, dask_of
from inner_parts import noise_record

few = settings(derandomize=True, deadline=None, max_examples=25)
PEOPLE, CELLS = 6, 5
DOMAIN = rp.Domain({"who": PEOPLE, "what": rp.Attribute("what", CELLS, unknown="drop")})
KEY = bytes(range(32))
NAMES = ["ann", "bob", "é", "7", "07", "-1"]
RECORDS = st.lists(
    st.tuples(st.integers(0, PEOPLE - 1), st.integers(0, CELLS), st.integers(-3, 12)), min_size=1, max_size=40
)


def frame_of(records):
    frame = pd.DataFrame(records, columns=["who", "what", "day"])
    return frame.assign(name=[NAMES[who] for who in frame.who])


def counted(data, keep, order=None, key=KEY, domain=DOMAIN):
    limited = rp.LimitedRecords(data, person="name", keep=keep, order=order, key=key)
    return np.array(counts(limited, domain, (0, 1), keep))


def by_person(records):
    found = defaultdict(list)
    for who, what, day in records:
        if what < CELLS:  # others are left out, and take nobody's place
            found[who].append((day, what))
    return found


@given(records=RECORDS, keep=st.integers(1, 4), text=st.booleans())
@few
def test_the_first_of_each_person_are_those_of_a_loop_over_persons(records, keep, text):
    """Where equal days make a choice, what is counted is one of the possible choices."""
    frame = frame_of(records)
    table = counted(frame.astype({"day": str}) if text else frame, keep, order="day")
    for who, own in by_person(records).items():
        days = sorted(day for day, _ in own)[:keep]
        sure = Counter(what for day, what in own if day < days[-1])
        possible = sure + Counter(what for day, what in own if day == days[-1])
        found = Counter({what: int(count) for what, count in enumerate(table[who]) if count})
        assert found.total() == len(days)
        assert sure <= found <= possible


@given(records=RECORDS, keep=st.integers(1, 3), order=st.sampled_from([None, "day"]), seed=st.integers(0, 99))
@few
def test_others_who_come_and_go_and_the_order_of_lines_change_nothing_for_a_person(records, keep, order, seed):
    frame = frame_of(records)
    together = counted(frame.sample(frac=1, random_state=seed), keep, order)
    for who in range(PEOPLE):
        alone = counted(frame[frame.who == who], keep, order)
        assert (alone[who] == together[who]).all()
        assert alone.sum() == alone[who].sum() <= keep


def test_without_an_order_every_record_is_as_likely_as_any_other():
    frame = frame_of([(who, what, 0) for who in range(PEOPLE) for what in range(CELLS)])
    tables = np.sum([counted(frame, 2, key=number.to_bytes(32)) for number in range(150)], axis=0)
    expected = 150 * 2 / CELLS
    assert tables.sum(axis=1).tolist() == [300] * PEOPLE
    assert (np.abs(tables - expected) < 4.5 * np.sqrt(expected * (1 - 2 / CELLS))).all()
    assert len({tuple(row) for row in counted(frame, 2).tolist()}) > 1  # not the same choice for everybody


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [None, "day"])
def test_every_form_makes_the_same_choice(order, form, tmp_path):
    rng = np.random.default_rng(2)
    frame = frame_of(rng.integers(0, [PEOPLE, CELLS + 1, 4], (80, 3)).tolist())
    expected = counted(frame, 3, order)
    assert expected.sum(axis=1).tolist() == [3] * PEOPLE
    assert (counted(FORMS[form](pa.Table.from_pandas(frame), tmp_path), 3, order) == expected).all()


@pytest.mark.parametrize(
    ("entries", "first"),
    [
        ([3, 1, 2], 1),
        ([0.5, -1.5, -0.25], 1),
        ([-0.0, float("nan"), -1e300], 2),
        (["10", "9", "9.5"], 1),
        (["b", "a", "10"], 2),
        (["2020-02-01", "2020-01-31", "2021-01-01"], 1),
        ([None, "x", None], 1),
        ([dt.date(2020, 2, 1), dt.date(2020, 1, 31), None], 1),
        (pd.to_datetime(["2020-02-01 00:00:01", "2020-02-01 00:00:00", "2021-01-01 00:00:00"]), 1),
        (np.array([2**63, 2**64 - 1, 2**63 - 1], dtype=np.uint64), 2),
        ([2**53 + 1, 2**53, 2**53 + 2], 1),
    ],
)
def test_the_first_by_an_order_of_any_type(entries, first):
    frame = pd.DataFrame({"name": "ann", "who": 0, "what": range(3), "day": entries})
    assert counted(frame, 1, "day")[0].tolist() == [int(what == first) for what in range(CELLS)]
    assert counted(pa.Table.from_pandas(frame), 1, "day")[0, first] == 1


def test_weighted_records_and_amounts_are_chosen_as_whole_records():
    domain = rp.Domain({"who": 1, "pay": rp.Numeric(0, 10)}, weight=rp.Weight("w", maximum=4))
    frame = pd.DataFrame({"who": 0, "pay": [3, 3, 8], "w": [1, 2, 4], "name": "ann"})
    found = {tuple(np.ravel(counted(frame, 1, key=number.to_bytes(32), domain=domain))) for number in range(40)}
    assert found == {(7, 3), (14, 6), (8, 32)}


@pytest.mark.parametrize("form", [lambda frame: frame, pa.Table.from_pandas, dask_of], ids=["pandas", "Arrow", "Dask"])
@pytest.mark.parametrize("name", [None, ""])
def test_records_of_nobody_are_refused(form, name):
    frame = pd.DataFrame({"name": [name, "canary"], "who": [0, 1], "what": [0, 1]})
    with pytest.raises(rp.errors.DataError, match="the column of persons does not say whose each record is") as caught:
        counted(form(frame), 1)
    assert "canary" not in str(caught.value)
    assert counted(form(frame.assign(what=[CELLS, 1])), 1).sum() == 1  # where it is left out its place does not matter


def plan_of(records_per_person):
    workload = rp.marginals(DOMAIN, order=2)
    return rp.select(workload, budget=rp.pcost(1), records_per_person=records_per_person)


def test_what_is_bound_to_fail_is_refused_before_the_charge():
    frame, ledger = frame_of([(0, 1, 2)]), rp.Ledger(rp.pcost(9), records_per_person=2)
    refused = {
        "keep=3 is more than the 2 records of a person that the plan protects": {"person": "name", "keep": 3},
        r"column 'id' is missing": {"person": "id"},
        r"column 'month' is missing": {"person": "name", "order": "month"},
        "'half' is of a type that holds no integers and no text": {"person": "half"},
        "'list' must hold numbers, dates, moments or text": {"person": "name", "order": "list"},
    }
    arrow = pa.table({**frame.to_dict("list"), "half": [0.5], "list": [[1]]})
    for message, options in refused.items():
        with pytest.raises(rp.errors.DataError, match=message):
            rp.measure(plan_of(2), rp.LimitedRecords(arrow, **options), ledger=ledger)
    with pytest.raises(rp.errors.DataError, match="does not say whose a record is; give a frame"):
        rp.measure(plan_of(2), rp.LimitedRecords(np.zeros((1, 2), dtype=int), person="name"), ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"person": ""}, "person must be the name of a column"),
        ({"person": "a", "order": 3}, "order must be the name of a column"),
        ({"person": "a", "order": "a"}, "order them by another column"),
        ({"person": "a", "keep": 0}, "keep must be an integer, at least 1"),
        ({"person": "a", "keep": True}, "keep must be an integer"),
        ({"person": "a", "key": b"short"}, "key must be 32 bytes"),
    ],
)
def test_bad_declarations_are_refused(options, message):
    with pytest.raises(rp.errors.DataError, match=message):
        rp.LimitedRecords("records.csv", **options)


def test_where_the_number_of_records_is_public_none_are_left_out(tmp_path):
    """The total would be told nearly exactly, and with it how many records were left out."""
    ledger = rp.Ledger(rp.pcost(9), neighbors="replace", records_per_person=2)
    domain = rp.Domain({"who": PEOPLE, "what": CELLS})
    plan = rp.select(rp.marginals(domain, order=1), budget=rp.pcost(1), neighbors="replace", records_per_person=2)
    limited = rp.LimitedRecords(frame_of([(0, 1, 2)] * 4321), person="name")
    projection = rp.fits.rap.RapPlan(plan.workload, budget=rp.zcdp(1), neighbors="replace", rounds=1, choices=1)
    for attempt in (
        lambda: rp.measure(plan, limited, ledger=ledger),
        lambda: rp.scale.measure_in_store(plan, limited, tmp_path / "store", ledger=ledger),
        lambda: rp.fits.rap.rap(projection, limited),
    ):
        with pytest.raises(rp.errors.BudgetError, match=r"how many records .* is not; plan LimitedRecords with"):
            attempt()
    assert not ledger.entries


WHOLE_PERSONS = "  What the privacy statement is about is a person who comes or goes, with all of their records."


def test_one_record_more_can_take_the_place_of_another_so_the_sentence_is_about_whole_persons():
    one, more = (frame_of(records) for records in ([(0, 0, 5)], [(0, 0, 5), (0, 1, 2)]))
    change = counted(more, 1, "day") - counted(one, 1, "day")
    assert np.abs(change).sum() == 2  # of the counts of two cells, where one record more would change one by 1

    plan = rp.select(rp.marginals(DOMAIN, order=1), budget=rp.zcdp(1))
    noise = rp.measure(plan, rp.LimitedRecords(one, person="name", order="day")).noise
    assert f"the first by 'day'.{WHOLE_PERSONS}" in noise.sentence
    stated = noise_record.noise_to_json(noise, plan)
    assert noise_record.noise_from_json(stated, plan).guarantee == stated["guarantee"]
    with pytest.raises(rp.errors.FileFormatError, match="contradicts itself"):
        noise_record.noise_from_json(stated | {"guarantee": stated["guarantee"].replace(WHOLE_PERSONS, "")}, plan)
