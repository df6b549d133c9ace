"""The modules between counts and noisy answers know no floating-point operation and no other randomness: their text."""

import ast
from pathlib import Path

import pytest

import residualplanner

ROOT = Path(residualplanner.__file__).parent
WHOLE = [
    "method/kron/integers.py",
    *(f"gate/measurement/{name}.py" for name in ("counting", "discrete", "noisy_answers")),
    *(f"scale/stored/{name}.py" for name in ("tasks", "release")),
]
#: Continuous noise, for research.
RESEARCH = {"gaussian.py"}


def names(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def divisions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Div)]


def float_numbers(tree):
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)]


@pytest.mark.parametrize("module", WHOLE)
def test_counts_meet_no_floating_point(module):
    tree = ast.parse((ROOT / module).read_text())
    assert not divisions(tree)
    assert not float_numbers(tree)
    floating = {
        name for name in names(tree) if "float" in name.lower() or name in {"mean", "true_divide", "sqrt", "einsum"}
    }
    # Precisions are floats that stand for exact fractions; they only choose the noise.
    assert floating <= {"FloatArray", "float", "float_identifies"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float"]
    assert {ast.unparse(call) for call in calls} <= {"float(precision[members].min())"}


MEASURING = [path for room in ("gate/measurement", "scale/stored") for path in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("path", MEASURING, ids=lambda path: path.name)
def test_no_generator_but_the_operating_systems_is_used(path):
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {"random", "secrets", "numpy.random", "scipy.stats"}
    assert path.name in RESEARCH or "random" not in {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
