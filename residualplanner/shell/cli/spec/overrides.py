"""Options in place of entries of a spec: another budget, another loss, another level.

Reads: SpecFile, options.  Gives: SpecFile.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from residualplanner.ground.errors import BudgetError
from residualplanner.ground.margins import require_level
from residualplanner.method.losses import MaxVariance, SumOfVariances
from residualplanner.publish.files.export_files import FormatName
from residualplanner.publish.files.profiles import ProfileName
from residualplanner.shell.cli.output import Output
from residualplanner.shell.cli.spec.budgets import LossName, budget_of_text, numbers_by_name
from residualplanner.shell.cli.spec.file import BudgetTable, SpecFile
from residualplanner.shell.cli.spec.output import OutputTable

_LOSSES: Mapping[LossName, SumOfVariances | MaxVariance] = {
    "sum": SumOfVariances(),
    "max": MaxVariance(),
    "sqrt": SumOfVariances("sqrt"),
    "equal": SumOfVariances("equal"),
}


@dataclass(frozen=True, slots=True)
class TypedOutput:
    """The options typed in place of entries of a spec's [output]; None where the entry holds.

    Attributes:
        level: of confidence.
        format: of the tables' files.
        profile: the columns beside the labels.
        nonnegative: whether tables have no negative cell.
        round_to: what numbers are multiples of.
        with_unbiased: whether unbiased estimates stand beside other numbers.
        published_errors: how many simulations tell the errors of these.

    Raises:
        BudgetError: the level is not between 0 and 1.
    """

    level: float | None = None
    format: FormatName | None = None
    profile: ProfileName | None = None
    nonnegative: bool | None = None
    round_to: int | None = None
    with_unbiased: bool | None = None
    published_errors: int | None = None

    def __post_init__(self) -> None:
        if self.level is not None:
            require_level(self.level)

    @property
    def given(self) -> dict[str, Any]:
        """The options that were typed, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def instead_of(self, table: OutputTable) -> OutputTable:
        """The [output] of a spec with these in place of its entries."""
        return table.model_copy(update=self.given)


@dataclass(frozen=True, slots=True)
class Typed:
    """The options typed in place of entries of the spec; None where the entry holds.

    Attributes:
        budget: such as "zcdp=0.5"; it replaces the spec's ``at_most``, too.
        at_most: the largest loss allowed, in counts squared; it replaces the spec's budget, too.
        loss: the "sum" of all cell variances, their "max"imum, or a sum of tables' variances with weights "sqrt" or
            "equal"; it replaces the spec's targets, too.
        output: those in place of entries of its [output].
    """

    budget: str | None = None
    at_most: float | None = None
    loss: LossName | None = None
    output: TypedOutput = TypedOutput()

    @property
    def given(self) -> dict[str, Any]:
        """The options that were typed, by name."""
        own = {"budget": self.budget, "at_most": self.at_most, "loss": self.loss}
        return {name: value for name, value in own.items() if value is not None} | self.output.given


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
    if typed.output.given:
        changes["output"] = typed.output.instead_of(spec.output)
    if given := typed.given:
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
    numbers = numbers_by_name(budget)
    return BudgetTable.model_validate(numbers if budget.notion in numbers else {budget.notion: numbers})
