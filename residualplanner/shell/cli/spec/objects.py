"""What a spec means: the library's own nouns, from a checked file and the files beside it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, cast

from residualplanner.ground.checks import Steps
from residualplanner.ground.errors import DomainError, FileFormatError, WorkloadError
from residualplanner.ground.words import listed, names_text
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import Targets
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.families import marginals
from residualplanner.method.workload.query import QueryLike
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.numeric import Numeric
from residualplanner.more.amounts.weight import Weight
from residualplanner.more.classifications.hierarchy import Hierarchy
from residualplanner.more.queries.among import Among
from residualplanner.more.queries.thresholds import Threshold
from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.shell.cli.spec.declared import labels_of_pairs
from residualplanner.shell.cli.spec.file import QueriesTable, SpecFile
from residualplanner.shell.cli.spec.tables import MAKERS, AttributeTable, KindTable, Query, Where


def _read_hierarchy(spec: SpecFile, name: str) -> Hierarchy | None:
    """The hierarchy in the file that a spec names for an attribute, if it names one; the file is read once."""
    table = spec.domain.get(name)
    if table is None or table.hierarchy is None:
        return None
    if name not in spec.read:
        form = {word: getattr(table, word) for word in ("code_lengths", "encoding", "separator")}
        with located(f"[domain] {name}"):
            spec.read[name] = Hierarchy.from_file(file_beside(spec, table.hierarchy), table.levels or [], **form)
    return cast("Hierarchy", spec.read[name])


def _hierarchy(table: KindTable, name: str, spec: SpecFile) -> Hierarchy:
    """The hierarchy that a kind of query on an attribute describes: with its own levels, or the attribute's."""
    if table.levels is not None:
        return Hierarchy(table.levels, total=table.total, leaves=table.leaves)
    found = _read_hierarchy(spec, name)
    if found is None:
        above = "state" if name != "state" else "region"
        raise WorkloadError(
            "give the levels of the hierarchy, from coarse to fine: levels = [...]; or in [domain] the file that "
            f'has them, as {name} = {{ hierarchy = "{name}.csv", levels = ["{above}", "{name}"] }}'
        )
    if table.crosswalk is not None:
        key = f"{name}, {table.crosswalk!r}"
        if key not in spec.read:
            given = dict(table.crosswalk)
            spec.read[key] = found.crosswalk(file_beside(spec, given.pop("file")), **given)
        found = spec.read[key]
    assert found.classification is not None  # it is from a file
    return Hierarchy.of_classification(found.classification, total=table.total, leaves=table.leaves)


def maps_of_spec(spec: SpecFile) -> dict[str, Boundaries]:
    """The boundaries in the GeoJSON files that a spec names in its [output]."""
    found = {}
    for name, table in spec.output.maps.items():
        with located(f"[output.maps] {name}"):
            found[name] = Boundaries.from_geojson(file_beside(spec, table.geojson), table.code)
    return found


