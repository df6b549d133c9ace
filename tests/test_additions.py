"""A format and a statistic that are not the package's: each is what stands here, and its line in a table."""

import hashlib
import json
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import residualplanner as rp
from html_pages import read_page
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.more.queries.json import READERS
from residualplanner.publish.files.formats import FORMATS, TableFormat
from residualplanner.release.statistic_forms import TABLES, Column, StatisticTable

# The format: a JSON object on each line.


def write_lines(table, words):
    head = {"title": words.title, "columns": table.column_names}
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return "".join(json.dumps(line) + "\n" for line in (head, *rows)).encode()


def read_lines(content, path, types, cells):
    try:
        head, *rows = map(json.loads, content.decode().splitlines())
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        return dict(zip(head["columns"], map(list, columns), strict=True))
    except (ValueError, TypeError, KeyError):
        raise rp.errors.FileFormatError(f"{path} is not the table that the index says it is") from None


# The statistic: which share of each group earns more than an amount.


def normal_margin(level):
    return NormalDist().inv_cdf((1 + level) / 2)


@dataclass(frozen=True, slots=True, repr=False)
class Share(Statistic):
    statistics: ClassVar[str] = "shares"
    name = "share"

    above: float
    edges: tuple[float, ...] | None = None

    def __repr__(self):
        return f"Share({self.above})"

    @property
    def written(self):
        return Share(self.above)

    def to_json(self):
        return {"kind": self.name, "above": self.above, "edges": self.edges and list(self.edges)}

    def on(self, attribute):
        return replace(self, edges=attribute.numeric.amounts)

    def sparse_rows(self, size):
        is_above = np.repeat(np.array(self.edges[:-1]) >= self.above, 2)  # each bin has two cells
        return sparse.csr_array(np.pad([np.ones(len(is_above)), is_above], ((0, 0), (0, size - len(is_above)))))

    def labels(self, _attribute):
        return "count", f"above {self.above:.15g}"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ShareTable(StatisticTable):
    phrase = "share above of {name} ({unit})"
    columns = (
        Column("share", "estimate", "nothing", "records above the amount, divided by all", "of unbiased"),
        Column("low", "low", "nothing", "low end of level {level}", "of unbiased"),
        Column("high", "high", "nothing", "high end of level {level}", "of unbiased"),
        Column("above", "above", "counts", "{estimate} of the records above the amount", "of tables"),
    )

    above: np.ndarray

    @staticmethod
    def numbers(kind, answers, variances, level):
        count, above = answers
        share, wide = above / np.maximum(count, 1), normal_margin(level) * np.sqrt(variances[1]) / np.maximum(count, 1)
        return {"estimate": share, "low": share - wide, "high": share + wide, "above": above}


@pytest.fixture(autouse=True)
def _lines_of_tables(monkeypatch):
    monkeypatch.setitem(FORMATS, "jsonl", TableFormat(write_lines, read_lines))
    monkeypatch.setitem(TABLES, Share, ShareTable)
    fields = (
        ({"above": float, "edges": (None, list)},),
        lambda value: Share(value["above"], value["edges"] and tuple(value["edges"])),
    )
    monkeypatch.setitem(READERS, "share", fields)


QUERY = {"job": rp.Identity(), "pay": Share(20.0)}


@pytest.fixture
def release():
    domain = rp.Domain({"job": ["a", "b"], "pay": rp.Attribute("pay", numeric=rp.Numeric(0, 40, bins=[10, 20]))})
    plan = rp.select(rp.Workload(domain, [QUERY, ("job",)]), budget=rp.zcdp(1))
    people = pd.DataFrame({"job": ["a", "b"] * 50, "pay": [10, 30] * 40 + [30, 10] * 10})
    return rp.reconstruct(rp.measure(plan, people, noise="gaussian", seed=1))


@pytest.mark.parametrize("make", [lambda release: release, rp.nonnegative], ids=["unbiased", "non-negative"])
def test_an_invented_format_holds_tables_and_statistics_that_are_read_back(release, make, tmp_path):
    made = make(release)
    made.save(tmp_path / "lines", "jsonl", quality=rp.publish.Quality(suppress=True))
    made.save(tmp_path / "csv", "csv", quality=rp.publish.Quality(suppress=True))
    lines, csv = (rp.load_tables(tmp_path / name) for name in ("lines", "csv"))
    assert {path.suffix for path in (tmp_path / "lines/tables").iterdir()} == {".jsonl"}
    for query in made:
        pd.testing.assert_frame_equal(lines.numbers.frame(query), csv.numbers.frame(query), check_exact=True)
    pd.testing.assert_frame_equal(lines.numbers.statistic(QUERY), csv.numbers.statistic(QUERY), check_exact=True)


@pytest.mark.parametrize("damage", [b"", b"{}\n", b'{"columns": ["job"]}\n["a"]\n["b"]\n', None])
def test_a_file_of_an_invented_format_is_checked_as_others_are(release, damage, tmp_path):
    release.save(tmp_path / "out", "jsonl")
    (path,) = (tmp_path / "out/tables").glob("job.jsonl")
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"b"', b'"a"') if damage is None else damage)
    saved = rp.load_tables(tmp_path / "out")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    saved.numbers.files["job"] = saved.numbers.files["job"]._replace(sha256=digest)
    with pytest.raises(rp.errors.FileFormatError, match=r"job\.jsonl is not the table that the index says it is"):
        saved["job"]


def test_an_invented_format_is_named_among_the_formats(release, tmp_path):
    with pytest.raises(rp.errors.WorkloadError, match=r"\['parquet', 'csv', 'xlsx', 'jsonl', 'workbook', 'parts'\]"):
        release.save(tmp_path / "out", "json")


@pytest.mark.parametrize("file_format", ["csv", "parquet", "xlsx", "workbook", "parts", "jsonl"])
def test_an_invented_statistic_is_in_files_of_every_format_and_is_read_back(release, file_format, tmp_path):
    release.save(tmp_path / "out", file_format, level=0.9)
    found = rp.load_tables(tmp_path / "out").numbers.statistic(QUERY)
    count, above = release[QUERY].estimate.T
    assert list(found) == ["job", "share", "low", "high", "above"]
    np.testing.assert_allclose(found["share"], above / count)
    wide = normal_margin(0.9) * release[QUERY].std_err[:, 1] / count
    np.testing.assert_allclose(found["high"] - found["low"], 2 * wide)
    assert (abs(found["share"] - [0.2, 0.8]) < 3 * wide).all()


def test_a_report_shows_an_invented_statistic_with_what_its_columns_mean(release, tmp_path):
    rp.publish.write_report(release, tmp_path / "page.html")
    section = read_page(tmp_path / "page.html").one("section", id="statistics").text
    assert "Share above of pay by job" in section
    assert "records above the amount, divided by all" in section
    assert all(f"{number:.1f}" in section for number in release[QUERY].estimate[:, 1])
