"""The data sets of the benchmark of microdata, and the noise that is drawn for it: for research only, with seeds."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from residualplanner.fits import microdata

Array = NDArray[np.float64]
#: A position counts from 1 to 100; the first one holds most records.
CELLS, LARGE = 100, 10_000.0
#: What each level of privacy is called, and the noise of so many groups.
LAWS = {
    "Laplace, epsilon = 1": {"epsilon": 1.0},
    "Laplace, epsilon = 0.5": {"epsilon": 0.5},
    "Laplace, epsilon = 0.1": {"epsilon": 0.1},
    "Gaussian, rho = 0.5": {"rho": 0.5},
    "Gaussian, rho = 0.125": {"rho": 0.125},
    "Gaussian, rho = 0.005": {"rho": 0.005},
}
PUBLISHED_LAW = "Laplace, epsilon = 0.5"


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table of true counts, and the groups of queries that are measured, most important first."""

    name: str
    counts: Array

    @property
    def domain(self) -> rp.Domain:
        return rp.Domain({f"axis {number}": size for number, size in enumerate(self.counts.shape)})

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """By name: the total, rows and columns where there are two attributes, cells."""
        names = self.domain.names
        inner = {"rows": names[:1], "columns": names[1:]} if len(names) == 2 else {}
        return {"total": (), **inner, "cells": names}

    def answers(self, names: tuple[str, ...]) -> Array:
        """The true marginal."""
        others = tuple(axis for axis, name in enumerate(self.domain.names) if name not in names)
        summed: Array = self.counts.sum(axis=others)
        return summed


def synthetic() -> Iterator[DataSet]:
    """The sixteen synthetic data sets, in one dimension and in two: there positions go down the columns."""
    place = np.arange(1, CELLS + 1)
    shapes = {
        "Level00": np.zeros(CELLS),
        "Level01": np.ones(CELLS),
        "Level16": np.full(CELLS, 16.0),
        "Level32": np.full(CELLS, 32.0),
        "Stair": place.astype(float),
        "Step16": np.where(place <= 50, 0.0, 16.0),
        "Step50": np.where(place <= 50, 0.0, 50.0),
        "SplitStairs": np.where(place < 50, place, 0).astype(float),
    }
    for name, values in shapes.items():
        counts = values.copy()
        counts[0] = LARGE
        yield DataSet(f"{name}-1d", counts)
        yield DataSet(f"{name}-2d", counts.reshape(10, 10, order="F"))


def puma(folder: Path) -> Iterator[DataSet]:
    """Fifteen histograms of race by origin, in the order of their areas."""
    for path in sorted(folder.glob("ST_*.csv")):
        _, state, _, area = path.stem.split("_")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
        yield DataSet(f"PUMA{state}{area}", np.array([row[1:] for row in rows], dtype=np.float64))


def published_rows(folder: Path) -> list[DataSet]:
    """The sixteen data sets of the published tables, D01 to D16."""
    (first,) = (each for each in synthetic() if each.name == "Level00-2d")
    return [first, *puma(folder)]


def noisy(data: DataSet, law: str, draws: int, seed: int) -> microdata.NoisyGroups:
    """Answers of all groups with noise in floating point, from a generator with a seed: nothing to publish."""
    chance = np.random.default_rng(seed)
    noise = microdata.noise_for(len(data.groups), **LAWS[law])
    draw = chance.laplace if "epsilon" in LAWS[law] else chance.normal
    answers = []
    for names in data.groups.values():
        true = data.answers(names)
        values = true + draw(0.0, noise.noise_scale, (draws, *true.shape))  # type: ignore[attr-defined]
        answers.append(microdata.GroupAnswers(microdata.Marginal(names), values, noise))
    return microdata.NoisyGroups(data.domain, answers)
