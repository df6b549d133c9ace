"""One case from beginning to end: all that must hold of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from meetings.build import Built
from meetings.checks import Tables, check_cost, check_files, check_page, check_told
from meetings.covering import Covering, Row
from meetings.factors import Case
from meetings.refusals import RULES, Rule, rule_of
from meetings.roads import COMMANDS, CommandError, Run
from residualplanner.shell import verifier

#: Why the verifier may say that it has not checked a claim.
UNCHECKED = (
    "knows no proof",
    "no unbiased estimates",
    "is not read",
    "in Parquet",
    "there are several",
    "are too many",
    "more than",
    "continuous noise",
    "kind 'matching'",
)


def check(case: Case, folder: Path) -> None:
    """Everything that must hold of a case that is not refused; what fails says which case it is."""
    try:
        _check(case, folder)
    except Exception as error:
        error.add_note(f"the case: {case}")
        raise


def _check(case: Case, folder: Path) -> None:
    built = Built(case)
    run = Run(built, folder)
    tables_folder, measurement = run.published(built.lines)
    check_cost(built, measurement)
    check_told(built, measurement)
    if case["noise"] == "discrete":
        assert run.spent == run.cost(measurement)
    check_verified(tables_folder)
    tables = Tables(built, measurement.plan, built.lines)
    estimates = check_files(built, tables_folder, tables)
    check_changed(built, folder, tables, measurement.plan)
    if case["report"]:
        check_page(built, run.report(tables_folder), estimates)


def check_verified(tables: Path) -> None:
    """The program that shares no code with the package finds nothing wrong, and checks all that it is made for."""
    said: list[str] = []
    verifier.verify(tables, (), said.append)
    left = [line for line in said if ": verified" not in line and not any(word in line for word in UNCHECKED)]
    assert not left, left


def check_changed(built: Built, folder: Path, tables: Tables, plan: rp.Plan) -> None:
    """With one person changed all others count as before, and nothing changes by more than is protected."""
    (folder / "changed").mkdir()
    lines = built.changed()
    after = Tables(built, plan, lines)
    most = built.people.most * (float(built.weights.maximum) if built.weights else 1.0)
    for question, before, now in zip(built.questions, tables.truth, after.truth, strict=True):
        if not question.axes and built.case["neighbors"] == "add-remove":
            assert abs(now - before).max() <= most
    if built.case["noise"] == "bits" or built.case["memory"]:
        return
    found = rp.reconstruct(rp.measure(plan, built.source(lines, folder / "changed"), noise="gaussian"))
    for question, now, std_err in zip(built.questions, after.truth, after.std_err, strict=True):
        off = np.abs(found[question.query].estimate - now)
        assert (off <= 8 * std_err + 1e-6).all(), f"{question.query}: one person changed"


def plain_refusals(covering: Covering) -> list[tuple[Rule, Row]]:
    """For every pair of values that a message refuses a row in which nothing else is refused."""
    return [(rule, row) for rule in RULES if rule.says for row in _rows_of(rule, covering)]


def _rows_of(rule: Rule, covering: Covering) -> Iterator[Row]:
    chance = np.random.default_rng(0)
    for pair in rule.pairs:
        numbers = [covering.values.index(found) for found in pair.items()]
        saved = covering.may_meet.copy()
        covering.may_meet[np.ix_(numbers, numbers)] = True
        # a convex loss may have no usable answer at such budgets, which would be said before what is refused
        # and a label of its own is a second group beside one of all values
        plain = {"noise": "operating system", "loss": "sum", "odd entries": "none"}
        beside = [covering.values.index(found) for found in plain.items() if found[0] not in pair]
        row = covering.completed([*numbers, *beside], None, chance)
        covering.may_meet = saved
        assert row is not None
        yield covering.named(row)


def check_refused(case: Case, rule: Rule, folder: Path) -> None:
    """It is refused in words that help, nothing is charged, and nothing is written but what was there before."""
    built, run = Built(case), None
    try:
        run = Run(built, folder)
        run.published(built.lines)
    except (rp.errors.ResidualPlannerError, CommandError, ValueError) as error:
        message: Any = str(error)
    else:
        raise AssertionError(f"not refused, though {rule.words}: {case}")
    assert rule.says in message, f"{message}\n{case}"
    is_kept = rule.of_tables and case["road"] not in COMMANDS
    assert run is None or is_kept or not run.spent, f"charged, and then refused: {message}\n{case}"
    assert rule_of(case.values) is not None
