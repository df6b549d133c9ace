"""What is said to readers: who publishes tables, and how noisy estimates are beside their size.

Nothing here has seen a true count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.json import json_text
from residualplanner.method.domain.attribute import Words

#: What is said of an estimate, from the least noisy to the noisiest.
RELIABLE, CAUTION, UNRELIABLE = "reliable", "use with caution", "unreliable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication(Words):
    """What is said to readers about all tables of a release together.  It changes no number; what is empty is left out.

    Attributes:
        title: of the publication.
        author: the people or the office that publish it.
        date: of publication, such as "2026-11-22".
        contact: where questions are answered, such as an address of e-mail.
        source: where the records are from.
        note: anything else.

    Raises:
        DomainError: one of them is not a string, not valid Unicode, or has more than 10,000 letters.

    Example:
        >>> Publication(title="Income in 2020", author="Office of Statistics").to_json()
        {'title': 'Income in 2020', 'author': 'Office of Statistics'}
    """

    subject = "a publication"

    title: str = ""
    author: str = ""
    date: str = ""
    contact: str = ""
    source: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How large the coefficient of variation of an estimate may be, and whether estimates above that are suppressed.

    The coefficient of variation is the standard error divided by the absolute value of the published estimate.  It
    follows from what is published, so no grade and no suppression depends on a true count, or protects one.

    Attributes:
        reliable: below this an estimate is "reliable"; a fraction, above 0.
        usable: below this it is to "use with caution", else it is "unreliable"; at least ``reliable``.
        suppress: whether files leave out unreliable estimates; their standard errors stay.

    Raises:
        WorkloadError: the limits are not positive finite numbers in this order, or ``suppress`` is not a truth value.

    Example:
        >>> quality = Quality()
        >>> cv = quality.variation(np.array([100.0, -40.0, 2.0, 0.0]), np.array([8.0, 8.0, 8.0, 8.0]))
        >>> cv.tolist(), quality.grades(cv).tolist()
        ([0.08, 0.2, 4.0, nan], ['reliable', 'use with caution', 'unreliable', 'unreliable'])
    """

    reliable: float = 0.15
    usable: float = 0.30
    suppress: bool = False

    def __post_init__(self) -> None:
        for name in ("reliable", "usable"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
                raise WorkloadError(f"{name} must be a positive number such as 0.15, got {value_text(value)}")
            object.__setattr__(self, name, float(value))
        if self.reliable > self.usable:
            raise WorkloadError(f"reliable={self.reliable} must not be above usable={self.usable}")
        if not isinstance(self.suppress, bool):
            raise WorkloadError(f"suppress must be True or False, got {value_text(self.suppress)}")

    def variation(self, estimate: FloatArray, std_err: FloatArray) -> FloatArray:
        """The coefficient of variation of each published estimate (n,), a fraction; nan where that is 0, (n,)."""
        size = np.abs(estimate)
        found = np.full(size.shape, np.nan)
        np.divide(std_err, size, out=found, where=size > 0)
        return found

    def grades(self, variation: FloatArray) -> Any:
        """A word for each coefficient of variation (n,), which are fractions; nan is unreliable, (n,)."""
        return np.select([variation < self.reliable, variation < self.usable], [RELIABLE, CAUTION], UNRELIABLE)

    @property
    def meaning(self) -> str:
        """What the grades mean, in a sentence."""
        gone = "; those that are unreliable are left out" if self.suppress else ""
        return (
            f"{RELIABLE} where the coefficient of variation is below {100 * self.reliable:.6g}%, {CAUTION} "
            f"below {100 * self.usable:.6g}%, else {UNRELIABLE}; from published numbers alone, never from "
            f"true counts{gone}"
        )

    def to_json(self) -> dict[str, Any]:
        """The quality as JSON values."""
        return {"reliable": self.reliable, "usable": self.usable, "suppress": self.suppress}


def quality_of_json(stated: object) -> Quality | None:
    """Undo `Quality.to_json`; None where nothing is stated.  FileFormatError where it is no quality."""
    if stated is None:
        return None
    try:
        quality = Quality(**stated) if isinstance(stated, Mapping) else None
    except (TypeError, WorkloadError):
        quality = None
    if quality is None or json_text(quality.to_json()) != json_text(stated):
        raise FileFormatError("it does not say which estimates are reliable")
    return quality
