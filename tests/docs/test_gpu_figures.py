"""The page about the kernel shows figures of the kernel that is shipped, or says that there are none."""

import doctest
import importlib
import json
from pathlib import Path

import pytest

from benchmarks.kernel_faults import FAULTS
from residualplanner.scale.cuda import kernel_sha256, kernel_source

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORD = {"device": "GPU", "driver": 13000, "cupy": "14.0"}


@pytest.fixture
def gpu_figures(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    return importlib.import_module("gpu_figures")


def test_its_examples_hold(gpu_figures):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(gpu_figures, optionflags=flags).failed == 0


def test_it_reads_the_kernel_that_is_shipped(gpu_figures):
    assert gpu_figures.KERNEL.read_text() == kernel_source()


def test_the_page_says_whether_there_are_figures(gpu_figures):
    text = (DOCS / f"{gpu_figures.PAGE}.md").read_text()
    assert (gpu_figures.NONE_YET in text) is not gpu_figures.RECORD.exists()
    gpu_figures.with_figures(text)  # raises where the record is of another kernel


def test_the_page_counts_the_faults(gpu_figures):
    assert f"plants {len(FAULTS)} faults in the source" in (DOCS / f"{gpu_figures.PAGE}.md").read_text()


def test_figures_of_this_kernel_take_the_place_of_the_sentence_that_there_are_none(gpu_figures, tmp_path):
    record = tmp_path / "gpu.json"
    figures = {name: number + 0.5 for number, name in enumerate(gpu_figures.ROWS)}
    record.write_text(json.dumps({**RECORD, **figures, "kernel_sha256": kernel_sha256()}))
    shown = gpu_figures.with_figures(gpu_figures.NONE_YET + "More.", record)
    assert shown.startswith("More.\nMeasured on GPU with driver 13000 and CuPy 14.0, kernel " + kernel_sha256()[:8])
    assert "| tables by the kernel | 1.5 |" in shown


def test_figures_of_another_kernel_end_the_build(gpu_figures, tmp_path):
    record = tmp_path / "gpu.json"
    record.write_text(json.dumps({**RECORD, "kernel_sha256": kernel_sha256()[::-1]}))
    with pytest.raises(gpu_figures.StaleFiguresError, match="of another kernel than the one that is shipped"):
        gpu_figures.with_figures("", record)
