"""A case as data: its records, drawn at random, the same in the form of its source, its schema, questions and plan."""

import csv
import datetime as dt
import gzip
import io
import itertools
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import residualplanner as rp
from forms_of_records import FORMS, dask_of
from meetings import factors, oracle
from meetings.factors import MISSING, OTHER, Amounts, Case, Column, People, Rules, Weights
from meetings.oracle import Question, Record

SEXES, SIZE = tuple(factors.SEXES), 3
#: So much, as pcost, that noise changes no digit that is compared; and the least noise that is drawn.
MOST, LEAST_NOISE = 10**11, 1.5e-9
#: The kinds of query whose answers are those of a statistic.
STATISTICS = ("mean", "quantiles", "proportions", "standard deviation")
#: Entries of Python objects that are values of no column.
_ODD_OBJECTS = ("??", (1, 2))


@dataclass(frozen=True)
class Line:
    """A record as it stands in the source, and the code of its entry in ``a``."""

    code: int | str
    a: Any
    b: int
    d: int
    pay: Fraction | None
    w: str
    who: int
    rank: int | None


def _weighed(names: Iterable[str], parts: Sequence[tuple[float, Any]]) -> tuple[float, dict[str, Any]]:
    """The product of weights, and the values by name."""
    return math.prod(weight for weight, _ in parts), dict(zip(names, (value for _, value in parts), strict=True))


