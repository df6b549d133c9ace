"""Planted faults: how many of a hundred small changes of the package, where features meet, the tests find.

A mutant is one change of one module, chosen by a seed: a comparison, an operation, a constant or a condition that is
another.  For each, the meetings and the tests of the module's room run against a copy of the tree, until the first
failure.  ``python -m benchmarks.mutants`` prints the mutants that survive, and goes on where it was stopped if the tree
is the same.  One that changes nothing that can be seen is named in ``EQUIVALENT``, and the next takes its turn.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
SEED, WANTED = 26, 100
#: The modules where features meet, by folder, and the tests of each.
ROOMS = {
    "measurement": ["measurement", "replay/test_neighbors.py"],
    "measurement/stored": ["measurement"],
    "sources": ["sources"],
    "sources/people": ["sources"],
    "sources/clusters": ["sources"],
    "reconstruction": ["reconstruction"],
    "reconstruction/files": ["reconstruction"],
    "reconstruction/parts": ["reconstruction"],
    "derived": ["derived"],
    "postprocessing": ["postprocessing"],
    "postprocessing/adjusted": ["postprocessing"],
    "workload": ["workload"],
    "queries": ["queries"],
    "strategy": ["plan"],
    "domain": ["domain"],
    "session": ["session"],
    "reporting": ["reporting"],
    "cli": ["cli"],
    "cli/spec": ["cli"],
}
#: Mutants, by their numbers, that no test can find, and why.
EQUIVALENT: dict[int, str] = {}
_SECONDS = 900

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
    """What can have a fault: expressions within functions, but not annotations, defaults and messages of errors."""
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
            if not isinstance(part, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.arguments):
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


def tests_of(module: str) -> list[list[str]]:
    """The runs of tests for a mutant of a module, quickest first."""
    room = str(Path(module).parent.relative_to("residualplanner"))
    own = [f"tests/{name}" for name in ROOMS[room]]
    return [["-m", "not slow", *own], ["tests/meetings"], ["-m", "slow", *own, "--ignore=tests/sources/test_spark.py"]]


def failing(chosen: list[str], copied: Path) -> str:
    """The first test that fails in a copy of the tree, that time was over, or nothing."""
    environment = os.environ | {"PYTHONPATH": str(copied), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=no", *chosen]
    try:
        ran = subprocess.run(
            command, cwd=copied, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {_SECONDS} seconds"
    if ran.returncode in (0, 5):
        return ""
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].partition(" - ")[0] if failed else f"pytest ended with {ran.returncode}"


def killed_by(mutant: Mutant, mutated: str, copied: Path) -> str:
    """What finds a mutant, or nothing."""
    target = copied / mutant.module
    original = target.read_text()
    target.write_text(mutated)
    try:
        return next(filter(None, (failing(chosen, copied) for chosen in tests_of(mutant.module))), "")
    finally:
        target.write_text(original)


def main() -> None:
    """Try mutants until a hundred that are no equivalents of the package have been tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--done", type=Path, default=Path("mutants.jsonl"), help="a line for each mutant that was tried"
    )
    parser.add_argument("--list", action="store_true", help="only show them")
    parser.add_argument("--part", default="0/1", help="such as 0/2 and 1/2 for two processes, each with a file")
    chosen = parser.parse_args()
    known = [json.loads(line) for line in chosen.done.read_text().splitlines()] if chosen.done.exists() else []
    part, parts = map(int, chosen.part.split("/"))
    wanted = [found for _, found in zip(range(WANTED + len(EQUIVALENT)), mutants(), strict=False)]
    wanted = [found for found in wanted if found[0].number not in EQUIVALENT and found[0].number % parts == part]
    if chosen.list:
        for mutant, _ in wanted:
            print(f"{mutant.number:3} {mutant.module}:{mutant.line}: {mutant.before[:70]}  ->  {mutant.after[:70]}")
        return
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(
            shutil.copytree(ROOT, Path(folder) / "tree", ignore=shutil.ignore_patterns(".git", "__pycache__"))
        )
        if not known:
            for chosen_tests in {tuple(run): run for mutant, _ in wanted for run in tests_of(mutant.module)}.values():
                if failed := failing(chosen_tests, copied):
                    raise SystemExit(f"{failed} fails without a fault; repair it first")
        have = {found["number"] for found in known}
        for mutant, mutated in wanted:
            if mutant.number not in have:
                known.append(asdict(mutant) | {"killed_by": killed_by(mutant, mutated, copied)})
                with chosen.done.open("a") as file:
                    file.write(json.dumps(known[-1]) + "\n")
                print(f"{mutant.number}: {known[-1]['killed_by'] or 'SURVIVED'}", flush=True)
    _report(known, is_whole=parts == 1)


def _report(known: list[dict[str, object]], *, is_whole: bool) -> None:
    survivors = [found for found in known if not found["killed_by"]]
    print(f"{len(known) - len(survivors)} of {len(known)} mutants were found")
    for found in survivors:
        print(f"| {found['number']} | {found['module']}:{found['line']} | `{found['before']}` | `{found['after']}` |")
    if is_whole:
        RESULTS.write_text(json.dumps({"seed": SEED, "mutants": known, "equivalent": EQUIVALENT}, indent=1) + "\n")


if __name__ == "__main__":
    main()
