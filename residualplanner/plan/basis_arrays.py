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
    found: dict[tuple[str, int, bytes], int] = {}
    arrays: dict[str, NDArray[Any]] = {}
    index = np.full(len(bases), -1, dtype=np.int32)
    for attribute, basis in enumerate(bases):
        if basis.matrix is not None:
            key = (basis.family, basis.size, basis.matrix.tobytes())
            index[attribute] = found.setdefault(key, len(found))
            arrays[f"{BASES}matrix_{index[attribute]}"] = basis.matrix
    return [family for family, _, _ in found], arrays | {_INDEX: index}


def bases_from_arrays(domain: Domain, families: object, arrays: Mapping[str, NDArray[Any]]) -> tuple[Basis, ...]:
    """Undo `bases_to_arrays`, checking everything: the parts u and G and the costs are computed from the matrices.

    Raises:
        FileFormatError: arrays or families are missing, superfluous, of the wrong type or shape, in another order, or
            a matrix is no basis.
    """
    if not isinstance(families, list) or not all(isinstance(each, str) and _is_word(each) for each in families):
        raise FileFormatError("a plan must list the families of its bases")
    names = [f"{BASES}matrix_{number}" for number in range(len(families))]
    if {name for name in arrays if name.startswith(BASES)} != {_INDEX, *names}:
        raise FileFormatError("a plan must have a matrix for each basis, and which attribute has which")
    index = arrays[_INDEX]
    if index.dtype != np.dtype("<i4") or index.shape != (len(domain),):
        raise FileFormatError(f"{_INDEX} must be int32 of shape {(len(domain),)}, got {index.dtype} {index.shape}")
    if list(dict.fromkeys(index[index != -1].tolist())) != list(range(len(families))):
        raise FileFormatError("the bases of a plan must be numbered in the order in which attributes use them")
    stored = [_basis(name, family, arrays[name]) for name, family in zip(names, families, strict=True)]
    bases = tuple(
        subtraction_basis(size) if number < 0 else stored[number]
        for size, number in zip(domain.sizes, index.tolist(), strict=True)
    )
    if len(bases_to_arrays(bases)[0]) != len(families):
        raise FileFormatError("a plan must have each basis once")
    return bases


def _basis(name: str, family: str, matrix: NDArray[Any]) -> Basis:
    if matrix.dtype != np.dtype("<i8"):
        raise FileFormatError(f"{name} must be int64, got {matrix.dtype}")
    try:
        return integer_basis(matrix, family)
    except WorkloadError as error:
        raise FileFormatError(f"{name} cannot be: {error}") from error


def _is_word(family: str) -> bool:
    return len(family) <= 40 and family.isidentifier() and family.islower() and family != "subtraction"
