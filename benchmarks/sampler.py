"""Discrete Gaussian samplers, in draws a second on one core, all in one run.

    python -m benchmarks.sampler [--json FILE] [--repeat N]
    python -m benchmarks.sampler --release-tests

Ours stands beside the time the operating system needs for the random bytes it uses, NumPy's continuous normal
variates, OpenDP's integer Gaussian (if the package ``opendp`` is installed) and the sampler of Canonne, Kamath &
Steinke (2020) as their paper states it.  A figure is the best of several short runs, in turn and in processor time, so
that a busy machine has little effect; the ratios say more than the figures.  ``--release-tests`` runs the sampler's
tests at the sizes for a release instead.
"""

import argparse
import gc
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from residualplanner.gate.discrete_gaussian import OperatingSystemBits, draw_flat
from residualplanner.gate.discrete_gaussian.envelope import Scales

GAMMAS = (1, 10, 10**3, 10**6, 10**9)
TESTS = Path(__file__).parents[1] / "tests" / "gate" / "discrete_gaussian"
MILLION = 1_000_000


class Contest(NamedTuple):
    """One way to draw: how many at once, a job that draws them, and draws a second it should reach."""

    name: str
    draws: int
    job: Callable[[], object]
    target: float | None = None


class Result(NamedTuple):
    """Draws a second, the best of the runs, and random bytes read for a draw."""

    name: str
    draws_per_second: float
    bytes_per_draw: float
    target: float | None


def bernoulli_exp(numerator: int, denominator: int, random: Random) -> bool:
    """True with probability exp(-numerator / denominator), their Algorithm 1."""
    while numerator > denominator:
        if not bernoulli_exp(1, 1, random):
            return False
        numerator -= denominator
    k = 1
    while random.randrange(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: int, random: Random) -> int:
    """An integer i with probability in proportion to exp(-|i| / scale), their Algorithm 2."""
    while True:
        low = random.randrange(scale)
        if not bernoulli_exp(low, scale, random):
            continue
        high = 0
        while bernoulli_exp(1, 1, random):
            high += 1
        magnitude, is_negative = low + scale * high, random.randrange(2)
        if not (is_negative and magnitude == 0):
            return -magnitude if is_negative else magnitude


