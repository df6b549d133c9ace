"""What the benchmarks of RAP wrote, and how differences between runs are judged: by their errors over seeds."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

RESULTS = Path(__file__).parent / "results"
#: What `rap_grid`, `partial_knowledge`, `rap`, `rap_more_tables` and `rap_accounting` wrote, as it is kept.
NAMES = ("rap_grid.jsonl", "partial_knowledge.json", "rap.json", "rap_more_tables.jsonl", "rap_accounting.jsonl")
FILES = tuple(RESULTS / name for name in NAMES)
ACCOUNTINGS = ("per-cell", "joint")
#: Both accountings are shown on the workloads of these seeds.
SEEDS = (0, 1, 2)
#: What a setting of RAP is told apart by.
SETTING = ("rounds", "choices")
Point = dict[str, Any]
#: Seed to error.
BySeed = dict[int, float]


class Difference(NamedTuple):
    """A mean over seeds of differences that should be positive.

    Attributes:
        mean: of them.
        error: its standard error.
        seeds: how many; a single one has no error, and shows nothing.
    """

    mean: float
    error: float
    seeds: int

    @property
    def reach(self) -> float:
        """Half of the interval at 95%, by Student's t."""
        return math.inf if self.seeds < 2 else float(student.ppf(0.975, self.seeds - 1)) * self.error

    @property
    def verdict(self) -> str:
        """Whether the interval is above 0, below it, or has it."""
        return "shown" if self.mean > self.reach else "contradicted" if self.mean < -self.reach else "not shown"

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}"


