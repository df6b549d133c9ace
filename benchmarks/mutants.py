"""Planted faults: how many of a hundred small changes of the package, where features meet, the tests find.

A mutant is one change of one module, chosen by a seed: a comparison, an operation, a constant or a condition that is
another.  The whole suite runs once on a copy of the tree in which the functions to be changed say which test calls them
(``--reach`` keeps what they said).  Then each mutant meets the tests that call its function, quickest first, until one
fails or five minutes are over; where nothing calls it, it meets the tests of the module's room.
``python -m benchmarks.mutants`` prints the mutants that survive, and goes on where it was stopped if the tree is the
same.  One that changes nothing that can be seen is named in ``EQUIVALENT``, and the next takes its turn.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
SEED, WANTED = 26, 100
#: How many more are instrumented, since equivalents show only once they survive.
_SPARE = 20
#: The modules where features meet, by folder, and the tests of each.
ROOMS = {
    "gate": ["gate", "replay/test_neighbors.py"],
    "gate/measurement": ["gate", "replay/test_neighbors.py"],
    "scale/stored": ["scale/stored"],
    "gate/sources": ["gate/sources"],
    "scale/engines": ["scale/engines"],
    "release": ["release"],
    "publish/files": ["publish/files"],
    "publish/parts": ["publish/parts"],
    "fits/nonnegative": ["fits/nonnegative"],
    "method/workload": ["method/workload", "more/queries"],
    "method/queries": ["method/queries"],
    "more/queries": ["more/queries"],
    "more/amounts": ["more/amounts"],
    "method/strategy": ["method/plan", "more"],
    "method/domain": ["method/domain"],
    "shell": ["shell/session"],
    "publish/report": ["publish/report"],
    "shell/cli": ["shell/cli"],
    "shell/cli/spec": ["shell/cli"],
}
#: Mutants, by their numbers, that no test can find, and why.
EQUIVALENT: dict[int, str] = {75: "keys of (group, axis) stay distinct, in the same order of groups"}
_SECONDS = 900
#: How long the tests that call a mutant's function may take in all, in one copy of the tree.
_SECONDS_OF_CALLERS = 300
#: What stands in the copy whose functions say which test calls them.
_REACHED = """
import os
_said = set()
def reached(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (number, test) not in _said:
        _said.add((number, test))
        with open(os.path.join(FOLDER, str(os.getpid())), "a") as file:
            file.write(f"{number}\\t{test}\\n")
"""

_COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: its number, the module, the line, and what it was and is."""

    number: int
    module: str
    line: int
    before: str
    after: str


def changed(node: ast.AST) -> ast.AST | None:
    """The node with a fault, or None where it has no place for one."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in _COMPARED:
        new.ops[0] = _COMPARED[type(new.ops[0])]()
    elif isinstance(new, ast.BinOp) and type(new.op) in _COMPUTED and not _has_text(new):
        new.op = _COMPUTED[type(new.op)]()
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return new.operand
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
    elif isinstance(new, ast.Constant) and type(new.value) in (bool, int):
        new.value = not new.value if isinstance(new.value, bool) else new.value + 1
    else:
        return None
    return new


def _has_text(node: ast.BinOp) -> bool:
    """Whether something is put together of words or types, where no other operation makes sense."""
    inner = [*ast.walk(node.left), *ast.walk(node.right)]
    return any(isinstance(part, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict) for part in inner) or any(
        isinstance(part, ast.Constant) and isinstance(part.value, str | type(None)) for part in inner
    )


def places(tree: ast.Module) -> list[ast.AST]:
    """What can have a fault: expressions within functions, but not annotations, defaults, messages and ``strict=``."""
    found: list[ast.AST] = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Raise):
                    found += [node for node in _without_messages(statement) if changed(node) is not None]
    return found


def _without_messages(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, child in ast.iter_fields(node):
        parts = [part for part in (child if isinstance(child, list) else [child]) if isinstance(part, ast.AST)]
        for part in [] if field == "annotation" else parts:
            is_strict = isinstance(part, ast.keyword) and part.arg == "strict"  # of zip: an assertion, no behavior
            if not is_strict and not isinstance(part, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.arguments):
                yield from _without_messages(part)


def mutants() -> Iterator[tuple[Mutant, str]]:
    """Changes of the package without end, each with the text of its module, rooms in turn."""
    chance, number, seen = random.Random(SEED), 0, set()
    while True:
        for room in ROOMS:
            modules = sorted((ROOT / "residualplanner" / room).glob("*.py"))
            path = chance.choice([module for module in modules if places(ast.parse(module.read_text()))])
            text = path.read_text()
            node = chance.choice(places(ast.parse(text)))
            new = changed(node)
            before, after = ast.get_source_segment(text, node), ast.unparse(new)
            mutated = _replaced(text, node, f"({after})")
            if mutated not in seen:
                module = str(path.relative_to(ROOT))
                yield Mutant(number, module, node.lineno, " ".join(str(before).split()), after), mutated
                number += 1
            seen.add(mutated)


def _replaced(text: str, node: ast.AST, after: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    stop = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    raw = text.encode()
    return (raw[:start] + after.encode() + raw[stop:]).decode()


def said_by_tests(wanted: list[Mutant], tree: Path, processes: int) -> dict[str, dict[str, float]]:
    """For each mutant's number the tests that call its function, and their seconds, from one run of the suite."""
    with tempfile.TemporaryDirectory() as folder:
        (tree / "residualplanner" / "_reached.py").write_text(f"FOLDER = {folder!r}{_REACHED}")
        for module in {mutant.module for mutant in wanted}:
            lines = {mutant.number: mutant.line for mutant in wanted if mutant.module == module}
            (tree / module).write_text(_saying((tree / module).read_text(), lines))
        ran = _pytest(tree, "-n", str(processes), "-vv", "--durations=0", "-rfE", timeout=7200)
        seconds: dict[str, float] = defaultdict(float)
        for taken, test in re.findall(r"^([0-9.]+)s (?:call|setup|teardown) +(.+)$", ran, re.MULTILINE):
            seconds[test] += float(taken)
        failed = set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran, re.MULTILINE))
        found: dict[str, dict[str, float]] = {str(mutant.number): {} for mutant in wanted}
        for file in Path(folder).iterdir():
            for line in file.read_text().splitlines():
                number, test = line.split("\t", 1)
                # the doctests of a module that is run alone may import it twice
                if test not in failed and not test.startswith("residualplanner/"):
                    found[number][test] = seconds.get(test, 0.0)
        print(*sorted(failed), sep="\n")
        print(f"{ran.splitlines()[-1]}; the mutants' functions are called by", sum(map(bool, found.values())), "tests")
    return found


