"""Targets as a JSON value and an array, for the files of plans; checked again when they come back.

Reads: Targets, or what a file says.  Gives: a header and an array, or Targets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.errors import BudgetError, FileFormatError
from residualplanner.losses import Targets

#: The array of margins, one for each query, 0 where there is none.
TARGETS = "targets"


def targets_to_arrays(targets: Targets | None) -> tuple[dict[str, float] | None, dict[str, NDArray[Any]]]:
    """The level and the share of the others, and the margins (q,) as a plan holds them."""
    if targets is None:
        return None, {}
    assert isinstance(targets.margins, np.ndarray)  # a plan has them so
    return {"level": float(targets.level), "others": float(targets.others)}, {TARGETS: np.nan_to_num(targets.margins)}


def targets_from_arrays(count: int, header: Any, arrays: Mapping[str, NDArray[Any]]) -> Targets | None:
    """Undo `targets_to_arrays` for a workload of ``count`` queries.

    Raises:
        FileFormatError: they are of another form, or cannot be.
    """
    if header is None:
        return None
    if not isinstance(header, dict) or set(header) != {"level", "others"}:
        raise FileFormatError("a plan's targets must have a level and a share for others, and nothing else")
    margins = arrays[TARGETS]
    if margins.dtype != np.dtype("<f8") or margins.shape != (count,) or not (margins >= 0).all() or not margins.any():
        raise FileFormatError("a plan's targets must be a number, at least 0, for each query, and not all 0")
    try:
        targets = Targets(np.where(margins > 0, margins, np.nan), header["level"], header["others"])
    except BudgetError as error:
        raise FileFormatError(f"a plan's targets cannot be: {error}") from error
    if not np.isfinite(margins).all():
        raise FileFormatError("a plan's targets must be finite")
    return targets
