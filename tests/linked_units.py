"""Households and their persons: random ones, a schema that computes columns both ways, and what they count by hand."""

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

import residualplanner as rp
from inner_parts import discrete, linked_measuring, linked_reading
from residualplanner import linked

AGES = ["0-17", "18-64", "65 and over"]
TENURES = ["owned", "rented"]
MOST = {"households": 1, "persons": 3}
HOUSEHOLDS = rp.Domain(
    {
        "size": [0, 1, 2, 3],
        "tenure": TENURES,
        "children": rp.Attribute("children", labels=[False, True]),
        "hours": rp.Bins([0, 1, 40, 100]),
        "head": rp.Attribute("head", labels=AGES, missing="nobody"),
    }
)
PERSONS = rp.Domain(
    {
        "age": AGES,
        "tenure": rp.Attribute("tenure", labels=TENURES, missing="none"),
        "hours": 41,
        "size": [1, 2, 3],
    }
)
RULES = {
    "households": {
        "size": linked.CountOf("persons"),
        "children": linked.AnyOf("persons", where={"age": ["0-17"]}),
        "hours": linked.SumOf("persons", attribute="hours"),
        "head": linked.ValueOf("persons", where={"age": AGES[1:]}, attribute="age", absent="nobody"),
    },
    "persons": {
        "tenure": linked.ValueOf("households", attribute="tenure", absent="none"),
        "size": linked.CountOf("persons", absent=1),
    },
}


def linked_tables(order="line", keep=MOST):
    """The tables of all pairs of attributes of both."""
    domains = {"households": HOUSEHOLDS, "persons": PERSONS}
    orders = {"households": None, "persons": order}
    return linked.LinkedTables(
        {
            name: linked.LinkedTable(
                rp.marginals(domain, order=2), records=keep[name], order=orders[name], derived=RULES[name]
            )
            for name, domain in domains.items()
        },
        unit="serial",
    )


@dataclass(frozen=True)
class Unit:
    """A household, or several of one serial number, or none; and the persons in it."""

    serial: int
    tenures: tuple[str, ...]
    persons: tuple[tuple[str, int, int], ...]  # age, hours, and the line on the form: no two have the same


def random_unit(draw: random.Random, serial: int) -> Unit:
    lines = draw.sample(range(100), 5)
    persons = tuple((draw.choice(AGES), draw.choice([0, 0, 20, 40]), line) for line in lines[: draw.randrange(6)])
    return Unit(serial, tuple(draw.choices(TENURES, k=draw.choice([0, 1, 1, 1]))), persons)


def random_units(draw: random.Random, most=12) -> list[Unit]:
    return [random_unit(draw, serial) for serial in range(draw.randrange(1, most))]


def records_of(units, draw: random.Random):
    """Both tables in any order; the household has its number as an integer, its persons as text."""
    households = [(unit.serial, tenure) for unit in units for tenure in unit.tenures]
    persons = [(str(unit.serial), *person) for unit in units for person in unit.persons]
    draw.shuffle(households)
    draw.shuffle(persons)
    serials = zip(*households, strict=True) if households else ([], [])
    columns = zip(*persons, strict=True) if persons else ([], [], [], [])
    types = [pa.string(), pa.string(), pa.int64(), pa.int64()]
    return {
        "households": pa.table(dict(zip(["serial", "tenure"], map(pa.array, serials, types[2:0:-1]), strict=True))),
        "persons": pa.table(dict(zip(["serial", "age", "hours", "line"], map(pa.array, columns, types), strict=True))),
    }


def counted_by_hand(units, keep=MOST):
    """Each table as how often each combination of values comes, by the definitions alone."""
    found = {name: Counter() for name in MOST}
    for unit in units:
        persons = sorted(unit.persons, key=lambda person: person[2])[: keep["persons"]]
        ages, hours = [person[0] for person in persons], sum(person[1] for person in persons)
        head = next((age for age in ages if age != "0-17"), "nobody")
        interval = "[0, 1)" if hours < 1 else "[1, 40)" if hours < 40 else "[40, 100]"
        for tenure in unit.tenures[: keep["households"]]:
            found["households"][min(len(persons), 3), tenure, "0-17" in ages, interval, head] += 1
        for age, own, _ in persons:
            tenure = unit.tenures[0] if unit.tenures else "none"
            found["persons"][age, tenure, own, min(len(persons), 3)] += 1
    return found


def counted(tables, data, notion="add-remove"):
    """The exact table of all attributes together, of each table, the random choices being the same each time."""
    limited = linked_reading.limited_data(tables, data, notion)
    if notion == "add-remove":
        limited = {name: replace(each, key=bytes(32)) for name, each in limited.items()}
    opened = linked_reading.OpenedTables(tables, limited, notion)
    opened.read()
    return {name: opened.sources[name].count([np.arange(len(tables[name].domain))[None]])[0][0] for name in tables}


def as_counter(tables, name, table):
    """A table as the combinations of values that it has."""
    labels = [attribute.value_labels for attribute in tables[name].domain.attributes]
    places = np.argwhere(table)
    return Counter(
        {
            tuple(own[code] for own, code in zip(labels, place, strict=True)): int(table[tuple(place)])
            for place in places.tolist()
        }
    )


def changed(draw: random.Random, units):
    """The same with one unit gone, or with other records."""
    at = draw.randrange(len(units))
    other = replace(random_unit(draw, units[at].serial), serial=units[at].serial)
    return [*units[:at], *draw.choice([[], [other]]), *units[at + 1 :]]


def measured_with_bits(plan, data, source):
    """`linked.measure` with discrete noise from any source of bytes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(linked_measuring, "noise_named", lambda _noise, own, _seed: discrete.exact_noise(own, source))
        return linked.measure(plan, data)
