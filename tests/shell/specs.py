"""Specs in tests: what they mean; and what commands tell programs.  The one door of these tests to the command line."""

import json

from residualplanner.method.domain.labels import Into
from residualplanner.shell.cli import measuring, planning, releasing
from residualplanner.shell.cli.app import app
from residualplanner.shell.cli.spec.file import SIZE_LIMIT, read_spec, spec_schema
from residualplanner.shell.cli.spec.objects import domain_of_spec, targets_of_spec, workload_of_spec
from residualplanner.shell.cli.spec.starting import starting_spec
from residualplanner.shell.cli.steps import measurement_bytes

__all__ = [
    "SIZE_LIMIT",
    "Into",
    "app",
    "domain_of_spec",
    "measurement_bytes",
    "measuring",
    "planning",
    "read_spec",
    "releasing",
    "spec_schema",
    "starting_spec",
    "targets_of_spec",
    "workload_of_spec",
]


def domain_of(path):
    """The domain of the spec at a path."""
    return domain_of_spec(read_spec(path))


def workload_of(path):
    """Its workload."""
    spec = read_spec(path)
    return workload_of_spec(spec, domain_of_spec(spec))


def events(result):
    """The events of a command with ``--json``, in order."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def told(result):
    """The first event of each kind."""
    return {event["event"]: event for event in reversed(events(result))}
