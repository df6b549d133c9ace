"""Small random worlds: a schema, a plan, records, and their neighbors, with the code of every value known beforehand.

A record is a tuple of entries, an entry a raw value and the code it must get; a code of None means that the schema
drops the record.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import residualplanner as rp
from dense import counts, product, subtraction
from forms_of_records import FORMS
from inner_parts import costs
from random_plans import basis_of, random_kind, random_matrix
from residualplanner import Attribute, Bins, Domain, Identity, Plan, Prefix, Workload, pcost, select

Entry = tuple[Any, int | None]
Record = tuple[Entry, ...]

#: How data come, besides `FRAMES`.  Only records without bad values come as codes or counts.
CODED = ("codes", "counts")


@dataclass(frozen=True)
class Column:
    """A column's description and every entry it may have."""

    attribute: Attribute
    good: tuple[Entry, ...]
    bad: tuple[Entry, ...]


@dataclass(frozen=True)
class World:
    """A plan, and columns to make records of."""

    columns: tuple[Column, ...]
    plan: Plan

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.plan.domain.sizes

    def record(self, draw: random.Random, *, may_be_bad: bool = True) -> Record:
        return tuple(
            draw.choice(column.bad if may_be_bad and column.bad and draw.random() < 0.2 else column.good)
            for column in self.columns
        )


@dataclass(frozen=True)
class Neighbor:
    """Records that differ from others by those gained and those lost."""

    records: tuple[Record, ...]
    gained: tuple[Record, ...]
    lost: tuple[Record, ...]


def worlds(draw: random.Random) -> World:
    """A random world of at most 64 cells."""
    columns: list[Column] = []
    cells = 1
    for number in range(draw.randint(1, 4)):
        column = draw.choice(MAKERS)(f"column {number}", draw.randint(1, 5), draw)
        if cells * column.attribute.size <= 64:
            columns.append(column)
            cells *= column.attribute.size
    domain = Domain({column.attribute.name: column.attribute for column in columns})
    queries = [
        tuple(draw.sample(domain.names, draw.randint(0, min(3, len(domain))))) for _ in range(draw.randint(1, 5))
    ]
    if all(query == () for query in queries):
        queries.append(domain.names[:1])
    workload = Workload(domain, queries, weights=[draw.uniform(0.1, 10) for _ in queries])
    is_droppy = any("drop" in (column.attribute.unknown, column.attribute.missing) for column in columns)
    has_values = any(domain.sizes[place] > 1 for query in queries for place in domain.positions(query))
    notion = "add-remove" if is_droppy or not has_values else draw.choice(["add-remove", "replace", "replace"])
    budget, loss = pcost(draw.choice([0.01, 0.3, 1, 5])), draw.choice(["sum", "sum", "sum", "max"])
    plan = select(workload, budget=budget, loss=loss, neighbors=notion, records_per_person=draw.choice([1, 1, 1, 3]))
    if draw.random() < 0.5:
        plan = _with_other_bases(draw, plan)
        if notion == "add-remove" and draw.random() < 0.7:
            plan = _with_bases_by_set(draw, plan)
    return World(tuple(columns), plan)


def _with_other_bases(draw: random.Random, plan: Plan) -> Plan:
    """The same sets of attributes queried in other kinds and measured by random matrices, with noise that costs less.

    With large entries products of two attributes may exceed 64 bits.
    """
    matrices, kinds, most = [], [], draw.choice([9, 2**16, 2**16])
    for size in plan.domain.sizes:
        rows = draw.choice([0, 0, size - 1, draw.randint(1, size - 1), draw.randint(1, size - 1)]) if size > 1 else 0
        matrices.append(random_matrix(size, rows, draw.randrange(99), most=most) if rows else None)
        is_full = rows in (0, size - 1)
        kinds.append([Identity(), Prefix()] if is_full else [random_kind(size, matrices[-1], draw.randrange(99))])
    queries = []
    for query in plan.workload:
        places = plan.domain.positions(query)
        queries.append({plan.domain.names[place]: draw.choice(kinds[place]) for place in places})
    bases = tuple(basis_of(*pair) for pair in zip(plan.domain.sizes, matrices, strict=True))
    before, after = ([float(basis.pcost) or 1.0 for basis in found] for found in (plan.strategy.of_attributes, bases))
    # Where records are replaced the stated cost is a bound, which for other bases is less tight.
    more = plan.closure.products(np.array(after) / before) * (1.001 if plan.neighbors.notion == "add-remove" else 64)
    workload = Workload(plan.domain, queries, weights=plan.workload.weights)
    return replace(
        plan,
        workload=workload,
        noise_variances=plan.noise_variances * more,
        strategy=rp.strategies.constant_strategy(workload.closure, bases),
    )


def _with_bases_by_set(draw: random.Random, plan: Plan) -> Plan:
    """The same with one of three bases in each place, which answer the same queries, and random messages."""
    chance, bases = np.random.default_rng(draw.randrange(10**6)), []
    for basis in plan.strategy.of_attributes:
        bases += [basis] * 3
        for other in (1, 2) if basis.matrix is not None else ():
            mixed = random_matrix(basis.answers, basis.answers, draw.randrange(99), most=2, is_basis=False)
            bases[-other] = basis_of(basis.size, mixed @ basis.matrix)
    places = [attribute for members in plan.closure for attribute in members]
    of_place = 3 * np.array(places, dtype=np.int64) + chance.integers(0, 3, len(places))
    orders = np.repeat(plan.closure.orders, plan.closure.orders)
    lengths = np.array([0 if basis.matrix is None else basis.size for basis in bases])[of_place] * (orders > 1)
    by_set = rp.strategies.varying_strategy(
        plan.closure, plan.domain.sizes, bases, of_place, chance.normal(size=lengths.sum()) / plan.noise_variances.max()
    )
    factor = costs.cost_upper_bound(by_set, plan.noise_variances, plan.neighbors) / plan.budget.pcost * 1.001
    by_set = replace(by_set, messages=by_set.messages / factor)
    return replace(plan, noise_variances=plan.noise_variances * factor, strategy=by_set)


