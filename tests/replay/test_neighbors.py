"""Two data sets that differ by one record, with the same random bytes: only the noisy answers differ, and by how much.

The whole way is replayed: records in any form, counting, noise, files, tables.  ``RESIDUALPLANNER_REPLAYS`` sets the
number of pairs; a release is made after 100,000.
"""

import itertools
import logging
import math
import os
import random
import warnings
from importlib import import_module

import numpy as np
import pytest

from inner_parts import OperatingSystemBits, basis_groups, noisy_answers
from inner_parts import precision as precision_part
from replayed_measuring import refinements
from watching import Seen, run
from worlds import CODED, FRAMES, Neighbor, World, contained, neighbors, residual_change, worlds

#: The module of ``measure``, whose name the function has taken.
GATE = import_module("residualplanner.gate.measurement.measure")
NOISE = import_module("residualplanner.gate.measurement.discrete")

PAIRS = int(os.environ.get("RESIDUALPLANNER_REPLAYS", "1500"))
PAIRS_PER_WORLD = 12
PARTS = 5
#: Of so many worlds one has its calls followed, and one saves its release, with fewer pairs: both are slow.
TRACED, WITH_RELEASE, PAIRS_WITH_RELEASE = 4, 21, 5
WORLDS = -(-PAIRS * WITH_RELEASE // (PAIRS_PER_WORLD * (WITH_RELEASE - 1) + PAIRS_WITH_RELEASE))


def difference(world: World, before: Seen, after: Seen, neighbor: Neighbor, noise: str) -> str:
    """What two runs differ in that they must not; empty if there is nothing."""
    for name, shown in before.shown.items():
        if after.shown[name] != shown:
            return name
    fine = dict(zip(world.plan.closure, refinements(world.plan), strict=True))
    for members, numbers in after.numbers.items():
        change = residual_change(world.plan, members, neighbor)
        bases = [world.plan.strategy.of_attributes[i] for i in members]
        divisor = fine[members] * math.prod(basis.size for basis in bases if basis.matrix is None)
        found = numbers - before.numbers[members]
        if noise == "discrete":
            if found.dtype == np.float64 or not (found == change * divisor).all():
                return f"answers of {members}"
        elif not np.allclose(found, change, rtol=0, atol=1e-9 * (1 + abs(numbers).max(initial=0))):
            return f"answers of {members}"
    return "" if before.numbers.keys() == after.numbers.keys() == set(world.plan.closure) else "sets"


def replay(number: int, folder, *, noise: str, pairs: int = PAIRS_PER_WORLD, kind: str | None = None) -> str:
    """Replay one world; what differs, and where."""
    draw = random.Random(number)
    world = worlds(draw)
    chosen = draw.choice((*FRAMES, *CODED, *CODED))
    kind = kind or chosen
    may_be_bad = kind not in CODED
    fewest = 1 if world.plan.neighbors.notion == "replace" else 0
    records = [world.record(draw, may_be_bad=may_be_bad) for _ in range(draw.randrange(fewest, 9))]
    places = (folder / f"{number}-{place}" for place in itertools.count())

    def seen(them) -> Seen:
        data = contained(kind, world, them, next(places))
        return run(
            world.plan, data, next(places), noise=noise, release=number % WITH_RELEASE == 0, trace=number % TRACED == 0
        )

    seen(records)  # what depends on the plan alone may be kept from here on
    before = seen(records)
    if number % WITH_RELEASE == 0:
        pairs = min(pairs, PAIRS_WITH_RELEASE)
    for neighbor in itertools.islice(neighbors(draw, world, records, may_be_bad=may_be_bad), pairs):
        after = seen(neighbor.records)
        found = difference(world, before, after, neighbor, noise)
        if not found and kind in CODED and records and neighbor.records and before.reading != after.reading:
            found = "calls while reading"
        if found:
            return f"world {number} as {kind}, {neighbor.gained} gained, {neighbor.lost} lost: {found}"
    return ""


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.cases(1)
def test_runs_on_neighbors_differ_only_in_the_noisy_answers_and_there_exactly_by_the_record(part, tmp_path):
    for number in range(part, WORLDS, PARTS):
        assert replay(number, tmp_path, noise="discrete") == ""


def test_continuous_noise_differs_by_the_record_too_but_for_rounding(tmp_path):
    for number in range(10_000, 10_010):
        assert replay(number, tmp_path, noise="gaussian", pairs=10) == ""


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", [*FRAMES, *CODED])
def test_every_form_of_records_is_replayed(kind, tmp_path):
    for number in (3, 7, 20):
        assert replay(number, tmp_path, noise="discrete", pairs=5, kind=kind) == ""


def test_reading_records_without_bad_values_calls_the_same_functions(tmp_path):
    """How often they are called depends on how many distinct values there are: reading takes the time it takes."""
    for number, kind in itertools.product((3, 9, 12), FRAMES):
        draw = random.Random(number)
        world = worlds(draw)
        records = [world.record(draw, may_be_bad=False) for _ in range(4)]
        called = set()
        for place, neighbor in enumerate(itertools.islice(neighbors(draw, world, records, may_be_bad=False), 6)):
            data = contained(kind, world, neighbor.records, tmp_path / f"{number}-{kind}-{place}")
            seen = run(world.plan, data, tmp_path / f"{number}-{kind}-{place}-out", noise="discrete")
            if place:  # the first run fills caches of the plan
                called.add(frozenset(seen.reading))
        assert len(called) == 1


def test_worlds_whose_numbers_may_exceed_64_bits_are_among_them():
    plans = [worlds(random.Random(number)).plan for number in range(WORLDS)]
    found = []
    for plan in plans:
        groups, precision = basis_groups(plan.strategy), precision_part.precision_of(plan.noise_variances)
        found.append(
            noisy_answers.widths(
                groups, precision, precision_part.lattice_divisors(groups, precision, plan.neighbors), records=0
            )
        )
    assert sum(noisy_answers.Width.DOUBLE_WORD in one for one in found) > WORLDS / 30


# Each of these faults was found in some published system, or would be easy to make here.


def changing(change):
    """Counting that changes every table."""
    return lambda real: lambda *given, **named: [change(table) for table in real(*given, **named)]


def telling(tell):
    """Counting that does something with the number of records, and what it was given to report progress."""

    def fault(real):
        def counts(*given, progress, **named):
            tables = real(*given, progress=progress, **named)
            tell(int(tables[0].sum()), progress)
            return tables

        return counts

    return fault


def logged(records, _):
    logging.getLogger("residualplanner").debug("counted %s", records)


def warned_if_odd(records, _):
    if records % 2:
        warnings.warn("an odd number of records", stacklevel=1)


FAULTS = {
    "a record that comes twice counts once": changing(lambda table: np.minimum(table, 1)),
    "the number of records is rounded": changing(lambda table: table if table.ndim > 1 else table // 2 * 2),
    "more random bytes for more records": telling(lambda records, _: os.urandom(1 + records)),
    "the number of records in a log": telling(logged),
    "a warning for some numbers of records": telling(warned_if_odd),
    "something printed for each record": telling(lambda records, _: print("." * records)),
    "a call more for each record": telling(lambda records, _: [OperatingSystemBits().read(0) for _ in range(records)]),
    "progress for each record": telling(lambda records, progress: [progress(1, 1) for _ in range(records)]),
}


def with_less_noise(real):
    """Answers whose noise depends on the number of records."""

    def scaled(tables, groups, precision, *given, **named):
        return real(tables, groups, precision / (1 + tables[0].sum()), *given, **named)

    return scaled


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [*((GATE, "count_tables", fault) for fault in FAULTS.values()), (NOISE, "integer_answers", with_less_noise)],
    ids=[*FAULTS, "noise that depends on the data"],
)
def test_the_replay_sees_a_planted_fault(module, name, fault, tmp_path, monkeypatch):
    monkeypatch.setattr(module, name, fault(getattr(module, name)))
    assert any(replay(number, tmp_path, noise="discrete", pairs=5) for number in range(0, 60, 3))
