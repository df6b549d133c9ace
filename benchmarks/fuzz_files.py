"""Files of this library changed at random behind their own checks: hashes and checksums are made to fit again.

Reads: the bytes of files by their names, a source of chance.  Gives: the same, changed.
"""

import copy
import csv
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.fuzz_mutations import Array, changed_arrays, changed_bytes, changed_json, json_bytes

#: The content of files by their names; a reader of a single file has one, `FILE`.
Files = dict[str, bytes]
FILE = "file"
_PLAN, _MANIFEST, _INDEX = "release.plan", "manifest.json", "index.csv"
_TOML_VALUES = (
    *("-1", "0", "1e999", "nan", "-inf", "inf", "9" * 400, "9" * 5000, "0x" + "f" * 99, "0.1e-999", "true", '""'),
    *(
        "[]",
        "{}",
        "[[]]",
        "[" * 2000,
        "[" * 20 + "]" * 20,
        "{ a = " * 200,
        "1979-05-27",
        "07:32:00",
        "9999-12-31T00:00:00Z",
    ),
    *(
        '"?"',
        '"drop"',
        '"\\uD800"',
        '"\\u0000"',
        "'''a\nb'''",
        '["a", 1]',
        "{ zcdp = 1e-400 }",
        "{ zcdp = '1/0' }",
        "1_0",
    ),
    *('{ kind = "hierarchy", levels = [1] }', '{ kind = "custom", matrix = [[1, 1]] }', "{ bins = [0, inf] }", "24"),
    *("{ approx_dp = { epsilon = 1e300, delta = 1e-300 } }", "{ gdp = '1e999999' }", "{ size = 99999999999 }"),
)
_CSV_VALUES = (
    *(
        "",
        " ",
        '"',
        '""',
        '"a',
        'a"',
        "NaN",
        "NA",
        "null",
        "-1",
        "1.5",
        "1e999",
        "9" * 400,
        "inf",
        "True",
        "01",
        "\x00",
    ),
    *("é", "\ufeff", "\u2028", "a\rb", '"a\nb"', "=1+1", "a" * 5000, "+1", "0x1", "1979-05-27"),
)


def changed_file(chance: random.Random, files: Files) -> Files:
    """One file, its bytes changed."""
    return {FILE: changed_bytes(chance, files[FILE])}


def changed_archive(chance: random.Random, files: Files) -> Files:
    """A plan or measurement, changed as bytes, or in a member, in its header or its arrays with hashes that fit."""
    return {FILE: _changed_container(chance, files[FILE])}


def _changed_container(chance: random.Random, content: bytes) -> bytes:
    action = chance.random()
    if action < 0.25:
        return changed_bytes(chance, content)
    members = _members(content)
    if action < 0.4:
        return _zipped(_changed_members(chance, members))
    whole = json.loads(members["header.json"])
    arrays = {name.removesuffix(".npy"): _array(data) for name, data in members.items() if name.endswith(".npy")}
    if action < 0.5:
        return _zipped(members | {"header.json": json_bytes(changed_json(chance, whole))})
    told = copy.deepcopy(whole["content"])
    if action < 0.8:
        told = changed_json(chance, told)
    if action >= 0.75:
        arrays = changed_arrays(chance, arrays)
    return _refitted(whole, told, arrays)


def _changed_members(chance: random.Random, members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The members of a zip file with one changed, absent, doubled, or swapped; checksums will fit."""
    changed = dict(members)
    name, other = chance.choice(list(changed)), chance.choice(list(changed))
    action = chance.randrange(6)
    if action == 0:
        del changed[name]
    elif action == 1:
        changed[name + chance.choice(("x", "/", ".npy", "\x00"))] = changed[name]
    elif action == 2:
        changed[name], changed[other] = changed[other], changed[name]
    else:
        changed[name] = changed_bytes(chance, changed[name])
    return changed


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, compression)
    return stream.getvalue()


def _array(data: bytes) -> Array:
    array: Array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def _declared(array: Array) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def _content_hash(told: Any, arrays: Mapping[str, Array]) -> str:
    declared = {name: _declared(array) for name, array in arrays.items()}
    return hashlib.sha256(_canonical([told, declared])).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode("ascii")


def _refitted(whole: Mapping[str, Any], told: Any, arrays: Mapping[str, Array]) -> bytes:
    """A container of this content, all hashes computed anew, that of a measurement's plan too."""
    plan = {name.removeprefix("plan/"): array for name, array in arrays.items() if name.startswith("plan/")}
    if plan and isinstance(told, dict) and "plan_sha256" in told:
        told["plan_sha256"] = _content_hash(told.get("plan"), plan)
    declared = {name: _declared(array) for name, array in arrays.items()}
    header = {**whole, "content": told, "arrays": declared}
    members = {"header.json": json_bytes(header)}
    for name, array in arrays.items():
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.ascontiguousarray(array), version=(1, 0))
        members[f"{name}.npy"] = stream.getvalue()
    return _zipped(members)


def changed_ledger(chance: random.Random, files: Files) -> Files:
    """A ledger, changed as bytes, or in the fields of a line with hashes that fit from there on."""
    if chance.random() < 0.3:
        return changed_file(chance, files)
    lines = [json.loads(line) for line in files[FILE].splitlines()]
    if chance.random() < 0.8:
        place = chance.randrange(len(lines))
        lines[place] = changed_json(chance, lines[place])
    else:
        lines = changed_json(chance, lines)
    head, written = "", b""
    for line in lines if isinstance(lines, list) else [lines]:
        if isinstance(line, dict):
            told = {name: value for name, value in line.items() if name != "sha256"}
            head = hashlib.sha256(head.encode() + _canonical(told)).hexdigest()
            line["sha256"] = head
        written += _canonical(line) + b"\n"
    return {FILE: written}


