"""The page of very many tables shows what was found, and no criterion is compared with measurements of two runs."""

from pathlib import Path

import pytest

from benchmarks import scale
from benchmarks.criteria import Criterion
from benchmarks.parts import joined
from benchmarks.parts_criteria import PER_TABLE, criteria_of_parts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "many-tables.md"
ROWS = {
    "measure": {"memory": 2**31, "select_memory": 2**20},
    "save": {"cpu": 10.0, "bytes_per_cell": 8.2, "files": 160, "memory": 2**27},
    PER_TABLE: {"cpu": 125.0},
}


def test_the_page_has_the_rows_of_the_results():
    text = PAGE.read_text()
    assert "\n".join(scale.rows()) in text, "put the output of python -m benchmarks.scale into the page"


@pytest.mark.parametrize(
    ("found", "sign", "is_met"), [(3, "<=", True), (3.1, "<=", False), (3, ">=", True), (2, ">=", False)]
)
def test_a_limit_is_met_or_not(found, sign, is_met):
    one = Criterion("1", "files", found, sign, 3)
    assert one.is_met is is_met
    assert ("MISSED" in str(one)) is not is_met


def test_a_criterion_of_two_rows_stays_only_with_both():
    found = criteria_of_parts(ROWS, 100, 3, 1)
    assert [one.found for one in found if PER_TABLE in one.rows] == [12.5]
    known = joined({"criteria": [], "rows": {}}, found, ROWS)
    later = {"save": ROWS["save"] | {"cpu": 5.0}}
    after = joined(known, criteria_of_parts(later | {"measure": ROWS["measure"]}, 100, 3, 1), later)
    assert [row["what"] for row in after["criteria"]] == ["CPU seconds", "bytes a cell", "files", "GiB of memory"]
    assert after["criteria"][0]["found"] == 5.0
    assert after["rows"].keys() == ROWS.keys()
