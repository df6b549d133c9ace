"""Every number on the pages of the manual's releases, and in their manifests, against the files of these releases.

Run ``python -m benchmarks.pages [FOLDER]``: it runs the tutorials, the quick start and the demo in the folder, writes a
page for each release that they leave, reads it in chromium as a reader does, and compares number by number.  Nothing
here reads a file with the package's own code.
"""

import contextlib
import csv
import doctest
import hashlib
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

ROOT = Path(__file__).parents[1]
#: The pages of the manual that are run, besides the demo.
PAGES = ("quick-start", *(f"tutorial-{name}" for name in (
    "census", "employed", "errors", "fairness", "geography", "pay", "ranges-and-regions",
)))  # fmt: skip
#: What margins have beyond the normal quantile, in standard errors.  Source: eq. (47).
_BEYOND_NORMAL = 16 / 2**22
_NONE = "–"
_READ = """() => {
    const texts = (row) => [...row.children].map((cell) => cell.textContent.trim());
    const table = (each) => ({
        name: each.caption ? each.caption.textContent : texts(each.tHead.rows[0])[0],
        head: texts(each.tHead.rows[each.tHead.rows.length - 1]),
        rows: [...each.tBodies[0].rows].map(texts),
    });
    const all = (where) => [...document.querySelectorAll(where)].map(table);
    return {
        cells: all("#printed table"),
        errors: all("#errors"),
        orders: all("#workload div:first-of-type > table").slice(0, 1),
        statistics: all("#statistics > div > table"),
        figures: [...document.querySelectorAll("figure")].map((each) => ({
            id: each.id, ...table(each.querySelector("details table")),
        })),
        facts: [...document.querySelectorAll(".facts div")].map((each) =>
            ["dt", "strong", "span"].map((part) => each.querySelector(part).textContent.trim())),
    };
}"""


@dataclass
class Findings:
    """How many numbers were compared, and which are not those of the files."""

    compared: int = 0
    wrong: list[str] = field(default_factory=list)

    def number(self, where: str, shown: str, held: float | None, *, is_error: bool = False, outward: int = 0) -> None:
        """Compare a number as it is shown with the one that a file holds: -1 ``outward`` is a low end, 1 a high one."""
        self.compared += 1
        if held is None or math.isnan(held):
            if shown != _NONE:
                self.wrong.append(f"{where}: {shown} where the file has nothing")
            return
        value, unit = shown_number(shown)
        exact = Decimal(repr(100 * held if shown.endswith("%") else held))
        distance = value - exact
        is_near = abs(distance) <= unit / 2 * Decimal("1.000001") or (0 < outward * distance < unit)
        is_whole = abs(exact) > Decimal("1e15") or exact != int(exact) or value == exact
        if not (is_near and is_whole) or (is_error and held and not value):
            self.wrong.append(f"{where}: shown as {shown}, the file has {held!r}")

    def same(self, where: str, shown: object, held: object) -> None:
        """Compare what has to be equal."""
        self.compared += 1
        if shown != held:
            self.wrong.append(f"{where}: {shown!r} is not {held!r}")


def shown_number(text: str) -> tuple[Decimal, Decimal]:
    """A number as it is shown, and one unit of its last digit.

    Example:
        >>> shown_number("± 1,234.5"), shown_number("1.2e-05")
        ((Decimal('1234.5'), Decimal('0.1')), (Decimal('0.000012'), Decimal('0.000001')))
    """
    value = Decimal(re.sub(r"[±,%\s]", "", text).replace("\N{MINUS SIGN}", "-"))
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(f"{value:f}"), Decimal(1).scaleb(exponent)


def margin(level: float) -> float:
    """The margin of error at a level, in standard errors."""
    return _BEYOND_NORMAL - NormalDist().inv_cdf((1 - level) / 2)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, numbers as floats where they are numbers."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return found
    import openpyxl

    head, *rows = openpyxl.load_workbook(path, read_only=True).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def float_of(value: object) -> float | None:
    """A value of a file as a number; None where there is none."""
    return None if value in (None, "") else float(str(value))


def table_name(query: str, kinds: str) -> str:
    """The name of a table on a page: its attributes, with their kinds where these are not the identity."""
    names, among, universe = query.partition(" among ")
    words = kinds.split(" × ") if kinds else []
    if all(word == "identity" for word in words):
        return query
    texts = [
        name if word == "identity" else f"{name} ({word})" for name, word in zip(names.split(" × "), words, strict=True)
    ]
    return " × ".join(texts) + among + universe


def compare(page: Any, folder: Path | None, report: Path, level: float) -> Findings:
    """Compare a page with the files of its release, and with those beside it.

    Args:
        page: of playwright.
        folder: of the release; None for the page on a plan.
        report: the page's file.
        level: of the page.
    """
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    page.wait_for_timeout(100)
    shown, found = page.evaluate(_READ), Findings()
    beside = report.with_name(f"{report.stem}-figures")
    errors = rows_of(beside / "errors.csv")
    _compare_errors(found, shown, errors, level)
    _compare_figures(found, shown, beside)
    if folder is not None:
        _compare_cells(found, shown, folder, level)
        _compare_statistics(found, shown, folder)
        _compare_manifest(found, folder)
    return found


