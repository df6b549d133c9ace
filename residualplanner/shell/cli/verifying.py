"""The command that has a plan or a release verified by a program of its own."""

from collections.abc import Sequence
from pathlib import Path

import typer

from residualplanner.ground.errors import ArgumentError
from residualplanner.shell.cli import paths
from residualplanner.shell.cli.output import Output
from residualplanner.shell.verifier import verify


def run_verify(source: Path, tables: Sequence[str], output: Output) -> None:
    """Say what is verified, a line for each claim; typer.Exit with 1 where something is wrong, which is always said.

    Of a folder without the file of its plan, and of a file of another kind, nothing is verified: errors as those of
    `require_files`.  ArgumentError where it has no such table.
    """
    if not (source / "release.plan").exists():
        paths.require_files("verify", paths.REPORTED, source)

    said: list[str] = []

    def say(claim: str) -> None:
        said.append(claim.partition(": ")[0])
        is_quiet = output.quiet and "NOT VERIFIED" not in claim
        Output(is_quiet, output.as_json).say(claim, event="claim")

    if verify(source, tables, say):
        raise typer.Exit(1)
    if absent := [name for name in tables if name not in said]:
        raise ArgumentError(f"there are no tables {absent}; write them as in index.csv, such as tables/age.csv")