def _saying(text: str, lines: dict[int, int]) -> str:
    """A module whose functions around some lines begin by saying that they are called."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for number, line in lines.items():
        inner = max(
            (node for node in functions if node.lineno <= line <= node.end_lineno), key=lambda node: node.lineno
        )
        at = 1 if ast.get_docstring(inner) is not None else 0
        inner.body.insert(at, ast.parse(f"_reached({number})").body[0])
    at = next(place for place, node in enumerate(tree.body) if not _is_first(node))
    tree.body[at:at] = ast.parse("from residualplanner._reached import reached as _reached").body
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_first(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _pytest(tree: Path, *chosen: str, timeout: float) -> str:
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(chosen))
        file.flush()
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", f"@{file.name}"]
        ran = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    ended = "" if ran.returncode in (0, 1, 5) else f"\nFAILED pytest ended with {ran.returncode}"
    return ran.stdout + ended


def runs_for(mutant: Mutant, calling: dict[str, float]) -> Iterator[list[str]]:
    """The runs of tests for a mutant: those that call its function, quickest first, or else its room's."""
    files: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for test, seconds in calling.items():
        files[test.partition("::")[0]].append((seconds, test))
    # a process takes seconds to import a file's tests: those come first of which most run in a second
    ranked = sorted(files.values(), key=lambda tests: -len(tests) / (1 + sum(seconds for seconds, _ in tests)))
    total, first, count = 0.0, 0, 2
    while first < len(ranked) and total < _SECONDS_OF_CALLERS:
        batch = sorted(found for tests in ranked[first : first + count] for found in sorted(tests)[:40])
        first, count, total = first + count, 2 * count, total + sum(seconds for seconds, _ in batch)
        yield [test for _, test in batch]
    if not calling:
        own = [f"tests/{name}" for name in ROOMS[str(Path(mutant.module).parent.relative_to("residualplanner"))]]
        yield [*own, "tests/meetings", "--ignore=tests/scale/engines/test_spark.py"]


