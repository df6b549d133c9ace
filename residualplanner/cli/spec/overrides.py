"""Options in place of entries of a spec: another budget, another loss, another level.

Reads: SpecFile, options.  Gives: SpecFile.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from residualplanner._margins import require_level
from residualplanner.cli.messages.output import Output
from residualplanner.cli.spec.file import ApproxTable, BudgetTable, SpecFile
from residualplanner.cli.spec.typed_budget import LossName, budget_of_text
from residualplanner.errors import BudgetError
from residualplanner.losses import MaxVariance, SumOfVariances
from residualplanner.reconstruction import FormatName, ProfileName

_LOSSES: Mapping[LossName, SumOfVariances | MaxVariance] = {
    "sum": SumOfVariances(),
    "max": MaxVariance(),
    "sqrt": SumOfVariances("sqrt"),
    "equal": SumOfVariances("equal"),
}


class Typed(NamedTuple):
    """The options typed in place of entries of the spec; None where the entry holds.

    Attributes:
        budget: such as "zcdp=0.5"; it replaces the spec's ``at_most``, too.
        at_most: the largest loss allowed, in counts squared; it replaces the spec's budget, too.
        loss: the "sum" of all cell variances, their "max"imum, or a sum of tables' variances with weights "sqrt" or
            "equal"; it replaces the spec's targets, too.
        level: of confidence.
        format: of the tables' files.
        profile: the columns beside the labels.
    """

    budget: str | None = None
    at_most: float | None = None
    loss: LossName | None = None
    level: float | None = None
    format: FormatName | None = None
    profile: ProfileName | None = None


def overridden(spec: SpecFile, path: Path, typed: Typed, output: Output) -> SpecFile:
    """The spec in the file at ``path`` with the options in place of its entries; the changes are said.

    Raises:
        BudgetError: they do not go together, or a number is out of range.
    """
    _require_one_limit(spec, path, typed)
    changes: dict[str, Any] = {}
    if typed.budget is not None:
        changes |= {"budget": _budget_table(typed.budget), "at_most": None}
    if typed.at_most is not None:
        if not 0 < typed.at_most < math.inf:
            loss = "the largest loss allowed is a number above 0, in counts squared"
            raise BudgetError(f"--at-most: {loss}; got {typed.at_most}")
        changes |= {"budget": None, "at_most": typed.at_most}
    if typed.loss is not None:
        changes |= {"loss": _LOSSES[typed.loss], "targets": []}
    if typed.level is not None:
        require_level(typed.level)
    written = {name: value for name in ("level", "format", "profile") if (value := getattr(typed, name)) is not None}
    if written:
        changes["output"] = spec.output.model_copy(update=written)
    if changes:
        given = {name: value for name, value in typed._asdict().items() if value is not None}
        words = ", ".join(f"{name} {value}" for name, value in given.items())
        output.say(f"{'Changed':<11} {words}; all else as in {path}", event="changed", **given)
    return spec.model_copy(update=changes)


def _require_one_limit(spec: SpecFile, path: Path, typed: Typed) -> None:
    if typed.budget is not None and typed.at_most is not None:
        raise BudgetError(
            "--budget and --at-most exclude each other: --budget zcdp=0.5 limits what is spent, and --at-most 25 the "
            "loss that is left; give one of them"
        )
    if spec.targets and typed.at_most is not None and typed.loss is None:
        raise BudgetError(f"{path} has [[targets]] in place of a loss; say with --loss what --at-most is to limit")
    if spec.targets and typed.loss is not None and (typed.budget or spec.budget or typed.at_most) is None:
        raise BudgetError(f"{path} has [[targets]] in place of a budget; add --budget or --at-most to --loss")
    if typed.loss is not None and typed.budget is None and typed.at_most is None and spec.at_most is not None:
        raise BudgetError(
            f"{path} limits its own loss by at_most, which does not apply to --loss {typed.loss}; add --at-most with a "
            "limit for that loss, in counts squared, or a --budget"
        )


def _budget_table(text: str) -> BudgetTable:
    """A typed budget as the table of a spec."""
    try:
        budget = budget_of_text(text)
    except BudgetError as error:
        raise BudgetError(f"--budget: {error}") from None
    if budget.notion == "approx_dp":
        epsilon, delta = budget.given
        return BudgetTable(approx_dp=ApproxTable(epsilon=epsilon, delta=delta))
    return BudgetTable.model_validate({budget.notion: budget.given[0]})
