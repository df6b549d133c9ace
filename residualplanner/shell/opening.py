"""The ledger of a session: given, opened, or begun.

Reads: a ledger or the path of one, and what it is expected to state.  Gives: Ledger.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from residualplanner.gate.ledger import Ledger
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import BudgetError
from residualplanner.method.privacy import Budget, Notion


@dataclass(frozen=True, slots=True)
class ExpectedTerms:
    """What a ledger states, as far as a user has said it: the terms of a new one, and a check of one that exists.

    Attributes:
        budget: the most that all releases may cost together.
        data_set: the name of the data set.
        neighbors: the notion of neighbors of all charges.
        records_per_person: the most records of one person.
    """

    budget: Budget | None = None
    data_set: str | None = None
    neighbors: Notion | None = None
    records_per_person: int | None = None

    def require_stated(self, ledger: Ledger) -> None:
        """Raise BudgetError where the ledger states something else; its terms never change."""
        for name in self.__slots__:
            expected, stated = getattr(self, name), getattr(ledger, name)
            if expected is not None and not _is_same(expected, stated):
                words = repr(expected) if isinstance(expected, type(stated)) else value_text(expected)
                raise BudgetError(
                    f"the ledger was begun with {name} {stated!r}, which never changes; got {words}: "
                    "leave it out, or begin another ledger, for other people's records"
                )

    def begin(self, path: PathLike | None) -> Ledger:
        """Begin a ledger with these terms: in a new file, or in memory.

        Raises:
            BudgetError: there is no budget, or a term is invalid.
            FileExistsError, OSError: as `Ledger.create`.
        """
        if self.budget is None:
            missing = "" if path is None else f"there is no ledger {os.fspath(path)} yet; "
            raise BudgetError(
                f"{missing}a session needs a ledger that exists, or the budget of all releases from these records "
                'together, such as budget=zcdp(1); where there is no limit, ledger=Ledger.unlimited("why")'
            )
        given = {name: getattr(self, name) for name in ("data_set", "neighbors", "records_per_person")}
        terms: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if path is None:
            return Ledger(self.budget, **terms)
        return Ledger.create(path, budget=self.budget, **({"data_set": Path(path).stem} | terms))


def _is_same(expected: object, stated: object) -> bool:
    """Whether two terms mean the same; budgets do where they allow the same cost, however they are written."""
    if isinstance(expected, Budget) and isinstance(stated, Budget):
        return expected.pcost_exact == stated.pcost_exact
    return expected == stated


def opened_ledger(ledger: Ledger | PathLike | None, expected: ExpectedTerms) -> Ledger:
    """The ledger itself; the one in a file; or a new one, where there is no such file or none is named.

    Raises:
        BudgetError: it states something other than what is expected; or there is none, and no budget to begin one.
        FileFormatError: the file is damaged.
        OSError: it cannot be read, made or locked.
    """
    if ledger is None:
        return expected.begin(None)
    if isinstance(ledger, Ledger):
        found = ledger
    elif isinstance(ledger, str | os.PathLike):
        found = _in_file(ledger, expected)
    else:
        raise BudgetError(f"ledger must be a Ledger or the path of one, got {type(ledger).__name__}")
    expected.require_stated(found)
    return found


def _in_file(path: PathLike, expected: ExpectedTerms) -> Ledger:
    """The ledger in a file, which another process may begin at the same time."""
    if not os.path.lexists(path):
        try:
            return expected.begin(path)
        except FileExistsError:
            pass
    return Ledger.open(path)
