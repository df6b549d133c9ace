"""How far published numbers are from the truth where they are no longer unbiased: a row for each table."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from residualplanner.ground.checks import FloatArray, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.notebooks import frame_html
from residualplanner.ground.words import count_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.release.product import Product

if TYPE_CHECKING:
    import pandas as pd

#: The columns of their table, and the types of these in the vocabulary of CSV on the Web.
PUBLISHED_ERRORS = {
    "query": "string",
    "kinds": "string",
    "cells": "integer",
    "rmse": "double",
    "rmse_simulation_error": "double",
    "bias": "double",
    "bias_simulation_error": "double",
    "std_err_unbiased": "double",
    "simulations": "integer",
}


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PublishedErrors:
    """The errors of published numbers by simulation, table by table, in the order of the workload.

    Attributes:
        plan: of the tables.
        product: what their numbers are.
        simulations: how many there were.
        seed: of the generator.
        rmse (m,): the root mean square error of a cell, over cells and simulations, in counts.
        rmse_simulation_error (m,): its standard error, from the number of simulations being finite.
        bias (m,): the root mean square, over cells, of the bias of a cell, in counts.
        bias_simulation_error (m,): its standard error, in the same sense.
    """

    plan: Plan = field(repr=False)
    product: Product
    simulations: int
    seed: int
    rmse: FloatArray
    rmse_simulation_error: FloatArray
    bias: FloatArray
    bias_simulation_error: FloatArray

    def __repr__(self) -> str:
        tables = count_text(len(self.rmse), f"{self.product.name} table")
        return f"<PublishedErrors of {tables}: {count_text(self.simulations, 'simulation')}>"

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    def to_frame(self) -> "pd.DataFrame":
        """One row per query, in the order of the workload.

        Returns:
            ``query``, ``kinds`` and ``cells`` as in `Plan.errors`; ``rmse`` and ``bias``, each with its
            ``_simulation_error``; ``std_err_unbiased``, the standard error of the unbiased estimates, which is their
            root mean square error; ``simulations``.
        """
        errors = self.plan.errors()
        own = {name: getattr(self, name) for name in PUBLISHED_ERRORS if name not in errors and hasattr(self, name)}
        return errors.assign(std_err_unbiased=errors["std_err"], **own)[list(PUBLISHED_ERRORS)]


def require_errors_of(plan: Plan, product: Product, errors: PublishedErrors) -> None:
    """Raise WorkloadError unless errors are about this plan and this sort of numbers."""
    require_type("save", "errors", errors, PublishedErrors, "write save(folder, errors=published_errors(release))")
    if plan_hash(errors.plan) != plan_hash(plan) or errors.product != product:
        raise WorkloadError(
            f"these errors are of other tables ({errors.product.name}); write errors=published_errors(release) with "
            "the release that is saved"
        )
