"""What the page of a plan holds for other budgets: the same noise, scaled, has errors in proportion to its root.

The script ``another_budget.js`` computes with it; nothing here depends on a record.  Source: eqs. (2) and (8).
"""

import numpy as np

from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import rounded_up, short_text_down
from residualplanner.method.privacy import Budget, claim_of_budget
from residualplanner.method.privacy.claim import CAUTION, DELTA_OF_MOST, MOST_EPSILON
from residualplanner.publish.report.figures import comparable, spread_by_order, spread_rows
from residualplanner.publish.report.privacy import Promise
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.tables import script_json
from residualplanner.publish.report.words import level_text, typical_of
from residualplanner.release.quality import CAUTION as WITH_CAUTION
from residualplanner.release.quality import RELIABLE, UNRELIABLE, Quality

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
    """A budget as a line of a spec file, where noise is discrete: of another budget the zCDP of the same noise.

    Example:
        >>> from residualplanner import approx_dp, privacy, zcdp
        >>> toml_line(zcdp("0.5")), toml_line(privacy.gdp(1))
        ('budget = { zcdp = "0.5" }', 'budget = { zcdp = "0.5" }')
        >>> toml_line(approx_dp(1, "1e-9"))
        'budget = { approx_dp = { epsilon = "1", delta = "1e-9" } }'
    """
    if "discrete" not in budget.proved_for:
        return f'budget = {{ zcdp = "{short_text_down(budget.pcost_exact / 2)}" }}'
    if budget.notion == "approx_dp":
        epsilon, delta = budget.given
        return f'budget = {{ approx_dp = {{ epsilon = "{epsilon}", delta = "{delta}" }} }}'
    return f'budget = {{ {budget.notion} = "{budget.given[0]}" }}'