def _compare_errors(found: Findings, shown: Any, errors: list[dict[str, Any]], level: float) -> None:
    (table,) = shown["errors"]
    named = {table_name(row["query"], row["kinds"]): row for row in errors}
    percent = f"{100 * level:.6g}%"
    columns = {
        "Order": "order", "Cells": "cells", "Weight": "weight", "Share of budget": "privacy_share",
        "Standard error": "std_err", f"{percent} margin of error": "moe", "Expected error": "expected_abs_error",
        "Expected largest error": "expected_max_abs_error", "Target": "target",
    }  # fmt: skip
    for row in table["rows"]:
        held, entries = named[row[0]], dict(zip(table["head"], row, strict=True))
        for heading in columns.keys() & entries.keys():
            where = f"errors, {row[0]}, {heading}"
            found.number(where, entries[heading], float_of(held[columns[heading]]), is_error=heading not in ("Order",))
        worst = entries.get(f"{percent} margin, worst cell")
        if worst is not None:
            found.number(f"errors, {row[0]}, worst", worst, margin(level) * float(held["max_std_err"]), is_error=True)
    for row, order in zip(shown["orders"][0]["rows"], sorted({int(row["order"]) for row in errors}), strict=True):
        of_order = [each for each in errors if int(each["order"]) == order]
        spread = [float(each["std_err"]) / float(each.get("scale") or 1) for each in of_order]
        held = (len(of_order), sum(float(each["cells"]) for each in of_order), min(spread), median(spread), max(spread))
        for heading, text, value in zip(shown["orders"][0]["head"][1:], row[1:], held, strict=True):
            found.number(f"order {order}, {heading}", text, float(value))


def _compare_figures(found: Findings, shown: Any, beside: Path) -> None:
    """Every number beside a figure is one of its row in the data of the figure."""
    for figure in shown["figures"]:
        if figure["id"] in ("fairness",):
            continue  # sums up all of its data, as the table of orders does
        data = rows_of(beside / f"{figure['id']}.csv")
        rows = {tuple(map(str, list(row.values())[:1])): row for row in data}
        for number, row in enumerate(figure["rows"]):
            held = rows.get((row[0],), data[number]) if figure["id"].startswith("map") else data[number]
            for heading, text in zip(figure["head"], row, strict=True):
                if re.fullmatch(r"(± )?-?[\d,]+(\.\d+)?(e[+-]\d+)?%?", text) and not text.startswith("0 "):
                    _compare_any(found, f"{figure['id']}, row {number}, {heading}", text, held)


def _compare_any(found: Findings, where: str, text: str, held: dict[str, Any]) -> None:
    found.compared += 1
    for value in held.values():
        if str(value) == text:
            return
        with contextlib.suppress(ValueError, ArithmeticError):
            trial, number = Findings(), float_of(value)
            for outward in (-1, 1):
                trial.number("", text, number, outward=outward)
            if len(trial.wrong) < trial.compared:
                return
    found.wrong.append(f"{where}: {text} is not in the data of the figure, {held}")


def _compare_cells(found: Findings, shown: Any, folder: Path, level: float) -> None:
    index = {table_name(row["query"], row["kinds"]): row["file"] for row in rows_of(folder / "index.csv")}
    for table in shown["cells"]:
        held = rows_of(folder / index[table["name"]])
        found.same(f"{table['name']}, rows", len(table["rows"]), len(held))
        texts = [dict(zip(table["head"], row, strict=True)) for row in table["rows"]]
        for number, (entries, row) in enumerate(zip(texts, held, strict=True)):
            _compare_cell(found, f"{table['name']}, cell {number}", entries, row, level)
        _compare_sums(found, table, texts, held)


def _compare_cell(found: Findings, where: str, entries: dict[str, str], row: dict[str, Any], level: float) -> None:
    def held(start: str) -> float | None:
        return next((float_of(value) for name, value in row.items() if re.fullmatch(start, name)), None)

    percent = f"{100 * level:.6g}%"
    estimate, std_err = held(r"(estimate|E)(?!_unbiased)(_.*)?"), held(r"std_(err|dev)(_unbiased)?")
    if std_err is None:
        std_err = (held("M(_unbiased)?") or 0.0) / margin(0.9)
    found.number(f"{where}, estimate", entries["Estimate"], estimate)
    if f"± {percent}" in entries:
        found.number(f"{where}, margin", entries[f"± {percent}"], margin(level) * std_err, is_error=True)
    if "Standard error, unbiased" in entries:
        found.number(f"{where}, error", entries["Standard error, unbiased"], std_err, is_error=True)
    if f"{percent} from" in entries:
        low, high = held("ci_low.*"), held("ci_high.*")
        ends = entries[f"{percent} from"], entries[f"{percent} to"]
        found.number(f"{where}, low", ends[0], low, outward=-1)
        found.number(f"{where}, high", ends[1], high, outward=1)
        if low is not None:
            found.same(f"{where}, interval of width 0", ends[0] == ends[1], low == high)
    variation = None if not estimate or math.isnan(estimate) else std_err / abs(estimate)
    found.number(f"{where}, variation", entries["Coefficient of variation"], variation)
    if "Quality" in entries:
        found.same(f"{where}, quality", entries["Quality"], row["quality"])


