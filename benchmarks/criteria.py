"""What the project wants of very many tables: a number that was found, beside the most or the least that it may be."""

from typing import Any, NamedTuple

SIGNS = {"<=": "at most", ">=": "at least"}


class Criterion(NamedTuple):
    """One thing that is wanted.

    Attributes:
        criterion: its number in the project's list.
        what: in words, with its unit.
        found: the number that was measured.
        sign: whether ``limit`` is the most that it may be, or the least.
        limit: the number to compare with.
        rows: the names of the measurements that it was found from.
    """

    criterion: str
    what: str
    found: float
    sign: str
    limit: float
    rows: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        return self.found <= self.limit if self.sign == "<=" else self.found >= self.limit

    @property
    def row(self) -> dict[str, Any]:
        return self._asdict() | {"is_met": self.is_met}

    def __str__(self) -> str:
        mark = "" if self.is_met else "  MISSED"
        return f"criterion {self.criterion}: {self.what}: {self.found:.4g} {self.sign} {self.limit}{mark}"
