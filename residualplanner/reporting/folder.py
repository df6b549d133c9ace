"""A release folder, read back for a report: the manifest, the error table, and the tables one asks for.

Reads: manifest.json, errors.csv, index.csv, tables/.  Gives: Subject.  PyArrow's home in this layer.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._margins import margin_factor
from residualplanner._words import JOIN
from residualplanner.domain import Domain
from residualplanner.errors import FileFormatError, ResidualPlannerError
from residualplanner.privacy import Budget, Neighbors
from residualplanner.reconstruction import load_tables
from residualplanner.reporting.shown_table import ShownTable, rows_to_show, with_margins
from residualplanner.reporting.subject import NoiseTold, Subject
from residualplanner.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = ("query", "kinds", "file", "sha256")
_NEEDED = ("query", "kinds", "order", "cells", "weight", "privacy_share", "std_err", "max_std_err")
#: What estimates and their errors are called: standard errors, or, for readers of the ACS, margins of error.
_QUANTITIES = (("estimate", "std_err"), ("estimate", "std_dev"), ("E", "M"))
#: Up to so many queries a workload is made anew from the error table.
_QUERIES = 20_000


def subject_of_folder(folder: Path, *, level: float) -> Subject:
    """A release folder, as reports tell of it.

    Raises:
        FileFormatError: a file is missing, was altered since it was written, or is not what it should be.
        BudgetError: ``level`` is not between 0 and 1.
    """
    quantile = margin_factor(level)
    manifest = _manifest(folder)
    try:
        plan, noise, files = manifest["plan"], manifest["noise"], manifest["files"]
        errors = _errors(_content(folder, "errors.csv", files["errors.csv"]), folder / "errors.csv", quantile, level)
        index = _csv(_content(folder, "index.csv", files["index.csv"])).to_pylist()
        domain = Domain.from_json(plan["domain"])
        bases = tuple((str(name), str(basis["family"])) for name, basis in plan["bases"].items())
        has_own_bases = any(family != "subtraction" for _, family in bases)
        return Subject(
            name=folder.resolve().name,
            level=level,
            domain=domain,
            errors=errors,
            budget=Budget.from_json(plan["budget"]),
            neighbors=Neighbors(plan["neighbors"], plan["records_per_person"]),
            loss=str(plan["loss"]),
            loss_value=float(plan["loss_value"]),
            gap=float("inf") if plan["gap"] is None else float(plan["gap"]),
            status=str(plan["status"]),
            bases=bases,
            plan_sha256=str(plan["sha256"]),
            workload=None if has_own_bases else workload_of_errors(domain, errors),
            target_level=float(plan.get("target_level", level)),
            noise=_noise(noise),
            read_table=partial(
                _table, folder, index, errors["order"].tolist(), manifest["tables"]["conf_level"], level
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ResidualPlannerError):
            raise
        raise FileFormatError(
            f"{folder}: manifest.json does not hold what a release's does; make the release again"
        ) from None


def workload_of_errors(domain: Domain, errors: "pd.DataFrame") -> Workload | None:
    """The workload that an error table is about, where its queries are marginals and their names can be told apart."""
    queries, kinds = errors["query"].tolist(), set(errors["kinds"].astype(str))
    if len(queries) > _QUERIES or any(word not in ("", "identity") for text in kinds for word in text.split(JOIN)):
        return None
    if any(JOIN in name for name in domain.names) or "(total)" in domain.names:
        return None
    orders = errors["order"].tolist()
    asked = [tuple(query.split(JOIN)) if order else () for query, order in zip(queries, orders, strict=True)]
    try:
        return Workload(domain, asked, errors["weight"].to_numpy())
    except ResidualPlannerError:
        return None


def _manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise FileFormatError(f"{folder} holds no manifest.json; name a plan file, or the folder of a release")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise FileFormatError(f"{path}: this is no JSON; make the release again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "residualplanner/release":
        raise FileFormatError(f"{path}: this is no manifest of a release; name the folder of one")
    return manifest


def _content(folder: Path, name: str, digest: str) -> bytes:
    """The bytes of a file of the folder, after its hash has been compared."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise FileFormatError(f"{folder} holds no file {name}; make the release again")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise FileFormatError(f"{path} was altered: its SHA-256 is not the stated one; make the release again")
    return content


