"""The layers and the limits of the code, read from the code."""

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import groupby
from pathlib import Path

import pytest

import residualplanner
from conftest import SLOW

ROOT = Path(residualplanner.__file__).parent
LAYERS = [
    "privacy",
    "ledger",
    "stores",
    "workers",
    "pictures",
    "discrete_gaussian",
    "kron",
    "domain",
    "queries",
    "bases",
    "workload",
    "forecast",
    "strategy",
    "optimize",
    "losses",
    "plan",
    "sources",
    "checking",
    "measurement",
    "derived",
    "reconstruction",
    "session",
    "mixtures",
    "postprocessing",
    "synthesis",
    "relaxed_projection",
    "microdata",
    "reporting",
    "cli",
]
ABOVE_ALL = (
    "errors",
    "_checks",
    "_margins",
    "_memory",
    "_words",
    "_completion",
    "_html",
    "_threads",
    "_version",
    "_json",
    "_atomic",
    "_archive",
    "_archive_arrays",
    "_file_kinds",
    "_array_hashes",
    "_verified_file",
)
HOMES = {
    "cvxpy": {"optimize"},
    "clarabel": {"optimize", "microdata"},
    "duckdb": {"sources"},
    "narwhals": {"sources", "queries"},
    "polars": {"sources", "reconstruction"},
    "xarray": {"reconstruction"},
    "dask": {"sources", "workers"},
    "distributed": {"workers"},
    "ibis": {"sources"},
    "pyspark": {"workers"},
    "obstore": {"stores"},
    "matplotlib": {"pictures"},
    "jinja2": {"reporting"},
    "xlsxwriter": {"reconstruction"},
    "openpyxl": {"reconstruction"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pydantic": {"cli"},
    "cupy": {"kron"},
    "array_api_compat": {"kron"},
}
MODULES = sorted(ROOT.rglob("*.py"))
#: Rooms that stand beside the layers: what the command line reads as examples.
ASIDE = ("datasets",)
LOSSES = {"SumOfVariances", "MaxVariance", "Targets", "ConvexLoss", "LossObject", "Loss"}


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT.parent))


def layer_of(module: Path) -> str:
    return module.relative_to(ROOT).parts[0].removesuffix(".py")


#: The modules of each room.  One test for each room, as one for each module would take longer than what it finds out.
ROOMS = {room: list(modules) for room, modules in groupby(MODULES, layer_of)}
in_every_room = pytest.mark.parametrize("modules", ROOMS.values(), ids=ROOMS)


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


@in_every_room
def test_a_module_imports_only_earlier_layers_and_only_their_public_names(modules):
    mine = layer_of(modules[0])
    for name in {name for module in modules for name, _ in imports(tree_of(module))}:
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


def test_only_the_gates_and_the_check_see_records():
    """What the check finds is for the holder of the records: no room but the command line takes it."""
    seeing = {
        layer_of(module)
        for module in MODULES
        for name, _ in imports(tree_of(module))
        if name.startswith("residualplanner.sources")
    }
    assert seeing == {"sources", "checking", "measurement", "relaxed_projection"}
    checking = {
        layer_of(module)
        for module in MODULES
        for name, _ in imports(tree_of(module))
        if name.startswith("residualplanner.checking")
    }
    assert checking == {"checking", "cli"}


@in_every_room
def test_optional_packages_stay_in_their_homes_and_wait_until_they_are_needed(modules):
    room = layer_of(modules[0])
    heavy = {*HOMES, "pandas", "pyarrow"} - ({"typer", "rich", "pydantic"} if room == "cli" else set())
    for module in modules:
        tree = tree_of(module)
        for name, _ in imports(tree):
            package = name.split(".")[0]
            assert package not in HOMES or room in HOMES[package], (
                f"{name_of(module)}: {package} is used outside its home"
            )
        assert not heavy & {name.split(".")[0] for name in at_import_time(tree)}, name_of(module)


@in_every_room
def test_modules_and_functions_stay_small(modules):
    assert [name_of(module) for module in modules if len(module.read_text().splitlines()) > 400] == []
    for node in (node for module in modules for node in ast.walk(tree_of(module))):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 40, f"{node.name} has {lines} lines"


def _modules_after(statement: str, **environment: str) -> set[str]:
    """The names of the modules that a new interpreter has loaded after a statement."""
    program = f"import sys, residualplanner as rp; {statement}; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, env=os.environ | environment).stdout
    return set(printed.split())


def test_no_name_of_the_package_loads_cvxpy_pandas_or_other_heavy_packages():
    modules = _modules_after("pass", EAGER_IMPORT="1")  # lazy_loader's own switch: every name is loaded at once
    loaded = {name.partition(".")[0] for name in modules}
    assert not loaded & {*HOMES, "pandas", "pyarrow", "ecos", "clarabel"}
    assert not modules & {"scipy.optimize", "scipy.special", "scipy.stats"}
    assert not modules & {"html", "residualplanner.kron.cuda"}  # for notebooks and for devices
    assert {"numpy", "residualplanner.synthesis"} <= modules


