"""Columns that are computed across tables: what they count, from whichever source, and what one unit can change."""

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import FORMS
from linked_units import (
    AGES,
    HOUSEHOLDS,
    MOST,
    PERSONS,
    TENURES,
    Unit,
    as_counter,
    changed,
    counted,
    counted_by_hand,
    linked_tables,
    random_units,
    records_of,
)
from residualplanner import linked

TABLES = linked_tables()
OTHER = Unit(999, ("owned",), (("18-64", 20, 1), ("0-17", 0, 2)))
seeds = st.integers(0, 2**32).map(random.Random)


@given(draw=seeds)
def test_tables_count_what_the_rules_say(draw):
    units = random_units(draw)
    found = counted(TABLES, records_of(units, draw))
    by_hand = counted_by_hand(units)
    assert {name: as_counter(TABLES, name, table) for name, table in found.items()} == by_hand


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.cases(1)
def test_one_unit_changes_as_many_records_as_it_may_have_and_nothing_of_others(form, tmp_path):
    """Whatever the records stand in: what is left when a unit goes is what others count without it."""
    draw = random.Random(form)
    for number in range(6):
        units = random_units(draw)
        after = changed(draw, units)
        found = []
        new = [each for each in after if each not in units]
        for place, some in enumerate((units, after, [each for each in units if each not in after], new, [])):
            folders = {name: tmp_path / f"{number}-{place}-{name}" for name in MOST}
            data = records_of([*some, OTHER], draw)  # no table is empty
            for folder in folders.values():
                folder.mkdir()
            found.append(counted(TABLES, {name: FORMS[form](data[name], folders[name]) for name in data}))
        for name, most in MOST.items():
            before, now, gone, new = (each[name] - found[-1][name] for each in found[:-1])
            assert (now - before == new - gone).all()
            assert max(abs(new).sum(), abs(gone).sum()) <= most


@given(draw=seeds)
def test_all_records_count_where_their_number_is_public(draw):
    units = random_units(draw)
    unlimited = {"households": 10, "persons": 10}
    found = counted(TABLES, records_of(units, draw), "replace")
    by_hand = counted_by_hand(units, unlimited)
    assert {name: as_counter(TABLES, name, table) for name, table in found.items()} == by_hand


def test_a_random_choice_is_the_same_in_every_table():
    """Without an order, sizes of households and persons by size tell of the same records."""
    tables = linked_tables(order=None)
    draw = random.Random(5)
    for _ in range(20):
        found = counted(tables, records_of(random_units(draw), draw))
        of_households = as_counter(tables, "households", found["households"])
        of_persons = as_counter(tables, "persons", found["persons"])
        for age in ("0-17",):
            with_children = sum(often for key, often in of_households.items() if key[2])
            assert with_children <= sum(often for key, often in of_persons.items() if key[0] == age)
        sizes = sum(min(key[0], 3) * often for key, often in of_households.items())
        assert sizes == sum(often for key, often in of_persons.items() if key[1] != "none")


def test_of_several_households_the_first_that_counts_is_that_of_its_persons():
    tables = linked.LinkedTables(
        {
            "homes": linked.LinkedTable(rp.marginals(rp.Domain({"tenure": TENURES}), order=1), 2, "since"),
            "persons": linked.LinkedTable(
                rp.marginals(rp.Domain({"tenure": TENURES}), order=1),
                derived={"tenure": linked.ValueOf("homes", attribute="tenure", absent="rented")},
            ),
        },
        unit="serial",
    )
    homes = pa.table(dict(serial=[1, 1, 1], tenure=["owned", "rented", "rented"], since=[3, 2, 1]))
    found = counted(tables, {"homes": homes, "persons": pa.table({"serial": ["1"]})})
    assert (found["homes"].tolist(), found["persons"].tolist()) == ([0, 2], [0, 1])


def households(**derived):
    return {"households": linked.LinkedTable(rp.marginals(HOUSEHOLDS, up_to=1), derived=derived), "persons": (ONE, 3)}


