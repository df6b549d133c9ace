"""Recorded figures of a GPU as a table on their page; a record of another kernel than the one shipped is an error."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "benchmarks" / "results" / "gpu.json"
KERNEL = ROOT / "residualplanner" / "scale" / "cuda" / "fused_tables.cu"
PAGE = "gpu-kernel"
#: What the page says as long as there are no figures.
NONE_YET = "No figures of a GPU have been recorded yet. "
ROWS = {
    "copy": "copy within the device's memory",
    "fused": "tables by the kernel",
    "fused_rows_sent": "the same, where each table gets its answers from the host",
    "portable": "tables by products of matrices",
    "bus": "copy to the host",
    "to_host": "tables by the kernel, copied to the host",
}


class StaleFiguresError(Exception):
    """The figures are those of another kernel."""


def require_current(record: dict[str, Any], source: bytes) -> None:
    """Raise StaleFiguresError unless a record is of this source.

    Example:
        >>> require_current({"kernel_sha256": "0"}, b"")
        Traceback (most recent call last):
        ...
        gpu_figures.StaleFiguresError: benchmarks/results/gpu.json is of another kernel than the one that is shipped;
        measure again with python -m benchmarks.gpu, or remove it
    """
    if record.get("kernel_sha256") != hashlib.sha256(source).hexdigest():
        raise StaleFiguresError(
            "benchmarks/results/gpu.json is of another kernel than the one that is shipped; "
            "measure again with python -m benchmarks.gpu, or remove it"
        )


def table(record: dict[str, Any]) -> str:
    """A record as a table.

    Example:
        >>> about = {"device": "GPU", "driver": 13000, "cupy": "14.0", "kernel_sha256": "0123456789"}
        >>> print(table(about | dict.fromkeys(ROWS, 1.25)))
        Measured on GPU with driver 13000 and CuPy 14.0, kernel 01234567:
        <BLANKLINE>
        | what | G cells a second |
        |---|---|
        | copy within the device's memory | 1.25 |
        ...
        >>> print(table(about | {"copy": 80.0, "agreement": {"one": 1e-15, "other": 2e-14}}))
        Measured on ...
        | copy within the device's memory | 80 |
        <BLANKLINE>
        2 whole releases differed from NumPy's by at most 2.0e-14 of the largest standard error of a table.
    """
    about = f"Measured on {record['device']} with driver {record['driver']} and CuPy {record['cupy']}"
    rows = "\n".join(f"| {words} | {record[name]:.3g} |" for name, words in ROWS.items() if name in record)
    shown = f"{about}, kernel {record['kernel_sha256'][:8]}:\n\n| what | G cells a second |\n|---|---|\n{rows}\n"
    differences = record.get("agreement", {}).values()
    if not differences:
        return shown
    return shown + (
        f"\n{len(differences)} whole releases differed from NumPy's by at most {max(differences):.1e} of the largest "
        "standard error of a table.\n"
    )


def with_figures(text: str, path: Path = RECORD) -> str:
    """The text of the page, with the figures if there are some."""
    if not path.exists():
        return text
    record = json.loads(path.read_text(encoding="utf-8"))
    require_current(record, KERNEL.read_bytes())
    return text.replace(NONE_YET, "") + "\n" + table(record)


def add_figures(_: "Sphinx", page: str, source: list[str]) -> None:
    """Complete the page before it is parsed."""
    if page == PAGE:
        source[0] = with_figures(source[0])


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", add_figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