def test_planning_loads_no_room_that_only_releases_need():
    assert "numpy" not in _modules_after("pass")
    modules = _modules_after("rp.select")
    rooms = {name.split(".")[1] for name in modules if name.startswith("residualplanner.")}
    assert "scipy.linalg" not in modules  # a tenth of the time; SciPy loads it where it is first used
    assert rooms <= {*ABOVE_ALL, *LAYERS[: LAYERS.index("plan") + 1]}


def test_every_public_name_is_found_and_the_modules_are_not_among_them():
    assert all(getattr(residualplanner, name) is not None for name in dir(residualplanner))
    assert set(dir(residualplanner)) & {*LAYERS, *ABOVE_ALL} == {"losses", "microdata", "privacy"}


def test_the_rooms_and_the_modules_beside_them_are_the_ones_listed_here():
    rooms = {folder.name for folder in ROOT.iterdir() if folder.is_dir() and any(folder.rglob("*.py"))}
    assert rooms == {*LAYERS, *ASIDE}
    alone = {module.stem for module in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert alone == set(ABOVE_ALL)
    assert {room for homes in HOMES.values() for room in homes} <= set(LAYERS)


def test_no_folder_holds_more_than_20_files():
    counts = Counter(module.parent for module in MODULES)
    assert {str(folder): count for folder, count in counts.items() if count > 20} == {}


def dotted(module: Path) -> str:
    return ".".join(module.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def file_graph(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Which modules each module needs; a name that a package passes on counts for the module that it is defined in.

    All imports count: those inside functions, which only hide a circle from Python, and those for types alone, since
    who reads one file of a circle has to read the other.
    """
    passed_on = {
        (name, alias.asname or alias.name): (node.module or "", alias.name)
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def home(module: str, name: str) -> str:
        if f"{module}.{name}" in trees:
            return f"{module}.{name}"
        further = passed_on.get((module, name), ("", ""))
        return home(*further) if further[0] in trees else module

    graph: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for theirs, node in imports(tree):
            found = [home(theirs, alias.name) for alias in node.names] if isinstance(node, ast.ImportFrom) else [theirs]
            graph[name].update(module for module in found if module in trees and module != name)
    return graph


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Some files that need one another in a circle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_need_one_another_in_a_circle():
    assert circle_in(file_graph({dotted(module): tree_of(module) for module in MODULES})) == []


@pytest.mark.parametrize(
    "back",
    [
        "from p.a import f",
        "import p.a",
        "from p import f",
        "def g():\n    from p.a import f",
        "if TYPE_CHECKING:\n    import p.a",
    ],
)
def test_circles_are_seen_through_packages_functions_and_types(back):
    sources = {"p": "from p.a import f", "p.a": "from p.b import g\ndef f(): ...", "p.b": back}
    trees = {name: ast.parse(source) for name, source in sources.items()}
    assert set(circle_in(file_graph(trees))) == {"p.a", "p.b"}
    assert circle_in(file_graph({**trees, "p.b": ast.parse("import os")})) == []


def distinctions(tree: ast.AST) -> Iterator[str]:
    """Where families are told apart by hand: bases by a matrix or none, neighbors by words, losses by class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            name = ast.unparse(node.left).rpartition(".")[2]
            against = {ast.unparse(value).strip("'") for value in node.comparators}
            if name == "matrix" and "None" in against and isinstance(node.ops[0], ast.Is | ast.IsNot):
                yield "matrix is None"
            if name == "notion" and against & {"add-remove", "replace"}:
                yield "notion =="
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            classes = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            if classes & LOSSES:
                yield "isinstance of a loss"


#: Where families may be told apart: within themselves, in the one file of (37), and where a matrix is another noun's.
MAY_TELL: dict[str, Iterable[str]] = {
    "matrix is None": ("bases/",),
    "notion ==": ("privacy/", "strategy/neighbor_costs.py"),
    "isinstance of a loss": ("losses/",),
}


@in_every_room
def test_families_are_told_apart_by_their_methods(modules):
    for module in modules:
        path = module.relative_to(ROOT).as_posix()
        found = {what for what in distinctions(tree_of(module)) if not path.startswith(tuple(MAY_TELL[what]))}
        assert found == set(), name_of(module)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("basis.matrix is None or matrix is not None", ["matrix is None"] * 2),
        ("plan.neighbors.notion != 'replace'", ["notion =="]),
        ("isinstance(loss, SumOfVariances | MaxVariance)", ["isinstance of a loss"]),
        ("budget.notion == 'gdp' and isinstance(x, int) and workload is None", []),
    ],
)
def test_the_check_of_families_sees_what_it_is_about(source, found):
    assert list(distinctions(ast.parse(source))) == found


def test_public_names_are_listed_and_there():
    assert sorted(residualplanner.__all__) == residualplanner.__all__
    assert all(hasattr(residualplanner, name) for name in residualplanner.__all__)


def test_the_checks_above_would_see_a_violation(tmp_path):
    tree = ast.parse("import pandas\nfrom residualplanner.plan import Plan\n")
    assert list(at_import_time(tree)) == ["pandas", "residualplanner.plan"]
    assert [name for name, _ in imports(ast.parse("def f():\n    import cvxpy\n"))] == ["cvxpy"]


def test_the_tests_that_are_called_slow_are_there():
    assert all((Path(__file__).parent / name).exists() for name in SLOW)
