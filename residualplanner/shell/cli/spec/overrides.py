"""Options in place of entries of a spec: another budget, another loss, another level."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from residualplanner.ground.errors import BudgetError
from residualplanner.ground.margins import require_level
from residualplanner.method.losses import MaxVariance, SumOfVariances
from residualplanner.shell.cli.option_groups import NumberOptions, PlanOptions
from residualplanner.shell.cli.output import Output
from residualplanner.shell.cli.spec.budgets import LossName, budget_of_text, numbers_by_name
from residualplanner.shell.cli.spec.file import BudgetTable, SpecFile

_LOSSES: Mapping[LossName, SumOfVariances | MaxVariance] = {
    "sum": SumOfVariances(),
    "max": MaxVariance(),
    "sqrt": SumOfVariances("sqrt"),
    "equal": SumOfVariances("equal"),
}


def typed_output(level: float | None, numbers: NumberOptions | None = None, **words: str | None) -> dict[str, Any]:
    """The options that were typed in place of entries of a spec's [output], by name."""
    if level is not None:
        require_level(level)
    return _given({"level": level} | words | ({} if numbers is None else asdict(numbers)))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def overridden(
    spec: SpecFile, path: Path, typed: PlanOptions, in_output: Mapping[str, Any], output: Output
) -> SpecFile:
    """The spec in the file at ``path`` with options in place of its entries, which is said."""
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
    if in_output:
        changes["output"] = spec.output.model_copy(update=in_output)
    if given := _given(asdict(typed)) | dict(in_output):
        words = ", ".join(f"{name} {value}" for name, value in given.items())
        output.say(f"{'Changed':<11} {words}; all else as in {path}", event="changed", **given)
    return spec.model_copy(update=changes)


def _require_one_limit(spec: SpecFile, path: Path, typed: PlanOptions) -> None:
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
    numbers = numbers_by_name(budget)
    return BudgetTable.model_validate(numbers if budget.notion in numbers else {budget.notion: numbers})
