"""What a spec means: the library's own nouns, from a checked file."""

from dataclasses import replace
from functools import partial
from typing import Any

from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.ground.words import listed, names_text
from residualplanner.method.domain.about import About
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import Targets
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import Budget, approx_dp, pcost, zcdp
from residualplanner.method.queries.custom import Custom
from residualplanner.method.queries.identity import Identity, Matching
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.runs import Prefix, Range
from residualplanner.method.workload.families import marginals
from residualplanner.method.workload.query import QueryLike
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.amounts import Sum
from residualplanner.more.amounts.numeric import Numeric
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.more.queries.among import Among
from residualplanner.more.queries.thresholds import Threshold
from residualplanner.shell.cli.spec.attributes import AttributeTable
from residualplanner.shell.cli.spec.file import BudgetTable, QueriesTable, SpecFile
from residualplanner.shell.cli.spec.hierarchies import NO_FILES, SpecHierarchies, hierarchies_of_spec, located
from residualplanner.shell.cli.spec.kinds import KindTable, Query, Where


def domain_of_spec(spec: SpecFile) -> Domain:
    """The schema."""
    undeclared = [name for name, table in spec.domain.items() if table is None]
    if undeclared:
        message = (
            f"[domain] the values of these attributes are still to be declared: {listed(undeclared, 20)}; write, in "
            'place of "?", a number of codes, a list of labels, or { bins = [...] }, from what is publicly known'
        )
        raise DomainError(message, attributes=undeclared)
    found = hierarchies_of_spec(spec)
    attributes = {name: _attribute(name, table, found) for name, table in spec.domain.items() if table is not None}
    return Domain(attributes, weight=None if spec.weight is None else spec.weight.weight)


