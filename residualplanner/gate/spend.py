"""The order of every measurement, count, charge, draw, and what is told where one of them fails.

Everything that can fail on records comes before the charge, and until then there are counts in memory and nothing else.
The charge is on the disk before the first bit of noise is drawn.

Error reporters print the variables of every frame along a traceback, and other libraries quote values.  So an error
that leaves the gate has no traceback, cause or context, and one that is not this library's own loses its text, too.
"""

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Generic, Literal, ParamSpec, TypeVar

from residualplanner.gate.sources.source import Progress
from residualplanner.ground import errors
from residualplanner.ground.checks import value_text
from residualplanner.ground.words import CHARGE_UNKNOWN, NOT_CHARGED, TEXT_LIMIT, ChargeTime, charged_text, suggestion
from residualplanner.method.privacy import Budget, Neighbors, claim_of_budget

if TYPE_CHECKING:
    from residualplanner.gate.ledger import Ledger, LedgerEntry

P = ParamSpec("P")
Opened = TypeVar("Opened")
Counted = TypeVar("Counted")
Result = TypeVar("Result")

_TIMES = ("counted", "first")
_TELLS = "That a run fails may itself reveal something of the records."


class WatchedProgress:
    """A report of progress, and the error it raised: that is the caller's own, and passes."""

    def __init__(self, progress: Progress | None) -> None:
        if progress is not None and not callable(progress):
            raise errors.ArgumentError(f"progress must be a function of two numbers, got {value_text(progress)}")
        self.raised: BaseException | None = None
        #: the function to call; None where no progress is reported
        self.report: Progress | None = None if progress is None else partial(self._call, progress)

    def _call(self, progress: Progress, done: int, total: int) -> None:
        try:
            progress(done, total)
        except BaseException as error:
            self.raised = error
            raise


@dataclass(frozen=True, eq=False, slots=True)
class Steps(Generic[Opened, Counted, Result]):
    """What a measurement does, in this order unless the charge comes first."""

    #: looks at names and types of columns, and at what else tells that records cannot be counted
    open: Callable[[], Opened]
    count: Callable[[Opened], Counted]  # does all that can fail on records, and draws nothing
    #: charges the ledger, if there is one; what it raises is the ledger's or a store's own
    charge: "Callable[[], LedgerEntry | None]"
    draw: Callable[[Counted], Result]  # draws the noise, and gives what may be published


