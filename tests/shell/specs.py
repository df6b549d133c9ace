# ruff: noqa: F401 - what is imported here is for the tests
"""Specs in tests: what they mean; and what commands tell programs.  The one door of these tests to the command line."""

import json

from residualplanner.datasets import adult
from residualplanner.fits import synthesis
from residualplanner.fits.nonnegative import fitted_mixture
from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros
from residualplanner.fits.nonnegative.nonnegative import Adjustments
from residualplanner.gate.ledger import Balance
from residualplanner.gate.ledger import file as ledger_file
from residualplanner.gate.ledger.lines import LedgerTerms
from residualplanner.gate.measurement.measure import require_measurable
from residualplanner.gate.spend import warn_without_ledger
from residualplanner.ground.stores import Folder
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.domain.labels import Into
from residualplanner.method.plan.files import plan_hash
from residualplanner.publish.report import report
from residualplanner.shell.cli import measuring, output, planning, releasing, steps
from residualplanner.shell.cli.app import app
from residualplanner.shell.cli.spec.file import SIZE_LIMIT, read_spec, spec_schema
from residualplanner.shell.cli.spec.objects import domain_of_spec, targets_of_spec, workload_of_spec
from residualplanner.shell.cli.spec.starting import starting_spec
from residualplanner.shell.cli.steps import measurement_bytes
from residualplanner.shell.questions.comparison import plan_of_part, restriction, scaled_plan


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