class Built:
    """Everything that a case is made of.

    Attributes:
        column, rules: how ``a`` is declared, which odd entries there are, and what becomes of them.
        people: whose the records are.
        amounts, weights: the columns of these, if there are any.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.column: Column = case["column"]
        self.rules: Rules = case["odd entries"]
        self.people: People = case["people"]
        self.amounts: Amounts | None = case["amounts"]
        self.weights: Weights | None = case["weights"]
        self._errors: dict[rp.Plan, list[np.ndarray]] = {}

    @property
    def own(self) -> list[str]:
        """The labels of ``a`` that no entry has."""
        labels = [label for label in (self.rules.unknown, self.rules.missing) if label in (OTHER, MISSING)]
        return list(dict.fromkeys(labels))

    @property
    def is_linked(self) -> bool:
        """Whether there is another table about the same persons."""
        return self.case["road"] == "linked tables"

    @property
    def is_linked_and_limited(self) -> bool:
        """Whether no more records of a person count than are protected, because of the other table."""
        return self.is_linked and self.case["neighbors"] == "add-remove"

    @property
    def is_limited_by_the_plan(self) -> bool:
        """Whether records that are limited are so by the plan of several tables, and not by what is given."""
        return self.is_linked_and_limited and self.people.limited

    @property
    def size(self) -> int:
        """How many values and labels of its own ``a`` has."""
        return len(self.column.entries) + len(self.own)

    @property
    def has_moments(self) -> bool:
        """Whether there are sums of amounts and of their squares."""
        return self.amounts is not None and self.amounts.kind == "moments"

    # Records.

    @cached_property
    def lines(self) -> list[Line]:
        """All records."""
        chance = random.Random(self.case.seed)
        return [line for who in range(self.case["records"]) for line in self._of_person(who, chance)]

    def changed(self) -> list[Line]:
        """The same, but for the records of one person: one who comes, or has other values where these are replaced."""
        chance = random.Random(f"{self.case.seed}, changed")
        if self.case["neighbors"] == "replace":
            last = self.case["records"] - 1
            found = [line for line in self.lines if line.who == last]
            return (
                [line for line in self.lines if line.who != last]
                + [self._line(last, None, chance) for _ in found[: self.people.most]]
                + found[self.people.most :]
            )
        return self.lines + self._of_person(self.case["records"], chance)

    def _of_person(self, who: int, chance: random.Random) -> list[Line]:
        if not self.people.limited:
            return [self._line(who, None, chance) for _ in range(1 + who % self.people.most)]
        count = chance.choice([1, 2, 3, 4])
        if self.people.order is None:
            return (
                [self._line(who, None, chance)] * count
                if count > self.people.most
                else [self._line(who, None, chance) for _ in range(count)]
            )
        ranks: list[int | None] = list(chance.sample(range(len(self.people.order)), count))
        if count > 1 and chance.random() < 0.3:
            ranks[chance.randrange(count)] = None
        return [self._line(who, rank, chance) for rank in ranks]

    def _line(self, who: int, rank: int | None, chance: random.Random) -> Line:
        code: int | str = chance.randrange(len(self.column.entries))
        entry = chance.choice(self.column.entries[code])
        if self.rules.has_missing and chance.random() < 0.2:
            code, entry = "missing", None
        elif self.rules.has_unknown and chance.random() < 0.2 and self._strangers:
            code, entry = "unknown", chance.choice(self._strangers)
        pay = None
        if self.amounts:
            steps = [-30, -5, 0, 7, 20, 33, 40, 55]
            pay = Fraction(chance.choice(steps)) * self.amounts.scale
            if self.case["source"] not in ("codes", "counts") and pay == 7:
                pay += Fraction(1, 8)
            if self.amounts.missing and chance.random() < 0.2 and self.case["source"] != "codes":
                pay = None
        w = chance.choice(self.weights.entries) if self.weights else "1"
        return Line(code, entry, chance.randrange(2), chance.randrange(SIZE), pay, w, who, rank)

    @property
    def _strangers(self) -> list[Any]:
        """Entries that are no values, and which the source can hold beside values."""
        known = [] if self.column.stranger is None else [self.column.stranger]
        source = self.case["source"]
        if source == "pandas, objects":
            return [*known, *_ODD_OBJECTS]
        return [*known, "??"] if source in ("csv", "csv.gz") else known

    def counted(self, lines: Sequence[Line]) -> list[Record]:
        """Those that count, as the oracle has them."""
        found = [line for line in lines if self._code(line) is not None]
        if self.people.limited:
            last = len(self.people.order or ())
            order = sorted(found, key=lambda line: last if line.rank is None else line.rank)
            kept: dict[int, list[Line]] = {}
            for line in order:
                kept.setdefault(line.who, []).append(line)
            found = [line for of_one in kept.values() for line in of_one[: self.people.most]]
        return [(self._weight(line), self._values(line)) for line in found]

    def facts(self) -> dict[str, Any]:
        """What is known anyway: how many have each value of ``b``, and in which cells of ``b`` and ``d`` nobody is."""
        table = np.zeros((2, SIZE))
        for weight, values in self.counted(self.lines):
            table[values["b"], values["d"]] += float(weight)
        empty = [{"b": SEXES[b], "d": int(d)} for b, d in np.argwhere(table == 0) if table[b].any()]
        return {"known": {"b": table.sum(axis=1).tolist()}, "impossible": empty}

    def _code(self, line: Line) -> int | None:
        if isinstance(line.code, int):
            return line.code
        rule = self.rules.unknown if line.code == "unknown" else self.rules.missing
        return None if rule == "drop" else len(self.column.entries) + self.own.index(str(rule))

    def _weight(self, line: Line) -> Fraction:
        return min(Fraction(line.w), Fraction(self.weights.maximum)) if self.weights else Fraction(1)

    def _values(self, line: Line) -> Mapping[str, Any]:
        values = {"a": self._code(line), "b": line.b, "d": line.d}
        return values | ({"pay": self._amount(line.pay)} if self.amounts else {})

    def _amount(self, pay: Fraction | None) -> tuple[int, Fraction | None]:
        edges, unit = self.amounts.edges, Fraction(self.amounts.unit)
        if pay is None:
            return len(edges) - 1, None
        inside = min(max(pay, Fraction(edges[0])), Fraction(edges[-1]))
        amount = round(inside / unit) * unit
        return min(sum(edge <= amount for edge in edges) - 1, len(edges) - 2), amount

    # The schema, and what is asked.

    @cached_property
    def budget(self) -> str:
        """The pcost of a release, as large as may be: the noise of a public number of records is the least of all."""
        if self.case["neighbors"] == "add-remove":
            return str(MOST)
        least = float(rp.select(self.workload, budget=rp.pcost(1), **self.options).noise_variances.min())
        return str(min(MOST, int(least / LEAST_NOISE**2)))

    @property
    def all_budget(self) -> str:
        """That of all releases, in the ledger."""
        return str(4 * int(self.budget))

    @property
    def domain(self) -> rp.Domain:
        """The schema."""
        rules = {"unknown": self.rules.unknown, "missing": self.rules.missing}
        declared: dict[str, Any] = dict(self.column.declared)
        if "bins" in declared:
            declared["bins"] = rp.Bins(declared["bins"])
        if "months" in declared:
            declared["bins"] = rp.Bins.months(*declared.pop("months"))
        about = {name: rp.About(**words) for name, words in self.case["words"].items()}
        sexes = rp.Attribute("b", labels=self.labels_of_b, about=about.get("b"))
        attributes: dict[str, Any] = {"a": rp.Attribute("a", **declared, **rules, about=about.get("a"))}
        attributes |= {"b": sexes, "d": SIZE}
        if self.amounts:
            edges = self.amounts.edges
            how: dict[str, Any] = {"unit": self.amounts.unit, "bins": edges, "squares": self.amounts.squares}
            numeric = rp.Numeric(edges[0], edges[-1], outside="clip", **how)
            missing = MISSING if self.amounts.missing else "error"
            attributes["pay"] = rp.Attribute("pay", numeric=numeric, missing=missing, about=about.get("pay"))
        if self.weights is None:
            return rp.Domain(attributes)
        maximum, unit, above = self.weights.maximum, self.weights.unit, self.weights.above
        return rp.Domain(attributes, weight=rp.Weight("w", maximum=maximum, unit=unit, above=above))

    @property
    def labels_of_b(self) -> Any:
        """The values of ``b``, with their meanings where columns have words."""
        return factors.SEXES if self.case["words"] else SEXES

    @cached_property
    def questions(self) -> list[Question]:
        """What is asked, each question once."""
        asked: list[dict[str, str]] = [{}, {"a": "identity"}, {"d": "identity", "b": "identity"}]
        found = [self._question(kinds) for kinds in [*asked, {"a": self.case["kind"], "b": "identity"}]]
        if self.case["universe"]:
            kinds, where = self.case["universe"]
            found.append(self._question(kinds, where=where))
        if self.case["threshold"]:
            names, at_least, where = self.case["threshold"]
            found.append(self._question(dict.fromkeys(names, "identity"), at_least=at_least, where=where))
        found += self._of_amounts()
        return list({repr(question.query): question for question in found}.values())

    def _axis(self, name: str, kind: str = "identity") -> list[oracle.Row]:
        if name == "a":
            return oracle.kind_rows(kind, len(self.column.entries), len(self.own))
        return oracle.kind_rows(kind, {"b": 2, "d": SIZE}[name], 0)

    def _question(self, kinds: Mapping[str, str], **more: Any) -> Question:
        """A question in kinds; ``where`` in labels, ``at_least`` for thresholds."""
        where, at_least = more.get("where", {}), more.get("at_least", 0)
        codes = {name: [label if name == "d" else SEXES.index(label) for label in where[name]] for name in where}
        axes = {name: self._axis(name, kind) for name, kind in kinds.items()}
        for name in set(axes) & set(codes):
            axes[name] = [axes[name][code] for code in codes[name]]
        query: Any = {name: self._kind(kind)[0] for name, kind in kinds.items()}
        if set(kinds.values()) <= {"identity"}:
            query = tuple(kinds)
        if at_least:
            query = rp.Threshold(tuple(kinds), at_least)
        written = {"queries": [self._written(kinds)]} | ({"at_least": at_least} if at_least else {})
        if where:
            query, written = rp.Among(query, where), written | {"where": where}
        word = next((kind for kind in kinds.values() if kind in STATISTICS), "")
        of = {name: frozenset(found) for name, found in codes.items()}
        return Question(query, written, axes, of, at_least, statistic=word)

    def _kind(self, kind: str) -> tuple[Any, Any]:
        """A kind on ``a``, and how a spec says it."""
        matrix = [[1] * self.size, list(range(1, self.size + 1))]
        kinds: dict[str, tuple[Any, Any]] = {
            "identity": (rp.Identity(), kind),
            "prefix": (rp.Prefix(), kind),
            "range": (rp.Range(), kind),
            "hierarchy": (rp.Hierarchy([2]), {"kind": kind, "levels": [2]}),
            "hierarchy without leaves": (
                rp.Hierarchy([2], leaves=False),
                {"kind": "hierarchy", "levels": [2], "leaves": False},
            ),
            "custom": (rp.Custom(matrix), {"kind": kind, "matrix": matrix}),
            "proportions": (rp.Proportions(), kind),
        }
        return kinds[kind]

    def _written(self, kinds: Mapping[str, str]) -> Any:
        """A query in a spec: names alone, or a kind for each."""
        if set(kinds.values()) <= {"identity"}:
            return list(kinds)
        return {name: self._kind(kind)[1] for name, kind in kinds.items()}

    def _of_amounts(self) -> list[Question]:
        if self.amounts is None:
            return []
        kind, rows = self.amounts.kind, oracle.amount_rows(self.amounts.kind, self.amounts.edges, self.amounts.missing)
        word = kind if isinstance(kind, str) else kind["kind"]
        makers: dict[str, Any] = {
            "identity": rp.Identity,
            "sum": lambda: rp.Sum() if isinstance(kind, str) else rp.Sum("bin"),
            "mean": lambda: rp.Mean() if isinstance(kind, str) else rp.Mean(tuple(kind["between"])),
            "quantiles": lambda: rp.Quantiles(0.5),
            "proportions": rp.Proportions,
            "standard deviation": rp.statistics.StandardDeviation,
            "moments": rp.statistics.Moments,
        }
        found = []
        for name, where in [("b", {})] + ([("d", {"b": ["F"]})] if self.case["universe"] else []):
            query: Any = {name: rp.Identity(), "pay": makers[word]()}
            written = {"queries": [[name, "pay"] if kind == "identity" else {name: "identity", "pay": kind}]}
            if where:
                query, written = rp.Among(query, where), written | {"where": where}
            axes = {name: self._axis(name), "pay": rows}
            codes = {key: frozenset(map(SEXES.index, labels)) for key, labels in where.items()}
            found.append(Question(query, written, axes, codes, statistic=word if word in STATISTICS else ""))
        return found

    @cached_property
    def workload(self) -> rp.Workload:
        """All questions."""
        return rp.Workload(self.domain, [question.query for question in self.questions])

    @cached_property
    def positions(self) -> list[int]:
        """Where each question stands in the workload, whose order files have."""
        known = list(map(repr, self.workload))
        return [known.index(repr(*rp.Workload(self.domain, [question.query]))) for question in self.questions]

    @property
    def options(self) -> dict[str, Any]:
        """Of `select`, but for the budget."""
        losses: dict[str, Any] = {
            "equal": rp.losses.SumOfVariances("equal"),
            "targets": rp.losses.Targets([(self.questions[1].query, 3.0), (self.questions[2].query, 2.0)]),
            "convex": lambda variances: cvxpy.norm(variances, 4),
        }
        n = self.size
        given = {"a": np.eye(n, dtype=np.int64)[:-1] * 2 - np.eye(n, k=1, dtype=np.int64)[:-1]}
        return {
            "loss": losses.get(self.case["loss"], self.case["loss"]),
            "bases": given if self.case["bases"] == "given" else self.case["bases"],
            "neighbors": self.case["neighbors"],
            "records_per_person": self.people.most,
            "time": 0.1,  # bounds and searches of ten seconds would be most of a case
        }

    @cached_property
    def plan(self) -> rp.Plan:
        """The noise."""
        return rp.select(self.workload, budget=rp.pcost(self.budget), **self.options)

    @property
    def spec(self) -> str:
        """All of it as a spec."""
        limited = {"person": "who", "keep": self.people.most} | ({"order": "when"} if self.people.order else {})
        losses = {"sum": "sum", "max": "max", "equal": {"sum": "equal"}}
        loss, weights = self.case["loss"], self.weights
        entries: dict[str, Any] = {
            "budget": {"pcost": self.budget},
            "bases": self.case["bases"],
            "neighbors": self.case["neighbors"],
            **({"people": limited} if self.people.limited else {"records_per_person": self.people.most}),
            **({"loss": losses[loss]} if loss in losses else {}),
            "ledger": {"file": "ledger", "budget": {"pcost": self.all_budget}},
            "domain": self._spec_domain(),
            "workload": [question.spec for question in self.questions],
            "output": self._spec_output(),
        }
        if weights:
            limits = {"maximum": weights.maximum, "unit": weights.unit, "above": weights.above}
            entries["weight"] = {"column": "w"} | limits
        if loss == "targets":
            pairs = zip(self.questions[1:3], (3.0, 2.0), strict=True)
            entries["targets"] = [question.spec | {"moe": margin} for question, margin in pairs]
        return "".join(f"{name} = {_toml(entry)}\n" for name, entry in entries.items())

    def _spec_domain(self) -> dict[str, Any]:
        rules = {"unknown": self.rules.unknown, "missing": self.rules.missing}
        labels = list(map(list, self.labels_of_b.items())) if self.case["words"] else list(SEXES)
        domain: dict[str, Any] = {"a": dict(self.column.declared) | rules, "b": {"labels": labels}, "d": SIZE}
        if self.amounts:
            edges = self.amounts.edges
            limits = {"low": edges[0], "high": edges[-1], "unit": self.amounts.unit, "bins": edges, "outside": "clip"}
            limits |= {"squares": True} if self.amounts.squares else {}
            domain["pay"] = {"numeric": limits, "missing": MISSING if self.amounts.missing else "error"}
        for name in self.case["words"].keys() & domain.keys():
            domain[name] |= self.case["words"][name]
        return domain

    def _spec_output(self) -> dict[str, Any]:
        product, told = self.case["product"], {name: self.case[name] for name in ("format", "profile")}
        told |= {"nonnegative": product.nonnegative, "with_unbiased": product.with_unbiased}
        told |= {"round_to": product.base} if product.base else {}
        told |= {"published_errors": 10} if product.errors else {}
        if product.known:
            facts = self.facts()
            counts = [{"query": [name], "counts": table} for name, table in facts["known"].items()]
            told |= {"known": counts, "impossible": facts["impossible"]}
        told |= {"level": self.case["level"]} if self.case["level"] else {}
        told |= {"comparisons": list(self._spec_comparisons())}
        return told | ({} if self.case["quality"] is None else {"quality": {"suppress": self.case["quality"]}})

    def _spec_comparisons(self) -> Iterator[dict[str, Any]]:
        """Of marginals those that are made in Python; a regression with its own number of simulations."""
        for number, question in enumerate(self.questions):
            if isinstance(question.query, tuple):
                query = {"query": list(question.query)}
                yield {"name": f"ranks-{number}", "kind": "ranks"} | query
                yield {"name": f"ratio-{number}", "kind": "ratio", "to": {"query": []}} | query
        if self.has_moments:
            yield {"name": "regression-0", "kind": "regression", "outcome": "pay", "on": ["b"]}

    # Sources.

    def source(self, lines: Sequence[Line], folder: Path) -> Any:
        """The records where the case has them; files are written into the folder."""
        name = self.case["source"]
        made = _OWN[name](self, lines, folder) if name in _OWN else FORMS[name](self.table(lines), folder)
        if not self.people.limited:
            return made
        order = None if self.people.order is None else "when"
        return rp.LimitedRecords(made, person="who", keep=self.people.most, order=order)

    def rows(self, lines: Sequence[Line]) -> list[dict[str, Any]]:
        """Entries of all columns, as Python's."""
        return [self._row(line) for line in lines]

    def _row(self, line: Line) -> dict[str, Any]:
        row = {"a": line.a, "b": SEXES[line.b], "d": line.d}
        if self.amounts:
            row["pay"] = None if line.pay is None else float(line.pay)
        if self.weights:
            row["w"] = Decimal(line.w)
        if self.people.limited or self.is_linked:
            row["who"] = self.name_of(line.who)
        if self.people.limited and self.people.order:
            row["when"] = None if line.rank is None else self.people.order[line.rank]
        return row

    def name_of(self, who: int) -> str | int:
        """What the records of a person say whose they are."""
        return f"p{who}" if self.people.as_text else who

    @property
    def schema(self) -> pa.Schema:
        """The types of the columns."""
        types = {"a": self.column.type, "b": pa.string(), "d": pa.int64()}
        types |= {"pay": pa.float64()} if self.amounts else {}
        types |= {"w": pa.decimal128(4, 1)} if self.weights else {}
        if self.people.limited or self.is_linked:
            types["who"] = pa.string() if self.people.as_text else pa.int64()
        if self.people.limited:
            types |= {"when": self.people.type} if self.people.order else {}
        return pa.schema(types)

    def table(self, lines: Sequence[Line]) -> pa.Table:
        """The records as an Arrow table."""
        return pa.Table.from_pylist(self.rows(lines), schema=self.schema)

    def codes(self, lines: Sequence[Line]) -> np.ndarray:
        """The records as codes; what is no value has none."""
        found = []
        for line in lines:
            code = self._code(line)
            row: list[Any] = [len(self.column.entries) + 9 if code is None else code, line.b, line.d]
            row += [int(line.pay)] if self.amounts else []
            found.append([*row, float(line.w)] if self.weights else row)
        is_whole = self.weights is None or Fraction(self.weights.unit) == 1
        columns = 3 + (self.amounts is not None) + (self.weights is not None)
        return np.array(found, dtype=np.int64 if is_whole else np.float64).reshape(-1, columns)

    def ready_counts(self, lines: Sequence[Line]) -> dict[tuple[str, ...], np.ndarray]:
        """The records counted in all cells, in the least fractions that weights and amounts have."""
        sizes = [self.size, 2, SIZE]
        q = Fraction(self.weights.unit).denominator if self.weights else 1
        if not self.amounts:
            table = np.zeros(sizes, dtype=np.int64)
            for weight, values in self.counted(lines):
                table[values["a"], values["b"], values["d"]] += int(weight * q)
            return {("a", "b", "d"): table}
        edges, unit = self.amounts.edges, Fraction(self.amounts.unit)
        width = int((edges[1] - edges[0]) / unit)
        per_bin = 3 if self.amounts.squares else 2
        table = np.zeros([*sizes, per_bin * (len(edges) - 1) + self.amounts.missing], dtype=np.int64)
        for weight, values in self.counted(lines):
            bin_, amount = values["pay"]
            cell = table[values["a"], values["b"], values["d"]]
            if amount is None:
                cell[-1] += int(weight * q) * width ** (per_bin - 1)
            else:
                high = int((amount - edges[bin_]) / unit)
                low = width - high
                parts = [low, high] if per_bin == 2 else [low**2, 2 * low * high, high**2]
                cell[per_bin * bin_ : per_bin * (bin_ + 1)] += np.array(parts) * int(weight * q)
        return {("a", "b", "d", "pay"): table}

    # What the oracle needs of the plan.

    def cells(self) -> list[list[tuple[float, dict[str, Any]]]]:
        """Each cell of the domain as a weighted sum of values, amounts at the ends of their bins.

        What a polynomial p of degree 2 is in the middle cell of a bin is 2 p(m) - p(l) / 2 - p(h) / 2.
        """
        plain: dict[str, list[Any]] = {"a": list(range(self.size)), "b": [0, 1], "d": list(range(SIZE))}
        axes: dict[str, list[Any]] = {name: [[(1.0, value)] for value in values] for name, values in plain.items()}
        if self.amounts:
            axes["pay"] = self._cells_of_amounts(self.amounts)
        sizes = tuple(map(len, axes.values()))
        cells = ([axes[name][i] for name, i in zip(axes, where, strict=True)] for where in np.ndindex(*sizes))
        return [[_weighed(axes, parts) for parts in itertools.product(*cell)] for cell in cells]

    def _cells_of_amounts(self, amounts: Amounts) -> list[list[tuple[float, Any]]]:
        found: list[list[tuple[float, Any]]] = []
        for b, (low, high) in enumerate(itertools.pairwise(amounts.edges)):
            ends = [(b, Fraction(edge)) for edge in (low, high)]
            middle = [(2.0, (b, Fraction(low + high, 2))), (-0.5, ends[0]), (-0.5, ends[1])]
            found += [[(1.0, ends[0])], *([middle] if amounts.squares else []), [(1.0, ends[1])]]
        return found + ([[(1.0, (len(amounts.edges) - 1, None))]] if amounts.missing else [])

    def std_errs(self, plan: rp.Plan) -> list[np.ndarray]:
        """The standard errors of all unbiased tables, by least squares."""
        if plan not in self._errors:
            self._errors[plan] = oracle.std_errs(
                self.measured(plan, lambda variance: 1 / variance), self.questions, self.cells()
            )
        return self._errors[plan]

    def measured(self, plan: rp.Plan, precision: Any) -> oracle.Measured:
        """What a plan measures, from its public properties."""
        sets = [tuple(found) for found in plan.closure]
        pairs = zip(sets, map(float, plan.noise_variances), strict=True)
        return oracle.Measured(
            tuple(plan.domain.sizes),
            {members: Fraction(precision(variance)) for members, variance in pairs},
            lambda members, i: plan.strategy.basis(members, i).matrix,
        )


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