ONE = rp.marginals(PERSONS, order=1)


@pytest.mark.parametrize(
    ("derived", "message"),
    [
        ({"size": linked.CountOf("person")}, "'person', which is not there; did you mean 'persons'"),
        ({"sizes": linked.CountOf("persons")}, "'sizes' is no attribute of the domain; did you mean 'size'"),
        ({"size": "count"}, "is computed by a rule such as CountOf"),
        ({"tenure": linked.CountOf("persons")}, "has none of the integers from 0 to 3"),
        ({"tenure": linked.AnyOf("persons")}, r"declare it with labels=\[False, True\]"),
        ({"size": linked.CountOf("persons", where={"aged": AGES})}, "'aged' is no attribute of table 'persons'"),
        ({"size": linked.CountOf("persons", where={"age": ["young"]})}, "has no value 'young'"),
        ({"size": linked.CountOf("persons", absent=9)}, "has no value 9"),
        ({"hours": linked.SumOf("persons", attribute="age")}, "must have integers, none below 0"),
        ({"hours": linked.SumOf("persons", attribute="wages")}, "'wages' is no attribute of table 'persons'"),
        ({"head": linked.ValueOf("persons", attribute="age")}, "say what a unit without a record"),
        ({"size": linked.ValueOf("persons", attribute="age", absent=0)}, "has no value '0-17'"),
    ],
)
def test_a_rule_that_could_give_what_is_not_declared_is_refused(derived, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        linked.LinkedTables(households(**derived), unit="serial")


def test_a_missing_value_is_named_and_is_none_where_it_cannot_occur():
    domain = rp.Domain({"size": [1, 2, 3]})

    def of(rule):
        table = linked.LinkedTable(rp.marginals(domain, order=1), derived={"size": rule})
        return linked.LinkedTables({"households": table, "persons": (ONE, 3)}, unit="serial")

    with pytest.raises(rp.errors.DomainError, match="lacks the value 0, which may occur; declare it; or, for units"):
        of(linked.CountOf("persons"))
    with pytest.raises(rp.errors.DomainError, match="lacks the value 0"):
        of(linked.CountOf("persons", where={"age": AGES}, absent=1))
    assert of(linked.CountOf("persons", absent=1)).read_together == ("households", "persons")


def test_a_circle_and_bad_names_are_refused():
    one = linked.LinkedTable(
        rp.marginals(rp.Domain({"x": 4}), order=1), derived={"x": linked.SumOf("b", attribute="x")}
    )
    other = linked.LinkedTable(
        rp.marginals(rp.Domain({"x": 4}), order=1), derived={"x": linked.SumOf("a", attribute="x")}
    )
    with pytest.raises(rp.errors.DomainError, match="computed from one another in a circle: x of"):
        linked.LinkedTables({"a": one, "b": other}, unit="serial")
    for tables, unit, message in (
        ({}, "serial", "tables must be a mapping"),
        ({"a": ONE}, "serial", r"a table is LinkedTable\(workload, records=6\)"),
        ({"a": (ONE, 1)}, "", "unit must be the name of a column"),
        ({"a": (ONE, 1)}, "age", "it is no attribute, and no order"),
        ({"a": (ONE, 1), "A": (ONE, 1)}, "serial", "but for capital letters"),
        ({"../a": (ONE, 1)}, "serial", "called by letters, digits"),
    ):
        with pytest.raises(rp.errors.DomainError, match=message):
            linked.LinkedTables(tables, unit=unit)
    for where in ({"age": "0-17"}, {"age": []}, {"age": 3}):
        with pytest.raises(rp.errors.DomainError, match="where= needs a list of labels"):
            linked.CountOf("persons", where=where)
    with pytest.raises(rp.errors.DomainError, match=r'such as AnyOf\("persons"'):
        linked.AnyOf({"age": ["0-17"]})
    with pytest.raises(rp.errors.WorkloadError, match="at least 1, got 0"):
        linked.LinkedTable(ONE, records=0)
