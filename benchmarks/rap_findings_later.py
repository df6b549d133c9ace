"""Rows of `benchmarks.rap_findings`: thresholds (F15 to F19), and queries that are known in part (F20 to F24)."""

import math
from collections import defaultdict
from itertools import pairwise, product
from typing import Any

import numpy as np

from benchmarks.rap_results import (
    SETTING,
    BySeed,
    Finding,
    Part,
    Point,
    Ratio,
    Results,
    at_most,
    best_of,
    best_setting,
    chosen,
    complete,
    difference,
    listed,
    mean,
    parts_by_verdict,
    ratio,
    runs_of,
    shown_if,
)

#: What of AK's experiment with thresholds was run.
FOUR = (
    "in part: charged per cell; Adult, epsilon 0.1 alone, 1,000 relaxed records; thresholds of at most a million "
    "queries each; (T, K) of (4, 4), (4, 16) and (16, 4), with 4 and 16 thresholds of (16, 16), too, in place of 16 "
    "settings; our optimizer; 3 seeds"
)
#: How many of them, with 3 seeds; and how many with a single one, of 16 rounds of 4 cells alone.
NUMBERS, MANY = (4, 16, 64), 256
#: And of that with queries that are known in part.
KNOWN_DATA = "in part: 1-of-3 thresholds of Adult, epsilon 0.1, 1,000 relaxed records; 40 future thresholds; "
KNOWN = KNOWN_DATA + "(T, K) of (4, 4), (4, 16) and (16, 4), joint accounting"
#: What runs it, without drift.
OF_HISTORIES = (
    "partial_knowledge --drifts 0 --seeds 3; partial_knowledge --drifts 0 --histories 4 --first 3 --seeds 9; "
    "partial_knowledge --drifts 0 --histories 256 --families uniform geometric --seeds 1"
)
#: How much an error may grow where a claim is that it does not.
HARDLY = 1.1
FAMILIES = ("uniform", "zipf", "geometric")


def thresholds(r: Results, at_least: int, tables: int) -> dict[tuple[int, int | None], BySeed]:
    return runs_of(r.more, experiment="thresholds", at_least=at_least, tables=tables)


def by_at_least(figures: dict[tuple[int, int], BySeed]) -> str:
    """The means of each r, by the number of thresholds."""
    return "; ".join(
        f"r = {k}: {listed(mean(runs) for (each, _), runs in figures.items() if each == k)}"
        for k in dict.fromkeys(k for k, _ in figures)
    )


def f15(r: Results) -> Finding:
    ours, zero, gaussian = {}, {}, {}
    for k, number in product((4, 3, 2, 1), (*NUMBERS, MANY)):
        of_point = {"experiment": "thresholds", "at_least": k, "tables": number}
        ours[k, number] = best_of(thresholds(r, k, number))
        for method, found in (("zero", zero), ("gaussian", gaussian)):
            found[k, number] = {p["seed"]: p["largest"] for p in chosen(r.more, method=method, **of_point)}

    def below(others: dict[tuple[int, int], BySeed]) -> dict[str, str]:
        return {f"r = {k} of {number}": ratio(runs, others[k, number]).verdict for (k, number), runs in ours.items()}

    numbers = ", ".join(map(str, (*NUMBERS, MANY)))
    least, near = {}, {}
    for k, number in product((3, 2, 1), (*NUMBERS, MANY)):
        least[f"than r = {k} of {number}"] = ratio(ours[4, number], ours[k, number]).verdict
        most = {seed: 1.5 * error for seed, error in ours[4, number].items()}
        near[f"r = {k} of {number}"] = ratio(ours[k, number], most).verdict
    return Finding(
        "F15",
        "r-of-4 thresholds: RAP is far below answering 0 and Gaussian noise everywhere; its error is least for r = "
        "4, and "
        "not much greater for r < 4 (AK, Figure 7)",
        "pictures, no values in the text",
        f"{numbers} thresholds: {by_at_least(ours)}. Answering 0: {by_at_least(zero)}. Gaussian noise: at least "
        f"{min(map(mean, gaussian.values())):.3f}",
        f"{FOUR}; {MANY} thresholds with one seed, of (16, 4) alone, which shows nothing",
        (
            *parts_by_verdict("below answering 0", below(zero)),
            *parts_by_verdict("below Gaussian noise", below(gaussian)),
            *parts_by_verdict("less for r = 4", least),
            *parts_by_verdict("for r < 4 less than 1.5 times that", near),
        ),
        "rap_more_tables thresholds many",
    )


