"""The layers and the limits of the code, read from the code."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import residualplanner
from conftest import SLOW

ROOT = Path(residualplanner.__file__).parent
LAYERS = [
    "privacy",
    "ledger",
    "discrete_gaussian",
    "kron",
    "domain",
    "queries",
    "bases",
    "workload",
    "strategy",
    "optimize",
    "losses",
    "plan",
    "sources",
    "measurement",
    "reconstruction",
    "reporting",
    "cli",
]
ABOVE_ALL = (
    "errors",
    "_checks",
    "_margins",
    "_words",
    "_threads",
    "_version",
    "_json",
    "_atomic",
    "_archive",
    "_file_kinds",
)
HOMES = {
    "cvxpy": {"optimize"},
    "clarabel": {"optimize"},
    "duckdb": {"sources"},
    "narwhals": {"sources"},
    "polars": {"sources"},
    "dask": {"sources"},
    "ibis": {"sources"},
    "pyspark": {"sources"},
    "matplotlib": {"reporting"},
    "jinja2": {"reporting"},
    "xlsxwriter": {"reconstruction"},
    "openpyxl": {"reconstruction"},
    "jax": {"synthesis"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pydantic": {"cli"},
    "cupy": {"kron"},
}
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT.parent))


def layer_of(module: Path) -> str:
    return module.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or "", node


def at_import_time(tree: ast.Module) -> Iterator[str]:
    """What a module imports when it is imported itself, types aside."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (name for name, _ in imports(node))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_imports_only_earlier_layers_and_only_their_public_names(module):
    mine = layer_of(module)
    for name, _ in imports(ast.parse(module.read_text())):
        parts = name.split(".")
        if parts[0] != "residualplanner" or len(parts) == 1:
            continue
        theirs = parts[1]
        if theirs == mine or theirs in ABOVE_ALL:
            continue
        if mine in {"__init__", "__main__"}:
            assert len(parts) == 2
            continue
        if theirs == "datasets":
            assert mine in {"cli", "datasets"}
            continue
        assert theirs in LAYERS, f"{name} is no layer"
        assert len(parts) == 2, f"{name} reaches into another subpackage"
        assert mine in LAYERS or mine == "datasets", f"{mine} may import no layer"
        assert mine == "datasets" or LAYERS.index(theirs) < LAYERS.index(mine), f"{mine} stands before {theirs}"


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_only_the_gate_sees_records(module):
    seen = {name for name, _ in imports(ast.parse(module.read_text())) if name.startswith("residualplanner.sources")}
    assert not seen or layer_of(module) in {"sources", "measurement"}


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_optional_packages_stay_in_their_homes_and_wait_until_they_are_needed(module):
    tree = ast.parse(module.read_text())
    for name, _ in imports(tree):
        package = name.split(".")[0]
        assert package not in HOMES or layer_of(module) in HOMES[package], f"{package} is used outside its home"
    heavy = {*HOMES, "pandas", "pyarrow"} - ({"typer", "rich", "pydantic"} if layer_of(module) == "cli" else set())
    assert not heavy & {name.split(".")[0] for name in at_import_time(tree)}


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(module):
    text = module.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 40, f"{node.name} has {lines} lines"


def test_importing_the_package_loads_neither_cvxpy_nor_pandas_nor_other_heavy_packages():
    program = "import sys, residualplanner; print(*sys.modules)"
    modules = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout.split()
    )
    loaded = {name.partition(".")[0] for name in modules}
    assert not loaded & {*HOMES, "pandas", "pyarrow", "ecos", "clarabel"}
    assert not modules & {"scipy.optimize", "scipy.special", "scipy.stats"}
    assert "numpy" in loaded


def test_public_names_are_listed_and_there():
    assert sorted(residualplanner.__all__) == residualplanner.__all__
    assert all(hasattr(residualplanner, name) for name in residualplanner.__all__)


def test_the_checks_above_would_see_a_violation(tmp_path):
    tree = ast.parse("import pandas\nfrom residualplanner.plan import Plan\n")
    assert list(at_import_time(tree)) == ["pandas", "residualplanner.plan"]
    assert [name for name, _ in imports(ast.parse("def f():\n    import cvxpy\n"))] == ["cvxpy"]


def test_the_tests_that_are_called_slow_are_there():
    assert all((Path(__file__).parent / name).exists() for name in SLOW)
