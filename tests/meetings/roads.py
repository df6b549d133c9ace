"""How a case is run: measured on its road, published in its form, and read back by its reader."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import residualplanner as rp
from command_line import outcome
from forms_of_records import dask_of
from inner_parts import InsecureTestBits
from linked_units import measured_with_bits
from meetings.build import Built, Line
from meetings.factors import Product
from replayed_measuring import measured_with

SIMULATIONS, FEW = 10, 12
COMMANDS = ("release", "plan, measure, reconstruct")


class CommandError(Exception):
    """What a command said when it failed."""


@dataclass
class Run:
    """A case in a folder, and the ledger that it charges."""

    built: Built
    folder: Path

    def __post_init__(self) -> None:
        people = self.built.people
        self.ledger = rp.Ledger(
            rp.pcost(self.built.all_budget),
            data_set="made up",
            neighbors=self.built.case["neighbors"],
            records_per_person=people.most + self.built.is_linked,
        )
        self._of_others: Any = 0

    def cost(self, measurement: rp.Measurement) -> Any:
        """What was to be charged for a measurement, and for that of the other table, if there is one."""
        return measurement.noise.pcost + self._of_others

    @property
    def spent(self) -> Any:
        """What the ledger of this run was charged."""
        file = self.folder / "ledger"
        return rp.Ledger.open(file).spent if file.exists() else self.ledger.spent

    def published(self, lines: Sequence[Line]) -> tuple[Path, rp.Measurement]:
        """The folder of tables, and the measurement that they were made from."""
        case = self.built.case
        if case["road"] in COMMANDS:
            return self._by_commands(lines)
        unbiased = release = rp.reconstruct(self.measured(lines))
        if case["road"] == "folder of a release" and case["product"] != Product():
            release.save(self.folder / "unbiased")
            release = rp.load_tables(self.folder / "unbiased")
        made = made_of(release, self.built)
        compared = comparisons_of(unbiased, self.built)
        quality = None if case["quality"] is None else rp.publish.Quality(suppress=case["quality"])
        more: dict[str, Any] = {"level": case["level"], "quality": quality, "comparisons": compared}
        if case["product"].with_unbiased:
            more["with_unbiased"] = True
        if case["product"].errors:
            more["errors"] = rp.fits.published_errors(made, simulations=SIMULATIONS)
        made.save(self.folder / "tables", case["format"], profile=case["profile"], **more)
        return self.folder / "tables", unbiased.measurement

    def measured(self, lines: Sequence[Line]) -> Any:
        """The noisy answers, by a road in Python: a measurement, or two."""
        case, plan = self.built.case, self.built.plan
        source = self.built.source(lines, self.folder)
        if self.built.is_linked:
            return self._linked(lines, source.data if self.built.is_limited_by_the_plan else source)
        if case["road"] == "two measurements":
            return self._twice(lines)
        return self._measured(plan, source)

    def _twice(self, lines: Sequence[Line]) -> list[rp.Measurement]:
        """With a third of the budget and with the rest; bases by set are those of one plan, with half of it each."""
        budget = Fraction(self.built.budget)
        parts = [budget / 3, budget * 2 / 3]
        if self.built.case["bases"] == "optimal_by_set":
            parts = [budget / 2]
        plans = [rp.select(self.built.workload, budget=rp.pcost(part), **self.built.options) for part in parts]
        sources = [self.built.source(lines, self.folder) for _ in range(2)]
        return [self._measured(plans[-bits], source, bits) for bits, source in enumerate(sources)]

    def _measured(self, plan: rp.Plan, source: Any, bits: int = 7) -> rp.Measurement:
        if self.built.case["noise"] == "bits":
            return measured_with(plan, source, bits)
        if self.built.case["memory"]:
            return self._in_blocks(plan, source)
        return self._in_python(plan, source)

    def _linked(self, lines: Sequence[Line], source: Any) -> rp.Measurement:
        """Together with a table of the persons, in which the records of each are counted, so that both are joined."""
        case, built = self.built.case, self.built
        order = "when" if built.people.order else None
        counts = rp.linked.LinkedTable(
            rp.marginals(rp.Domain({"records": 3}), order=1), derived={"records": rp.linked.CountOf("people")}
        )
        people = rp.linked.LinkedTable(built.workload, built.people.most, order)
        tables = rp.linked.LinkedTables({"people": people, "others": counts}, unit="who")
        options = dict(built.options)
        del options["records_per_person"]
        loss, bases = options.pop("loss"), options.pop("bases")
        other = rp.losses.Targets(30.0) if case["loss"] == "targets" else loss
        plan = rp.linked.select(
            tables,
            budget=rp.pcost(built.budget),
            loss={"people": loss, "others": other},
            bases={"people": bases, "others": None},
            weights=None if case["loss"] == "targets" else {"people": 1, "others": 1e-3},
            **options,
        )
        whose = sorted({line.who for line in lines})
        others: Any = pa.table({"who": [built.name_of(who) for who in whose]})
        if case["source"].startswith("Dask"):
            others = dask_of(others.to_pandas())
        data = {"people": source, "others": others}
        if case["noise"] == "bits":
            found = measured_with_bits(plan, data, InsecureTestBits(7))
        else:
            ledger = self.ledger if case["noise"] == "discrete" else None
            found = rp.linked.measure(plan, data, noise=case["noise"], ledger=ledger)
        self._of_others = found["others"].noise.pcost
        of_persons = rp.reconstruct(found["others"])["records"]
        assert abs(of_persons.estimate.sum() - len(whose)) <= 8 * of_persons.std_err.sum()
        return found["people"]

    def _in_blocks(self, plan: rp.Plan, source: Any) -> rp.Measurement:
        """With as little memory as it takes; where that is too little nothing has been charged or read."""
        before = self.spent
        for power in range(200):
            try:
                return self._in_python(plan, source, memory=int(500 * 1.05**power), scratch=self.folder)
            except rp.errors.ResourceError as error:
                if "too little memory" not in str(error) or self.spent != before:
                    raise
        raise AssertionError("no memory is enough")

    def _in_python(self, plan: rp.Plan, source: Any, **memory: Any) -> rp.Measurement:
        case = self.built.case
        if case["road"] == "session":
            return rp.Session(source, ledger=self.ledger).measure(plan, **memory)
        if case["road"] == "store":
            return rp.scale.measure_in_store(plan, source, self.folder / "store", ledger=self.ledger)
        ledger = self.ledger if case["noise"] == "discrete" else None
        again = case["road"] == "two measurements"
        found = rp.measure(plan, source, noise=case["noise"], ledger=ledger, again=again, **memory)
        if case["road"] == "measurement from a file":
            found.save(self.folder / "saved.measurement")
            return rp.load_measurement(self.folder / "saved.measurement", mapped=case["memory"])
        return found

    def report(self, tables: Path) -> Path:
        """The page of the case, by the road of the case."""
        case, page = self.built.case, self.folder / "page.html"
        few = case["report"] == 3
        if case["road"] in COMMANDS:
            made = self.folder / "made.plan"
            if case["report"] == 2 and not made.exists():
                command("plan", self.folder / "spec.toml", "-o", made)
            command("report", made if case["report"] == 2 else tables, "-o", page, *(["--cells", FEW] if few else []))
        else:
            rp.publish.write_report(
                self.built.plan if case["report"] == 2 else tables, page, **({"cells": FEW} if few else {})
            )
        return page

    def _by_commands(self, lines: Sequence[Line]) -> tuple[Path, rp.Measurement]:
        spec, records = self.folder / "spec.toml", self.built.source(lines, self.folder)
        spec.write_text(self.built.spec, encoding="utf-8")
        records = getattr(records, "data", records)
        tables = self.folder / "tables"
        if self.built.case["road"] == "release":
            command("release", spec, records, "-o", tables)
        else:
            self._by_steps(spec, records, tables)
        return tables, rp.load_measurement(tables / "release.measurement")

    def _by_steps(self, spec: Path, records: Path, tables: Path) -> None:
        people, kept = self.built.people, self.folder / "kept.measurement"
        budget, neighbors = f"pcost={self.built.all_budget}", self.built.case["neighbors"]
        terms = ["--neighbors", neighbors, "--records-per-person", people.most]
        command("ledger", self.folder / "ledger", "--create", "made up", "--budget", budget, *terms)
        command("plan", spec, "-o", self.folder / "made.plan")
        options = ["--person", "who"] if people.limited else []
        options += ["--order", "when"] if people.order else []
        ledger = ["--ledger", self.folder / "ledger"]
        command("measure", self.folder / "made.plan", records, "-o", kept, *options, *ledger)
        command("reconstruct", kept, "-o", tables, "--spec", spec)


def command(*arguments: object) -> str:
    """What a command of the command line prints, in this process."""
    result = outcome(*arguments)
    if result.exit_code:
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        raise CommandError(result.output)
    return result.output


def comparisons_of(release: Any, built: Built) -> dict[str, Any]:
    """Of each table the ranks of its cells, and what these are of all records; and a regression of moments."""
    tables = [release[question.query] for question in built.questions]
    found = {f"ranks-{number}": rp.statistics.ranks(table) for number, table in enumerate(tables)}
    found |= {f"ratio-{number}": rp.statistics.ratio(table, release[()]) for number, table in enumerate(tables)}
    if built.has_moments:
        found["regression-0"] = rp.statistics.regression(release, "pay", ["b"], simulations=50)
    return found


def made_of(release: Any, built: Built) -> Any:
    """What is published of a release."""
    product: Product = built.case["product"]
    facts = built.facts() if product.known else {}
    made: Any = rp.nonnegative(release, **facts) if product.nonnegative else release
    return rp.rounded(made, base=product.base) if product.base else made


# Reading a folder by other programs.


def frames(folder: Path, built: Built) -> list[Mapping[str, list[Any]]]:
    """The columns of each table, in the order of the questions, as the case's reader gives them."""
    queries = list(built.workload)
    found = _frames(folder, built.case["reader"], built.case["format"], queries)
    return [found[position] for position in built.positions]


