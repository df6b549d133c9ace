"""Bases by set as arrays for files: each matrix of whole numbers once, which place has which, and the messages.

Reads: bases by set, or a header and arrays somebody hands over.  Gives: arrays, or bases whose numbers are computed
anew.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.bases import subtraction_basis
from residualplanner.errors import FileFormatError
from residualplanner.plan.basis_arrays import BASES, index_from_array, matrices_from_arrays, matrices_to_arrays
from residualplanner.strategy import BasesBySet
from residualplanner.workload import Workload

_INDEX, _MESSAGES = f"{BASES}of_place", f"{BASES}messages"


def are_by_set(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether the arrays of a plan hold bases by set."""
    return _INDEX in arrays


def by_set_to_arrays(by_set: BasesBySet) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The family of each distinct basis, in order of first use, and arrays.

    The arrays are a matrix for each, which of them every place has, (places,): -1 for the subtraction basis; and the
    messages.

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> bases = (integer_basis([[1, -1]], "given"), subtraction_basis(3), integer_basis([[2, -1]], "given"))
        >>> families, arrays = by_set_to_arrays(BasesBySet(closure, bases, np.array([0, 1, 2, 1]), np.zeros(2)))
        >>> families, sorted(arrays), arrays["bases/of_place"].tolist()
        (['given', 'given'], ['bases/matrix_0', 'bases/matrix_1', 'bases/messages', 'bases/of_place'], [0, -1, 1, -1])
    """
    used = list(dict.fromkeys(by_set.of_place.tolist()))
    families, arrays, numbers = matrices_to_arrays([by_set.bases[code] for code in used])
    number_of = dict(zip(used, numbers.tolist(), strict=True))
    index = np.array([number_of[code] for code in by_set.of_place.tolist()], dtype=np.int32)
    return families, arrays | {_INDEX: index, _MESSAGES: by_set.messages}


def by_set_from_arrays(workload: Workload, families: object, arrays: Mapping[str, NDArray[Any]]) -> BasesBySet:
    """Undo `by_set_to_arrays`, checking everything: what follows from the matrices is computed.

    Raises:
        FileFormatError: arrays or families are missing, superfluous, of the wrong type or shape, in another order, or
            a matrix is no basis.
        WorkloadError: the bases of an attribute do not fit one another, or there are more or fewer messages than they
            need.
    """
    stored = matrices_from_arrays(families, arrays, others={_INDEX, _MESSAGES})
    places = workload.closure.attribute_of_place
    index = index_from_array(_INDEX, arrays[_INDEX], count=len(places), bases=len(stored))
    messages = arrays[_MESSAGES]
    if messages.dtype != np.dtype("<f8") or messages.ndim != 1:
        raise FileFormatError(f"{_MESSAGES} must be float64 of one axis, got {messages.dtype} {messages.shape}")
    sizes = np.array(workload.domain.sizes, dtype=np.int64)[places]
    codes, of_place = np.unique(np.where(index < 0, -sizes, index), return_inverse=True)
    bases = tuple(subtraction_basis(-code) if code < 0 else stored[code] for code in codes.tolist())
    return BasesBySet(workload.closure, bases, of_place, messages)
