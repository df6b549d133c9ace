"""The gate of several tables about the same units: it counts all, charges once, and draws the noise of all.

Source: eqs. (145) and (146).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from residualplanner.gate import spend as spending
from residualplanner.gate.measurement.blocks import blocks_held, require_memory
from residualplanner.gate.measurement.counting import count_tables
from residualplanner.gate.measurement.measure import Noise, noise_named, require_noise
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.gate.sources.opening import engines
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import IntArray, require_type
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.words import ChargeTime, count_text
from residualplanner.linked.plan import LinkedPlan
from residualplanner.linked.reading import OpenedTables, in_table, limited_data
from residualplanner.method.privacy import require_discrete
from residualplanner.release.release import Release

if TYPE_CHECKING:
    from residualplanner.gate.ledger import Ledger

#: The exact counts of all tables, which never leave.
_Counts = dict[str, list[IntArray]]


@dataclass(frozen=True, eq=False, repr=False)
class LinkedMeasurement(Mapping[str, Measurement]):
    """A mapping from tables to their measurements.  Everything computed from it is free of cost.

    Attributes:
        plan: what was measured, with how much noise.
        measurements: that of each table.
    """

    plan: LinkedPlan
    measurements: Mapping[str, Measurement]

    def __getitem__(self, name: str) -> Measurement:
        return self.measurements[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plan)

    def __len__(self) -> int:
        return len(self.measurements)

    def __repr__(self) -> str:
        return f"<LinkedMeasurement of {' and '.join(map(repr, self))}{warning_of(self.noise)}>"

    @property
    def noise(self) -> NoiseRecord:
        """How the noise of all tables was drawn, what it cost together, and the sentence that may be signed for it."""
        return noise_of_tables(self.plan, self.measurements)


def noise_of_tables(plan: LinkedPlan, measurements: Mapping[str, Measurement | Release]) -> NoiseRecord:
    """The noise of all tables together, whose costs add up for a unit with all its records.  Source: eq. (146)."""
    own = [measurements[name] for name in plan]
    found = NoiseRecord.of_several([each.plan for each in own], [each.noise for each in own])
    tables, notion = plan.tables, plan.notion
    return replace(found, neighbors=tables.change(notion), omission=tables.omission(notion))


@spending.entrance
def measure(
    plan: LinkedPlan,
    data: Mapping[str, object],
    *,
    noise: str = "discrete",
    seed: int | None = None,
    ledger: "Ledger | None" = None,
    charge: ChargeTime = "counted",
    again: bool = False,
    progress: Progress | None = None,
) -> LinkedMeasurement:
    """Count the records of all tables and add the plan's noise: every call spends the plan's budget once more.

    Where records are added or removed, as many records of each unit count in a table as that says, and computed columns
    follow from these alone.  Which they are is told nowhere.

    Args:
        plan: what is measured of each table, and with how much noise.
        data: the records of each table, by name, as for `residualplanner.measure`, with the column that says whose each
            is.  Tables with computed columns are joined: all their codes are then in memory, or, of frames of Dask and
            PySpark, at each worker those of some units.
        noise: "discrete" or "gaussian", as for `residualplanner.measure`.
        seed: of continuous noise, for research.
        ledger: it is charged once for all tables; it must be for as many records as a unit has in all of them together,
            ``plan.neighbors``.
        charge: as for `residualplanner.measure`.
        again: likewise.
        progress: likewise.

    Returns:
        The noisy answers of all tables.

    Raises:
        ArgumentError, BudgetError, FileFormatError, OSError, WorkloadError, ResourceError, NoiseError, UnexpectedError:
            as by `residualplanner.measure`.
        DomainError: there are no records for a table, or there are some for none.
        DataError: as by `residualplanner.measure`, with the name of the table; or some tables with computed columns are
            frames of an engine, and others not.

    Whatever is raised once records are read has a note that says what was charged, and leads to no record.

    Guarantees: zCDP at half the exact cost of all tables together, which is at most the plan's, for data sets that
        differ in one unit with all its records, as ``plan.claim`` says.
    Source: eqs. (145) and (146).

    Example:
        >>> import pandas as pd
        >>> from residualplanner import Domain, Ledger, marginals, zcdp
        >>> from residualplanner.linked import CountOf, LinkedTable, LinkedTables, select
        >>> households = marginals(Domain({"tenure": ["owned", "rented"], "size": [0, 1, 2, 3]}), up_to=2)
        >>> persons = marginals(Domain({"age": ["child", "adult"]}), up_to=1)
        >>> tables = LinkedTables(
        ...     {"households": LinkedTable(households, derived={"size": CountOf("persons")}), "persons": (persons, 3)},
        ...     unit="serial",
        ... )
        >>> plan = select(tables, budget=zcdp("0.5"))
        >>> data = {
        ...     "households": pd.DataFrame({"serial": [1, 2], "tenure": ["owned", "rented"]}),
        ...     "persons": pd.DataFrame({"serial": [1, 1, 2], "age": ["child", "adult", "adult"]}),
        ... }
        >>> ledger = Ledger(zcdp(1), data_set="survey", records_per_person=plan.neighbors.records_per_person)
        >>> measure(plan, data, ledger=ledger)
        <LinkedMeasurement of 'households' and 'persons'>
        >>> len(ledger.entries)
        1
    """
    require_type("linked.measure", "plan", plan, LinkedPlan, "write linked.select(tables, budget=zcdp(0.5))")
    require_guarded_main("linked.measure")
    require_noise(noise, seed)
    spending.require_charge_time(charge)
    watched = spending.WatchedProgress(progress)
    if noise == "discrete":
        require_discrete(plan.budget)
    # one seed after another, as two tables must not have the same noise
    seeds = [None if seed is None else int(seed) + number for number in range(len(plan))]
    noises = {name: noise_named(noise, plan[name], own) for name, own in zip(plan, seeds, strict=True)}
    # the exact costs of all tables add up: eq. (146)
    cost = sum((each.cost for each in noises.values()), Fraction(0))
    what = f"{count_text(sum(len(own.workload) for own in plan.values()), 'table')} of {' and '.join(plan)}"
    bill = spending.Bill(cost, plan.sha256, what, plan.budget, plan.neighbors, again)
    bill.require_room(ledger)
    steps = _steps(plan, noises, data, ledger, bill, watched.report)
    if ledger is None and noise == "discrete":
        spending.warn_without_ledger()
    return spending.spend(steps, ledger=ledger, charge=charge, progress=watched)


def _steps(
    plan: LinkedPlan,
    noises: Mapping[str, Noise],
    data: Mapping[str, object],
    ledger: "Ledger | None",
    bill: spending.Bill,
    progress: Progress | None,
) -> spending.Steps[OpenedTables, _Counts, LinkedMeasurement]:
    limited = limited_data(plan.tables, data, plan.notion)
    require_memory(*(each.groups for each in noises.values()))
    # of each table the one block of all its sets
    blocks = {name: next(iter(blocks_held(each.groups, each.family))) for name, each in noises.items()}
    records = {name: each.record.of_run(ledger, limited[name], plan[name].neighbors) for name, each in noises.items()}
    reports = _reports(noises, progress)

    def opened() -> OpenedTables:
        found = OpenedTables(plan.tables, limited, plan.notion)
        for each in limited.values():
            engines().require_ready_engine(each)
        return found

    def counted(opened: OpenedTables) -> _Counts:
        opened.read()
        found: _Counts = {}
        for name, noise in noises.items():
            given = (opened.sources[name], plan[name].closure, blocks[name].groups, noise.family)
            found[name] = in_table(name, count_tables, *given, progress=next(reports))
        return found

    def drawn(counts: _Counts) -> LinkedMeasurement:
        found = {}
        for name, noise in noises.items():
            answers = noise.answers(blocks[name], counts.pop(name), progress=next(reports))
            found[name] = Measurement(plan[name], answers, records[name])
        return LinkedMeasurement(plan, found)

    return spending.Steps(opened, counted, partial(bill.charge, ledger), drawn)


def _reports(noises: Mapping[str, Noise], progress: Progress | None) -> Iterator[Progress | None]:
    """The progress of each step, among those of all tables: first all are counted, then all get noise."""
    steps = [int(noise.family.is_maximal.sum()) for noise in noises.values()]
    steps += [len(noise.plan.closure) for noise in noises.values()]

    def reported(before: int, done: int, _total: int) -> None:
        assert progress is not None
        progress(before + done, sum(steps))

    for before in accumulate(steps[:-1], initial=0):
        yield None if progress is None else partial(reported, before)
