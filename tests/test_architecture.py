"""The rings and the limits of the code, read from the code."""

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
from types import ModuleType
from typing import NamedTuple

import pytest

import residualplanner
from conftest import SLOW
from inner_parts import opening

ROOT = Path(residualplanner.__file__).parent
#: A module imports from its own ring and from those before it.
RINGS = ("ground", "method", "more", "gate", "scale", "release", "publish", "fits", "linked", "shell", "testing")
#: Rooms that stand beside the rings: data for examples.
ASIDE = ("datasets",)
#: Doors: of each file, the modules of rings behind its own that it imports where one of its functions is called, and
#: for types.  They are no part of what the file needs to be imported, so that no circle closes through them.
DOORS: dict[str, set[str]] = {
    "gate.sources.opening": {"scale.engines.engines"},
    "method.bases.matrix": {"more.replacement.extreme_pairs"},
    "method.domain._json": {"more.amounts.numeric"},
    "method.domain.attribute": {"more.amounts.numeric"},
    "method.domain.domain": {"more.amounts.weight"},
    "method.losses.loss": {"more.by_set.convex_loss", "more.convex.convex_noise"},
    "method.plan.files": {"more.nested.nested"},
    "method.plan.plan": {
        "gate.measurement.resource_estimate",
        "method.plan.files",
        "publish.pictures.drawing",
        "publish.pictures.plots",
    },
    "method.plan.select": {"more.bounds.suboptimality", "more.by_set.choice", "more.searches.basis_options"},
    "method.queries.json": {"more.queries.json"},
    "method.queries.kind": {"more.amounts.statistics", "more.queries.thresholds"},
    "method.strategy.accuracy": {"more.bounds.max_abs_error"},
    "method.strategy.cells": {"more.varying.varying_tables"},
    "method.strategy.costs": {"more.replacement.replacement_costs", "more.varying.varying_cost"},
    "method.workload.families": {"more.queries.among"},
    "method.workload.query": {"more.queries.among"},
    "release.release": {"fits.for_mbi", "publish.saving"},
    "release.table": {"publish.pictures.drawing", "publish.pictures.plots"},
}
#: What `select`, and the three verbs together, import by name when they are imported: modules and lines, at most.
CLOSURES = {
    ("method.plan.select",): (49, 9_570),
    ("method.plan.select", "gate.measurement.measure", "release.reconstruct"): (95, 17_450),
}
#: Modules have up to 400 lines; one that is to be copied and run by itself may have more.
LONGEST = {"residualplanner/shell/verifier.py": 450}
#: The one module that imports others by their names, which stand in a table: those that open a form of records each.
OPENING = "residualplanner.gate.sources.opening"
#: The only rooms that see records, and who may use what is told to their holder alone.
SEE_RECORDS = ("gate", "scale/engines", "scale/stored", "fits/rap", "fits/stages", "linked")
#: What others may take from `gate/sources`: users' words on their records, names of columns, the type of progress.
HOLD_NO_RECORDS = {"CsvFile", "LimitedRecords", "PackageColumn", "Progress", "columns_of", "columns_of_file"}
HOMES = {
    "cvxpy": {"more/convex"},
    "clarabel": {"more/by_set", "fits/microdata"},
    "duckdb": {"gate/sources"},
    "narwhals": {"gate/sources", "scale/engines", "more/classifications"},
    "polars": {"gate/sources"},
    "dask": {"scale/engines", "scale/workers"},
    "distributed": {"scale/workers"},
    "ibis": {"gate/sources"},
    "pyspark": {"scale/workers"},
    "obstore": {"ground/stores"},
    "matplotlib": {"publish/pictures", "publish/maps"},
    "jinja2": {"publish/report"},
    "xlsxwriter": {"publish/files"},
    "openpyxl": {"publish/files"},
    "pyreadstat": {"gate/sources"},
    "typer": {"shell/cli"},
    "pydantic": {"shell/cli"},
    "cupy": {"release", "scale/cuda"},
    "array_api_compat": {"method/kron", "release"},
}
MODULES = sorted(ROOT.rglob("*.py"))
LOSSES = {"SumOfVariances", "MaxVariance", "Targets", "ConvexLoss", "LossObject", "Loss"}


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT.parent))


def room_of(module: Path) -> str:
    """The ring and the room in it, as in ``method/queries``; the ring alone for a file that stands in no room."""
    return "/".join(module.relative_to(ROOT).parent.parts[:2])


