"""The pages on GPUs show figures of the kernel that is shipped, or say that there are none; and count their faults."""

import doctest
import importlib
from pathlib import Path

import pytest

from benchmarks import gpu, gpu_faults, kernel_faults
from inner_parts import kernel_source

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