def file_beside(spec: SpecFile, name: str) -> Path:
    """The path of a file that a spec names; WorkloadError where there is none."""
    path = spec.path.parent / name
    if not path.is_file():
        raise WorkloadError(f"there is no file {path}; it is looked for beside the spec")
    return path


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say in errors of the block where in the spec the entry stands that it is about, unless they begin with it."""
    try:
        yield
    except (DomainError, WorkloadError, FileFormatError) as error:
        raise type(error)(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def domain_of_spec(spec: SpecFile) -> Domain:
    """The schema."""
    undeclared = [name for name, table in spec.domain.items() if table is None]
    if undeclared:
        message = (
            f"[domain] the values of these attributes are still to be declared: {listed(undeclared, 20)}; write, in "
            'place of "?", a number of codes, a list of labels, or { bins = [...] }, from what is publicly known; '
            "amounts are { numeric = { low = 0, high = 100000 } }"
        )
        raise DomainError(message, attributes=undeclared)
    attributes = {name: _attribute(name, table, spec) for name, table in spec.domain.items() if table is not None}
    weight = None if spec.weight is None else Weight(spec.weight.column, **spec.weight.model_dump(exclude={"column"}))
    return Domain(attributes, weight=weight)


def _attribute(name: str, table: AttributeTable, spec: SpecFile) -> Attribute:
    about = About(title=table.title, unit=table.unit, source=table.source, note=table.note)
    rules: dict[str, Any] = {"unknown": table.unknown, "missing": table.missing, "about": about}
    if (hierarchy := _read_hierarchy(spec, name)) is not None:
        return hierarchy.attribute(name, **rules)
    with located(f"[domain] {name}"):
        bins, numeric = _bins(table), None if table.numeric is None else Numeric(**dict(table.numeric))
    labels = None if bins is not None or table.labels is None else _labels(name, table.labels)
    return Attribute(name, table.size, labels=labels, bins=bins, numeric=numeric, **rules)


def _bins(table: AttributeTable) -> Bins | None:
    if table.bins is not None:
        return Bins(table.bins, cast("list[str] | None", table.labels))  # it refuses other labels
    if table.months is not None:
        return Bins.months(*table.months)
    return None if table.years is None else Bins.years(*table.years)


def _labels(name: str, declared: list[Any]) -> Any:
    if not any(isinstance(entry, tuple) for entry in declared):
        return declared
    return labels_of_pairs(name, (entry if isinstance(entry, tuple) else (entry, "") for entry in declared))


def workload_of_spec(spec: SpecFile, domain: Domain) -> Workload:
    """The tables to publish, with their weights."""
    parts = []
    for number, table in enumerate(spec.workload, 1):
        where = f"[[workload]] number {number}"
        with located(where):
            kinds = {name: _kind(kind, f"{where}, kinds, {name}", name, spec) for name, kind in table.kinds.items()}
            queries = [
                query_of_spec(query, kinds, at, table.at_least, spec=spec, universe=table.where)
                for at, query in _with_places(table.queries or [], where)
            ]
            if queries:
                part, remedy = Workload(domain, queries, weights=[table.weight] * len(queries)), "add each to a query"
            else:
                part = _family(table, domain, kinds)
                remedy = "include more attributes, raise max_cells, or write queries = [...]"
            unused = [name for name in kinds if name not in domain or not part.uses[domain.positions((name,))].any()]
            if unused:
                problem = f"{where}, kinds: no table of this entry has the {names_text('attribute', sorted(unused))}"
                raise WorkloadError(f"{problem}; {remedy}, or remove its kind")
            parts.append(part)
    return reduce(add, parts)


def _family(table: QueriesTable, domain: Domain, kinds: Mapping[str, Kind]) -> Workload:
    orders: dict[str, Any] = {"order": table.order, "up_to": table.up_to, "max_cells": table.max_cells}
    family = marginals(domain, **orders, kinds=kinds, at_least=table.at_least, where=table.where)
    if table.weight == 1:
        return family
    Workload(domain, [()], weights=[table.weight])  # refuses a weight that is none
    blocks = [replace(block, weights=block.weights * table.weight) for block in family.blocks]
    return Workload.from_blocks(domain, blocks, family.kinds)


def _with_places(queries: list[Query], where: str) -> list[tuple[str, Query]]:
    return [(f"{where}, queries, entry {entry}", query) for entry, query in enumerate(queries, 1)]


def query_of_spec(
    query: Query,
    kinds: Mapping[str, Kind],
    where: str,
    at_least: int | None = None,
    *,
    spec: SpecFile,
    universe: Where | None = None,
) -> QueryLike:
    """A query at ``where`` with its own kinds, or those of the whole table, or a threshold; about some records."""
    found: QueryLike
    with located(where):
        if isinstance(query, dict):
            found = {name: _kind(kind, f"{where}, {name}", name, spec) for name, kind in query.items()}
        elif at_least is not None:
            found = Threshold(query, at_least)
        elif len(set(query)) < len(query) or not kinds:
            found = query  # Workload refuses a repeated name, in its own words
        else:
            found = {name: kinds.get(name, Identity()) for name in query}
        return Among(found, universe) if universe else found


def _kind(table: KindTable, where: str, name: str, spec: SpecFile) -> Kind:
    with located(where):
        if table.kind == "hierarchy":
            return _hierarchy(table, name, spec)
        make, fields = MAKERS[table.kind]
        made: Kind = make(*(value for field in fields if (value := getattr(table, field)) is not None))
        return made


def targets_of_spec(spec: SpecFile) -> Targets | None:
    """The margins of error to reach, at the level of the output, or None where there are none."""
    margins = [
        (query_of_spec(query, {}, where, table.at_least, spec=spec, universe=table.where), table.moe)
        for number, table in enumerate(spec.targets, 1)
        for where, query in _with_places(table.queries, f"[[targets]] number {number}")
    ]
    return Targets(margins, spec.output.chosen_level, spec.reserve) if margins else None


def plan_of_spec(spec: SpecFile, workload: Workload, progress: Steps | None = None) -> Plan:
    """The best noise for the spec's workload."""
    same = {name: getattr(spec, name) for name in ("budget", "at_most", "gap", "bases", "neighbors", "time")}
    loss, most = targets_of_spec(spec) or spec.loss, spec.most_records
    return select(workload, **same, loss=loss, records_per_person=most, progress=progress)