def _frames(folder: Path, reader: int, written: str, queries: Sequence[Any]) -> list[Mapping[str, list[Any]]]:
    if written == "parts":
        return _parts(folder, reader, queries)
    if reader == 0:
        tables = rp.load_tables(folder)
        return [tables.numbers.frame(query).to_dict("list") for query in queries]
    index = pd.read_csv(folder / "index.csv", keep_default_na=False)
    readers = {"parquet": _parquet, "csv": _csv, "xlsx": _excel, "workbook": _excel}
    sheets = index["sheet"] if "sheet" in index else [0] * len(index)
    return [readers[written](folder / name, sheet, reader) for name, sheet in zip(index["file"], sheets, strict=True)]


def _parquet(path: Path, _: Any, reader: int) -> Mapping[str, list[Any]]:
    return parquet.read_table(path).to_pydict() if reader == 1 else pd.read_parquet(path).to_dict("list")


def _csv(path: Path, _: Any, reader: int) -> Mapping[str, list[Any]]:
    if reader == 2:
        return pd.read_csv(path, float_precision="round_trip", keep_default_na=False, dtype=str).to_dict("list")
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


def _excel(path: Path, sheet: Any, reader: int) -> Mapping[str, list[Any]]:
    import openpyxl

    if reader == 2:
        return pd.read_excel(path, sheet_name=sheet, keep_default_na=False).to_dict("list")
    book = openpyxl.load_workbook(path, read_only=True)
    head, *rows = (book[sheet] if isinstance(sheet, str) else book.worksheets[sheet]).iter_rows(values_only=True)
    book.close()
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


