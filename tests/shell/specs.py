"""Specs in tests: what they mean; and what commands tell programs.  The one door of these tests to the command line."""

import json

from inner_parts import Into, plan_hash, require_measurable, spend
from inner_parts import file as ledger_file
from residualplanner.shell.cli import app, measuring, output, planning, releasing, steps
from residualplanner.shell.cli.spec import file, objects, starting
from residualplanner.shell.questions import comparison

__all__ = [
    "Into",
    "app",
    "comparison",
    "domain_of",
    "events",
    "ledger_file",
    "measuring",
    "output",
    "plan_hash",
    "planning",
    "read_spec",
    "releasing",
    "require_measurable",
    "starting_spec",
    "steps",
    "targets_of",
    "told",
    "warn_without_ledger",
    "workload_of",
]
warn_without_ledger = spend.warn_without_ledger
read_spec, starting_spec = file.read_spec, starting.starting_spec


def domain_of(path):
    return objects.domain_of_spec(read_spec(path))


def workload_of(path, *, then=lambda: None):
    """Its workload; something may happen once its domain is made."""
    spec = read_spec(path)
    domain = objects.domain_of_spec(spec)
    then()
    return objects.workload_of_spec(spec, domain)


def targets_of(path):
    return objects.targets_of_spec(read_spec(path))


def events(result):
    """The events of a command with ``--json``, in order."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def told(result):
    """The first event of each kind."""
    return {event["event"]: event for event in reversed(events(result))}
