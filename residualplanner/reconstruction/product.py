"""What the numbers of a release are: unbiased estimates, or something that was made from these.

Reads: words.  Gives: Product, and the facts that it was made with; JSON values and back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from residualplanner._json import json_text
from residualplanner.errors import FileFormatError, WorkloadError

#: How many letters a fact may have in a file.
_LETTERS = 10_000


@dataclass(frozen=True, slots=True)
class Product:
    """What the numbers of a release are.

    Attributes:
        name: "unbiased", "non-negative", "rounded" or "non-negative rounded".
        facts: what was taken from elsewhere, in words; it is not protected.
        base: what rounded numbers are multiples of.

    Example:
        >>> UNBIASED.mark, Product("non-negative").mark
        ('', 'non-negative; estimates are biased')
    """

    name: str = "unbiased"
    facts: tuple[str, ...] = ()
    base: int = 1

    @property
    def is_unbiased(self) -> bool:
        """Whether errors of the plan are those of the numbers."""
        return self.name == "unbiased"

    @property
    def is_rounded(self) -> bool:
        """Whether the numbers are integers."""
        return self.name.endswith("rounded")

    def rounded_to(self, base: int) -> "Product":
        """The same as multiples of an integer."""
        if self.is_rounded:
            return self
        return Product("rounded" if self.is_unbiased else f"{self.name} rounded", self.facts, base)

    @property
    def mark(self) -> str:
        """What a reader has to know about the numbers, in a phrase; empty where they are unbiased."""
        mark = _MARKS[self.name]
        return mark if self.base == 1 else mark.replace("integers", f"multiples of {self.base}")

    @property
    def ending(self) -> str:
        """What the name of a column of its numbers ends with."""
        return _ENDINGS[self.name]

    @property
    def columns(self) -> tuple[str, str]:
        """The names of the columns of its numbers, and of standard errors, which are those of unbiased estimates."""
        return f"estimate{self.ending}", "std_err" if self.is_unbiased else "std_err_unbiased"

    @property
    def elsewhere(self) -> str:
        """The sentence about what was taken from elsewhere; empty where nothing was."""
        if not self.facts:
            return ""
        return "Taken from elsewhere, as public, and not protected by this release: " + "; ".join(self.facts) + "."

    @property
    def sentences(self) -> str:
        """Mark and sentence, for people; empty for unbiased estimates."""
        about = f"These numbers are {self.mark}; standard errors are those of the unbiased estimates."
        return "  ".join(filter(None, (about if self.mark else "", self.elsewhere)))

    def require_unbiased(self, what: str) -> None:
        """Raise WorkloadError, naming what was asked for, unless the numbers are unbiased."""
        if not self.is_unbiased:
            raise WorkloadError(
                f"{what} is known of unbiased estimates only, and these are {self.mark}; ask the release that they "
                "were made from: its tables have the same queries"
            )

    def to_json(self) -> dict[str, Any]:
        """The product as JSON values."""
        about = {"name": self.name, "mark": self.mark, "facts": list(self.facts), "statement": self.elsewhere}
        return about if self.base == 1 else about | {"base": self.base}


_MARKS = {
    "unbiased": "",
    "non-negative": "non-negative; estimates are biased",
    "rounded": "rounded to integers that add up; estimates may be biased",
    "non-negative rounded": "non-negative and rounded to integers that add up; estimates are biased",
}
_ENDINGS = {
    "unbiased": "",
    "non-negative": "_nonneg",
    "rounded": "_rounded",
    "non-negative rounded": "_nonneg_rounded",
}
#: Estimates as they follow from the noisy answers.
UNBIASED = Product()


def product_of_json(stated: object) -> Product:
    """Undo `Product.to_json`; of a release that states none, unbiased estimates.

    Raises:
        FileFormatError: it is no product.
    """
    if stated is None:
        return UNBIASED
    if not isinstance(stated, Mapping) or stated.get("name") not in _MARKS or not isinstance(stated.get("facts"), list):
        raise _unclear()
    facts = stated["facts"]
    if not all(isinstance(fact, str) and len(fact) <= _LETTERS and fact.isprintable() for fact in facts):
        raise _unclear()
    base = stated.get("base", 1)
    if type(base) is not int or not (base == 1 or (base > 1 and stated["name"].endswith("rounded"))):
        raise _unclear()
    product = Product(stated["name"], tuple(facts), base)
    if product.is_unbiased or json_text(product.to_json()) != json_text(stated):
        raise _unclear()
    return product


def _unclear() -> FileFormatError:
    return FileFormatError("it does not say what its numbers are")
