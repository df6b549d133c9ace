"""The bases of a plan as arrays for files: each matrix of whole numbers once, and which attribute has which.

Reads: bases, or a header and arrays somebody hands over.  Gives: arrays, or bases whose numbers are computed anew.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.bases import Basis, integer_basis, subtraction_basis
from residualplanner.domain import Domain
from residualplanner.errors import FileFormatError, WorkloadError

#: What the names of all arrays of bases begin with.
BASES = "bases/"
_INDEX = f"{BASES}of_attribute"


def bases_to_arrays(bases: Sequence[Basis]) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The family of each distinct basis, in order of first use, and arrays.

    The arrays are a matrix for each, and which of them every attribute has, (d,): -1 for the subtraction basis.

    Example:
        >>> families, arrays = bases_to_arrays([subtraction_basis(3), integer_basis([[1, -1]], "given")])
        >>> families, sorted(arrays), arrays["bases/of_attribute"].tolist()
        (['given'], ['bases/matrix_0', 'bases/of_attribute'], [-1, 0])
    """
    families, arrays, index = matrices_to_arrays(bases)
    return families, arrays | {_INDEX: index}


def bases_from_arrays(domain: Domain, families: object, arrays: Mapping[str, NDArray[Any]]) -> tuple[Basis, ...]:
    """Undo `bases_to_arrays`, checking everything: the parts u and G and the costs are computed from the matrices.

    Raises:
        FileFormatError: arrays or families are missing, superfluous, of the wrong type or shape, in another order, or
            a matrix is no basis.
    """
    stored = matrices_from_arrays(families, arrays, others={_INDEX})
    index = index_from_array(_INDEX, arrays[_INDEX], count=len(domain), bases=len(stored))
    return tuple(
        subtraction_basis(size) if number < 0 else stored[number]
        for size, number in zip(domain.sizes, index.tolist(), strict=True)
    )


def matrices_to_arrays(bases: Sequence[Basis]) -> tuple[list[str], dict[str, NDArray[Any]], NDArray[np.int32]]:
    """The family and the matrix of each distinct basis, in order of first use, and which of them each is.

    Args:
        bases: with repetition; -1 stands for a subtraction basis.
    """
    found: dict[tuple[str, int, bytes], int] = {}
    arrays: dict[str, NDArray[Any]] = {}
    index = np.full(len(bases), -1, dtype=np.int32)
    for place, basis in enumerate(bases):
        if basis.matrix is not None:
            key = (basis.family, basis.size, basis.matrix.tobytes())
            index[place] = found.setdefault(key, len(found))
            arrays[f"{BASES}matrix_{index[place]}"] = basis.matrix
    return [family for family, _, _ in found], arrays, index


def matrices_from_arrays(
    families: object, arrays: Mapping[str, NDArray[Any]], *, others: set[str]
) -> tuple[Basis, ...]:
    """The distinct bases whose families and matrices `matrices_to_arrays` gave.

    Args:
        families: of the bases.
        arrays: their matrices, and others, whose names may begin differently.
        others: the names of the arrays that are to stand beside the matrices.

    Raises:
        FileFormatError: arrays or families are missing, superfluous, of the wrong type or shape, or twice, or a matrix
            is no basis.
    """
    if not isinstance(families, list) or not all(isinstance(each, str) and _is_word(each) for each in families):
        raise FileFormatError("a plan must list the families of its bases")
    names = [f"{BASES}matrix_{number}" for number in range(len(families))]
    if {name for name in arrays if name.startswith(BASES)} != {*others, *names}:
        raise FileFormatError("a plan must have a matrix for each basis, and which attribute has which")
    stored = tuple(_basis(name, family, arrays[name]) for name, family in zip(names, families, strict=True))
    if len(matrices_to_arrays(stored)[0]) != len(families):
        raise FileFormatError("a plan must have each basis once")
    return stored


def index_from_array(name: str, index: NDArray[Any], *, count: int, bases: int) -> NDArray[np.int32]:
    """Which basis each of ``count`` attributes or places has, as `matrices_to_arrays` gave it.

    Raises:
        FileFormatError: it is of the wrong type or shape, or does not name all ``bases`` in order of first use.
    """
    if index.dtype != np.dtype("<i4") or index.shape != (count,):
        raise FileFormatError(f"{name} must be int32 of shape {(count,)}, got {index.dtype} {index.shape}")
    if list(dict.fromkeys(index[index != -1].tolist())) != list(range(bases)):
        raise FileFormatError("the bases of a plan must be numbered in the order in which they are used")
    return index


def _basis(name: str, family: str, matrix: NDArray[Any]) -> Basis:
    if matrix.dtype != np.dtype("<i8"):
        raise FileFormatError(f"{name} must be int64, got {matrix.dtype}")
    try:
        return integer_basis(matrix, family)
    except WorkloadError as error:
        raise FileFormatError(f"{name} cannot be: {error}") from error


def _is_word(family: str) -> bool:
    return len(family) <= 40 and family.isidentifier() and family.islower() and family != "subtraction"