def f16(r: Results) -> Finding:
    runs = {(k, number): thresholds(r, k, number) for k, number in product((4, 3, 2, 1), NUMBERS)}
    best = {key: best_setting(found) for key, found in runs.items()}
    ahead = {key: ratio(found[16, 4], found[4, 16]) for key, found in runs.items()}
    texts = [
        f"r = {k}: " + " and ".join(f"{best[k, number][0]}, {best[k, number][1]}" for number in NUMBERS)
        for k in (4, 3, 2, 1)
    ]
    ratios = [f"r = {k}: " + ", ".join(str(ahead[k, number]) for number in NUMBERS) for k in (4, 3, 2, 1)]
    return Finding(
        "F16",
        "For r < 4 the error is least with many rounds of few cells each; for r = 4 only T K matters (AK, Figure 8, of "
        "64 thresholds)",
        "pictures, no values in the text",
        f"best T, K of {', '.join(map(str, NUMBERS))} thresholds: {'; '.join(texts)}. The error of 16 rounds of 4 "
        f"cells, times that of 4 of 16, of {', '.join(map(str, NUMBERS))}: {'; '.join(ratios)}",
        FOUR,
        (
            *parts_by_verdict(
                "at T K = 64 16 rounds of 4 beat 4 of 16",
                {f"r = {k} of {number}": found.verdict for (k, number), found in ahead.items() if k < 4},
            ),
            *parts_by_verdict(
                "for r = 4 they are within 30% of one another",
                {f"{number}": ahead[4, number].within(1.3) for number in NUMBERS},
            ),
        ),
        "rap_more_tables thresholds",
    )


def f17(r: Results) -> Finding:
    run = chosen(r.more, experiment="thresholds", rounds=16, choices=4, method="rap", tables=4)
    run = complete(run + chosen(r.more, experiment="records"), "at_least", "relaxed")
    errors = {
        size: {s: float(np.mean([p["largest"] for p in chosen(run, relaxed=size, seed=s)])) for s in _seeds(run)}
        for size in (500, 1000, 2000)
    }
    lower = ratio(errors[2000], errors[500])
    same = {number: ratio(_seconds(r, 4, number, (16, 4)), _seconds(r, 1, number, (16, 4))) for number in NUMBERS}
    shorter = {
        number: ratio(*(_seconds(r, k, number, best_setting(thresholds(r, k, number))) for k in (4, 1)))
        for number in NUMBERS
    }
    return Finding(
        "F17",
        "More relaxed records lower the error mildly; r = 1 takes up to 20 times as long as r = 4, as its best T is "
        "larger "
        "(AK, Figure 9)",
        "up to 20 times",
        f"500, 1,000, 2,000 relaxed records, the mean of all r: {listed(map(mean, errors.values()))}; "
        f"{', '.join(map(str, NUMBERS))} thresholds: r = 1 takes {times(same)} times as long as r = 4 with 16 rounds "
        f"of 4 cells, {times(shorter)} times with the best T and K of each",
        f"{FOUR}; numbers of relaxed records with 4 thresholds and 16 rounds of 4 cells "
        "alone; CPU time; fits stop at the noise",
        (
            Part(f"2,000 have a smaller error than 500: {lower} times", lower.verdict),
            *parts_by_verdict(
                "r = 1 takes longer than r = 4 with the best T and K of each",
                {f"{number}": found.verdict for number, found in shorter.items()},
            ),
            Part(
                "20 times as long with some number of thresholds",
                shown_if(min(each.mean for each in shorter.values()) <= 1 / 20),
            ),
        ),
        "rap_more_tables thresholds records",
    )


def times(found: dict[int, Ratio]) -> str:
    """How many times as long the others take."""
    return ", ".join(f"{1 / each.mean:.1f}" for each in found.values())


def _seeds(points: list[Point]) -> list[int]:
    return sorted({point["seed"] for point in points})


def _seconds(r: Results, at_least: int, tables: int, setting: tuple[int, int | None]) -> BySeed:
    """By seed the CPU seconds of a run of RAP."""
    rounds, choices = setting
    wanted = {"experiment": "thresholds", "method": "rap", "at_least": at_least, "tables": tables}
    return {p["seed"]: p["cpu_seconds"] for p in chosen(r.more, rounds=rounds, choices=choices, **wanted)}