def _codes(name: str, size: int, draw: random.Random) -> Column:
    good = tuple((code, code) for code in range(size))
    if draw.random() < 0.6:
        return Column(Attribute(name, size=size), good, ())
    return Column(Attribute(name, size=size, unknown="drop"), good, ((size, None), (-1, None)))


def _texts(name: str, size: int, draw: random.Random) -> Column:
    labels = ["é", "01", "None", "", "a b"][:size]
    rule = draw.choice(["drop", labels[-1]])
    code = None if rule == "drop" else size - 1
    good = tuple((label, place) for place, label in enumerate(labels) if label)
    missing = () if "" in labels else ((None, code),)  # an empty field of a CSV file is that label
    bad = (("elsewhere", code), *missing, ("1", code))
    return Column(Attribute(name, labels=labels, unknown=rule, missing=rule), good, bad)


def _numbers(name: str, size: int, draw: random.Random) -> Column:
    labels = [7, -3, 10**12, 0, 1][:size]
    good = tuple((label, place) for place, label in enumerate(labels))
    return Column(Attribute(name, labels=labels, unknown="drop", missing=labels[0]), good, ((99, None), (None, 0)))


def _truths(name: str, size: int, draw: random.Random) -> Column:
    if draw.random() < 0.5:
        return Column(Attribute(name, labels=[False, True]), ((False, 0), (True, 1)), ())
    return Column(Attribute(name, labels=[False, True], missing="drop"), ((False, 0), (True, 1)), ((None, None),))


def _bins(name: str, size: int, draw: random.Random) -> Column:
    edges = [-1.5, 0, 2.25, 10, 1e6, 1e7][: size + 1]
    good = [*((low, code) for code, low in enumerate(edges[:-1])), (edges[-1], size - 1)]
    bad = ((-99.5, None), (float("inf"), None), (None, size - 1))
    attribute = Attribute(name, bins=Bins(edges), unknown="drop", missing=Bins(edges).labels[-1])
    return Column(attribute, tuple((float(value), code) for value, code in good), bad)


MAKERS: tuple[Callable[[str, int, random.Random], Column], ...] = (_codes, _codes, _texts, _numbers, _truths, _bins)


def neighbors(draw: random.Random, world: World, records: Sequence[Record], *, may_be_bad: bool) -> Iterator[Neighbor]:
    """Records with one more, one less, and one replaced, without end; only replaced where the plan is for that."""
    replaces = world.plan.neighbors.notion == "replace"
    while records or not replaces:
        kind = draw.choice(["replace"] if replaces else ["add", "remove", "replace"]) if records else "add"
        place = draw.randrange(len(records) + (kind == "add"))
        gained = () if kind == "remove" else (world.record(draw, may_be_bad=may_be_bad),)
        lost = () if kind == "add" else (records[place],)
        yield Neighbor((*records[:place], *gained, *records[place + len(lost) :]), gained, lost)


def residual_change(plan: Plan, members: Sequence[int], neighbor: Neighbor) -> np.ndarray:
    """By what the residual answers of a set differ: ``(kron S) e_r`` for each record gained, less each one lost."""
    rows = [_rows(plan, members, i) for i in members]
    change = np.zeros([len(matrix) for matrix in rows])
    for sign, changed in ((1, neighbor.gained), (-1, neighbor.lost)):
        for record in changed:
            if all(code is not None for _, code in record):
                columns = [matrix[:, [record[i][1]]] for matrix, i in zip(rows, members, strict=True)]
                change = change + sign * product(columns).reshape(change.shape)
    return change


def _rows(plan: Plan, members: Sequence[int], position: int) -> np.ndarray:
    """What is measured of one attribute in a set, S of eq. (24)."""
    basis = plan.strategy.basis(members, position)
    return _subtraction(basis.size) if basis.matrix is None else basis.matrix


@cache
def _subtraction(size: int) -> np.ndarray:
    return subtraction(size)


def contained(kind: str, world: World, records: Sequence[Record], path: Path) -> object:
    """The records as ``measure`` takes them; files are written to ``path``."""
    if kind in CODED:
        codes = np.array([[code for _, code in record] for record in records], dtype=np.int64)
        codes = codes.reshape(len(records), len(world.columns))
        if kind == "codes":
            return codes
        return {world.plan.domain.names: counts(world.sizes, codes)}
    names = world.plan.domain.names
    values = {name: [record[place][0] for record in records] for place, name in enumerate(names)}
    return FRAMES[kind](values, path)


def _made(form: str, values: dict[str, list[Any]], path: Path) -> object:
    path.mkdir(parents=True, exist_ok=True)
    return FORMS[form](pa.table(values), path)


FRAMES: dict[str, Callable[[dict[str, list[Any]], Path], object]] = {
    name: partial(_made, form)
    for name, form in {
        "pandas": "pandas",
        "polars": "Polars",
        "arrow": "Arrow",
        "reader": "Arrow, stream",
        "csv": "CSV",
        "parquet": "Parquet",
        "lazy": "Polars, lazy",
        "duckdb": "DuckDB",
    }.items()
}
