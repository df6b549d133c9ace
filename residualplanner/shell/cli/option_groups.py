"""Options that several commands share, as groups: a command names a group where it would list all its options.

The library is imported within the methods, so that help does not wait for it.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli.output import Output

if TYPE_CHECKING:
    from residualplanner.shell.cli.gates import Gate


@dataclass(frozen=True, slots=True)
class MessageOptions:
    """How a command tells what it does."""

    quiet: opt.Quiet = False
    as_json: opt.Json = False

    @property
    def output(self) -> Output:
        """Where its messages go."""
        return Output(self.quiet, self.as_json)


@dataclass(frozen=True, slots=True)
class MeasuringOptions:
    """How records are read and measured, and what is charged for it."""

    ledger: opt.LedgerFile = None
    again: opt.Again = False
    charge: opt.Charge = "counted"
    newlines_in_values: opt.NewlinesInValues = False
    memory: opt.Memory = None
    scratch: opt.Scratch = None
    store: opt.Store = None

    @property
    def gate(self) -> "Gate":
        """What they are measured by; errors as of `gate_of_options`."""
        from residualplanner.shell.cli.gates import gate_of_options

        return gate_of_options(self.memory, self.scratch, self.store, self.charge, again=self.again)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What is planned otherwise than the spec says."""

    budget: opt.BudgetText = None
    at_most: opt.AtMost = None
    loss: opt.LossWord = None


@dataclass(frozen=True, slots=True)
class NumberOptions:
    """What the numbers of tables are."""

    nonnegative: opt.IsNonNegative = None
    round_to: opt.RoundTo = None
    with_unbiased: opt.WithUnbiased = None
    published_errors: opt.Simulations = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are groups are replaced, in its signature, by the options of the group.

    Example:
        >>> def forget(name: str, *, messages: MessageOptions) -> None:
        ...     print(name, messages)
        >>> list(inspect.signature(with_groups(forget)).parameters)
        ['name', 'quiet', 'as_json']
        >>> with_groups(forget)(name="me", quiet=True)
        me MessageOptions(quiet=True, as_json=False)
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
    }

    @wraps(command)
    def called(**typed: Any) -> None:
        for name, group in groups.items():
            typed[name] = group(**{each.name: typed.pop(each.name) for each in fields(group) if each.name in typed})
        command(**typed)

    parameters = [option for name, each in signature.parameters.items() for option in _options(each, groups.get(name))]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


def _options(parameter: inspect.Parameter, group: Any) -> list[inspect.Parameter]:
    """The options of a group, all of them with defaults; the parameter itself where it is no group."""
    if group is None:
        return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    assert all(each.default is not MISSING for each in fields(group))
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(group)
    ]