def _csv(content: bytes) -> Any:
    """A CSV file as a PyArrow table, in which texts stay texts."""
    import pyarrow as pa
    import pyarrow.csv

    types = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_TEXTS, pa.string()), strings_can_be_null=False)
    try:
        return pyarrow.csv.read_csv(pa.BufferReader(content), convert_options=types)
    except pa.ArrowInvalid:
        raise FileFormatError("a CSV file of the release cannot be read; make the release again") from None


def _errors(content: bytes, path: Path, quantile: float, level: float) -> "pd.DataFrame":
    """The error table, its margins at ``level``."""
    table = _csv(content)
    missing = [name for name in _NEEDED if name not in table.column_names]
    if missing:
        raise FileFormatError(f"{path} lacks the columns {missing}; make the release again")
    errors: pd.DataFrame = table.to_pandas()
    errors["moe"], errors["conf_level"] = quantile * errors["std_err"], level
    return errors


def _noise(noise: Mapping[str, Any]) -> NoiseTold:
    pcost = noise.get("pcost")
    return NoiseTold(
        kind=str(noise["kind"]),
        randomness=str(noise["randomness"]),
        guarantee=str(noise["guarantee"]),
        pcost=None if pcost is None else _fraction(str(pcost)),
    )


def _fraction(text: str) -> Fraction:
    """An exact fraction, in decimal or, where it has very many digits, hexadecimal."""
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator, 0), int(denominator, 0))


def _table(
    folder: Path, index: Sequence[Mapping[str, Any]], orders: Sequence[int], written: float, level: float, row: int
) -> ShownTable | None:
    """The rows to show of a table; None where its file does not hold estimates and their errors.

    Args:
        folder: of the release.
        index: the rows of index.csv.
        orders: how many attributes each query has.
        written: the confidence level of the margins in the file.
        level: the confidence level to tell.
        row: which query.
    """
    name, order = str(index[row]["file"]), orders[row]
    table = _workbook(folder, row) if name.endswith(".xlsx") else _saved(folder, name, index[row]["sha256"])
    if table is None:
        return None
    columns = {name: place for place, name in enumerate(table.column_names) if place >= order}
    found = next((found for found in _QUANTITIES if found[0] in columns and found[1] in columns), None)
    if found is None:
        return None
    estimates = np.asarray(table.column(columns[found[0]]).to_numpy(), dtype=np.float64)
    rows = rows_to_show(estimates)
    std_errs = np.asarray(table.column(columns[found[1]]).to_numpy(), dtype=np.float64)[rows]
    if found[1] == "M":
        std_errs = std_errs / margin_factor(written)
    texts = [[str(value) for value in table.column(place).take(rows).to_pylist()] for place in range(order)]
    labels = tuple(zip(*texts, strict=True)) if order else ((),)
    names = tuple(table.column_names[:order])
    return with_margins(names, labels, estimates[rows], std_errs, cells=len(estimates), level=level)


def _saved(folder: Path, name: str, digest: str) -> Any:
    """A table of a Parquet or CSV file as PyArrow has it; None if it is neither."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not name.endswith((".csv", ".parquet")):
        return None
    content = _content(folder, name, digest)
    return _csv(content) if name.endswith(".csv") else pq.read_table(pa.BufferReader(content))


def _workbook(folder: Path, row: int) -> Any:
    """The table of a query, by its place in the workload, from a folder of workbooks."""
    import pyarrow as pa

    saved = load_tables(folder)
    return pa.Table.from_pandas(saved[next(islice(saved, row, None))], preserve_index=False)