def entrance(function: Callable[P, Result]) -> Callable[P, Result]:
    """The function as users call it: what it raises has no history, and comes from a frame without the arguments."""

    @wraps(function)
    def entered(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - it passes, without the frames that hold the records
            outcome = without_history(error)
        finally:
            del args, kwargs
        raise outcome

    return entered


def require_charge_time(charge: object) -> None:
    """Raise BudgetError unless it says when the ledger is charged."""
    if not isinstance(charge, str) or charge not in _TIMES:
        message = f'charge must be "counted" or "first", got {value_text(charge)}{suggestion(charge, _TIMES)}'
        raise errors.BudgetError(message)


def spend(
    steps: Steps[Opened, Counted, Result], *, ledger: "Ledger | None", charge: ChargeTime, progress: WatchedProgress
) -> Result:
    """Do all steps; called by functions that are an `entrance`.

    It raises whatever ends a step, without what it said if that may quote a record; errors of ``progress`` pass.  Where
    there is a ledger, a note says whether it was charged.
    """
    account = _Account(ledger)
    try:
        opened = steps.open()
        if charge == "first":  # so that whoever sees failures learns nothing from what they cost
            account.charge(steps.charge)
        account.stage = "counting"
        counted = steps.count(opened)
        if charge != "first":
            account.charge(steps.charge)
        account.stage = "drawing"
        return steps.draw(counted)
    except BaseException as error:  # noqa: BLE001 - it may have been where the records are
        raise account.told(error, progress) from None


class _Account:
    """How far a measurement is, and what it was charged."""

    def __init__(self, ledger: "Ledger | None") -> None:
        self.stage: Literal["opening", "charging", "counting", "drawing"] = "opening"
        self._ledger = ledger
        self._known: float = math.inf  # entries before the charge; until they are known there is none
        self._entry: LedgerEntry | None = None

    def charge(self, charge: "Callable[[], LedgerEntry | None]") -> None:
        self.stage = "charging"
        self._known = 0 if self._ledger is None else len(self._ledger.entries)
        self._entry = charge()

    def told(self, error: BaseException, progress: WatchedProgress) -> BaseException:
        """The error to raise, with a note on the charge."""
        if self.stage == "charging" and self._entry is None:
            outcome = without_history(error)
            is_told = isinstance(error, errors.ResidualPlannerError | OSError) or bool(getattr(error, "__notes__", ()))
            note = "" if is_told else self._found
        else:
            outcome = shielded(error, progress)
            is_refusal = self.stage == "opening" and isinstance(outcome, errors.ResidualPlannerError)
            fate = NOT_CHARGED if self._entry is None else charged_text(self._entry.cost, self._entry.sequence)
            has_read = self.stage in ("counting", "drawing")
            note = "" if is_refusal else "  ".join([fate, _TELLS] if has_read else [fate])
        if note and self._ledger is not None:
            outcome.add_note(note)
        return outcome

    @property
    def _found(self) -> str:
        """What the ledger says of a charge that was interrupted so late that it could not say so itself."""
        try:
            entries = () if self._ledger is None else self._ledger.entries
        except (OSError, errors.FileFormatError):
            return CHARGE_UNKNOWN
        if len(entries) > self._known:
            return charged_text(entries[-1].cost, entries[-1].sequence)
        return NOT_CHARGED


def shielded(error: BaseException, progress: WatchedProgress) -> BaseException:
    """The error to raise instead of one that was raised where records are; itself if it is harmless.

    Errors of ``progress`` pass, as interrupts do; but their history is removed.
    """
    is_callers = error is progress.raised
    location = errors.location_of(error)
    without_history(error)
    if is_callers:
        error.add_note("It was raised by progress, whose traceback leads to the records and is left out.")
        return error
    if isinstance(error, errors.DataError):
        return errors.DataError(str(error), column=error.column)
    if isinstance(error, errors.ResidualPlannerError) or not isinstance(error, Exception):
        return error
    if isinstance(error, MemoryError):
        return errors.ResourceError(
            "there was not enough memory to measure; ask for fewer or smaller tables, with a lower up_to or with "
            "max_cells, or measure on a machine with more memory"
        )
    return errors.UnexpectedError(
        f"unexpected {type(error).__name__} at {location}.  What it said is withheld, because it may quote a record; "
        "unless a signal handler of yours raised it, this is a defect, please report it"
    )


def without_history(error: BaseException) -> BaseException:
    """The same error, as if it had not been raised yet."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


@cache
def warn_without_ledger() -> None:
    """Say that nothing adds up what is spent: once in a process, at the line that called the gate, an `entrance`."""
    message = (
        "nothing keeps count: these records are measured without a ledger; write Session(records, budget=...), or "
        "ledger=Ledger.open(path); where there is nothing to count, ledger=Ledger.unlimited(reason)"
    )
    functions = [*(frame.function for frame in inspect.stack(0)), "entered"]
    warnings.warn(message, errors.NoLedgerWarning, stacklevel=functions.index("entered") + 2)


@dataclass(frozen=True, slots=True)
class Bill:
    """What is paid for a measurement, as a ledger has it."""

    cost: Fraction  # the exact pcost
    plan_sha256: str  # of the plan
    what: str  # is measured, in words
    budget: Budget  # that it was planned for
    neighbors: Neighbors  # likewise
    again: bool  # whether a plan that the ledger holds already may be charged again

    def charge(self, ledger: "Ledger | None") -> "LedgerEntry | None":
        """Charge a ledger, if there is one; errors are those of `Ledger.charge`, and BudgetError where it is none."""
        return None if ledger is None else self._told(ledger, "charge")

    def require_room(self, ledger: "Ledger | None") -> None:
        """Raise what `charge` would raise now, and charge nothing."""
        if ledger is not None:
            self._told(ledger, "require_room")

    def _told(self, ledger: "Ledger", verb: Literal["charge", "require_room"]) -> "LedgerEntry | None":
        from residualplanner.gate.ledger import Ledger  # who gives none needs none

        if not isinstance(ledger, Ledger):
            raise errors.BudgetError(f"ledger must be a Ledger, such as Ledger.open(path); got {type(ledger).__name__}")
        told = ledger.charge if verb == "charge" else ledger.require_room
        statement = claim_of_budget(self.budget, self.neighbors, noise="discrete").statement
        return told(
            self.cost,
            self.plan_sha256,
            neighbors=self.neighbors.notion,
            records_per_person=self.neighbors.records_per_person,
            label=f"{self.what}, planned for {statement}"[:TEXT_LIMIT],
            again=self.again,
        )