def _parts(folder: Path, reader: int, queries: Sequence[Any]) -> list[Mapping[str, list[Any]]]:
    if reader == 0:
        tables = rp.load_tables(folder)
        return [{"estimate": tables[query].estimate.ravel().tolist()} for query in queries]
    if reader == 1:
        import duckdb

        rows = duckdb.sql(f"SELECT * FROM '{folder}/parts/*.parquet' ORDER BY table_id, cell").df()
    else:
        rows = pd.concat(pd.read_parquet(path) for path in sorted((folder / "parts").iterdir()))
    assert sorted(rows["table_id"].unique()) == list(range(len(queries)))
    return [rows[rows["table_id"] == number].to_dict("list") for number in range(len(queries))]


def number(entry: Any) -> float:
    """A number of a file; NaN where it is left out."""
    return float("nan") if entry in (None, "") else float(entry)


def numbers(columns: Mapping[str, Sequence[Any]], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A column of numbers as a table."""
    return np.array([number(entry) for entry in columns[name]]).reshape(shape)


def page_data(page: Path) -> dict[str, Any]:
    """The tables that a page holds."""
    text = page.read_text(encoding="utf-8")
    start = text.index(">", text.index('id="cells-data"')) + 1
    return json.loads(text[start : text.index("</script>", start)])
