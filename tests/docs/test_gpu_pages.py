"""The pages on GPUs show figures of the kernel that is shipped, or say that there are none; and count their faults."""

import doctest
import importlib
import json
from pathlib import Path

import pytest

from benchmarks import gpu, gpu_faults, kernel_faults
from residualplanner.scale.cuda import kernel_sha256, kernel_source

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORD = {"device": "GPU", "driver": 13000, "cupy": "14.0"}


@pytest.fixture
def gpu_figures(monkeypatch):
    """What the site does to the page on the kernel."""
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    return importlib.import_module("gpu_figures")


def test_the_pages_count_the_faults_and_say_whether_there_are_figures(gpu_figures):
    page, kernel = ((DOCS / f"{name}.md").read_text() for name in ("gpu", gpu_figures.PAGE))
    assert f"plants {len(gpu_faults.FAULTS)} faults" in page
    assert f"plants {len(kernel_faults.FAULTS)} faults in the source" in kernel
    assert ("No figures of a real GPU have been recorded yet" in page) is not gpu.RESULTS.exists()
    assert (gpu_figures.NONE_YET in kernel) is not gpu_figures.RECORD.exists()
    gpu_figures.with_figures(kernel)  # raises where the record is of another kernel


def test_it_reads_the_kernel_that_is_shipped_and_its_examples_hold(gpu_figures):
    assert gpu_figures.KERNEL.read_text() == kernel_source()
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(gpu_figures, optionflags=flags).failed == 0


def test_figures_of_this_kernel_take_the_place_of_the_sentence_and_those_of_another_end_the_build(
    gpu_figures, tmp_path
):
    record = tmp_path / "gpu.json"
    figures = {name: number + 0.5 for number, name in enumerate(gpu_figures.ROWS)}
    record.write_text(json.dumps({**RECORD, **figures, "kernel_sha256": kernel_sha256()}))
    shown = gpu_figures.with_figures(gpu_figures.NONE_YET + "More.", record)
    assert shown.startswith("More.\nMeasured on GPU with driver 13000 and CuPy 14.0, kernel " + kernel_sha256()[:8])
    assert "| tables by the kernel | 1.5 |" in shown
    record.write_text(json.dumps({**RECORD, "kernel_sha256": kernel_sha256()[::-1]}))
    with pytest.raises(gpu_figures.StaleFiguresError, match="of another kernel than the one that is shipped"):
        gpu_figures.with_figures("", record)
