"""What a plan or a release promises, in the notions of privacy that may be claimed for it.

Every number is rounded to the safe side.
"""

from dataclasses import dataclass
from fractions import Fraction

from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground import words
from residualplanner.method.domain.domain import remarks_of
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, PrivacyClaim, claim_of_budget
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import column_rounded_up

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
        cost = plan.budget.pcost_exact if noise.pcost is None else noise.pcost  # the exact cost, where it is known
        claim, is_private = PrivacyClaim(cost, plan.neighbors.words, noise.kind, plan.budget), noise.is_private
        rho, exact = words.decimal_text_up(cost / 2), words.fraction_text(cost / 2)  # which stands in the manifest
        sentence = noise.sentence.replace(f"rho = {exact} (<= {rho})", f"rho at most {rho}")
    several = () if tables is None else tables.noise.measured
    measured = tuple((str(number), *_measured_row(*each)) for number, each in enumerate(several, 1))
    epsilons = claim.epsilons(_DELTAS)
    texts = column_rounded_up([epsilon for _, epsilon in epsilons])
    stated = "Budget as stated" if claim.statement == plan.budget.statement and not measured else "Budget"
    statement = _decimal_statement(plan.budget) if claim.statement == plan.budget.statement else claim.statement
    held = [(holding.notion, f"{holding.parameter} = {words.rounded_up(holding.value)}", holding.remark)
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


def _decimal_statement(budget: Budget) -> str:
    """A budget as it was stated, but with fractions as decimals, rounded up.

    Example:
        >>> from residualplanner import approx_dp, zcdp
        >>> _decimal_statement(zcdp("1/3")), _decimal_statement(approx_dp(1, "1e-9"))
        ('0.333334-zCDP', '(1, 1e-9)-DP')
    """
    return budget.worded(*(words.decimal_text_up(Fraction(text)) if "/" in text else text for text in budget.given))


def _measured_row(plan: Plan, noise: NoiseRecord) -> tuple[str, ...]:
    rho = words.rounded_up((plan.budget.pcost_exact if noise.pcost is None else noise.pcost) / 2)
    return f"{noise.kind} Gaussian", noise.randomness, words.number_text(len(plan.workload)), f"rho = {rho}"
