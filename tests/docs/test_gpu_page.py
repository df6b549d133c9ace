"""What the page on GPUs says of its tests and figures is so."""

from pathlib import Path

from benchmarks.gpu_faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
RECORD = ROOT / "benchmarks" / "results" / "gpu.json"


def test_the_page_says_that_there_are_no_figures_as_long_as_there_are_none():
    assert ("No figures of a real GPU have been recorded yet" in PAGE) == (not RECORD.exists())


def test_the_number_of_faults_is_right():
    assert f"plants {len(FAULTS)} faults" in PAGE