def changed_geojson(chance: random.Random, files: Files) -> Files:
    """GeoJSON, changed as bytes or in its values."""
    if chance.random() < 0.3:
        return changed_file(chance, files)
    return {FILE: json_bytes(changed_json(chance, json.loads(files[FILE])))}


def changed_folder(chance: random.Random, files: Files) -> Files:
    """A release folder with one file changed, absent or swapped with another; mostly with hashes that fit."""
    changed = dict(files)
    plans = [name for name in changed if name.endswith(".plan")]
    name = chance.choice((*changed, _MANIFEST, _MANIFEST, *plans))
    action = chance.random()
    if action < 0.05:
        del changed[name]
    elif action < 0.1:
        other = chance.choice(list(changed))
        changed[name], changed[other] = changed[other], changed[name]
    else:
        changed[name] = _changed_part(chance, name, changed[name])
    return rehashed(changed) if chance.random() < 0.9 else changed


def _changed_part(chance: random.Random, name: str, content: bytes) -> bytes:
    if name.endswith(".json") and chance.random() < 0.75:
        return json_bytes(changed_json(chance, json.loads(content)))
    if name.endswith(".plan"):
        return _changed_container(chance, content)
    if name.endswith(".csv") and chance.random() < 0.6:
        return changed_cells(chance, content)
    if name.endswith(".xlsx") and chance.random() < 0.7:
        return _zipped(_changed_members(chance, _members(content)), zipfile.ZIP_DEFLATED)
    return changed_bytes(chance, content)


def rehashed(files: Files) -> Files:
    """The folder with the hashes that its index and its manifest should hold, as far as these can be read."""
    changed = dict(files)
    if _INDEX in changed:
        changed[_INDEX] = _indexed(changed)
    try:
        manifest = json.loads(changed[_MANIFEST])
        for name in manifest["files"]:
            manifest["files"][name] = hashlib.sha256(changed.get(name, b"")).hexdigest()
        manifest["plan"]["sha256"] = _plan_hash(changed[_PLAN])
        for number, told in enumerate(manifest["noise"].get("measurements", ()), 1):
            told["plan_sha256"] = _plan_hash(changed[f"measured-{number}.plan"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, NotImplementedError, zipfile.BadZipFile):
        pass  # so much of it as can still be read has been made to fit; zipfile and json raise all of these
    else:
        return changed | {_MANIFEST: json_bytes(manifest)}
    return changed


def _plan_hash(content: bytes) -> str:
    """The hash by which a manifest names a plan."""
    header = json.loads(_members(content)["header.json"])
    return hashlib.sha256(_canonical([header["content"], header["arrays"]])).hexdigest()


def _indexed(files: Files) -> bytes:
    """The index with the hashes of the tables that it names."""
    try:
        rows = list(csv.reader(io.StringIO(files[_INDEX].decode("utf-8"), newline="")))
        place, digest = rows[0].index("file"), rows[0].index("sha256")
        for row in rows[1:]:
            row[digest] = hashlib.sha256(files.get(row[place], b"")).hexdigest()
    except (ValueError, IndexError, csv.Error):
        return files[_INDEX]
    return _csv_bytes(rows)


def changed_table(chance: random.Random, files: Files) -> Files:
    """A CSV file of records, changed as bytes or cell by cell."""
    return {FILE: (changed_cells if chance.random() < 0.5 else changed_bytes)(chance, files[FILE])}


def changed_cells(chance: random.Random, content: bytes) -> bytes:
    """A CSV file with a cell changed, or rows or columns absent, doubled or moved."""
    rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
    row, other = chance.choice(rows), chance.randrange(len(rows))
    action = chance.randrange(7)
    if action == 0:
        rows.remove(row)
    elif action == 1:
        rows[other:other] = [row] * chance.choice((1, 2, 100))
    elif action == 2 and row:
        del row[chance.randrange(len(row))]
    elif action == 3:
        row.insert(chance.randrange(len(row) + 1), chance.choice(_CSV_VALUES))
    elif action == 4:
        chance.shuffle(row)
    elif row:
        row[chance.randrange(len(row))] = chance.choice((*_CSV_VALUES, chance.choice(rows[other] or [""])))
    return _csv_bytes(rows)


def _csv_bytes(rows: list[list[str]]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode("utf-8")


def changed_toml(chance: random.Random, files: Files) -> Files:
    """A spec, changed as bytes, or with a value or a name that is another, or lines absent, doubled or moved."""
    if chance.random() < 0.4:
        return changed_file(chance, files)
    lines = files[FILE].decode("utf-8").splitlines()
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    name, equals, value = lines[place].partition("=")
    action = chance.randrange(6)
    if action == 0:
        del lines[place]
    elif action == 1:
        lines.insert(other, lines[place])
    elif action == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif action == 3 and equals:
        lines[place] = chance.choice(("x", "a.b", '""', "size", "loss", f"{name}_")) + f" ={value}"
    else:
        lines[place] = f"{name}= {chance.choice(_TOML_VALUES)}"
    return {FILE: "\n".join(lines).encode("utf-8")}
