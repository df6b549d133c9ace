"""The ledger: the total cost of a data set's releases, and whether another one may be made."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, final

from residualplanner.gate.ledger import lines
from residualplanner.gate.ledger.balance import Balance, balance_of, new_entry
from residualplanner.gate.ledger.file import File, Memory, NextLine, after_failed_creation, create_file
from residualplanner.gate.ledger.lines import LedgerAccount, LedgerEntry, LedgerStage, LedgerTerms
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import require_path
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.notebooks import caption_of, html_table
from residualplanner.ground.words import decimal_text_up
from residualplanner.method.privacy import Budget, Neighbors, Notion


@final
class Ledger:
    """All charges for releases from one data set, within one budget.

    ``Ledger(budget)`` lives in memory, in the process that made it.  `Ledger.create` and `Ledger.open` keep it in a
    file, which any number of processes may use at once, and which survives a killed process.

    Args:
        budget: the most that all releases may cost together.
        data_set: the name its curator gives the data set.
        neighbors: the notion of neighbors of all charges: "add-remove" or "replace".
        records_per_person: how many records one person has at most, the same for all charges.

    Raises:
        BudgetError: an argument is invalid.

    Example:
        >>> from fractions import Fraction
        >>> from residualplanner import pcost
        >>> ledger = Ledger(pcost(1))
        >>> ledger.charge(Fraction(1, 3), "0" * 64, neighbors="add-remove").sequence
        1
        >>> ledger.spent, ledger.remaining
        (Fraction(1, 3), Fraction(2, 3))
    """

    __slots__ = ("_store",)
    _store: Memory | File

    def __init__(
        self, budget: Budget, *, data_set: str = "", neighbors: Notion = "add-remove", records_per_person: int = 1
    ) -> None:
        if budget is None:
            raise BudgetError('a ledger needs a budget such as zcdp(1); or say why not: Ledger.unlimited("...")')
        self._store = Memory(LedgerTerms(budget, "", data_set, Neighbors(neighbors, records_per_person)))

    @classmethod
    def unlimited(
        cls, reason: str, *, data_set: str = "", neighbors: Notion = "add-remove", records_per_person: int = 1
    ) -> "Ledger":
        """Begin a ledger in memory that adds up costs and refuses none, for a reason that it records.

        Raises:
            BudgetError: there is no reason, or an argument is invalid.
        """
        return cls._of(Memory(LedgerTerms(None, reason, data_set, Neighbors(neighbors, records_per_person))))

    @classmethod
    def create(
        cls,
        path: PathLike,
        *,
        budget: Budget | None,
        data_set: str,
        neighbors: Notion = "add-remove",
        records_per_person: int = 1,
        reason: str = "",
    ) -> "Ledger":
        """Begin a ledger in a new file.

        Args:
            path: of the file; best on a local disk, since others may not support locks.
            budget: the most that all releases may cost together, or None for no limit.
            data_set: the name its curator gives the data set; nothing computed from the data.
            neighbors: the notion of neighbors of all charges.
            records_per_person: how many records one person has at most.
            reason: why there is no limit, where there is none.

        Raises:
            BudgetError: an argument is invalid.
            FileExistsError: ``path`` exists already.
            OSError: the file cannot be made or locked; a note of the error says whether the ledger exists.
        """
        require_path("Ledger.create", path, 'Ledger.create("people.ledger", budget=zcdp(1), data_set="people")')
        terms = LedgerTerms(budget, reason, data_set, Neighbors(neighbors, records_per_person))
        where = Path(path).absolute()
        try:
            create_file(where, terms.line)
            return cls.open(where)
        except FileExistsError:
            raise FileExistsError(f"{path} exists already; open it, or name another file") from None
        except FileNotFoundError:
            raise FileNotFoundError(f"the folder of {path} does not exist; make it first") from None
        except BaseException as error:
            error.add_note(after_failed_creation(where))
            raise

    @classmethod
    def open(cls, path: PathLike) -> "Ledger":
        """Open the ledger in a file, and check every line of it.

        Raises:
            FileFormatError: a line was edited, removed, repeated or damaged; the message says which.
            FileNotFoundError: there is no such file.
            OSError: it cannot be read or locked.
        """
        require_path("Ledger.open", path, 'Ledger.open("people.ledger")')
        return cls._of(File(Path(path).absolute()))

    @property
    def budget(self) -> Budget | None:
        """The most that all charges may cost together; None for no limit."""
        return self._store.terms.budget

    @property
    def reason(self) -> str:
        """Why there is no limit; empty where there is one."""
        return self._store.terms.reason

    @property
    def data_set(self) -> str:
        """The name its curator gave the data set."""
        return self._store.terms.data_set

    @property
    def neighbors(self) -> Notion:
        """The notion of neighbors of all charges."""
        return self._store.terms.neighbors.notion

    @property
    def records_per_person(self) -> int:
        """How many records one person has at most."""
        return self._store.terms.neighbors.records_per_person

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All charges so far, those of other processes included."""
        return self._store.account().entries

    @property
    def spent(self) -> Fraction:
        """The total pcost of all charges: exact, or rounded up where that has thousands of digits."""
        return self._store.account().spent

    @property
    def remaining(self) -> Fraction | None:
        """The pcost that may still be charged, at least 0; None for no limit."""
        return self.balance.remaining

    @property
    def balance(self) -> Balance:
        """What is spent and what is left at one moment, in the words of the budget, too."""
        return balance_of(self._store.account())

    @property
    def is_torn(self) -> bool:
        """Whether the last line is incomplete, because its writer was killed; see `settle`."""
        return self._store.account().is_torn

    @property
    def last_sha256(self) -> str:
        """The hash of the last complete line, which covers all lines before it."""
        return self._store.account().head

    def __repr__(self) -> str:
        limit = f"unlimited, {self.reason!r}" if self.budget is None else repr(self.budget)
        return f"<Ledger of {self.data_set!r}: {limit}, {self.neighbors}>"

    def _repr_html_(self) -> str:
        now, head = self._store.account(), ["entry", "pcost", "plan", "label"]
        rows = [(each.sequence, decimal_text_up(each.cost), each.plan_sha256[:12], each.label) for each in now.entries]
        return html_table(caption_of(self), head, rows, note=balance_of(now).text)

    def charge(
        self,
        cost: Fraction | int,
        plan_sha256: str,
        *,
        neighbors: Notion,
        records_per_person: int = 1,
        label: str = "",
        again: bool = True,
    ) -> LedgerEntry:
        """Charge the cost of one release, before any noise is drawn for it.

        Args:
            cost: its exact pcost, > 0; one with thousands of digits is rounded up.
            plan_sha256: the hash of its plan.
            neighbors: the notion of neighbors of the cost, which must be the ledger's.
            records_per_person: likewise.
            label: its purpose, for people.
            again: whether a plan that has an entry may be charged once more.

        Returns:
            The entry, which in a file is on the disk by then.

        Raises:
            BudgetError: the cost is more than what is left, is for other neighbors, or is not exact and positive;
                or the plan has an entry and is not to be charged again.
            FileFormatError: the file was not written by this library, or its last line is torn.
            OSError: the file cannot be locked or written; a note of the error says whether the charge counts.

        Guarantees: the charges of all processes and threads together never exceed the budget.
        Cost: reads the file, some fifty microseconds an entry, and forces one write.
        """
        protected = Neighbors(neighbors, records_per_person)
        return self._store.append(self._charging(cost, plan_sha256, label, protected, again=again))

    def require_room(
        self,
        cost: Fraction | int,
        plan_sha256: str,
        *,
        neighbors: Notion,
        records_per_person: int = 1,
        label: str = "",
        again: bool = True,
    ) -> None:
        """Raise what the same `charge` would raise now, and charge nothing."""
        protected = Neighbors(neighbors, records_per_person)
        self._charging(cost, plan_sha256, label, protected, again=again)(self._store.account())

    def require_stages(self, release: str, *, known: Mapping[str, str]) -> None:
        """BudgetError if a stage of a release is recorded that its store does not hold, by digest: it is a copy."""
        self._store.account().require_stages(release, known)

    def record_stage(self, release: str, stage: str, digest: str, *, known: Mapping[str, str]) -> LedgerStage:
        """Record, at no cost, that a release in a store has reached a stage: before noise is drawn, or can be read.

        ``known`` has the digest of each stage that the store holds, and of this; errors as `require_stages`, `charge`.

        Guarantees: of all copies of a store, one alone gets a stage that the others do not hold.
        """
        new = LedgerStage(release, stage, digest)

        def next_stage(account: LedgerAccount) -> LedgerStage:
            account.require_whole()
            account.require_stages(release, known)
            return new

        return self._store.append(next_stage)

    def settle(self, cost: Fraction | int, *, label: str = "settled a torn line") -> LedgerEntry:
        """Say what a torn last line counts for; until then nothing more can be charged.

        Args:
            cost: the pcost to count: that of the plan that was being measured, or in doubt all that is left.
            label: the reason.

        Raises:
            BudgetError: the last line is complete, or the cost is more than what is left.
            FileFormatError: the file was not written by this library.
            OSError: the file cannot be locked or written.
        """
        exact, words = lines.require_cost(cost), lines.require_text("label", label)

        def next_entry(account: LedgerAccount) -> LedgerEntry:
            if not account.is_torn:
                raise BudgetError("the last line of the ledger is complete; there is nothing to settle")
            return new_entry(account, exact, "", words)

        return self._store.append(next_entry)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a copy of a ledger would spend the same budget again; open its file where it is needed")

    def _charging(
        self, cost: Fraction | int, plan_sha256: str, label: str, neighbors: Neighbors, *, again: bool
    ) -> NextLine[LedgerEntry]:
        exact, plan = lines.require_cost(cost), lines.require_hash(plan_sha256)
        words, mine = lines.require_text("label", label), self._store.terms.neighbors
        if neighbors != mine:
            raise BudgetError(
                f"the ledger adds up costs for {mine.words}; this one is for {neighbors.words}; costs for different "
                "neighbors do not add up"
            )

        def next_entry(account: LedgerAccount) -> LedgerEntry:
            account.require_whole()
            if not again:
                account.require_new(plan, exact)
            return new_entry(account, exact, plan, words)

        return next_entry

    @classmethod
    def _of(cls, store: Memory | File) -> "Ledger":
        ledger = cls.__new__(cls)
        ledger._store = store
        return ledger