def failing(chosen: list[str], copied: Path) -> str:
    """The first test that fails in a copy of the tree, that time was over, or nothing."""
    try:
        printed = _pytest(copied, "-x", "-rfE", *chosen, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done after {_SECONDS} seconds"
    failed = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""


def killed_by(mutant: Mutant, mutated: str, calling: dict[str, float], copied: Path) -> str:
    """What finds a mutant, or nothing."""
    target = copied / mutant.module
    original = target.read_text()
    target.write_text(mutated)
    try:
        return next(filter(None, (failing(chosen, copied) for chosen in runs_for(mutant, calling))), "")
    finally:
        target.write_text(original)


def copy_of_the_tree(folder: str) -> Path:
    """The tree in another folder, beside the data that its tests read."""
    data = ROOT.parent / "shared"
    if data.exists():
        (Path(folder) / "shared").symlink_to(data)
    return Path(shutil.copytree(ROOT, Path(folder) / "tree", ignore=shutil.ignore_patterns(".git", "__pycache__")))


def tried(found: list[tuple[Mutant, str]], reach: dict[str, dict[str, float]], done: Path, processes: int) -> None:
    """Try mutants in several copies of the tree, and add a line to a file for each."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for place in range(processes):
            (Path(folder) / str(place)).mkdir()
            copies.put(copy_of_the_tree(f"{folder}/{place}"))

        def one(mutant: Mutant, mutated: str) -> None:
            copied = copies.get()
            killer = killed_by(mutant, mutated, reach[str(mutant.number)], copied)
            copies.put(copied)
            with done.open("a") as file:
                file.write(json.dumps(asdict(mutant) | {"killed_by": killer}) + "\n")
            print(f"{mutant.number}: {killer or 'SURVIVED'}", flush=True)

        for job in [pool.submit(one, *pair) for pair in found]:
            job.result()


def main() -> None:
    """Try mutants until a hundred that are no equivalents of the package have been tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--done", type=Path, default=Path("mutants.jsonl"), help="a line for each mutant that was tried"
    )
    parser.add_argument(
        "--reach", type=Path, default=Path("mutants-reach.json"), help="which tests call their functions"
    )
    parser.add_argument("--list", action="store_true", help="only show them")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    wanted = [found for _, found in zip(range(WANTED + len(EQUIVALENT)), mutants(), strict=False)]
    wanted = [found for found in wanted if found[0].number not in EQUIVALENT]
    if chosen.list:
        for mutant, _ in wanted:
            print(f"{mutant.number:3} {mutant.module}:{mutant.line}: {mutant.before[:70]}  ->  {mutant.after[:70]}")
        return
    if not chosen.reach.exists():
        with tempfile.TemporaryDirectory() as folder:
            instrumented = [mutant for _, (mutant, _) in zip(range(WANTED + _SPARE), mutants(), strict=False)]
            said = said_by_tests(instrumented, copy_of_the_tree(folder), chosen.processes)
        chosen.reach.write_text(json.dumps(said))
    reach = json.loads(chosen.reach.read_text())
    chosen.done.touch()
    have = {json.loads(line)["number"] for line in chosen.done.read_text().splitlines()}
    tried([found for found in wanted if found[0].number not in have], reach, chosen.done, chosen.processes)
    _report([json.loads(line) for line in chosen.done.read_text().splitlines()])


def _report(known: list[dict[str, object]]) -> None:
    """Say which survive, after the tests that found the others have passed without a fault."""
    killers = sorted({str(found["killed_by"]).partition("[")[0] for found in known if "::" in str(found["killed_by"])})
    with tempfile.TemporaryDirectory() as folder:
        if failed := failing(killers, copy_of_the_tree(folder)):
            raise SystemExit(f"{failed} fails without a fault; repair it, and try its mutants again")
    survivors = [found for found in known if not found["killed_by"]]
    print(f"{len(known) - len(survivors)} of {len(known)} mutants were found")
    for found in survivors:
        print(f"| {found['number']} | {found['module']}:{found['line']} | `{found['before']}` | `{found['after']}` |")
    known.sort(key=lambda found: int(str(found["number"])))
    RESULTS.write_text(json.dumps({"seed": SEED, "mutants": known, "equivalent": EQUIVALENT}, indent=1) + "\n")


if __name__ == "__main__":
    main()
