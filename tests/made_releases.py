"""Releases made without data, for tests of what comes after measuring."""

import csv
import hashlib
import json
import re

import numpy as np
import openpyxl
import pyarrow.parquet as pq

from inner_parts import answers, basis_groups, noise_record
from random_plans import base_mechanisms, plan_by_hand
from residualplanner import Domain, Measurement, Workload, reconstruct, strategies


def any_release(plan, seed=1):
    """A release of answers that are no data's, so that nothing cancels by chance."""
    groups = basis_groups(plan.strategy)
    values = np.random.default_rng(seed).normal(size=answers.AnswerLayout(groups).count)
    return reconstruct(Measurement(plan, answers.Residuals(groups, values), noise_record.NoiseRecord(seed=seed)))


def exact_release(plan, data):
    """The release of answers without noise."""
    groups, rows = basis_groups(plan.strategy), [rows for rows, _ in base_mechanisms(plan)]
    values = np.concatenate([rows[number] @ data.ravel() for number in np.concatenate(groups.members)])
    return reconstruct(Measurement(plan, answers.Residuals(groups, values), noise_record.NoiseRecord(seed=0)))


def one_table(values, noise=(2.0, 8.0)):
    """A release of one table of these cells, with given noise variances of the total and the residual."""
    workload = Workload(Domain({"a": len(values)}), [("a",)])
    plan = plan_by_hand(workload, strategies.subtraction_strategy(workload), np.array(noise, dtype=float))
    return exact_release(plan, np.array(values))


def answers_of(release):
    """The residual answers of every set, flat."""
    found = release.measurement.residuals
    return {
        members: found.block(found.groups.group[number])[found.groups.row[number]].ravel()
        for number, members in enumerate(release.plan.closure)
    }


def index_of(folder):
    """The rows of a saved release's index of tables."""
    return rows_of_list(folder / "index.csv")


def forge_hash(folder, name):
    """Make the manifest of a folder state the hash of a file as it is now."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def rows_of_list(path):
    """The rows of a CSV file."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def forge_rows(path, change):
    """Change the rows of a list in a folder, and the hash that the manifest has of it."""
    rows = rows_of_list(path)
    change(rows)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    forge_hash(path.parent, path.name)


def rows_of_file(path):
    """The names of the columns of a table's file, and its rows, by another library."""
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.reader(file))
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    rows = openpyxl.load_workbook(path)["table"].iter_rows(values_only=True)
    return [["" if value is None else _unescaped(value) for value in row] for row in rows]


def _unescaped(value):
    """What a cell of a workbook holds, whose strings have letters that XML cannot hold as ``_x0000_``."""
    pattern = "_x([0-9A-F]{4})_"
    return re.sub(pattern, lambda found: chr(int(found[1], 16)), value) if isinstance(value, str) else value