#: The modules of each room.  One test for each room, as one for each module would take longer than what it finds out.
ROOMS = {room: list(modules) for room, modules in groupby(sorted(MODULES, key=room_of), room_of)}
in_every_room = pytest.mark.parametrize("modules", ROOMS.values(), ids=[room or "top" for room in ROOMS])


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


def test_only_the_gates_and_the_check_see_records():
    """What the check finds is for the holder of the records: nothing but the command line takes it."""
    elsewhere = {
        edge.name
        for edge in edges_of_the_package()
        if edge.needed.startswith("residualplanner.gate.sources")
        and not edge.needs.startswith(tuple(f"residualplanner.{room.replace('/', '.')}" for room in SEE_RECORDS))
    }
    assert elsewhere == HOLD_NO_RECORDS
    checking = {
        room_of(module)
        for module in MODULES
        for name, _ in imports(tree_of(module))
        if name.startswith("residualplanner.gate.check")
    }
    assert checking == {"shell/cli"}


@in_every_room
def test_optional_packages_stay_in_their_homes_and_wait_until_they_are_needed(modules):
    room = room_of(modules[0])
    heavy = {*HOMES, "pandas", "pyarrow"} - ({"typer", "pydantic"} if room == "shell/cli" else set())
    for module in modules:
        tree = tree_of(module)
        for name, _ in imports(tree):
            package = name.split(".")[0]
            assert package not in HOMES or room in HOMES[package], (
                f"{name_of(module)}: {package} is used outside its home"
            )
        assert not heavy & {name.split(".")[0] for name in at_import_time(tree)}, name_of(module)


@pytest.mark.cases(34)
@in_every_room
def test_modules_and_functions_stay_small(modules):
    lines = {name_of(module): len(module.read_text().splitlines()) for module in modules}
    assert [name for name, count in lines.items() if count > LONGEST.get(name, 400)] == []
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
    assert not modules & {"html", "residualplanner.scale.cuda"}  # for notebooks and for devices
    assert {"numpy", "residualplanner.fits.synthesis"} <= modules


def test_planning_loads_no_ring_that_only_releases_need():
    assert "numpy" not in _modules_after("pass")
    modules = _modules_after("rp.select")
    # SciPy loads these where they are first used
    assert not {"scipy.linalg", "scipy.sparse"} & _modules_after("rp.select, rp.measure, rp.reconstruct")
    assert not {name for name in modules if name.startswith(("residualplanner.gate.sources", "residualplanner.fits"))}
    assert not {
        name for name in modules if name.startswith(("residualplanner.publish.files", "residualplanner.shell.cli"))
    }


PUBLIC_ROOMS = (
    "errors",
    "fits",
    "linked",
    "losses",
    "privacy",
    "publish",
    "questions",
    "scale",
    "statistics",
    "strategies",
    "testing",
)


def test_every_public_name_is_listed_and_found_and_few_of_them_are_rooms():
    assert sorted(residualplanner.__all__) == residualplanner.__all__
    assert len(residualplanner.__all__) <= 52
    found = {name: getattr(residualplanner, name) for name in {*residualplanner.__all__, *dir(residualplanner)}}
    assert {name for name, each in found.items() if isinstance(each, ModuleType)} == {*PUBLIC_ROOMS}


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", PUBLIC_ROOMS)
def test_a_room_is_there_before_any_other_name_was_used(name):
    script = f"import residualplanner as rp; rp.{name}"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, cwd=ROOT)


def test_the_rings_and_what_stands_beside_them_are_the_ones_listed_here():
    rings = {folder.name for folder in ROOT.iterdir() if folder.is_dir() and any(folder.rglob("*.py"))}
    assert rings == {*RINGS, *ASIDE}
    assert {module.stem for module in ROOT.glob("*.py")} == {"__init__", "__main__"}
    assert {room for homes in HOMES.values() for room in homes} | {*SEE_RECORDS} - {"gate"} <= set(ROOMS)


