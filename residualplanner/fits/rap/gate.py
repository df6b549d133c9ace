"""The gate of RAP: what opens the records, after everything that can be decided without them."""

import math
import secrets
from dataclasses import replace
from functools import partial

import numpy as np

from residualplanner.fits.rap.mechanism import RapResult, Run, require_records
from residualplanner.fits.rap.plan import RapPlan
from residualplanner.fits.rap.selection import ExactCounts, count_records
from residualplanner.fits.rap.tiles import tiles_of
from residualplanner.gate import spend as spending
from residualplanner.gate.discrete_gaussian import ByteSource, InsecureTestBits, OperatingSystemBits
from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.gate.sources.limited_records import require_public_number
from residualplanner.gate.sources.opening import open_source, require_several_readings
from residualplanner.gate.sources.source import Source
from residualplanner.ground.checks import float_of, is_integer, require_type, value_text
from residualplanner.ground.errors import BudgetError, ResourceError
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.words import count_text
from residualplanner.scale.engines.engines import require_ready_engine

#: Bytes for counts and what is computed of them, unless memory= says otherwise.
MEMORY = 2**30
#: Bytes of a count; and of a noisy answer, with its number, its noise, its fraction and its target.
_COUNT_BYTES, _ANSWER_BYTES = 8, 40
#: How many times as much as a count takes together with what is computed of it.
_WORK = 9


@spending.entrance
def rap(
    plan: RapPlan,
    data: object,
    *,
    ledger: Ledger | None = None,
    charge: spending.ChargeTime = "counted",
    again: bool = False,
    memory: int = MEMORY,
    seed: int | None = None,
) -> RapResult:
    """Choose, measure and fit, round after round: every call spends the plan's privacy budget once more.

    Args:
        plan: what to do.
        data: the records, in any form that `measure` accepts.
        ledger: it is charged the plan's whole cost when the records have been counted, or, where they are read again in
            every round, checked; before the first draw.
        charge: as for `measure`.
        again: carry out a plan that the ledger holds already once more, and charge it again.
        memory: how many bytes counts and what is computed of them may take, besides the records that are being read,
            the relaxed records with the optimizer's state, and noisy answers.  Half of it is for counts: if the plan's
            tables are larger together, the records are read again in every round.  The other half is for one tile of a
            table: if a table is larger, the records are read once for each of its tiles.
        seed: for research: all draws are then made from bits that anyone can foresee, and the result carries no
            guarantee.

    Returns:
        Relaxed records, which answer every query, and a record of all draws.

    Raises:
        ArgumentError: ``plan`` is not a RapPlan.
        BudgetError: ``seed`` or ``charge`` is invalid, or the ledger has less left than the plan costs, is for other
            neighbors, or holds the plan already.
        FileFormatError, OSError: the ledger's file is damaged, or cannot be locked or written.
        ResourceError: ``memory`` is less than one cell needs, or more than there is; it divides the tables into more
            than 100,000 tiles; or the records can be read only once.  All of this is said before anything is read.
        DataError: the records do not fit the schema; or there are none, where their number is public.
        NoiseError: the random bytes or the machine's arithmetic failed a check; nothing may be released.
        UnexpectedError: a defect.

    Whatever is raised once records are read has a note that says what was charged, and leads to no record.

    Guarantees: zCDP at half the plan's cost, for neighbors as the plan says: choices have exactly the law of the
        exponential mechanism, and answers exactly discrete Gaussian noise.
    Source: docs/adaptive-projection.md eqs. (a) to (e), with the proofs.

    Example:
        >>> import residualplanner as rp
        >>> records = np.array([[0, 0], [0, 1], [1, 1]] * 200)
        >>> pairs = rp.marginals(rp.Domain({"a": 2, "b": 3}), order=2)
        >>> plan = RapPlan(pairs, budget=rp.zcdp(50), neighbors="replace", rounds=2, choices=3)
        >>> result = rap(plan, records)
        >>> np.abs(result.table(("a", "b")) - [[200, 200, 0], [0, 200, 0]]).max() < 20
        np.True_
    """
    require_type("rap", "plan", plan, RapPlan, "write rap(RapPlan(workload, ...), records)")
    require_guarded_main("rap")
    spending.require_charge_time(charge)
    bits, generator = _randomness(seed)
    if not 0 <= float_of(memory) < math.inf:
        raise ResourceError(f"memory must be a number of bytes, such as 2**30, got {value_text(memory)}")
    memory = int(float_of(memory))
    require_public_number(data, plan.protected)
    keeps, half = _require_room(plan, data, memory), memory // 2
    tiles = tiles_of(plan.thresholds, relaxed_records=plan.projection.relaxed_records, room=half)
    what = f"RAP of {count_text(len(plan.thresholds), 'table')}"
    bill = spending.Bill(plan.cost, plan.sha256, what, plan.budget, plan.protected, again)
    if ledger is not None:
        require_type("rap", "ledger", ledger, Ledger, "write ledger=Ledger.open(path)")
        bill.require_room(ledger)
    elif seed is None:
        spending.warn_without_ledger()

    def opened() -> Source:
        source = open_source(data, plan.workload.domain, records_per_person=plan.records_per_person)
        require_ready_engine(data)
        return source

    def counted(source: Source) -> tuple[ExactCounts, int]:
        records = require_records(plan, count_records(source, tiles))
        return ExactCounts(source, tiles, None if keeps else half // _COUNT_BYTES), records

    def drawn(found: tuple[ExactCounts, int]) -> RapResult:
        result = Run(plan, found[0], bits, generator, half).result(found[1])
        noise = result.noise.of_run(ledger, data, plan.protected)
        return replace(result, noise=noise.told(plan.workload.domain))

    return spending.spend(
        spending.Steps(opened, counted, partial(bill.charge, ledger), drawn),
        ledger=ledger,
        charge=charge,
        progress=spending.WatchedProgress(None),
    )


def _require_room(plan: RapPlan, data: object, memory: int) -> bool:
    """Whether all counts may be kept; ResourceError where the run cannot be made in this memory."""
    cells, most = [each.cells for each in plan.thresholds], memory // 2
    counts = _COUNT_BYTES * sum(cells)
    # of all rounds together
    measured = cells if plan.choices is None else plan.chosen.largest(plan.thresholds, plan.rounds * plan.choices)
    require_room(
        min(memory, _WORK * counts) + _ANSWER_BYTES * sum(measured),
        "RAP holds {needed} of counts and noisy answers at once",
        "nothing was charged or read.  Allow less with memory=, or ask for fewer or smaller tables",
    )
    require_several_readings(data, "for RAP")
    return counts <= most


def _randomness(seed: int | None) -> tuple[ByteSource, np.random.Generator]:
    """Where random bytes come from, and the generator of the first relaxed records."""
    if seed is None:
        return OperatingSystemBits(), np.random.default_rng(secrets.randbits(128))
    if not is_integer(seed):
        raise BudgetError(f"seed must be an integer, at least 0, or None for a release; got {value_text(seed)}")
    return InsecureTestBits(int(seed)), np.random.default_rng(int(seed))