def f18(r: Results) -> Finding:
    [run] = chosen(r.speed, case="evaluation")
    products, recursion = (ratio(dict(enumerate(run[name])), 1.0) for name in ("products", "recursion"))
    few, many = run["operations"]
    return Finding(
        "F18",
        "Inclusion-exclusion has nearly half of the operations of the definition for r > k/2, to which other r are "
        "reduced, and saves at most about 40% of its time at k = 4 (AK, section on optimizing the evaluation)",
        "nearly half; about 40%",
        f"3-of-4: {few} operations in place of {many}, {products} times as long; our recursion {recursion} times",
        "in part: arrays of 250 cells and 1,000 relaxed records on a processor, in place of a GPU; "
        f"{len(run['products'])} runs of each",
        (
            Part("at most 0.6 times as many operations for 3-of-4", shown_if(few <= 0.6 * many)),
            Part("less time", products.verdict),
            Part("at most half of the time is saved", at_most(Ratio(difference([*map(math.log, run["products"])])), 2)),
        ),
        "rap evaluation",
    )


def f19(r: Results) -> Finding:
    [three], [four] = (chosen(r.speed, case=case) for case in ("loans", "loans-fours"))
    return Finding(
        "F19",
        "RAP answers 64 1-of-4 thresholds of Loans, about 35 million queries, in 1,240 s on a GPU (AK, Figure 9)",
        "35 million queries, 1,240 s",
        f"{four['tables']} 1-of-4 thresholds, {four['queries']:,} queries: {four['cpu_seconds']:.0f} CPU s; "
        f"{three['tables']} 1-of-3 thresholds, {three['queries']:,} queries: {three['cpu_seconds']:.0f} CPU s",
        "no: stand-in records on the schema of Loans; thresholds of at most 1.9 million queries each (64 of all sets "
        "of four have 3.6 billion on average, so AK's were not drawn from all, and the text does not say from which); "
        "16 rounds of 4 cells of 300 steps, joint accounting; a processor, not a GPU",
        (Part("the thresholds of Loans in this time", "not shown"),),
        "rap loans-fours loans",
    )


def futures(r: Results, **wanted: Any) -> BySeed:
    """The future errors, by seed, of the setting whose mean present error is the least, as AK choose it."""
    return r.partly_known(**wanted)[best_setting(r.partly_known("present", **wanted))]


def f20(r: Results) -> Finding:
    sizes = {family: _sizes(r, family) for family in FAMILIES}
    rows = {f: {size: futures(r, family=f, drift=0.0, history=size) for size in found} for f, found in sizes.items()}
    zero = chosen(r.partial, experiment="X9", drift=0.0)
    lower = all(point["future"] < point["all_zero"] for point in zero if (point["rounds"], point["choices"]) == (16, 4))
    falls = {family: ratio(found[64], found[1]).verdict for family, found in rows.items()}
    rises = {
        f"{family} from {before} to {after}": at_most(ratio(found[after], found[before]), HARDLY)
        for family, found in rows.items()
        for before, after in pairwise(size for size in found if size <= 64)
    }
    return Finding(
        "F20",
        "The future error is below that of answering 0, and falls with the number of historical thresholds, at last "
        "hardly; "
        "it never rises (AK, Figure 12)",
        "pictures, no values in the text",
        "; ".join(
            f"{f} ({', '.join(map(str, found))}): {listed(map(mean, found.values()))}" for f, found in rows.items()
        )
        + f"; answering 0: {np.mean([point['all_zero'] for point in zero]):.3f}",
        KNOWN + "; three seeds, 12 for 4 thresholds, one for 256; 1,024 sets of three attributes do not exist in Adult",
        (
            Part("below answering 0 in every run of 16 rounds of 4 cells", shown_if(lower)),
            *parts_by_verdict("falls from 1 to 64", falls),
            *parts_by_verdict("no rise of more than a tenth", rises),
            Part("hardly a fall from 64 to 256, of which there is one seed", "not shown"),
        ),
        OF_HISTORIES,
    )


def _sizes(r: Results, family: str) -> list[int]:
    return sorted({point["history"] for point in chosen(r.partial, experiment="X9", family=family, drift=0.0)})


def f21(r: Results) -> Finding:
    ratios = defaultdict(list)
    groups = defaultdict(list)
    for point in chosen(r.partial, experiment="X9", drift=0.0):
        groups[point["family"], point["history"], point["seed"]].append(point)
    for (_, _, seed), points in groups.items():
        by_present = min(points, key=lambda point: point["present"])["future"]
        ratios[seed].append(by_present / min(point["future"] for point in points))
    every = [ratio for found in ratios.values() for ratio in found]
    return Finding(
        "F21",
        "T and K chosen by the present error have nearly the least future error (AK, Figure 12)",
        "pictures, no values in the text",
        f"the future error is {np.mean(every):.2f} times the least one, at worst {max(every):.2f}, in {len(every)} "
        f"cases",
        KNOWN,
        (Part("within 5% in every case", shown_if(max(every) <= 1.05)),),
        OF_HISTORIES,
    )


