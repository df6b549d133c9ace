"""A strategy as arrays for files: each matrix of integers once, which attribute and factor has which, the messages.

What follows from the matrices is computed anew where a file is read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.plan.workload_arrays import array_of
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.workload import Workload

#: What the names of all arrays of bases begin with.
BASES = "bases/"
_ATTRIBUTES, _VARYING = f"{BASES}of_attribute", f"{BASES}varying"
_FACTORS, _MESSAGES = f"{BASES}of_factor", f"{BASES}messages"
#: The arrays of a strategy in which attributes vary.
_OF_VARYING = (_VARYING, _FACTORS, _MESSAGES)


def strategy_to_arrays(strategy: Strategy) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The family of each distinct basis, in order of first use, and arrays.

    The arrays are a matrix for each, and which of them every attribute has, (d,): -1 for the subtraction basis.  Where
    attributes vary, also which these are, which basis every factor of them has, (v,), and the messages.

    Example:
        >>> from residualplanner import varying_strategy
        >>> from residualplanner.method.workload.attribute_sets import AttributeSets
        >>> from residualplanner.method.workload.closure import downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> bases = (integer_basis([[1, -1]], "given"), subtraction_basis(3), integer_basis([[2, -1]], "given"))
        >>> families, arrays = strategy_to_arrays(varying_strategy(closure, [2, 3], bases, [0, 1, 2, 1], np.zeros(2)))
        >>> families, arrays["bases/of_attribute"].tolist(), arrays["bases/of_factor"].tolist()
        (['given', 'given'], [0, -1], [0, 1])
    """
    numbers = np.concatenate([strategy.of_attribute, strategy.of_factor])
    used = list(dict.fromkeys(numbers.tolist()))
    families, arrays, index = _matrices_to_arrays([strategy.bases[number] for number in used])
    stored = np.zeros(len(strategy.bases), dtype=np.int32)
    stored[used] = index
    arrays[_ATTRIBUTES] = stored[strategy.of_attribute]
    if strategy.varying.any():
        arrays[_VARYING] = np.flatnonzero(strategy.varying).astype(np.int32)
        arrays[_FACTORS], arrays[_MESSAGES] = stored[strategy.of_factor], strategy.messages
    return families, arrays


def strategy_from_arrays(workload: Workload, families: object, arrays: Mapping[str, NDArray[Any]]) -> Strategy:
    """Undo `strategy_to_arrays`, checking everything: what follows from the matrices is computed.

    Raises:
        FileFormatError: arrays or families are missing, superfluous, of the wrong type or shape, in another order, or
            a matrix is not a basis.
        WorkloadError: the bases of an attribute do not fit one another, or there are more or fewer messages than they
            need.
    """
    number = np.empty(0, dtype=np.int32)
    none: dict[str, NDArray[Any]] = {_VARYING: number, _FACTORS: number, _MESSAGES: np.empty(0)}
    others = _OF_VARYING if arrays.get(_VARYING, none[_VARYING]).size else ()
    stored = _matrices_from_arrays(families, arrays, {_ATTRIBUTES, *others})
    arrays = none | dict(arrays)
    sizes, varying = np.array(workload.domain.sizes, dtype=np.int64), np.zeros(len(workload.domain), dtype=np.bool_)
    positions, messages = arrays[_VARYING], arrays[_MESSAGES]
    if (
        positions.dtype != np.dtype("<i4")
        or positions.ndim != 1
        or not ((np.diff(positions, prepend=-1, append=len(sizes)) > 0).all())
    ):
        raise FileFormatError(f"{_VARYING} must be int32, ascending, of attributes")
    array_of(arrays, _MESSAGES, np.dtype("<f8"), (messages.size,))
    varying[positions] = True
    factors = int(varying[workload.closure.attribute_of_factor].sum()) if len(positions) else 0
    index = _index_from_arrays(arrays, {_ATTRIBUTES: len(sizes), _FACTORS: factors}, len(stored))
    of_attribute, of_factor = index[: len(sizes)], index[len(sizes) :]
    if (of_factor < 0).any():
        raise FileFormatError(f"{_FACTORS} must name a basis that is stored for every factor")
    plain, rank = np.unique(sizes[of_attribute < 0], return_inverse=True)
    of_attribute[of_attribute < 0] = len(stored) + rank
    bases = (*stored, *map(subtraction_basis, plain.tolist()))
    return Strategy(workload.closure, bases, of_attribute, varying, of_factor, messages)


def _matrices_to_arrays(bases: Sequence[Basis]) -> tuple[list[str], dict[str, NDArray[Any]], NDArray[np.int32]]:
    """The family and the matrix of each distinct basis, and which of them each is: -1 for the subtraction basis."""
    found: dict[tuple[str, tuple[int, bytes]], int] = {}
    arrays: dict[str, NDArray[Any]] = {}
    index = np.full(len(bases), -1, dtype=np.int32)
    for i, basis in enumerate(bases):
        if basis.stored is not None:
            index[i] = found.setdefault((basis.family, basis.key), len(found))
            arrays[f"{BASES}matrix_{index[i]}"] = basis.stored
    return [family for family, _ in found], arrays, index


def _matrices_from_arrays(families: object, arrays: Mapping[str, NDArray[Any]], others: set[str]) -> tuple[Basis, ...]:
    """The distinct bases, whose matrices must be the arrays of bases besides those named in ``others``."""
    if not isinstance(families, list) or not all(isinstance(each, str) and _is_word(each) for each in families):
        raise FileFormatError("a plan must list the families of its bases")
    names = [f"{BASES}matrix_{number}" for number in range(len(families))]
    if {name for name in arrays if name.startswith(BASES)} != {*others, *names}:
        raise FileFormatError(
            "a plan must have a matrix for each basis, and which attribute has which; where attributes vary, which "
            "basis every factor has, and messages"
        )
    stored = tuple(_basis(name, family, arrays[name]) for name, family in zip(names, families, strict=True))
    if len(_matrices_to_arrays(stored)[0]) != len(families):
        raise FileFormatError("a plan must have each basis once")
    return stored


def _index_from_arrays(arrays: Mapping[str, NDArray[Any]], counts: Mapping[str, int], bases: int) -> NDArray[np.int64]:
    """Which of so many bases each attribute and factor has, from the arrays named in ``counts``, with their lengths."""
    parts = [array_of(arrays, name, np.dtype("<i4"), (count,)) for name, count in counts.items()]
    index = np.concatenate(parts).astype(np.int64)
    if list(dict.fromkeys(index[index != -1].tolist())) != list(range(bases)):
        raise FileFormatError("the bases of a plan must be numbered in the order in which they are used")
    return index


def _basis(name: str, family: str, matrix: NDArray[Any]) -> Basis:
    if matrix.dtype != np.dtype("<i8"):
        raise FileFormatError(f"{name} must be int64, got {matrix.dtype}")
    try:
        if matrix.ndim != 1:
            return integer_basis(matrix, family)
        from residualplanner.more.nested.nested import nested_basis_of_array  # a door

        return nested_basis_of_array(matrix, family)
    except WorkloadError as error:
        raise FileFormatError(f"invalid {name}: {error}") from error


def _is_word(family: str) -> bool:
    return len(family) <= 40 and family.isidentifier() and family.islower() and family != "subtraction"
