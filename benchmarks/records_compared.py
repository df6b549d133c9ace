"""Records of ours beside those of AIM, of MST and of single attributes, on many data sets, samples and budgets.

    python -m benchmarks.records_compared --folder FOLDER [--data NAME ...] [--records N ... | whole] [--epsilon E ...]
        [--mechanism NAME ...] [--seeds SEED ...] [--most-seconds S] [--open]
        [--dpmm PYTHON] [--mbi PYTHON --programs FOLDER]

runs what is missing of the grid and adds it to ``benchmarks/results/records_ours.jsonl`` and ``records_peers.jsonl``,
one line a run, so that a program that was stopped goes on with what is left.  FOLDER holds the repository's test data.
The peers run where they are installed: PYTHON is an interpreter with ``pip install dpmm==0.1.9``, or with ``pip install
mbi==2.0.0 "pandas<3" matplotlib``, and the folder of programs is ``mechanisms/`` of mbi's repository.  Of the data sets
that are opened once, ours is run only with --open: when nothing of it will change any more.

    python -m benchmarks.records_compared --table

prints the table of the manual: every cell, the lost ones first, and how many are won.

    python -m benchmarks.records_compared --folder FOLDER --seconds --open --dpmm PYTHON

runs ours, AIM of dpmm and ours again, one after the other, in the cells that are asked for, and adds their seconds to
``records_seconds.jsonl``: machines differ, so that only seconds of one run can be compared.

A cell is a data set, a number of its records, and epsilon, at delta = 1e-9.  A seed is that of the sample of records
and of the noise.  The measures are the mean total variation of all tables of two and of three attributes; the root mean
squared distance of a regression's standardized coefficients from those of the records; and how often a classifier that
has learned from the synthetic records is right on all records of the data set.  All are of records, as many as were
given, by the way of drawing them that is each mechanism's default.  Seconds are those of the processor.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.peer_runs import run
from benchmarks.record_errors import Codes, Question, accuracy, distance_of_coefficients, errors_by_order
from benchmarks.records_data import DATA_SETS, DEVELOPING, DataSet, is_ordered, sample_of, sizes_of_samples
from residualplanner.fits.stages.measuring import measure_with_bits
from residualplanner.gate.discrete_gaussian import InsecureTestBits

DELTA = 1e-9
#: The first ones are the most telling: runs go by this order.
EPSILONS = (0.1, 1.0, 10.0, 0.3, 3.0, 0.03)
RESULTS = Path(__file__).with_name("results")
SECONDS = RESULTS / "records_seconds.jsonl"
#: What each mechanism is called, and with which settings it was run.
PEERS = {
    "aim-published": "AIM of mbi 2.0.0 at its published size: 80 MB, 16 rounds an attribute",
    "aim": "AIM of dpmm 0.1.9: 4 MB, 2 rounds an attribute",
    "mst-mbi": "MST of mbi 2.0.0",
    "mst": "MST of dpmm 0.1.9",
}
OTHERS = (*PEERS, "singles")
MEASURES = ("pairs", "triples", "coefficients", "accuracy")
#: Within that of the nearest is as near.
AS_NEAR = 1.03
Row = dict[str, Any]
Cell = tuple[str, int, float]


def ours(codes: Codes, domain: rp.Domain, epsilon: float, seed: int) -> Codes:
    """Records from what is measured in stages, with noise that can be foreseen."""
    plan = rp.fits.StagedPlan(domain, budget=rp.approx_dp(epsilon, DELTA))
    release = measure_with_bits(plan, codes, InsecureTestBits(seed))
    return rp.synthesize(release, len(codes), seed=seed).codes


def singles(codes: Codes, domain: rp.Domain, epsilon: float, seed: int) -> Codes:
    """Independent columns, from the tables of single attributes with all of the budget, made non-negative."""
    equal = rp.losses.SumOfVariances(weights="equal")
    plan = rp.select(rp.marginals(domain, order=1), budget=rp.approx_dp(epsilon, DELTA), loss=equal)
    tables = rp.nonnegative(rp.reconstruct(rp.measure(plan, codes, noise="gaussian", seed=seed)))
    chance, columns = np.random.default_rng(seed), []
    for query in plan.workload:
        table = tables[query].estimate
        expected = len(codes) * (table / table.sum() if table.sum() > 0 else np.full(table.size, 1 / table.size))
        counts = np.floor(expected).astype(np.int64)
        rest, left = expected - counts, len(codes) - int(counts.sum())
        if left > 0:
            counts[chance.choice(table.size, left, replace=False, p=rest / rest.sum())] += 1
        columns.append(chance.permutation(np.repeat(np.arange(table.size), counts)))
    return np.stack(columns, axis=1)


def truth(codes: Codes, *_: object) -> Codes:
    """The records themselves: how often a classifier can be right."""
    return codes


OWN: dict[str, Callable[[Codes, rp.Domain, float, int], Codes]] = {
    "ours": ours,
    "singles": singles,
    "truth": truth,
}
#: Those of ours that may be run on data that are opened once without opening them.
NOT_TUNED = ("singles", "truth")


@dataclass(frozen=True)
class Run:
    """One line of the results.

    Attributes:
        data, records, epsilon: the cell.
        mechanism: of `OWN` or `PEERS`.
        seed: of the sample of records, and of the noise.
    """

    data: str
    records: int
    epsilon: float
    mechanism: str
    seed: int

    @property
    def file(self) -> Path:
        return RESULTS / ("records_ours.jsonl" if self.mechanism in OWN else "records_peers.jsonl")


def rows_in(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def run_of(row: Row) -> Run:
    return Run(row["data"], row["records"], row["epsilon"], row["mechanism"], row["seed"])


def is_done(each: Run, limit: float) -> bool:
    """Whether a run is in its file; one that was stopped is run again if it may now take longer."""
    return any(run_of(row) == each and row.get("stopped_after", limit) >= limit for row in rows_in(each.file))


@cache
def opened(name: str, folder: Path) -> tuple[rp.Domain, Codes]:
    return DATA_SETS[name].read(folder)


def question_of(data: DataSet, domain: rp.Domain) -> Question:
    places = {name: place for place, name in enumerate(domain.names)}
    explained, explaining = data.regression
    ordered = [is_ordered(domain, name) for name in domain.names]
    chosen = [places[name] for name in explaining]
    return Question(domain.sizes, ordered, places[explained], chosen, places[data.classified])


def judged(question: Question, sample: Codes, every: Codes, synthetic: Codes) -> Row:
    """All measures of synthetic records made from a sample of all records."""
    errors = errors_by_order(sample, synthetic, question.sizes)
    return {
        "pairs": errors["2"]["total_variation"],
        "triples": errors["3"]["total_variation"],
        "coefficients": distance_of_coefficients(sample, synthetic, question),
        "accuracy": accuracy(every, synthetic, question),
    }


def row_of(each: Run, arguments: argparse.Namespace) -> Row:
    """A run, made and judged."""
    domain, every = opened(each.data, arguments.folder)
    sample = sample_of(every, each.records, each.seed)
    question = question_of(DATA_SETS[each.data], domain)
    found: Row
    if each.mechanism in OWN:
        started, clock = time.process_time(), time.monotonic()
        made = OWN[each.mechanism](sample, domain, each.epsilon, each.seed)
        found = {"cpu": time.process_time() - started, "clock": time.monotonic() - clock}
        found |= judged(question, sample, every, made)
    else:
        content = {"columns": domain.names, "sizes": domain.sizes, "delta": DELTA, "programs": str(arguments.programs)}
        content |= {"mechanism": each.mechanism, "epsilon": each.epsilon, "seed": each.seed}
        python = arguments.mbi if each.mechanism in ("aim-published", "mst-mbi") else arguments.dpmm
        found = run(
            python,
            content,
            sample,
            arguments.most_seconds,
            judged=lambda synthetic: judged(question, sample, every, synthetic),
        )
    rounded = {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in found.items()}
    return vars(each) | rounded


def add_line(path: Path, row: Row) -> None:
    """Print a row, and add it to a file."""
    line = json.dumps(row)
    print(line, flush=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def seconds_of(each: Run, arguments: argparse.Namespace) -> Row:
    """A cell and a seed, and CPU seconds: of ours, the mean of two runs, and of AIM in between, whose row is kept."""
    first, theirs, second = (row_of(replace(each, mechanism=name), arguments) for name in ("ours", "aim", "ours"))
    if not is_done(of_aim := run_of(theirs), arguments.most_seconds):
        add_line(of_aim.file, theirs)
    cell = {name: value for name, value in vars(each).items() if name != "mechanism"}
    return cell | {"ours": round((first["cpu"] + second["cpu"]) / 2, 3), "aim": theirs["cpu"]}


def grid(arguments: argparse.Namespace) -> Iterator[Run]:
    """The runs that were asked for, the most telling first: by seed, by epsilon, and by the number of records."""
    is_listed = set(arguments.records)
    for seed, epsilon, size in product(arguments.seeds, arguments.epsilon, (10_000, None, 1_000, 100_000)):
        for name in arguments.data:
            _, codes = opened(name, arguments.folder)
            records = size or len(codes)
            word = "whole" if records == len(codes) else str(records)
            is_of_data = records in sizes_of_samples(len(codes)) and (size is None or records != len(codes))
            if not is_of_data or (is_listed and not is_listed & {word, str(records)}):
                continue
            for mechanism in arguments.mechanism:
                yield Run(name, records, epsilon, mechanism, seed)


# The table.


@dataclass(frozen=True)
class Compared:
    """The runs of a cell, by mechanism and seed."""

    cell: Cell
    runs: dict[str, dict[int, Row]]

    def values(self, mechanism: str, measure: str) -> dict[int, float]:
        """By seed, where it was judged so."""
        return {seed: row[measure] for seed, row in self.runs.get(mechanism, {}).items() if measure in row}

    def ratio(self, measure: str, others: Sequence[str]) -> float | None:
        """How much farther ours is than the nearest of others, each over the seeds that both have; 1 is as near."""
        ratios = []
        for other in others:
            by_seed = [self.values(each, measure) for each in ("ours", other)]
            both = by_seed[0].keys() & by_seed[1].keys()
            if both:
                mine, theirs = (statistics.fmean(values[seed] for seed in both) for values in by_seed)
                is_share = measure == "accuracy"
                ratios.append(theirs / max(mine, 1e-9) if is_share else mine / max(theirs, 1e-9))
        return max(ratios, default=None)

    def shown(self, mechanism: str, measure: str) -> str:
        """The mean over the seeds that were run; of CPU seconds, at least how many where runs were stopped."""
        values, runs = self.values(mechanism, measure), self.runs.get(mechanism, {}).values()
        is_stopped = any("stopped_after" in row for row in runs)
        if not values:
            return "failed" if any("failed" in row for row in runs) else "stopped" if is_stopped else "-"
        mean = statistics.fmean(values.values())
        return f"{'> ' * (is_stopped and measure == 'cpu')}{mean:.3g}"

    @property
    def worst(self) -> float:
        """Of pairs and triples, beside all others; 0 where nothing is compared."""
        return max(self.ratio(measure, OTHERS) or 0.0 for measure in ("pairs", "triples"))


def cells_of(rows: Iterable[Row]) -> list[Compared]:
    """The cells in which ours was run, the lost ones first, by how much."""
    found: dict[Cell, dict[str, dict[int, Row]]] = {}
    for row in rows:
        cell = (row["data"], row["records"], row["epsilon"])
        found.setdefault(cell, {}).setdefault(row["mechanism"], {})[row["seed"]] = row
    cells = [Compared(cell, runs) for cell, runs in found.items() if "ours" in runs]
    places = {name: place for place, name in enumerate(DATA_SETS)}
    return sorted(
        cells,
        key=lambda each: (-each.worst if each.worst > AS_NEAR else 0, places[each.cell[0]], *each.cell[1:]),
    )


def shown(cells: Sequence[Compared]) -> Iterator[str]:
    """A row for each cell: every measure and the CPU seconds of ours, of singles and of each peer."""
    names = ("ours", "singles", *PEERS)
    yield f'In each column: {", ".join(names)}; each over the seeds that were run, and "-" where none was.'
    yield f"{'; '.join(f'{name}, {words}' for name, words in PEERS.items())}."
    yield f"A cell is lost where the last column, over the seeds that both have, is above {AS_NEAR}.\n"
    yield "| data | records | epsilon | pairs | triples | coefficients | accuracy | CPU s | farther than the nearest |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in cells:
        columns = []
        for measure in (*MEASURES, "cpu"):
            columns.append(", ".join(each.shown(name, measure) for name in names))
        name, records, epsilon = each.cell
        yield f"| {name} | {records:,} | {epsilon:g} | {' | '.join(columns)} | {each.worst:.3f} |"


def summary(cells: Sequence[Compared], seconds: Sequence[Row]) -> Iterator[str]:
    """How many cells are won, or as near as the nearest, of the data sets of either kind; and the time."""
    yield "| data | beside | measure | cells | nearest | within 3% | worst ratio |"
    yield "|---|---|---|---|---|---|---|"
    for title, is_once in (("used while developing", False), ("opened once", True)):
        own = [each for each in cells if DATA_SETS[each.cell[0]].opened_once == is_once]
        with_peers = [each for each in own if each.ratio("pairs", tuple(PEERS)) is not None]
        for measure in MEASURES:
            yield from _counts(title, "all others", measure, [each.ratio(measure, OTHERS) for each in with_peers])
        for measure in ("pairs", "triples"):
            yield from _counts(title, "singles only", measure, [each.ratio(measure, ("singles",)) for each in own])
        times = [row["ours"] / row["aim"] for row in seconds if DATA_SETS[row["data"]].opened_once == is_once]
        if times:
            words = f"median 1/{1 / statistics.median(times):.0f}, most 1/{1 / max(times):.0f}"
            yield f"| {title} | AIM of dpmm | CPU seconds in one run: {words} | {len(times)} | | | |"


def _counts(title: str, beside: str, measure: str, found: Iterable[float | None]) -> Iterator[str]:
    ratios = [ratio for ratio in found if ratio is not None]
    if ratios:
        near, won = sum(ratio <= AS_NEAR for ratio in ratios), sum(ratio <= 1 for ratio in ratios)
        share = f"{near} ({near / len(ratios):.0%})"
        yield f"| {title} | {beside} | {measure} | {len(ratios)} | {won} | {share} | {max(ratios):.3f} |"


def table() -> list[str]:
    """The table of the manual, line by line, from the results."""
    rows = [row for name in ("records_ours", "records_peers") for row in rows_in(RESULTS / f"{name}.jsonl")]
    cells = cells_of(rows)
    return [*summary(cells, rows_in(SECONDS)), "", *shown(cells)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of the repository's test data")
    parser.add_argument("--data", nargs="+", choices=tuple(DATA_SETS), default=[each.name for each in DEVELOPING])
    parser.add_argument("--records", nargs="+", default=[], help='numbers, or "whole"')
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--mechanism", nargs="+", choices=(*OWN, *PEERS), default=["ours", "singles"])
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--most-seconds", type=float, default=3600.0, help="of a run of a peer")
    parser.add_argument("--open", action="store_true", help="run ours on the data sets that are opened once, too")
    parser.add_argument("--dpmm", help="an interpreter that has dpmm")
    parser.add_argument("--mbi", help="an interpreter that has mbi")
    parser.add_argument("--programs", type=Path, help="the folder of mbi's mechanisms")
    parser.add_argument("--table", action="store_true", help="print the table, and run nothing")
    parser.add_argument("--seconds", action="store_true", help="of ours and of AIM of dpmm, in one run")
    arguments = parser.parse_args()
    if arguments.table:
        print("\n".join(table()))
        return
    closed = [name for name in arguments.data if DATA_SETS[name].opened_once and not arguments.open]
    if closed and not set(arguments.mechanism) <= {*PEERS, *NOT_TUNED}:
        parser.error(f"{', '.join(closed)} are opened once, when nothing of ours will change any more: by --open")
    if arguments.seconds:
        arguments.mechanism = ["ours"]
    for each in grid(arguments):
        if arguments.seconds:
            add_line(SECONDS, seconds_of(each, arguments))
        elif not is_done(each, arguments.most_seconds):
            add_line(each.file, row_of(each, arguments))


if __name__ == "__main__":
    main()