def f22(r: Results) -> Finding:
    ours = {family: futures(r, family=family, drift=0.0, history=4) for family in FAMILIES}
    pairs = {
        f"{low} below {high}": ratio(ours[low], ours[high])
        for high, low in (("uniform", "geometric"), ("uniform", "zipf"), ("zipf", "geometric"))
    }
    return Finding(
        "F22",
        "With fewer than 16 historical thresholds uniform interests have the highest future error, geometric ones the "
        "lowest (AK, Figure 13)",
        "pictures, no values in the text",
        f"4 thresholds: {', '.join(FAMILIES)}: {listed(map(mean, ours.values()))}; "
        + ", ".join(f"{pair} {found}" for pair, found in pairs.items()),
        KNOWN + f"; {len(ours['uniform'])} seeds",
        (
            *(Part(f"{pair}, 4 thresholds", found.verdict) for pair, found in pairs.items()),
            Part("with 1 threshold", "not shown"),
        ),
        "partial_knowledge --histories 4 --drifts 0 --seeds 12",
    )


def f23(r: Results) -> Finding:
    paths: dict[str, dict[int, BySeed]] = {}
    for family in ("uniform", "geometric"):
        found: dict[int, BySeed] = defaultdict(dict)
        for point in chosen(r.partial, experiment="X10", family=family):
            found[point["steps"]][point["seed"]] = point["future"]
        paths[family] = dict(sorted(found.items()))
    falls = {family: ratio(path[max(path)], path[min(path)]) for family, path in paths.items()}
    more = ratio(
        *(
            {seed: path[300][seed] / path[1][seed] for seed in path[1]}
            for path in (paths["geometric"], paths["uniform"])
        )
    )
    rises = {
        f"{family} from {before} to {after}": at_most(ratio(path[after], path[before]), HARDLY)
        for family, path in paths.items()
        for before, after in pairwise(path)
    }
    return Finding(
        "F23",
        "The future error of 4 historical thresholds falls throughout the fit, so that there is no overfitting, and "
        "much "
        "less under uniform interests (AK, Figure 14)",
        "pictures of Loans, no values in the text",
        "after 1, 3, 10, 30, 100, 300 steps a round: "
        + "; ".join(f"{family} {listed(map(mean, path.values()))}" for family, path in paths.items()),
        "no: stand-in records on the schema of Loans; 4 rounds of 4 cells, each figure a run of its own, 20 future "
        "thresholds, four seeds, joint accounting",
        (
            *(
                Part(f"stand-in records: falls under {family} interests: {found} times", found.verdict)
                for family, found in falls.items()
            ),
            Part(f"stand-in records: falls more under geometric ones: {more} times as far", more.verdict),
            *parts_by_verdict("stand-in records: no rise of more than a tenth", rises),
            Part("on Loans", "not shown"),
        ),
        "partial_knowledge --loans SCHEMA --seeds 4",
    )


def f24(r: Results) -> Finding:
    points = complete(chosen(r.partial, experiment="X9", family="geometric", history=4), *SETTING, "drift")
    r = r._replace(partial=points)
    drifts = sorted({point["drift"] for point in points})
    runs = {drift: r.partly_known(drift=drift)[16, 4] for drift in drifts}
    rise = {drift: ratio(runs[0.0], found) for drift, found in runs.items() if drift}
    return Finding(
        "F24",
        "Drift raises the future error noticeably only from about 0.4 on with 4 historical thresholds of Adult, and "
        "from "
        "0.1 on with 16 of Loans (AK, Figure 15)",
        "about 0.4, and 0.1; errors in a picture",
        f"16 rounds of 4 cells, drift {', '.join(f'{drift:g}' for drift in drifts)}: "
        f"{listed(map(mean, runs.values()))}; "
        f"without drift, times with 0.4: {rise[0.4]}, with 0.5: {rise[0.5]}, with 1: {rise[1.0]}",
        KNOWN_DATA + f"16 rounds of 4 cells alone, joint accounting; {len(runs[0.0])} seeds; Loans was not run",
        (
            Part("a rise from 0.5 on", _verdict_of([rise[0.5], rise[1.0]])),
            Part("none up to 0.2, as errors are larger than the rises", "not shown"),
            Part("Loans", "not shown"),
        ),
        "partial_knowledge --families geometric --histories 4 --seeds 6",
    )


def _verdict_of(found: list[Ratio]) -> str:
    """That of all of them."""
    return shown_if(all(each.verdict == "shown" for each in found))


LATER = (f15, f16, f17, f18, f19, f20, f21, f22, f23, f24)
