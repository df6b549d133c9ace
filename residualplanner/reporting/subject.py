"""What a report is about: a plan, a release, or a folder of one, told in the same way.

Reads: Plan, Release.  Gives: Subject.  Nothing here has seen a record; estimates come from releases.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from residualplanner._margins import margin_factor
from residualplanner.bases import Basis
from residualplanner.domain import Domain
from residualplanner.losses import Loss
from residualplanner.measurement import NoiseRecord
from residualplanner.plan import Plan, plan_hash
from residualplanner.privacy import Budget, Neighbors
from residualplanner.reconstruction import Release
from residualplanner.reporting.shown_table import ShownTable, shown_table
from residualplanner.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: From the number of a row of the error table to the table it is about, or None where it is not kept in a form that
#: can be shown.
TableReader = Callable[[int], ShownTable | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class NoiseTold:
    """How the noise of a release was drawn.

    Attributes:
        kind: "discrete" or "gaussian".
        randomness: where it came from, in words.
        guarantee: what may be claimed for it, in words.
        pcost: of discrete noise the exact privacy cost.
    """

    kind: str
    randomness: str
    guarantee: str
    pcost: Fraction | None

    @property
    def is_private(self) -> bool:
        """Whether anything may be claimed."""
        return not self.guarantee.startswith("none")


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """What a report tells of.

    Attributes:
        name: what it is called.
        level: the confidence level of all margins.
        domain: the schema.
        errors: the error table, a row for each query.
        budget: what may be spent.
        neighbors: which data sets count as neighbors.
        loss, loss_value, gap, status: what was made small, how small, how near to the best, how it was found.
        bases: attribute name and family of its basis.
        plan_sha256: the hash of the plan.
        workload: the queries, where they are known as such, and other plans with the same bases are cheap.
        basis_of_attribute: the bases of the plan, where they are known.
        target_level: the confidence level of the targets in the error table, if it has any.
        noise: how the noise of a release was drawn; None for a plan.
        read_table: reads tables of a release; None for a plan.
    """

    name: str
    level: float
    domain: Domain
    errors: "pd.DataFrame"
    budget: Budget
    neighbors: Neighbors
    loss: Loss
    loss_value: float
    gap: float
    status: str
    bases: tuple[tuple[str, str], ...]
    plan_sha256: str
    workload: Workload | None
    basis_of_attribute: dict[str, Basis] = field(default_factory=dict)
    target_level: float = 0.95
    noise: NoiseTold | None = None
    read_table: TableReader | None = None

    @property
    def is_release(self) -> bool:
        """Whether records have been measured."""
        return self.noise is not None

    @property
    def cells(self) -> float:
        """How many cells all tables have together."""
        return float(self.errors["cells"].sum())

    @property
    def rmse(self) -> float:
        """The root of the average variance over all cells of all tables, in counts."""
        cells = self.errors["cells"].to_numpy(dtype=np.float64)
        return math.sqrt(float(cells @ self.errors["std_err"].to_numpy() ** 2 / cells.sum()))

    @property
    def worst_margins(self) -> "pd.Series[float]":
        """The margin of error of the worst cell of every table, in counts."""
        return self.errors["max_std_err"] * margin_factor(self.level)


def subject_of_plan(plan: Plan, name: str, *, level: float) -> Subject:
    """A plan, as reports tell of it."""
    return Subject(
        name=name,
        level=level,
        domain=plan.domain,
        errors=plan.errors(level),
        budget=plan.budget,
        neighbors=plan.neighbors,
        loss=plan.loss,
        loss_value=plan.loss_value,
        gap=plan.gap,
        status=plan.status,
        bases=tuple((name, basis.family) for name, basis in plan.bases.items()),
        plan_sha256=plan_hash(plan),
        workload=None if plan.strategy.varying.any() else plan.workload,
        basis_of_attribute=plan.bases,
        target_level=level if plan.targets is None else plan.targets.level,
    )


def subject_of_release(release: Release, name: str, *, level: float) -> Subject:
    """A release, as reports tell of it."""
    from dataclasses import replace

    def read_table(row: int) -> ShownTable:
        (query,) = release.plan.workload.take([row])
        table = release[query]
        return shown_table(table.names, table.labels, table.estimate, table.std_err, level=level)

    told = subject_of_plan(release.plan, name, level=level)
    return replace(told, noise=noise_told(release.measurement.noise), read_table=read_table)


def noise_told(record: NoiseRecord) -> NoiseTold:
    """How noise was drawn, as reports tell of it."""
    return NoiseTold(kind=record.kind, randomness=record.randomness, guarantee=record.guarantee, pcost=record.pcost)
