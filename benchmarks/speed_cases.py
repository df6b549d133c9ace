"""The jobs that are timed, each beside its yardstick."""

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

import residualplanner as rp

RECORDS = 10_000


class Timing(NamedTuple):
    """Seconds for a job, the most it should take, and seconds for the yardstick."""

    seconds: float
    target: float | None
    yardstick: float
    what: str


def seconds_of(job: Callable[[], object], *, repeat: int = 1) -> float:
    """The least of ``repeat`` times."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def unequal(attributes: int) -> rp.Domain:
    """Attributes of sizes 2 to 100 in a fixed random order, so that symmetry is of no help."""
    sizes = np.random.default_rng(0).integers(2, 101, attributes)
    return rp.Domain({f"a{number}": int(size) for number, size in enumerate(sizes)})


def equal(attributes: int) -> rp.Domain:
    return rp.Domain({f"a{number}": 10 for number in range(attributes)})


def nearly_equal(attributes: int) -> rp.Domain:
    """Attributes of sizes 8 to 12 in turn."""
    return rp.Domain({f"a{number}": 8 + number % 5 for number in range(attributes)})


def sorting(numbers: int) -> float:
    """Seconds to sort as many random numbers."""
    array = np.random.default_rng(0).random(numbers)
    return seconds_of(lambda: np.sort(array))


def pairs(workload: rp.Workload) -> int:
    """How many (query, subset) pairs a workload has: the entries of its sparse matrix."""
    return int((2.0**workload.orders).sum())


def selecting(domain: rp.Domain, target: float, **how: object) -> Timing:
    def job() -> rp.Plan:
        return rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp(0.5), **how)

    plan = job()
    if "gap" in how and not plan.gap <= float(how["gap"]):  # type: ignore[arg-type]
        raise SystemExit(f"the gap reached is {plan.gap}")
    count = pairs(plan.workload)
    del plan
    return Timing(seconds_of(job), target, sorting(count), f"sorting {count:,} numbers, one per (query, subset)")


def ranges_of(domain: rp.Domain, target: float, *, loss: str) -> Timing:
    """All ranges of at most three attributes, bases and noise; for the maximum to a gap of 1e-3 for given bases."""
    workload = rp.marginals(domain, up_to=3, kinds=dict.fromkeys(domain.names, rp.Range()))
    if loss == "sum":
        seconds = seconds_of(lambda: rp.select(workload, budget=rp.pcost(1)))
    else:
        bases = rp.select(workload, budget=rp.pcost(1)).bases
        seconds = seconds_of(lambda: rp.select(workload, budget=rp.pcost(1), loss="max", gap=1e-3, bases=bases))
    return Timing(seconds, target, sorting(pairs(workload)), "sorting as many numbers as (query, subset) pairs")


def mixed_kinds() -> Timing:
    """Prefix sums or ranges of ten single attributes beside the counts of all pairs: a search for bases by set."""
    sizes = dict(zip("abcdefghij", (20, 12, 16, 8, 10, 15, 6, 9, 14, 5), strict=True))
    singles = [{name: rp.Range() if number % 2 else rp.Prefix()} for number, name in enumerate(sizes)]
    workload = rp.Workload(rp.Domain(sizes), [*singles, *rp.marginals(rp.Domain(sizes), order=2)])
    plan = rp.select(workload, budget=rp.pcost(1))
    if plan.suboptimality > 0.002:
        raise SystemExit(f"the distance reached is {plan.suboptimality}")
    seconds = seconds_of(lambda: rp.select(workload, budget=rp.pcost(1)))
    symmetric = rp.Prefix().gram(200)
    return Timing(
        seconds, 10.0, seconds_of(lambda: np.linalg.eigh(symmetric), repeat=5), "the eigenvectors of a matrix of 200"
    )


def long_attribute(
    kind: rp.Prefix | rp.Range, target: float, *, loss: Literal["sum", "max"], values: int = 1000
) -> Timing:
    """The bases of one attribute of so many values."""
    domain = rp.Domain({"long": values, "short": 2})
    workload = rp.marginals(domain, up_to=2, kinds={"long": kind})
    seconds = seconds_of(lambda: rp.select(workload, budget=rp.pcost(1), loss=loss))
    symmetric = kind.gram(values)
    return Timing(
        seconds, target, seconds_of(lambda: np.linalg.eigvalsh(symmetric)), "the eigenvalues of one such matrix"
    )


def several_kinds(values: int) -> Timing:
    """The bases of one attribute with prefix sums beside single values, alone and with another attribute."""
    kinds = (rp.Prefix(), rp.Identity())
    queries = [query for kind in kinds for query in ({"long": kind, "short": rp.Identity()}, {"long": kind})]
    workload = rp.Workload(rp.Domain({"long": values, "short": 2}), queries)
    seconds = seconds_of(lambda: rp.select(workload, budget=rp.pcost(1)))
    symmetric = rp.Prefix().gram(values)
    return Timing(seconds, None, seconds_of(lambda: np.linalg.eigh(symmetric)), "the eigenvectors of one such matrix")


def many_universes(places: int) -> Timing:
    """Tables of everybody, and one of each place; the least maximum."""
    workload = rp.marginals(rp.Domain({"a": 5, "b": 3, "place": places}), up_to=2)
    for place in range(places):
        workload = workload + rp.marginals(workload.domain, order=2, where={"place": place})
    seconds = seconds_of(lambda: rp.select(workload, budget=rp.pcost(1), loss="max"))
    matrix = np.eye(places) + 1
    return Timing(seconds, None, seconds_of(lambda: np.linalg.inv(matrix)), "the inverse of one matrix of that size")


def universes(*, loss: Literal["sum", "max"]) -> Timing:
    """All triples of 15 attributes, and all pairs of the others among those with one value of the last."""
    others = unequal(14)
    domain = rp.Domain({**dict(zip(others.names, others.sizes, strict=True)), "employed": 3})
    triples = rp.marginals(domain, order=3)
    among = rp.marginals(domain, order=2, where={"employed": 0})
    with_last = rp.marginals(domain, order=3, kinds={"employed": rp.Custom([[1, 1, 1], [1, 0, 0]])})
    general = with_last.take(np.flatnonzero(with_last.blocks[3].attributes[:, -1] == 14))
    seconds, yardstick = (
        seconds_of(lambda part=part: rp.select(triples + part, budget=rp.pcost(1), loss=loss), repeat=3)
        for part in (among, general)
    )
    return Timing(
        seconds, None, yardstick, f"{len(general)} queries of a general kind in place of {len(among)} of some"
    )


def big_plan() -> rp.Plan:
    return rp.select(rp.marginals(unequal(200), up_to=3), budget=rp.zcdp(0.5))


def error_table() -> Timing:
    plan = big_plan()
    return Timing(seconds_of(plan.errors), 5.0, sorting(pairs(plan.workload)), "sorting a number per (query, subset)")


def plan_file(*, load: bool) -> Timing:
    plan = big_plan()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.plan"
        saving = seconds_of(lambda: plan.save(path))
        content = path.read_bytes()
        raw = seconds_of(lambda: (Path(folder) / "raw").write_bytes(content))
        seconds = seconds_of(lambda: rp.load_plan(path)) if load else saving
    return Timing(seconds, 5.0, raw, f"writing {len(content) / 2**20:.0f} MiB")


def codes(attributes: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 10, (RECORDS, attributes), dtype=np.uint8)


def measuring() -> Timing:
    plan = rp.select(rp.marginals(equal(50), order=3), budget=rp.zcdp(0.5))
    data, cells = codes(50), int(plan.workload.cells.sum())
    seconds = seconds_of(lambda: rp.measure(plan, data, noise="gaussian"))
    return Timing(seconds, 4.0, drawing(cells), f"drawing {cells:,} normal variates")


def drawing(cells: int) -> float:
    generator, out = np.random.default_rng(0), np.empty(cells)
    generator.standard_normal(out=out)
    return seconds_of(lambda: generator.standard_normal(out=out), repeat=3)


def measuring_counts() -> Timing:
    """Measuring once the records are counted, by the time of the last report on counting."""
    plan = rp.select(rp.marginals(equal(50), order=3), budget=rp.zcdp(0.5))
    cells, tables, data = int(plan.workload.cells.sum()), len(plan.workload), codes(50)

    def after_counting() -> float:
        counted = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal counted
            if done <= tables < total:
                counted = time.perf_counter()

        rp.measure(plan, data, noise="gaussian", progress=progress)
        return time.perf_counter() - counted

    seconds = min(after_counting() for _ in range(3))
    needed = drawing(cells)
    return Timing(seconds, 3 * needed, needed, f"drawing {cells:,} normal variates")


def reconstructing() -> Timing:
    plan = rp.select(rp.marginals(equal(100), order=3), budget=rp.zcdp(0.5))
    measurement = rp.measure(plan, codes(100), noise="gaussian")
    cells = int(plan.workload.cells.sum())

    def job() -> None:
        for _ in rp.reconstruct(measurement).tables():
            pass

    seconds = seconds_of(job)
    source, target = np.ones(2**24), np.zeros(2**24)
    copying = seconds_of(lambda: np.copyto(target, source), repeat=3) * cells / 2**24
    return Timing(seconds, cells / 1e8, copying, f"copying {cells:,} cells")


def importing() -> Timing:
    """The package with all that planning needs: a name is loaded when it is first used."""
    import subprocess

    def run(statement: str) -> float:
        return seconds_of(lambda: subprocess.run([sys.executable, "-c", statement], check=True), repeat=5)

    seconds = run("import residualplanner; residualplanner.select")
    return Timing(seconds, 0.5, run("import numpy, scipy.sparse"), "importing NumPy and scipy.sparse")


def everything(attributes: int) -> float:
    """Select, measure and reconstruct all tables of at most three of some attributes of size 10."""
    select, measure, reconstruct = rp.select, rp.measure, rp.reconstruct  # loaded here, as the peer's module is

    def job() -> None:
        plan = select(rp.marginals(equal(attributes), up_to=3), budget=rp.zcdp(0.5))
        for _ in reconstruct(measure(plan, codes(attributes), noise="gaussian")).tables():
            pass

    return seconds_of(job)


def peer_everything(attributes: int) -> Callable[[Path], Timing]:
    """The same with the reference implementation in ``path``, which is imported from there and nowhere else."""

    def compare(path: Path) -> Timing:
        import itertools

        import pandas as pd

        sys.path.insert(0, str(path))
        from class_resplan import ResidualPlanner  # type: ignore[import-not-found]

        names = [str(number) for number in range(attributes)]
        frame = pd.DataFrame(codes(attributes), columns=names)

        def job() -> None:
            system = ResidualPlanner([10] * attributes)
            for order in range(4):
                for members in itertools.combinations(range(attributes), order):
                    system.input_mech(members)
            system.input_data(frame, names)
            system.selection(choice="sumvar", pcost=1)
            system.measurement()
            system.reconstruction()

        theirs = seconds_of(job)
        return Timing(everything(attributes), None, theirs, f"the reference implementation, {attributes} attributes")

    return compare


CASES: dict[str, Callable[[], Timing]] = {
    "import": importing,
    "sum, 100 attributes": lambda: selecting(unequal(100), 0.5),
    "sum, 200 attributes": lambda: selecting(unequal(200), 5.0),
    "max to 1e-4, 100 attributes": lambda: selecting(unequal(100), 1.5, loss="max", gap=1e-4),
    "max to 1e-6, 100 attributes": lambda: selecting(unequal(100), 7.5, loss="max", gap=1e-6),
    "max to 1e-4, 200 attributes": lambda: selecting(unequal(200), 12.0, loss="max", gap=1e-4),
    "max to 1e-6, 200 attributes": lambda: selecting(unequal(200), 60.0, loss="max", gap=1e-6),
    "max to 1e-6, 100 equal attributes": lambda: selecting(equal(100), 0.5, loss="max", gap=1e-6),
    "sum, ranges of 100 equal attributes": lambda: ranges_of(equal(100), 5.0, loss="sum"),
    "max to 1e-3, the same": lambda: ranges_of(equal(100), 30.0, loss="max"),
    "sum, ranges of 100, 8 to 12 values": lambda: ranges_of(nearly_equal(100), 5.0, loss="sum"),
    "max to 1e-3, ranges of 8 to 12": lambda: ranges_of(nearly_equal(100), 30.0, loss="max"),
    "sum, prefix sums of 1,000 values": lambda: long_attribute(rp.Prefix(), 8.0, loss="sum"),
    "sum, ranges of 1,000 values": lambda: long_attribute(rp.Range(), 3.0, loss="sum"),
    "sum, prefix sums of 3,000 values": lambda: long_attribute(rp.Prefix(), 180.0, loss="sum", values=3000),
    "sum, ranges of 3,000 values": lambda: long_attribute(rp.Range(), 180.0, loss="sum", values=3000),
    "sum by set, ten attributes": mixed_kinds,
    "max, ranges of 1,000 values": lambda: long_attribute(rp.Range(), 60.0, loss="max"),
    "max, prefix sums of 1,000 values": lambda: long_attribute(rp.Prefix(), 60.0, loss="max"),
    "sum, prefix sums of 600, and counts": lambda: several_kinds(600),
    "max, 50 universes of one attribute": lambda: many_universes(50),
    "max, 200 universes of one attribute": lambda: many_universes(200),
    "sum, triples, pairs among some": lambda: universes(loss="sum"),
    "max, triples, pairs among some": lambda: universes(loss="max"),
    "error table, 1.3 million sets": error_table,
    "save plan, 1.3 million sets": lambda: plan_file(load=False),
    "load plan, 1.3 million sets": lambda: plan_file(load=True),
    "measure, 19,600 tables": measuring,
    "measure, 19,600 tables, counts done": measuring_counts,
    "reconstruct, 161,700 tables": reconstructing,
}

PEER_CASES: dict[str, Callable[[Path], Timing]] = {
    "peer, 10 attributes": peer_everything(10),
    "peer, 20 attributes": peer_everything(20),
}
