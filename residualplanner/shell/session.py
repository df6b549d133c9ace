"""A session: one data set, one budget, and every measurement charged."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

from residualplanner.gate.ledger import Balance, Ledger
from residualplanner.gate.measurement.measure import measure, require_measurable
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.sources.source import Progress
from residualplanner.gate.spend import entrance
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import Number, require_type, untold, value_text, within
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import Budget, Notion
from residualplanner.method.workload.workload import Workload
from residualplanner.release.devices import Device, device_of
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.release import Release

if TYPE_CHECKING:
    from residualplanner.fits.synthesis.records import SyntheticRecords


@final
class Session:
    """The records of one data set, and the budget for all that is released from them.

    Every plan that a session measures is charged to its ledger before noise is drawn, and refused, before a record is
    read, if it costs more than what is left.  A ledger in a file outlives the session: the next one, in any
    process, goes on with what is left, and several may be at work at once.

    Args:
        data: the records, as for `measure`; they are read by `measure` and `release` alone.
        ledger: the path of a ledger, which is begun with ``budget`` if there is no such file; or a `Ledger`.  By
            default one in memory, which is gone with the process, so that nothing adds up what others spend.
        budget: the most that all releases from these records may cost together; of a ledger that exists, its own.
        data_set: the name its curator gives the data set; of a new ledger the name of its file if not given.
        neighbors: the notion of neighbors of all plans, "add-remove" or "replace"; of a new ledger "add-remove" if not
            given.
        records_per_person: how many records one person has at most; of a new ledger 1 if not given.

    Raises:
        BudgetError: there is neither a ledger nor a budget, the ledger that exists was begun with other terms, or one
            of them is invalid; a budget that does not hold for discrete noise, such as ``gdp(1)``, begins no ledger.
        FileFormatError: the ledger's file is damaged.
        OSError: it cannot be read, made or locked.

    Guarantees: all that is released through sessions with one ledger satisfies the ledger's budget.
    Source: docs/mathematics.md section 1: the costs of releases from the same records add up.

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, marginals, zcdp
        >>> session = Session(np.array([[0, 0], [1, 2], [1, 1]]), budget=zcdp(1), data_set="visits")
        >>> workload = marginals(Domain({"sex": 2, "age": 3}), up_to=2)
        >>> release = session.release(session.select(workload, fraction="1/4"))
        >>> session
        <Session of 'visits': 0.25-zCDP of 1-zCDP is spent, 0.75-zCDP is left>
    """

    __slots__ = ("_data", "_ledger")

    def __init__(
        self,
        data: object,
        *,
        ledger: Ledger | PathLike | None = None,
        budget: Budget | None = None,
        data_set: str | None = None,
        neighbors: Notion | None = None,
        records_per_person: int | None = None,
    ) -> None:
        try:
            protected = {"neighbors": neighbors, "records_per_person": records_per_person}
            self._ledger = opened_ledger(ledger, given(budget=budget, data_set=data_set, **protected))
            self._data = data
        finally:
            del data  # so that the traceback of an error does not lead to the records

    @property
    def ledger(self) -> Ledger:
        """What every measurement is charged to; `measure_in_store` and `rap` can be charged to it, too."""
        return self._ledger

    @property
    def balance(self) -> Balance:
        """What is spent and what is left now, the charges of other processes included.

        Raises:
            FileFormatError, OSError: the ledger's file is damaged, or cannot be read.
        """
        return self._ledger.balance

    def balance_after(self, plan: Plan) -> Balance:
        """What would be spent and left once a plan had been measured; nothing is charged, and no record is read.

        Raises:
            BudgetError: measuring would be refused, as the plan costs more than what is left or is for other neighbors.
            WorkloadError, ResourceError, FileFormatError, OSError: as by `measure`.
        """
        remedy = "write session.balance_after(session.select(workload))"
        require_type("session.balance_after", "plan", plan, Plan, remedy)
        return self.balance.after(require_measurable(plan, ledger=self._ledger, again=True))

    def budget_for(self, fraction: Number = 1) -> Budget:
        """The budget of a plan for a fraction of what is left, in the notion in which the whole was stated.

        Args:
            fraction: above 0, and at most 1; int, Fraction, Decimal and str, such as "1/3", are exact.

        Raises:
            BudgetError: there is no limit, nothing is left, or the fraction is out of range.

        Guarantees: smaller than the exact fraction of the exact rest, by less than 1e-10, relative.
        """
        return self.balance.budget_for(fraction)

    def select(self, workload: Workload, *, fraction: Number = 1, **options: Any) -> Plan:
        """The best plan for a fraction of what is left, for the session's neighbors; no record is read.

        Args:
            workload: the queries to publish.
            fraction: as for `budget_for`.
            options: as for `residualplanner.select`: ``loss``, ``bases``, ``gap``, ``time``.

        Raises:
            BudgetError: as by `budget_for`.
            WorkloadError, DomainError, SolverError: as by `residualplanner.select`.
        """
        ledger = self._ledger
        options |= {"neighbors": ledger.neighbors, "records_per_person": ledger.records_per_person}
        return select(workload, budget=self.budget_for(fraction), **options)

    @entrance
    def measure(self, plan: Plan, **options: Any) -> Measurement:
        """Count the records, charge a plan's cost and add exact noise: every call spends the plan's budget once more.

        Args:
            plan: the sets of attributes to measure, and their noise.
            options: as for `residualplanner.measure`: ``charge``, ``again``, ``memory``, ``scratch``, ``progress``.

        Raises:
            BudgetError: the plan costs more than what is left; the message says what would fit; or the ledger
                holds the plan already.
            ArgumentError, FileFormatError, OSError, WorkloadError, ResourceError, DataError, NoiseError,
                UnexpectedError: as by `residualplanner.measure`.

        Guarantees: as `residualplanner.measure`; a plan that does not fit is refused before a record is read.
        """
        return measure(plan, self._data, ledger=self._ledger, **options)

    @entrance
    def release(self, plan: Plan, *, device: Device | str | None = None, **options: Any) -> Release:
        """Measure a plan, and reconstruct all its tables.

        Save the release, or ``release.measurement``, before the process ends: what was charged stays charged.

        Args:
            plan: as for `measure`.
            device: as for `reconstruct`.
            options: as for `measure`.

        Raises:
            ArgumentError, MissingExtraError, DeviceError: the device cannot be used; found before the charge.
            BudgetError, FileFormatError, OSError, WorkloadError, ResourceError, DataError, NoiseError,
                UnexpectedError: as by `measure`.
        """
        measured = None
        try:
            found = device_of(device)
            measured = self.measure(plan, **options)
            return reconstruct(measured, device=found)
        except BaseException as error:
            if measured is not None:
                error.add_note("The measurement is lost; its cost stays charged to the ledger.")
            raise

    @entrance
    def synthesize(
        self,
        domain: Domain,
        *,
        budget: Budget | None = None,
        folder: object | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> "SyntheticRecords":
        """Synthetic records, from what is measured for them in stages, each by what those before it have shown.

        Args:
            domain: the schema.
            budget: what all stages may cost together; all that is left if not given.
            folder: where the answers of each stage are kept: a run that was killed goes on from there.  Without one
                they are lost where making the records fails.
            progress: called with how much is done, and how much there is to do.
            options: as for `residualplanner.synthesize`: ``records``, ``known``, ``impossible``, ``method``, ``seed``.

        Returns:
            The records; their ``release`` has the unbiased tables that were measured, with standard errors.

        Raises:
            BudgetError, FileFormatError, OSError, StoreError, WorkloadError, ResourceError, DataError, DomainError,
                NoiseError, UnexpectedError: as by `measure_in_stages` and `synthesize`.
        """
        from residualplanner.fits.stages.measuring import measure_in_stages  # a door
        from residualplanner.fits.stages.staged_plan import StagedPlan  # a door
        from residualplanner.fits.synthesis.records import synthesize  # a door

        report, ledger = progress or untold, self._ledger
        terms: dict[str, Any] = {"neighbors": ledger.neighbors, "records_per_person": ledger.records_per_person}
        plan = StagedPlan(domain, budget=budget or self.budget_for(), **terms)
        staged = measure_in_stages(plan, self._data, ledger=ledger, folder=folder, progress=within(report, 0, 20))
        return synthesize(staged, progress=within(report, 20, 100), **options)

    def __repr__(self) -> str:
        try:
            words = self.balance.text
        except (OSError, FileFormatError):
            words = "its ledger cannot be read"
        return f"<Session of {self._ledger.data_set!r}: {words}>"

    def _repr_html_(self) -> str:
        return self._ledger._repr_html_()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session holds records; open another one, with the same ledger, where it is needed")


def given(**stated: Any) -> dict[str, Any]:
    """What a user has said, by name."""
    return {name: value for name, value in stated.items() if value is not None}


def require_stated(ledger: Ledger, terms: Mapping[str, Any]) -> None:
    """Raise BudgetError where a ledger states other terms than these; they never change."""
    for name, expected in terms.items():
        stated = getattr(ledger, name)
        is_same = expected == stated
        if isinstance(expected, Budget) and isinstance(stated, Budget):  # however they are written
            is_same = expected.pcost_exact == stated.pcost_exact
        if not is_same:
            words = repr(expected) if isinstance(expected, type(stated)) else value_text(expected)
            raise BudgetError(
                f"the ledger was begun with {name} {stated!r}, which never changes; got {words}: "
                "leave it out, or begin another ledger, for other people's records"
            )


def begun_ledger(path: PathLike | None, terms: Mapping[str, Any]) -> Ledger:
    """A new ledger with these terms: in a new file, or in memory; BudgetError without a budget."""
    if "budget" not in terms:
        missing = "" if path is None else f"there is no ledger {os.fspath(path)} yet; "
        raise BudgetError(
            f"{missing}a session needs a ledger that exists, or the budget of all releases from these records "
            'together, such as budget=zcdp(1); where there is no limit, ledger=Ledger.unlimited("why")'
        )
    return Ledger(**terms) if path is None else Ledger.create(path, **{"data_set": Path(path).stem, **terms})


def opened_ledger(ledger: Ledger | PathLike | None, terms: Mapping[str, Any]) -> Ledger:
    """The ledger itself; the one in a file; or a new one; BudgetError where it states other terms than these."""
    if ledger is None:
        return begun_ledger(None, terms)
    if not isinstance(ledger, Ledger | str | os.PathLike):
        raise BudgetError(f"ledger must be a Ledger or the path of one, got {type(ledger).__name__}")
    if not isinstance(ledger, Ledger):
        if not os.path.lexists(ledger):
            with suppress(FileExistsError):  # another process may begin it at the same time
                return begun_ledger(ledger, terms)
        ledger = Ledger.open(ledger)
    require_stated(ledger, terms)
    return ledger
