"""Commands of the command line, run in this process."""

from typing import Any

from typer.testing import CliRunner

from residualplanner.shell.cli.app import app


def outcome(*arguments: object, **environment: str) -> Any:
    """What a command has led to: its status, what it printed, and an exception that it did not expect."""
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], env=environment, prog_name="residualplanner"
    )