def dotted(module: Path) -> str:
    return ".".join(module.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


class Edge(NamedTuple):
    """That one module takes a name from the module that defines it; `early` where importing the one runs that."""

    needs: str
    needed: str
    name: str
    early: bool


def edges(trees: Mapping[str, ast.Module]) -> Iterator[Edge]:
    """What each module takes from which; a name that a package passes on counts for the module that it is defined in.

    All imports are there: what `OPENING` imports by name, those inside functions, which only hide a circle from
    Python, and those for types alone, since who reads one file of a circle has to read the other.
    """
    passed_on = {
        (name, alias.asname or alias.name): (node.module or "", alias.name)
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def home(module: str, name: str) -> tuple[str, str]:
        further = passed_on.get((module, name), ("", ""))
        if further[0] in trees and further != (module, name):
            return home(*further)
        return (f"{module}.{name}", "") if f"{module}.{name}" in trees else (module, name)

    for module, tree in trees.items():
        early = set(map(id, tree.body))
        for theirs, node in imports(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else [""]
            for where, name in (home(theirs, name) if name else (theirs, "") for name in names):
                if where in trees and where != module:
                    yield Edge(module, where, name, id(node) in early)
    if OPENING in trees:
        yield from (Edge(OPENING, f"residualplanner.{name}", "", early=False) for name in sorted(opening.MODULES))


def is_door(edge: Edge) -> bool:
    """Whether an import is one of `DOORS`, inside a function or for types."""
    needs, needed = (name.removeprefix("residualplanner.") for name in (edge.needs, edge.needed))
    return not edge.early and needed in DOORS.get(needs, ())


def graph_of(some: Iterable[Edge]) -> dict[str, set[str]]:
    """Which modules each module needs."""
    graph: dict[str, set[str]] = {}
    for edge in some:
        graph.setdefault(edge.needs, set()).add(edge.needed)
    return graph


@cache
def edges_of_the_package() -> list[Edge]:
    return list(edges({dotted(module): tree_of(module) for module in MODULES}))


def runs_back(needs: str, needed: str) -> bool:
    """Whether a module needs one of a ring behind its own; what stands beside the rings may need all of them."""
    mine, theirs = needs.split(".")[1], needed.split(".")[1]
    return mine in RINGS and (theirs not in RINGS or RINGS.index(mine) < RINGS.index(theirs))


def test_a_module_imports_only_from_its_own_ring_and_from_rings_before_it():
    folders = {dotted(module) for module in MODULES if module.name == "__init__.py"}
    inside = [
        edge
        for edge in edges_of_the_package()
        if edge.needs not in folders and edge.needs.count(".") > 1 and edge.needed.count(".") > 1 and not is_door(edge)
    ]
    aside = tuple(f"residualplanner.{room}" for room in ASIDE)
    back = [edge for edge in inside if not edge.needed.startswith(aside) and runs_back(edge.needs, edge.needed)]
    assert back == []


def test_there_are_few_doors_and_each_is_used():
    used = graph_of(filter(is_door, edges_of_the_package()))
    assert used == {
        f"residualplanner.{needs}": {f"residualplanner.{name}" for name in needed} for needs, needed in DOORS.items()
    }
    assert sum(map(len, DOORS.values())) <= 30


def test_one_module_alone_imports_others_by_name():
    importing = {dotted(module) for module in MODULES if 'import_module(f"residualplanner' in module.read_text()}
    assert importing == {OPENING}


@pytest.mark.parametrize("starts", CLOSURES, ids=lambda starts: starts[-1])
def test_the_verbs_bring_no_more_than_they_did(starts):
    needed = graph_of(edge for edge in edges_of_the_package() if edge.early)
    reached, ahead = set(), [f"residualplanner.{start}" for start in starts]
    while ahead:
        module = ahead.pop()
        if module not in reached:
            reached.add(module)
            ahead += needed.get(module, ())
    lines = {dotted(module): len(module.read_text().splitlines()) for module in MODULES}
    most_modules, most_lines = CLOSURES[starts]
    assert len(reached) <= most_modules
    assert sum(lines[module] for module in reached) <= most_lines


def circle_in(some: Iterable[Edge]) -> list[str]:
    """Some files that need one another in a circle, doors aside, or none."""
    try:
        TopologicalSorter(graph_of(edge for edge in some if not is_door(edge))).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_need_one_another_in_a_circle():
    assert circle_in(edges_of_the_package()) == []


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
    "matrix is None": ("method/bases/", "more/nested/", "more/searches/"),
    "notion ==": ("method/privacy/", "method/strategy/costs.py"),
    "isinstance of a loss": ("method/losses/",),
}


@in_every_room
def test_families_are_told_apart_by_their_methods(modules):
    for module in modules:
        path = module.relative_to(ROOT).as_posix()
        found = {what for what in distinctions(tree_of(module)) if not path.startswith(tuple(MAY_TELL[what]))}
        assert found == set(), name_of(module)


def test_the_tests_that_are_called_slow_are_there():
    assert all((Path(__file__).parent / name).exists() for name in SLOW)


def test_a_class_name_stands_once():
    """One word, one thing: who reads a name knows which class it is, private ones included."""
    names = [node.name for module in MODULES for node in ast.walk(tree_of(module)) if isinstance(node, ast.ClassDef)]
    assert [name for name, count in Counter(names).items() if count > 1] == []