def workload_of_spec(spec: SpecFile, domain: Domain) -> Workload:
    """The tables to publish, with their weights."""
    found = hierarchies_of_spec(spec)
    parts = [_entry(table, domain, f"[[workload]] number {n}", found) for n, table in enumerate(spec.workload, 1)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def budget_of_spec(spec: SpecFile) -> Budget | None:
    """The budget, or None where the spec states a loss to reach."""
    return None if spec.budget is None else budget_of_table(spec.budget)


def budget_of_table(stated: BudgetTable) -> Budget:
    """The budget that a table states; BudgetError where a number is out of range."""
    if stated.approx_dp is not None:
        return approx_dp(stated.approx_dp.epsilon, stated.approx_dp.delta)
    if stated.zcdp is not None:
        return zcdp(stated.zcdp)
    assert stated.pcost is not None  # the file has exactly one of the three
    return pcost(stated.pcost)


def targets_of_spec(spec: SpecFile) -> Targets | None:
    """The margins of error to reach, at the level of the output, or None where there are none."""
    found = hierarchies_of_spec(spec)

    def query_of(query: Any, where: str, at_least: int | None) -> QueryLike:
        return query_of_spec(query, {}, where, at_least, hierarchies=found)

    margins = [
        (_about(table.where, query_of(query, where, table.at_least), where), table.moe)
        for number, table in enumerate(spec.targets, 1)
        for where, query in _located(table.queries, f"[[targets]] number {number}")
    ]
    return Targets(margins, spec.output.chosen_level, spec.reserve) if margins else None


def plan_of_spec(spec: SpecFile, workload: Workload) -> Plan:
    """The best noise for the spec's workload."""
    return select(
        workload,
        budget=budget_of_spec(spec),
        at_most=spec.at_most,
        loss=targets_of_spec(spec) or spec.loss,
        gap=spec.gap,
        bases=spec.bases,
        neighbors=spec.neighbors,
        records_per_person=spec.most_records,
    )


def _attribute(name: str, table: AttributeTable, hierarchies: SpecHierarchies) -> Attribute:
    about = About(title=table.title, unit=table.unit, source=table.source, note=table.note)
    rules: dict[str, Any] = {"unknown": table.unknown, "missing": table.missing, "about": about}
    if name in hierarchies.by_name:
        return hierarchies.by_name[name].attribute(name, **rules)
    try:
        bins, numeric = _bins(table), None if table.numeric is None else Numeric(**dict(table.numeric))
    except DomainError as error:
        raise DomainError(f"[domain] {name}: {error}", attributes=[name]) from None
    labels = None if bins is not None or table.labels is None else _labels(name, table.labels)
    return Attribute(name, table.size, labels=labels, bins=bins, numeric=numeric, **rules)


def _bins(table: AttributeTable) -> Bins | None:
    if table.bins is not None:
        return Bins(table.bins, table.labels)
    if table.months is not None:
        return Bins.months(*table.months)
    return None if table.years is None else Bins.years(*table.years)


def _labels(name: str, declared: list[Any]) -> Any:
    """The labels as a list, or as a mapping to their meanings where some have one."""
    if not any(isinstance(entry, list) for entry in declared):
        return declared
    pairs = [(entry[0], entry[1]) if isinstance(entry, list) else (entry, "") for entry in declared]
    if len({(type(label), label) for label, _ in pairs}) < len(pairs):
        raise DomainError(f"attribute {name!r} has a label twice", attributes=[name])
    return dict(pairs)


def _entry(table: QueriesTable, domain: Domain, where: str, found: SpecHierarchies) -> Workload:
    """The tables of an entry at ``where``, which every refusal names."""
    try:
        return _queries(table, domain, where, found)
    except (DomainError, WorkloadError) as error:
        message = str(error)
        raise type(error)(message if message.startswith(where) else f"{where}: {message}") from None


def _queries(table: QueriesTable, domain: Domain, where: str, found: SpecHierarchies) -> Workload:
    kinds = {name: kind_of_table(kind, f"{where}, kinds, {name}", name, found) for name, kind in table.kinds.items()}
    if table.queries is not None:
        listed = _located(table.queries, where)
        about = partial(query_of_spec, hierarchies=found)
        queries = [_about(table.where, about(query, kinds, at, table.at_least), at) for at, query in listed]
        unused = sorted(set(kinds).difference(*table.queries))
        if unused:
            absent = names_text("attribute", unused)
            raise WorkloadError(
                f"{where}, kinds: no query of this table has the {absent}; add each to a query, or remove its kind"
            )
        return Workload(domain, queries, weights=[table.weight] * len(queries))
    orders: dict[str, Any] = {"order": table.order, "up_to": table.up_to, "max_cells": table.max_cells}
    family = marginals(domain, **orders, kinds=kinds, at_least=table.at_least, where=table.where)
    unused = [name for name in kinds if not family.uses[domain.positions((name,))].any()]
    if unused:
        problem = f"{where}, kinds: no table of this entry has the {names_text('attribute', unused)}"
        raise WorkloadError(
            f"{problem}: with these kinds they all have more than max_cells cells; raise max_cells, or write those "
            "that you want as queries = [...]"
            if table.max_cells
            else f"{problem}; include more attributes, or remove its kind"
        )
    if table.weight == 1:
        return family
    # Workload() checks the weight, and refuses an invalid one.
    Workload(domain, [()], weights=[table.weight])
    blocks = [replace(block, weights=block.weights * table.weight) for block in family.blocks]
    return Workload.from_blocks(domain, blocks, family.kinds)


def _located(queries: list[Query], where: str) -> list[tuple[str, Query]]:
    """Each of the queries of a table at ``where`` with the place where it stands."""
    return [(f"{where}, queries, entry {entry}", query) for entry, query in enumerate(queries, 1)]


def _about(universe: Where, query: QueryLike, where: str) -> QueryLike:
    """The query at ``where``, about the records of a universe."""
    with located(where):
        return Among(query, universe) if universe else query


def query_of_spec(
    query: list[str] | dict[str, KindTable],
    kinds: dict[str, Kind],
    where: str,
    at_least: int | None = None,
    *,
    hierarchies: SpecHierarchies = NO_FILES,
) -> QueryLike:
    """A query at ``where`` with its own kinds, or those of the whole table, or a threshold."""
    if isinstance(query, dict):
        return {name: kind_of_table(kind, f"{where}, {name}", name, hierarchies) for name, kind in query.items()}
    if at_least is not None:
        with located(where):
            return Threshold(query, at_least)
    if len(set(query)) < len(query) or not kinds:
        return query  # Workload refuses a repeated name, in its own words
    return {name: kinds.get(name, Identity()) for name in query}


def kind_of_table(table: KindTable, where: str, name: str, hierarchies: SpecHierarchies) -> Kind:
    """The kind of query on an attribute that a spec describes at ``where``."""
    with located(where):
        match table.kind:
            case "hierarchy":
                return hierarchies.kind(table, name)
            case "custom":
                return Custom(table.matrix, table.labels)
            case "matching":
                return Matching(table.at_least or 0)
            case "sum":
                return Sum(table.by)
            case "mean":
                return Mean() if table.between is None else Mean((table.between[0], table.between[1]))
            case "quantiles":
                return Quantiles() if table.probabilities is None else Quantiles(table.probabilities)
            case "identity":
                return Identity()
            case "prefix":
                return Prefix()
            case "range":
                return Range()
