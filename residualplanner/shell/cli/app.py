"""The program: its commands, its help, and what it does about errors."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from residualplanner.ground.errors import ArgumentError
from residualplanner.shell.cli import commands
from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli.output import reported_failures


class _Commands(TyperGroup):
    """The group of commands; whatever one of them raises becomes a message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        options = itertools.takewhile(lambda word: word != "--", ctx.args)
        with reported_failures(as_json="--json" in options):
            if any(word in ("", "--output=") for word in ctx.args):
                raise ArgumentError("an argument is empty; if it is a variable of the shell, it is not set")
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: frames of a terminal's width would cut the names of options off
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish the most accurate differentially private tables that a privacy budget allows.\n\n"
    "New here? Run: residualplanner demo\n\n"
    "With data of your own: init, then fill in the spec, then plan, check, and last release. "
    "Exit status: 0, 1 (the run failed), 2 (the input is wrong).",
)


@app.callback()
def _options(version: opt.Version = False) -> None:
    """Options that come before a command."""


def _summary(command: Callable[..., None]) -> str:
    """The first paragraph of a command's docstring, on one line: in a list of commands it is wrapped, not cut off."""
    return " ".join((inspect.getdoc(command) or "").split("\n\n")[0].split())


for name, command in {
    "demo": commands.demo,
    "init": commands.init,
    "plan": commands.plan,
    "check": commands.check,
    "measure": commands.measure,
    "reconstruct": commands.reconstruct,
    "release": commands.release,
    "synthesize": commands.synthesize,
    "compare": commands.compare_plans,
    "report": commands.report,
    "ledger": commands.show_ledger,
    "schema": commands.schema,
}.items():
    app.command(name, short_help=_summary(command))(command)
