"""Measuring with frozen noise: known numbers, or the same bits for a data set and its neighbor."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import InsecureTestBits, basis_groups, measure_with_bits
from inner_parts import discrete as mechanism
from residualplanner import Measurement, measure


def integers_of(measurement):
    """The integers of each set, flat, by its members."""
    answers = measurement.residuals
    groups = answers.groups
    return {
        members: answers.stored(groups.group[number])[groups.row[number] : groups.row[number] + 1].ravel()
        for number, members in enumerate(measurement.plan.closure)
    }


def refinements(plan):
    """The f of eq. (44) of every set, by doubling it until the noise of all sets with the same bases is wide."""
    groups, precision = (
        basis_groups(plan.strategy),
        [Fraction(float(np.nextafter(1 / s, 0))) for s in plan.noise_variances],
    )
    found = [1] * len(precision)
    for bases, members in zip(groups.bases, groups.members, strict=True):
        f, cells = 1, math.prod(basis.size for basis in bases if basis.matrix is None)
        most = max(precision[number] for number in members)
        is_public = plan.neighbors.notion == "replace" and not bases and most >= 2**10
        while not is_public and (f * cells) ** 2 / most < 2**44:
            f *= 2
        for number in members:
            found[number] = f
    return found


def divisors_of(bases, f=1):
    """What the answers of groups with these bases are divided by."""
    return tuple(f * math.prod(basis.size for basis in group if basis.matrix is None) for group in bases)


def _noise_of(monkeypatch, values):
    """Have ``values(size)``, one draw after another, stand in place of random numbers."""
    monkeypatch.setattr(mechanism, "THREADS", 10**6)  # fewer batches than threads are drawn in order
    monkeypatch.setattr(mechanism, "draw_flat", lambda _scales, sizes, _source: values(int(np.sum(sizes))))


def noise_frozen(monkeypatch):
    """Draw the squares of 1, 2, 3, .. in place of random numbers."""
    numbers = itertools.count(1)
    _noise_of(monkeypatch, lambda size: np.fromiter(itertools.islice(numbers, size), np.int64, size) ** 2)


def noise_left_out(monkeypatch):
    """Draw zeros in place of random numbers."""
    _noise_of(monkeypatch, lambda size: np.zeros(size, np.int64))


def drawn_scales(plan):
    """Gamma squared of every draw that measuring makes, in the order of the work."""
    scales_drawn = []

    def flat(scales, sizes, _source):
        for numerator, denominator, size in zip(scales.numerators, scales.denominators, sizes, strict=True):
            scales_drawn.extend([Fraction(numerator, denominator)] * int(size))
        return np.zeros(int(np.sum(sizes)), dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "THREADS", 10**6)
        patch.setattr(mechanism, "draw_flat", flat)
        measure(plan, np.zeros((1, len(plan.domain)), dtype=np.int64))
    return scales_drawn


class CountedBits(InsecureTestBits):
    """Foreseeable bits that remember how many were requested at a time."""

    def __init__(self, seed):
        super().__init__(seed)
        self.requests = []

    def read(self, count):
        self.requests.append(count)
        return super().read(count)


def along_axes(tables, matrices):
    """A matrix of integers, or none, along each axis of a stack of tables, entry by entry in Python integers."""
    result = tables.astype(object)
    for axis, matrix in enumerate(matrices, start=1):
        if matrix is not None:
            result = np.moveaxis(np.tensordot(matrix.astype(object), result, axes=(1, axis)), 0, axis)
    return result


def before_noise(counts, bases):
    """Xi v of eqs. (34) and (36)."""
    sizes = counts.shape[1:]
    matrices = [
        n * np.eye(n, dtype=int) - 1 if basis.matrix is None else basis.matrix
        for n, basis in zip(sizes, bases, strict=True)
    ]
    return along_axes(counts, matrices)


def after_noise(noisy, bases):
    """The differences of eq. (35), along the axes that have the subtraction basis."""
    matrices = [
        np.hstack([np.ones((n - 1, 1), dtype=int), -np.eye(n - 1, dtype=int)]) if basis.matrix is None else None
        for n, basis in zip(noisy.shape[1:], bases, strict=True)
    ]
    return along_axes(noisy, matrices)


@dataclass(frozen=True)
class Replay:
    """What happened in one run."""

    measurement: Measurement  # what left the gate
    centered: list[Any]  # in the order of the work, f Xi v of eq. (44) for every stack of tables
    noise: list[Any]  # the noise of each; the run gave what differences of this and of the centered tables give
    requests: list[int]  # how many random bytes were requested at a time
    steps: list[tuple[int, int]]  # what was reported of the progress


def replay(plan, data, seed, monkeypatch):
    """Measure with the bits of ``seed``, and keep what nobody else may see."""
    centered, noise, steps, bits = [], [], [], CountedBits(seed)
    noisy_answers = mechanism.noisy_answers

    def watched(counts, drawn, *, bases, divisor, **options):
        before = divisor // divisors_of([bases])[0] * before_noise(counts, bases)
        centered.append(before.astype(np.int64))
        noise.append(np.array(drawn))
        found = noisy_answers(counts, drawn, bases=bases, divisor=divisor, **options)
        assert (found == after_noise(before + drawn, bases)).all()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(mechanism, "noisy_answers", watched)
        found = measure_with_bits(plan, data, bits, progress=lambda done, total: steps.append((done, total)))
    return Replay(found, centered, noise, bits.requests, steps)


def measured_with(plan, data, seed):
    """A measurement from the test bits of a seed."""
    return measure_with_bits(plan, data, InsecureTestBits(seed))


def groups_of(workload):
    """The sets of a workload by their subtraction bases."""
    return basis_groups(rp.strategies.subtraction_strategy(workload))
