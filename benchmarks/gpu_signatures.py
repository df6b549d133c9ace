"""What the path on a device asks of an array library, and whether CuPy has it.

    python -m benchmarks.gpu_signatures [--write]

Every function, with its keywords, every attribute and every operator of arrays that the package uses is collected
while the cases of `benchmarks.gpu_cases` run on the second device of array-api-strict, and what it asks of CuPy itself
is read from its source.  Where CuPy is installed, which takes neither driver nor device, all of it is bound to
the signatures of that CuPy.  ``--write`` records what was bound, and to which versions, in results/gpu_calls.json, with
which the tests compare what is collected.  Exits with 1 if something does not bind, with 2 if CuPy is not installed.
"""

import argparse
import ast
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module, metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

import array_api_strict as strict
import numpy as np

import residualplanner as rp
from benchmarks.gpu_cases import cases, estimates_of
from benchmarks.strict_device import DEVICES
from residualplanner.method.kron import arrays

RECORD = Path(__file__).parent / "results" / "gpu_calls.json"
PACKAGE = Path(rp.__file__).parent
ARRAY = type(strict.ones(1))
#: What ufuncs, which have no signature, take besides arrays.
_OF_UFUNCS = {"out", "dtype", "casting"}
#: Python's own, which every class has.
_OWN = {
    "__class__",
    "__dict__",
    "__doc__",
    "__getattribute__",
    "__init__",
    "__module__",
    "__new__",
    "__repr__",
    "__str__",
}


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """A function and how it is called.

    Attributes:
        name: of the function.
        positional: how many arguments have no keyword.
        keywords: of the others, sorted.
    """

    name: str
    positional: int
    keywords: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(['_'] * self.positional + [f'{word}=' for word in self.keywords])})"


@dataclass(frozen=True, slots=True)
class Uses:
    """What is used of a library: functions, types and constants by name, members of arrays."""

    calls: set[Call] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, list[str]]:
        """Everything in words, sorted."""
        return {"calls": sorted(map(str, self.calls)), "names": sorted(self.names), "members": sorted(self.members)}


class Watched:
    """The strict namespace, which notes what is asked of it."""

    __name__ = "array_api_strict, watched"

    def __init__(self, uses: Uses) -> None:
        self._uses = uses

    def __getattr__(self, name: str) -> Any:
        value = getattr(strict, name)
        if not inspect.isroutine(value):
            self._uses.names.add(name)
            return value

        def noted(*args: Any, **options: Any) -> Any:
            self._uses.calls.add(Call(name, len(args), tuple(sorted(options))))
            return value(*args, **options)

        return noted


def collected() -> Uses:
    """What the path uses, over all cases and on both devices."""
    uses = Uses()
    space = Watched(uses)
    with ExitStack() as watching:
        watching.enter_context(patch.object(arrays, "_namespace_of", _namespaces(space)))
        for name, member in vars(ARRAY).items():
            if name.startswith("__") and callable(member) and name not in _OWN:
                watching.enter_context(patch.object(ARRAY, name, _noted(name, member, uses)))
        watching.enter_context(patch.object(ARRAY, "__getattribute__", _noted_attribute(uses), create=True))
        for measurement in cases().values():
            for device in DEVICES.values():
                for _ in estimates_of(rp.reconstruct(measurement, device=replace(device, xp=space))):
                    pass
    return uses


def _namespaces(space: Watched) -> Callable[[Any], Any]:
    return lambda array: np if isinstance(array, np.ndarray) else space


def _asks() -> bool:
    """Whether the function that called the caller is the package's, not the strict library's own."""
    return str(sys._getframe(2).f_globals.get("__name__")).startswith("residualplanner.")


def _noted(name: str, member: Callable[..., Any], uses: Uses) -> Callable[..., Any]:
    def operator(array: Any, *args: Any, **options: Any) -> Any:
        if _asks():
            uses.members.add(name)
        return member(array, *args, **options)

    return operator