def difference(values: Iterable[float]) -> Difference:
    found = np.array(list(values), dtype=np.float64)
    error = float(found.std(ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else math.nan
    return Difference(float(found.mean()), error, len(found))


class Ratio(NamedTuple):
    """The geometric mean over seeds of ratios, which should be below 1, from the difference of the logarithms.

    Attributes:
        less: how much less the logarithms are.
    """

    less: Difference

    @property
    def mean(self) -> float:
        return math.exp(-self.less.mean)

    @property
    def interval(self) -> tuple[float, float]:
        """At 95%, by Student's t."""
        reach = self.less.reach
        return math.exp(-self.less.mean - reach), math.exp(-self.less.mean + reach)

    @property
    def verdict(self) -> str:
        return self.less.verdict

    def within(self, factor: float) -> str:
        """Whether the whole interval is within the factor of 1, or beyond it."""
        low, high = self.interval
        if 1 / factor < low and high < factor:
            return "shown"
        return "contradicted" if low > factor or high < 1 / factor else "not shown"

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.mean:.2f} ({low:.2f} to {high:.2f})"


def ratio(one: BySeed, other: BySeed | float) -> Ratio:
    """One error as a multiple of the other on the same seeds, or of a published figure."""
    fixed = dict.fromkeys(one, other) if isinstance(other, float) else other
    return Ratio(difference(math.log(fixed[seed] / one[seed]) for seed in sorted(one.keys() & fixed.keys())))


#: What a row is called that has parts with different verdicts, by the first of these that it has.
WORDS = {"shown": "in part", "contradicted": "contradicted", "not shown": "not shown"}


class Part(NamedTuple):
    """A part of a claim, and whether it is shown."""

    what: str
    verdict: str  # "shown", "not shown", "contradicted"


class Finding(NamedTuple):
    """One row.

    Attributes:
        number: of the finding.
        claim: what was published, in words, and where.
        published: its numbers.
        ours: what this library finds.
        protocol: what of the published protocol was kept, and what was not.
        parts: of the claim, with their verdicts.
        command: what makes the figures again, without its ``python -m benchmarks.``.
    """

    number: str
    claim: str
    published: str
    ours: str
    protocol: str
    parts: tuple[Part, ...]
    command: str

    @property
    def verdict(self) -> str:
        """That of all parts, or "in part"."""
        found = {part.verdict for part in self.parts}
        if len(found) == 1:
            return found.pop()
        return next(word for verdict, word in WORDS.items() if verdict in found)

    @property
    def explained(self) -> str:
        """The verdict, and those of the parts."""
        texts = []
        for verdict in ("shown", "not shown", "contradicted"):
            parts = [part.what for part in self.parts if part.verdict == verdict]
            texts += [f"{verdict}: {'; '.join(parts)}"] if parts else []
        return f"**{self.verdict}**. " + ". ".join(text[0].upper() + text[1:] for text in texts)


def shown_if(condition: object) -> str:
    return "shown" if condition else "not shown"


#: More points than that with the same verdict are counted, and not listed.
FEW = 7


def parts_by_verdict(what: str, verdicts: dict[str, str]) -> Iterator[Part]:
    """A part for each verdict that occurs, which says at which points it is so."""
    for verdict in dict.fromkeys(verdicts.values()):
        where = [point for point, each in verdicts.items() if each == verdict]
        if len(where) == len(verdicts):
            yield Part(f"{what} {'everywhere' if verdict == 'shown' else 'anywhere'}", verdict)
        elif len(where) > FEW:
            yield Part(f"{what} at {len(where)} of {len(verdicts)} points", verdict)
        else:
            yield Part(f"{what} ({', '.join(where)})", verdict)


def at_most(found: Ratio, factor: float) -> str:
    """Whether the whole interval is below the factor, or above it."""
    low, high = found.interval
    return "shown" if high < factor else "contradicted" if low > factor else "not shown"


class Results(NamedTuple):
    """What the benchmarks wrote."""

    grid: list[Point]
    partial: list[Point]
    speed: list[Point]
    more: list[Point] = []  # noqa: RUF012 - never written to
    accounting: list[Point] = []  # noqa: RUF012 - nor this

    def charged(self, sensitivity: str, tables: int, epsilon: float) -> dict[tuple[int, int | None], BySeed]:
        """Of the default optimizer and this accounting the largest error of each setting (T, K), by seed."""
        points = chosen(self.accounting, optimizer="default", sensitivity=sensitivity, tables=tables, epsilon=epsilon)
        return runs_of(point for point in points if point["seed"] in SEEDS)

    def best(self, **wanted: Any) -> float:
        """The smallest mean over seeds of the largest error, over settings of RAP."""
        return min(self.by_setting(**wanted).values(), default=math.nan)

    def by_setting(self, **wanted: Any) -> dict[tuple[int, int | None], float]:
        """The mean over seeds of the largest error of each setting (T, K)."""
        return {setting: float(np.mean(list(found.values()))) for setting, found in self.runs(**wanted).items()}

    def runs(self, **wanted: Any) -> dict[tuple[int, int | None], BySeed]:
        """The largest error of each setting (T, K), by seed."""
        return runs_of(self.grid, **wanted)

    def best_runs(self, **wanted: Any) -> BySeed:
        """The largest errors, by seed, of the setting whose mean is the least."""
        return best_of(self.runs(**wanted))

    def seeds(self, *keys: str, **wanted: Any) -> str:
        """How many seeds have been run of all settings that these keys tell apart, in words."""
        count = len(self.seeds_of(*keys, **wanted))
        return f"{count} seed" + "s" * (count != 1)

    def seeds_of(self, *keys: str, **wanted: Any) -> set[int]:
        """The seeds that all settings were run with."""
        return {point["seed"] for point in complete(chosen(self.grid, **wanted), *keys)}

    def of_seeds(self, *several: set[int]) -> "Results":
        """The points of the seeds in all of these sets, so that methods are compared on the same workloads."""
        common = set.intersection(*several)
        return self._replace(grid=[point for point in self.grid if point["seed"] in common])

    def baseline(self, method: str, sensitivity: str = "joint", **wanted: Any) -> float:
        """The mean over seeds of the largest error of another method."""
        return float(np.mean(list(self.baseline_runs(method, sensitivity, **wanted).values())))

    def baseline_runs(self, method: str, sensitivity: str = "joint", **wanted: Any) -> BySeed:
        points = chosen(self.grid, method=method, sensitivity=sensitivity, **wanted)
        return {point["seed"]: point["largest"] for point in points}

    def partly_known(self, error: str = "future", **wanted: Any) -> dict[tuple[int, int], BySeed]:
        """The present or future errors of each setting (T, K), by seed."""
        found: dict[tuple[int, int], BySeed] = defaultdict(dict)
        for point in complete(chosen(self.partial, experiment="X9", **wanted), *SETTING):
            found[point["rounds"], point["choices"]][point["seed"]] = point[error]
        return found


def runs_of(points: Iterable[Point], **wanted: Any) -> dict[tuple[int, int | None], BySeed]:
    """The largest error of each setting (T, K) of RAP, by seed."""
    found: dict[tuple[int, int | None], BySeed] = defaultdict(dict)
    wanted = {"method": "rap", **wanted}
    for point in complete(chosen(points, **wanted), *SETTING):
        found[point["rounds"], point["choices"]][point["seed"]] = point["largest"]
    return found


def best_setting(runs: dict[Any, BySeed]) -> Any:
    """The setting whose mean error is the least."""
    return min(runs, key=lambda setting: mean(runs[setting]))


def best_of(runs: dict[Any, BySeed]) -> BySeed:
    """The runs of that setting."""
    return runs[best_setting(runs)]


def chosen(points: Iterable[Point], **wanted: Any) -> list[Point]:
    return [point for point in points if all(point[name] == value for name, value in wanted.items())]


def complete(points: Sequence[Point], *keys: str) -> list[Point]:
    """The points of the seeds that every setting was run with: means over other seeds cannot be compared."""
    settings = defaultdict(set)
    for point in points:
        settings[point["seed"]].add(tuple(point[key] for key in keys))
    every = set().union(*settings.values())
    return [point for point in points if settings[point["seed"]] == every]


def listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.3f}" for number in numbers)


def results_of(grid: Path, partial: Path, speed: Path, more: Path, accounting: Path) -> Results:
    """What the files of the five benchmarks hold."""
    lines, others = (lines_of(path) for path in (grid, more))
    by_rap = [{"method": "rap", **point} for point in charged_lines(accounting)]
    return Results(lines, json.loads(partial.read_text()), json.loads(speed.read_text()), others, by_rap)


def lines_of(path: Path) -> list[Point]:
    return list(map(json.loads, path.read_text().splitlines()))


def charged_lines(path: Path) -> list[Point]:
    """What `rap_accounting` wrote; a run with one cell a round, which both accountings charge alike, is of both."""
    return [
        {**point, "sensitivity": accounting}
        for point in lines_of(path)
        for accounting in (ACCOUNTINGS if point["choices"] == 1 else (point["sensitivity"],))
    ]


def mean(runs: BySeed) -> float:
    return float(np.mean(list(runs.values())))