def _compare_sums(found: Findings, table: Any, texts: list[dict[str, str]], held: list[dict[str, Any]]) -> None:
    """Integers add up on the page as they do in the file."""
    name = next((name for name in held[0] if re.fullmatch(r"(estimate|E)_.*rounded.*", name)), None)
    if name is not None and all(row[name] not in (None, "") for row in held):
        shown = sum(int(entries["Estimate"].replace(",", "")) for entries in texts)
        found.same(f"{table['name']}, sum", shown, sum(int(float(row[name])) for row in held))


def _compare_statistics(found: Findings, shown: Any, folder: Path) -> None:
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    for about, table in zip(metadata.get("statistics", []), shown["statistics"], strict=False):
        held = rows_of(folder / about["file"])
        named = {
            column["name"].replace("std_err", "standard error").replace("_", " ").capitalize(): column["name"]
            for column in about["columns"]
        }
        for number, (row, values) in enumerate(zip(table["rows"], held, strict=False)):
            for heading, text in zip(table["head"], row, strict=True):
                if heading in named and text not in ("yes", "no"):
                    where = f"{about['file']}, row {number}, {heading}"
                    found.number(where, text, float_of(values[named[heading]]), is_error="error" in heading)


def _compare_manifest(found: Findings, folder: Path) -> None:
    """The hashes and counts of a manifest, and its budget and cost, which are those of the plan beside it."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    index = rows_of(folder / "index.csv")
    hashes = manifest["files"] | {row["file"]: row["sha256"] for row in index}
    for name, digest in hashes.items():
        found.same(f"hash of {name}", digest, hashlib.sha256((folder / name).read_bytes()).hexdigest())
    found.same("tables of the manifest", manifest["tables"]["count"], len(index))
    for row in index:
        if row["file"].endswith((".csv", ".parquet")):
            found.same(f"cells of {row['file']}", int(row["cells"]), len(rows_of(folder / row["file"])))
    if (folder / "measured-1.plan").exists():
        return  # the plan is that of several, which has no file of its own
    with zipfile.ZipFile(folder / "release.plan") as archive:
        plan = json.loads(archive.read("header.json"))["content"]
    found.same("budget of the plan", manifest["plan"]["budget"], plan["budget"])
    if manifest["noise"]["pcost"] is not None:
        cost, budget = Fraction(manifest["noise"]["pcost"]), Fraction(plan["budget"]["pcost"])
        found.same("cost within the budget", cost <= budget, True)


def compare_all(folder: Path) -> Findings:
    """Write a page for each release in a folder, and compare it."""
    from playwright.sync_api import sync_playwright

    import residualplanner as rp

    total = Findings()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        for manifest in sorted(folder.rglob("manifest.json")):
            if not (manifest.parent / "index.csv").is_file():
                continue
            level = json.loads((manifest.parent / "metadata.json").read_text())["tables"]["conf_level"]
            report = manifest.parent.with_name(f"{manifest.parent.name}-page.html")
            rp.publish.write_report(manifest.parent, report, level=level, replace=True)
            found = compare(page, manifest.parent, report, level)
            total.compared, total.wrong = total.compared + found.compared, total.wrong + found.wrong
            print(f"{manifest.parent.relative_to(folder)}: {found.compared:,} compared, {len(found.wrong)} wrong")
        browser.close()
    return total


def main(folder: Path) -> int:
    """Run the manual in a folder, and compare all that it leaves; return how many numbers are wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        run_page(ROOT / "docs" / f"{name}.md", folder / name)
    subprocess.run([sys.executable, "-m", "residualplanner", "demo"], cwd=folder, check=True, capture_output=True)
    total = compare_all(folder)
    print("\n".join(total.wrong[:40]))
    print(f"{total.compared:,} numbers compared, {len(total.wrong)} wrong")
    return len(total.wrong)


def run_page(page: Path, folder: Path) -> None:
    """Run the Python and the commands of a page of the manual in a folder of its own, with what they print unseen."""
    folder.mkdir()
    names: dict[str, Any] = {"__name__": "page"}
    blocks = re.findall(
        r"^```(python|console|toml)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for language, block in blocks:
            if language == "python":
                for source, fails in _sources(block):
                    with contextlib.suppress(*([Exception] if fails else [])):
                        exec(compile(source, str(page), "exec"), names)
            elif language == "console":
                for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
                    subprocess.run(command, shell=True, check=True, capture_output=True)
            elif name := re.match(r"# (\w+\.toml)\n", block):
                Path(name[1]).write_text(block, encoding="utf-8")


def _sources(block: str) -> list[tuple[str, bool]]:
    """The pieces of a block of Python without what they print, and whether they are to fail."""
    examples = doctest.DocTestParser().get_examples(block)
    return [(example.source, example.exc_msg is not None) for example in examples] or [(block, False)]


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main(Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())) > 0)
