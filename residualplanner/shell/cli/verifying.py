"""The command that has a plan or a release verified by a program of its own."""

from collections.abc import Sequence
from pathlib import Path

import typer

from residualplanner.ground.errors import ArgumentError
from residualplanner.ground.words import count_text
from residualplanner.shell.cli import paths
from residualplanner.shell.cli.output import Output
from residualplanner.shell.verifier import verify


def run_verify(source: Path, tables: Sequence[str], output: Output) -> None:
    """Say what is verified, a line for each claim; typer.Exit with 1 where something is wrong, which is always said.

    Unless some are named, or lines are for programs, tables of which the same is found have one line together.
    """
    if not (source / "release.plan").exists():
        paths.require_files("verify", paths.REPORTED, source)

    said: list[str] = []
    of_tables: dict[str, list[str]] = {}  # by what is said of them; only those that are wrong have lines of their own

    def say(claim: str) -> None:
        name, _, found = claim.partition(": ")
        said.append(name)
        is_wrong = found.startswith("NOT VERIFIED")
        if name.startswith("tables/") and not (tables or is_wrong or output.as_json):
            of_tables.setdefault("verified" if found.startswith("verified") else found, []).append(name)
        else:
            Output(output.quiet and not is_wrong, output.as_json).say(claim, event="claim")

    status = verify(source, tables, say)
    for found, names in of_tables.items():
        example = "" if found == "verified" else f", such as {names[0]}"
        output.say(f"{count_text(len(names), 'table')}: {found}{example}", event="claim")
    if status:
        raise typer.Exit(1)
    if absent := [name for name in tables if name not in said]:
        raise ArgumentError(f"there are no tables {absent}; write them as in index.csv, such as tables/age.csv")
