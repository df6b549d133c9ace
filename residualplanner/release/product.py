"""What the numbers of a release are: unbiased estimates, or something that was made from these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import FloatArray, frozen, is_unicode
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.json import json_text
from residualplanner.method.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Product:
    """What the numbers of a release are.

    Attributes:
        is_nonnegative: whether they were made non-negative.
        is_rounded: whether they were made integers.
        facts: public facts from elsewhere that they were made with, in words; these are not protected.
        base: what rounded numbers are multiples of.

    Example:
        >>> UNBIASED.mark, Product(is_nonnegative=True).mark
        ('', 'non-negative; estimates are biased')
        >>> Product(is_nonnegative=True, is_rounded=True).name
        'non-negative rounded'
    """

    is_nonnegative: bool = False
    is_rounded: bool = False
    facts: tuple[str, ...] = ()
    base: int = 1

    @property
    def is_unbiased(self) -> bool:
        """Whether errors of the plan are those of the numbers."""
        return not (self.is_nonnegative or self.is_rounded)

    @property
    def name(self) -> str:
        """What files and messages call it: "unbiased", "non-negative", "rounded" or "non-negative rounded"."""
        return " ".join(self._of_each("non-negative", "rounded")) or "unbiased"

    @property
    def mark(self) -> str:
        """What a reader has to know about the numbers, in a phrase; empty where they are unbiased."""
        if self.is_unbiased:
            return ""
        whole = "integers" if self.base == 1 else f"multiples of {self.base}"
        made = " and ".join(self._of_each("non-negative", f"rounded to {whole} that add up"))
        return f"{made}; estimates {'are' if self.is_nonnegative else 'may be'} biased"

    @property
    def ending(self) -> str:
        """What the name of a column of its numbers ends with."""
        return "".join(self._of_each("_nonneg", "_rounded"))

    @property
    def columns(self) -> tuple[str, str]:
        """The names of the columns of its numbers, and of standard errors, which are those of unbiased estimates."""
        return f"estimate{self.ending}", "std_err" if self.is_unbiased else "std_err_unbiased"

    @property
    def elsewhere(self) -> str:
        """The sentence about facts from other sources; empty where there are none."""
        if not self.facts:
            return ""
        return "Public facts from other sources, not protected by this release: " + "; ".join(self.facts) + "."

    @property
    def caution(self) -> str:
        """The mark as a sentence; empty for unbiased estimates."""
        return self.mark and f"These numbers are {self.mark}; standard errors are those of the unbiased estimates."

    @property
    def sentences(self) -> str:
        """Both sentences, for people; empty for unbiased estimates."""
        return "  ".join(filter(None, (self.caution, self.elsewhere)))

    def require_unbiased(self, what: str) -> None:
        """Raise WorkloadError, naming what was requested, unless the numbers are unbiased."""
        if not self.is_unbiased:
            raise WorkloadError(
                f"{what} is known of unbiased estimates only, and these are {self.mark}; ask the release that they "
                "were made from: its tables have the same queries"
            )

    def to_json(self) -> dict[str, Any]:
        """The product as JSON values."""
        about = {"name": self.name, "mark": self.mark, "facts": list(self.facts), "statement": self.elsewhere}
        return about if self.base == 1 else about | {"base": self.base}

    def _of_each(self, nonnegative: str, rounded: str) -> list[str]:
        return [nonnegative] * self.is_nonnegative + [rounded] * self.is_rounded


#: Estimates as they follow from the noisy answers.
UNBIASED = Product()


def product_of_json(stated: object) -> Product:
    """Undo `Product.to_json`; unbiased where nothing is stated.  FileFormatError where it is something else."""
    if stated is None:
        return UNBIASED
    facts: Any
    facts, base = (stated.get("facts"), stated.get("base", 1)) if isinstance(stated, Mapping) else (None, 1)
    texts = [fact for fact in facts if isinstance(fact, str) and is_unicode(fact)] if isinstance(facts, list) else []
    if texts == facts and type(base) is int and base >= 1:
        for is_nonnegative, is_rounded in ((True, False), (False, True), (True, True)):
            product = Product(is_nonnegative, is_rounded, tuple(texts), base)
            if (is_rounded or base == 1) and json_text(product.to_json()) == json_text(stated):
                return product
    raise FileFormatError("it does not say what its numbers are")


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """The unbiased estimates that the numbers of a table were made from, and the counts that are possible.

    Attributes:
        estimate (q_1, .., q_k): unbiased, in counts.
        least (q_1, .., q_k): no true count is smaller: 0, or what is known; minus infinity where nothing is.
        most (q_1, .., q_k): no true count is larger: what is known, or infinity.
    """

    estimate: FloatArray
    least: FloatArray
    most: FloatArray

    def interval(self, margin: FloatArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The intervals of the unbiased estimates, cut at the counts that are possible.

        The ``margin`` (q_1, .., q_k) is the error of these estimates.  An end that is impossible becomes the nearest
        possible count: so every true count that the interval had is still in it.
        """
        low, high = self.estimate - margin, self.estimate + margin
        return np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)

    def each(self, change: Callable[[FloatArray], Any]) -> "Origin":
        """Of the table with its cells moved, chosen or summed up by a function of arrays."""
        return Origin(*(frozen(np.asarray(change(part))) for part in (self.estimate, self.least, self.most)))


def unlimited(estimate: FloatArray) -> Origin:
    """The origin of numbers of which nothing else is known: any count is possible."""
    bound = np.broadcast_to(np.inf, estimate.shape)
    return Origin(estimate, -bound, bound)


@dataclass(frozen=True, eq=False, slots=True)
class Provenance:
    """Where the numbers of a table come from."""

    plan: Plan
    product: Product = UNBIASED
    origin: Origin | None = None  # what they were made from; None where they are unbiased, or come from a file
    warning: str = ""  # what is said of their noise where privacy is not guaranteed
    measurement: NoisyAnswers | None = None  # which they follow from