# Forms of records.


def _csv_text(value: Any) -> str:
    return "" if value is None else value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def _csv(built: Built, lines: Sequence[Line], folder: Path) -> Path:
    name, text = built.case["source"], io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(built.schema.names)
    writer.writerows([_csv_text(row[name]) for name in built.schema.names] for row in built.rows(lines))
    content = text.getvalue().encode()
    (folder / f"records.{name}").write_bytes(gzip.compress(content) if name == "csv.gz" else content)
    return folder / f"records.{name}"


def _folder(built: Built, lines: Sequence[Line], folder: Path) -> Path:
    table, target = built.table(lines), folder / "records"
    for number, sex in enumerate(SEXES):
        part = target / f"b={sex}"
        part.mkdir(parents=True, exist_ok=True)
        own = table.filter(pa.compute.equal(table["b"], sex)).drop_columns(["b"])
        parquet.write_table(own.select(own.column_names[::-1] if number else own.column_names), part / "0.parquet")
    return target


def _objects(built: Built, lines: Sequence[Line], _: Path) -> pd.DataFrame:
    rows = built.rows(lines)
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in built.schema.names})


def _pandas(built: Built, lines: Sequence[Line], _: Path) -> pd.DataFrame:
    """With integers that have no value among them, which are floats in pandas otherwise, and not told apart."""
    is_large = built.case.values["column"] == "large integers"
    return built.table(lines).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get if is_large else None)


#: Forms that hold more than a table of Arrow does, or say it in another way.
_OWN = {
    "pandas": _pandas,
    "Dask": lambda built, lines, folder: dask_of(_pandas(built, lines, folder)),
    "pandas, objects": _objects,
    "csv": _csv,
    "csv.gz": _csv,
    "folder": _folder,
    "codes": lambda built, lines, _: built.codes(lines),
    "counts": lambda built, lines, _: built.ready_counts(lines),
}