def canonne_kamath_steinke(gamma2: Fraction, random: Random) -> int:
    """An integer i with probability in proportion to exp(-i**2 / (2 gamma2)), their Algorithm 3."""
    a, b = gamma2.numerator, gamma2.denominator
    t = isqrt(a // b) + 1
    while True:
        y = discrete_laplace(t, random)
        # the chance is exp(-(|y| - gamma2 / t)**2 / (2 gamma2))
        if bernoulli_exp((abs(y) * t * b - a) ** 2, 2 * a * b * t * t, random):
            return y


def scales_of(gamma2: list[Fraction]) -> Scales:
    return Scales.of_ratios([value.numerator for value in gamma2], [value.denominator for value in gamma2])


def ours() -> list[Contest]:
    def one_scale(gamma: int) -> Callable[[], object]:
        return lambda: draw_flat(scales_of([Fraction(gamma**2)]), [MILLION], OperatingSystemBits())

    random = Random(0)
    numerators = [int(2**60 * 10 ** random.uniform(0, 9)) ** 2 for _ in range(10_000)]
    gamma2 = [Fraction(numerator, 2**120) for numerator in numerators]
    scales, sizes = scales_of(gamma2), np.full(10_000, 100)
    contests = [Contest(f"ours, gamma = {gamma:g}", MILLION, one_scale(gamma), 5e6) for gamma in GAMMAS]
    contests += [
        Contest(
            "ours, 10,000 scales, 100 draws each", MILLION, lambda: draw_flat(scales, sizes, OperatingSystemBits()), 4e6
        ),
        Contest(
            "ours, the same from fractions",
            MILLION,
            lambda: draw_flat(scales_of(gamma2), sizes, OperatingSystemBits()),
            4e6,
        ),
        Contest(
            "ours, gamma = 1e20 (Python integers)",
            20_000,
            lambda: draw_flat(scales_of([Fraction(10**40)]), [20_000], OperatingSystemBits()),
        ),
    ]
    return contests


def others() -> list[Contest]:
    generator, random = np.random.default_rng(0), Random(0)

    def reference(gamma: int) -> Callable[[], object]:
        return lambda: [canonne_kamath_steinke(Fraction(gamma**2), random) for _ in range(1000)]

    contests = [Contest("NumPy standard_normal (continuous)", MILLION, lambda: generator.standard_normal(MILLION))]
    contests += [Contest(f"Canonne-Kamath-Steinke, gamma = {gamma:g}", 1000, reference(gamma)) for gamma in GAMMAS]
    return contests + opendp()


def opendp() -> list[Contest]:
    if importlib.util.find_spec("opendp") is None:
        print("opendp is not installed here; its figures are left out")
        return []
    import opendp.prelude as dp

    dp.enable_features("contrib")
    zeros = [0] * 5000

    def job(gamma: int) -> Callable[[], object]:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        mechanism = dp.m.make_gaussian(*space, scale=float(gamma))
        return lambda: mechanism(zeros)

    return [Contest(f"OpenDP {version('opendp')}, gamma = {gamma:g}", len(zeros), job(gamma)) for gamma in GAMMAS]


def version(package: str) -> str:
    from importlib.metadata import version as installed

    return installed(package)


def seconds_per_byte() -> float:
    """The least time for a byte of ``os.urandom`` in requests of a mebibyte."""
    return min(timed(lambda: os.urandom(2**20)) for _ in range(20)) / 2**20


def timed(job: Callable[[], object]) -> float:
    """Seconds of processor time, the kernel's for random bytes included."""
    gc.collect()
    start = time.process_time()
    job()
    return time.process_time() - start


def bytes_read(job: Callable[[], object]) -> int:
    """Bytes that a job asks of the operating system."""
    true, total = os.urandom, 0

    def spy(count: int) -> bytes:
        nonlocal total
        total += count
        return true(count)

    os.urandom = spy
    try:
        job()
    finally:
        os.urandom = true
    return total


def run(repeat: int) -> tuple[list[Result], float]:
    """Time everything in turn, ``repeat`` times; return the best of each and the seconds for a random byte."""
    contests = ours() + others()
    random_bytes = [bytes_read(contest.job) / contest.draws for contest in contests]  # and builds the tables
    best, byte = [float("inf")] * len(contests), float("inf")
    for _ in range(repeat):
        byte = min(byte, seconds_per_byte())
        for number, contest in enumerate(contests):
            best[number] = min(best[number], timed(contest.job))
    rows = zip(contests, best, random_bytes, strict=True)
    return [Result(c.name, c.draws / seconds, used, c.target) for c, seconds, used in rows], byte


def report(results: list[Result], byte: float) -> None:
    normal = next(result for result in results if result.name.startswith("NumPy"))
    print(f"os.urandom: {1e-6 / byte:.0f} MB/s")
    print(f"{'sampler':<40}{'M draws/s':>10}{'target':>8}{'bytes':>7}{'/ bytes alone':>15}{'/ normal':>10}")
    for result in results:
        seconds = 1 / result.draws_per_second
        target = "" if result.target is None else f"{result.target / 1e6:g}"
        alone = f"{seconds / (result.bytes_per_draw * byte):.2f}" if result.bytes_per_draw > 1 else ""
        print(
            f"{result.name:<40}{result.draws_per_second / 1e6:>10.3f}{target:>8}{result.bytes_per_draw:>7.1f}"
            f"{alone:>15}{seconds * normal.draws_per_second:>10.2f}"
        )
    for rival in ("OpenDP", "Canonne-Kamath-Steinke"):
        ratios = factors(results, rival)
        if ratios:
            print(f"ours is {min(ratios):.0f} to {max(ratios):.0f} times as fast as {rival}")


def factors(results: list[Result], rival: str) -> list[float]:
    """How many times the rival's draws a second ours are, by gamma."""
    mine = {result.name.split(", ")[1]: result for result in results if result.name.startswith("ours, gamma")}
    theirs = {result.name.split(", ")[1]: result for result in results if result.name.startswith(rival)}
    return [mine[gamma].draws_per_second / theirs[gamma].draws_per_second for gamma in theirs]


def main() -> None:
    parser = argparse.ArgumentParser(description="Discrete Gaussian samplers, in draws a second on one core.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--repeat", type=int, default=7, help="runs of which the best counts")
    parser.add_argument("--release-tests", action="store_true", help="run the tests at the sizes for a release")
    arguments = parser.parse_args()
    if arguments.release_tests:
        environment = {**os.environ, "RESIDUALPLANNER_TEST_SIZE": "release"}
        sys.exit(
            subprocess.run([sys.executable, "-m", "pytest", "-v", str(TESTS)], env=environment, check=False).returncode
        )
    results, byte = run(arguments.repeat)
    report(results, byte)
    if arguments.json:
        figures = {"seconds_per_random_byte": byte, "samplers": [result._asdict() for result in results]}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
