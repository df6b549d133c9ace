"""What a plan or a release promises, in the notions of privacy that may be claimed for it, and other budgets.

Every number is rounded to the safe side.  The same noise, scaled, has errors in proportion to its root: the script
``another_budget.js`` computes with what the page of a plan holds for that.  Source: eqs. (2) and (8).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import decimal_text_up, fraction_text, number_text, rounded_up, short_text_down
from residualplanner.method.domain.domain import remarks_of
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, PrivacyClaim, claim_of_budget
from residualplanner.method.privacy.claim import CAUTION, DELTA_OF_MOST, MOST_EPSILON
from residualplanner.publish.report.figures import comparable, spread_by_order, spread_rows
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.tables import script_json
from residualplanner.publish.report.words import column_rounded_up, level_text, typical_of
from residualplanner.release.quality import CAUTION as WITH_CAUTION
from residualplanner.release.quality import RELIABLE, UNRELIABLE, Quality

#: The deltas that epsilon is stated for, besides the budget's own.
_DELTAS = ("1e-5", "1e-6", "1e-8", "1e-10")
_UNMEASURED = "Nothing has been measured for this page: it is computed from the schema and the budget alone."


@dataclass(frozen=True, slots=True)
class Promise:
    """What may be said about privacy."""

    sentence: str  # to sign
    is_private: bool  # whether anything is promised
    statement: str  # the budget as it was stated, where that holds for the noise
    notions: tuple[tuple[str, str, str], ...]  # of each notion of privacy its name, what holds in it, and a remark
    epsilons: tuple[tuple[str, str], ...]  # pairs of delta and epsilon
    curve: str  # where epsilon comes from
    in_words: str  # what the promise means
    caution: str  # the sentence on a budget beyond reason; empty for others
    terms: str  # the names of all notions that the page uses
    #: Of each of several measurements its number, noise, where that came from, tables, and cost; empty for one.
    measured: tuple[tuple[str, ...], ...] = ()


def promise_of(subject: Subject) -> Promise:
    """The promise of the budget of a plan, or of the noise of a release."""
    plan, tables = subject.plan, subject.tables
    if tables is None:
        claim, is_private = claim_of_budget(plan.budget, plan.neighbors), True
        sentence = f"{claim.planned}  {_UNMEASURED}  {remarks_of(plan.domain)}".rstrip()
    else:
        noise = tables.noise
        cost = _cost(plan, noise)
        claim, is_private = PrivacyClaim(cost, plan.neighbors.words, noise.kind, plan.budget), noise.is_private
        rho, exact = decimal_text_up(cost / 2), fraction_text(cost / 2)  # which stands in the manifest
        sentence = noise.sentence.replace(f"rho = {exact} (<= {rho})", f"rho at most {rho}")
    several = () if tables is None else tables.noise.measured
    measured = tuple((str(number), *_measured_row(*each)) for number, each in enumerate(several, 1))
    epsilons = claim.epsilons(_DELTAS)
    texts = column_rounded_up([epsilon for _, epsilon in epsilons])
    stated, statement = "Budget", claim.statement
    if statement == plan.budget.statement:  # shown with decimals for fractions, rounded up
        stated = stated if measured else "Budget as stated"
        given = (decimal_text_up(Fraction(text)) if "/" in text else text for text in plan.budget.given)
        statement = plan.budget.worded(*given)
    held = [(holding.notion, f"{holding.parameter} = {rounded_up(holding.value)}", holding.remark)
            for holding in claim.holdings]  # fmt: skip
    return Promise(
        sentence=sentence,
        is_private=is_private,
        statement=statement,
        notions=((stated, statement, ""), *held),
        epsilons=tuple((delta, text) for (delta, _), text in zip(epsilons, texts, strict=True)),
        curve=claim.curve,
        in_words=f"{claim.promise[:1].upper()}{claim.promise[1:]}.",
        caution=claim.caution,
        terms=", ".join([notion for notion, _, _ in held] + ["(epsilon, delta)-DP"]),
        measured=measured,
    )


def _cost(plan: Plan, noise: NoiseRecord) -> Fraction:
    """The exact cost where it is known, and of other noise that of the budget, which it keeps to."""
    return plan.budget.pcost_exact if noise.pcost is None else noise.pcost


def _measured_row(plan: Plan, noise: NoiseRecord) -> tuple[str, ...]:
    rho = rounded_up(_cost(plan, noise) / 2)
    return f"{noise.kind} Gaussian", noise.randomness, number_text(len(plan.workload)), f"rho = {rho}"


#: The notions that a budget is chosen in on the page, and how a budget of each notion of the library is stated there.
_NOTIONS = {"rho": "rho (zCDP)", "epsilon": "epsilon, at a delta", "mu": "mu (GDP)"}
_STATED = {"pcost": "rho", "zcdp": "rho", "gdp": "mu", "approx_dp": "epsilon"}
#: How many records cells have, of which the coefficient of variation is shown.
_SIZES = (10, 100, 1_000, 10_000, 100_000)


def notions_of(subject: Subject) -> dict[str, str]:
    """The notions that a reader may choose from, and their names: GDP is for continuous noise only."""
    is_discrete = "discrete" in subject.plan.budget.proved_for
    return {key: name for key, name in _NOTIONS.items() if key != "mu" or not is_discrete}


def budget_json(subject: Subject, promise: Promise) -> str:
    """What the script needs, as JSON for a script element: numbers, and words of this package."""
    plan, budget, quality = subject.plan, subject.plan.budget, Quality()
    spread = np.array([row[2:] for row in spread_by_order(comparable(subject.errors))])
    content = {
        "cost": budget.pcost,
        "statement": promise.statement,
        "notion": _STATED[budget.notion],
        "number": rounded_up(budget.pcost_exact / 2) if budget.notion == "pcost" else budget.given[0],
        "delta": claim_of_budget(budget, plan.neighbors).delta,
        "continuous": "discrete" not in budget.proved_for,
        "line": toml_line(budget),
        "caution": {"epsilon": MOST_EPSILON, "delta": DELTA_OF_MOST, "words": CAUTION},
        "level": level_text(subject.level),
        "rmse": plan.rmse,
        "worst": margin_factor(subject.level) * float(np.sqrt(plan.max_variance)),
        "orders": [row[0] for row in spread_rows(comparable(subject.errors))],
        "spread": spread.tolist(),
        "typical": typical_of(spread.ravel()),
        "counted": _counted(subject),
        "unit": plan.domain.weight.unit_name or "records",
        "sizes": _SIZES,
        "grades": [[quality.reliable, RELIABLE], [quality.usable, WITH_CAUTION], [None, UNRELIABLE]],
    }
    return script_json(content)


def _counted(subject: Subject) -> list[float | None]:
    """For each order the median standard error of a cell of its tables of counts; None where that says nothing.

    That is where there are only sums of amounts, and of the number of records where that is public.
    """
    errors = subject.errors
    counts = errors[errors["unit"] == subject.plan.domain.unit] if "unit" in errors else errors
    if subject.plan.neighbors.has_public_total:
        counts = counts[counts["order"] > 0]
    medians = counts.groupby("order")["std_err"].median()
    return [float(medians[order]) if order in medians else None for order in sorted(set(errors["order"]))]


def toml_line(budget: Budget) -> str:
    """A budget as a line of a spec file, where noise is discrete: of another budget the zCDP of the same noise."""
    if "discrete" not in budget.proved_for:
        return f'budget = {{ zcdp = "{short_text_down(budget.pcost_exact / 2)}" }}'
    if budget.notion == "approx_dp":
        epsilon, delta = budget.given
        return f'budget = {{ approx_dp = {{ epsilon = "{epsilon}", delta = "{delta}" }} }}'
    return f'budget = {{ {budget.notion} = "{budget.given[0]}" }}'