def _noted_attribute(uses: Uses) -> Callable[[Any, str], Any]:
    def attribute(array: Any, name: str) -> Any:
        if _asks():
            uses.members.add(name)
        return object.__getattribute__(array, name)

    return attribute


# What is asked of CuPy by its name.


def asked_of_cupy() -> set[tuple[str, Call | None]]:
    """Every dotted name of CuPy's in the package's source, and how it is called, if it is."""
    return {found for module in PACKAGE.rglob("*.py") for found in _asked_in(ast.parse(module.read_text()))}


def _asked_in(tree: ast.AST) -> Iterator[tuple[str, Call | None]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _dotted(node)):
            yield name, None
        if isinstance(node, ast.Call) and (name := _dotted(node.func)):
            yield name, Call(name, len(node.args), tuple(sorted(str(word.arg) for word in node.keywords)))


def _dotted(node: ast.AST) -> str:
    """``cuda.Device`` for ``cupy.cuda.Device`` and ``_cupy().cuda.Device``; empty for what is not CuPy's."""
    match node:
        case ast.Attribute(ast.Name("cupy") | ast.Call(ast.Name("_cupy")), name):
            return name
        case ast.Attribute(inner, name) if start := _dotted(inner):
            return f"{start}.{name}"
    return ""


# Binding.


def unbound(uses: Uses) -> list[str]:
    """What CuPy does not have, or does not take, in words.

    Raises:
        ImportError: CuPy is not installed.
    """
    cupy, space = import_module("cupy"), import_module("array_api_compat.cupy")
    wrong = [f"{call}" for call in sorted(uses.calls) if not binds(getattr(space, call.name, None), call)]
    wrong += [name for name in sorted(uses.names) if not hasattr(space, name)]
    wrong += [f"ndarray.{name}" for name in sorted(uses.members) if not hasattr(cupy.ndarray, name)]
    for name, call in sorted(asked_of_cupy(), key=str):
        value = _member(cupy, name)
        if value is None or not (call is None or binds(value, call)):
            wrong.append(f"cupy.{call or name}")
    return wrong


def binds(function: Any, call: Call) -> bool:
    """Whether a function can be called so; keywords that it would only pass on do not count."""
    if function is None:
        return False
    if hasattr(function, "nin"):
        return call.positional == function.nin and _OF_UFUNCS.issuperset(call.keywords)
    try:
        signature = inspect.signature(function)
    except ValueError:  # compiled, without a signature
        return callable(function) and _documented(function).issuperset(call.keywords)
    named = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    try:
        signature.replace(parameters=named).bind(*[None] * call.positional, **dict.fromkeys(call.keywords))
    except TypeError:
        return False
    return True


def _documented(function: Any) -> set[str]:
    """The names of the arguments in the first line of a compiled function's documentation."""
    first = (function.__doc__ or "").partition("\n")[0].partition("(")[2]
    return {part.split("=")[0].split(":")[0].split()[-1] for part in first.strip(" )").split(",") if part.strip()}


def _member(module: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        module = getattr(module, name, None)
    return module


def versions() -> dict[str, str]:
    """Of the packages that were bound to."""
    names = ["array-api-compat", *(name for name in ("cupy-cuda13x", "cupy-cuda12x") if _is_installed(name))]
    return {name: metadata.version(name) for name in names}


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record what was bound")
    options, uses = parser.parse_args(), collected()
    asked = sorted({f"cupy.{call or name}" for name, call in asked_of_cupy()})
    for kind, words in {**uses.to_json(), "cupy": asked}.items():
        print(f"{kind}: {', '.join(words)}")
    try:
        wrong = unbound(uses)
    except ImportError:
        print("CuPy is not installed, so nothing was bound: pip install residualplanner[gpu]")
        return 2
    print(f"not in {versions()}: {', '.join(wrong) or 'nothing'}")
    if options.write and not wrong:
        RECORD.write_text(json.dumps({"bound_to": versions(), **uses.to_json(), "cupy": asked}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
