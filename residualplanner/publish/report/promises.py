"""What a plan or a release promises, in the notions of privacy that may be claimed for it.

Reads: Subject.  Gives: Promise: sentences and a small table.  Every number is rounded to the safe side.
"""

from dataclasses import dataclass
from fractions import Fraction

from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.words import decimal_text_up, fraction_text, number_text, rounded_up
from residualplanner.method.domain.domain import remarks_of
from residualplanner.method.privacy import Budget, PrivacyClaim, claim_of_budget
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import column_rounded_up

#: The deltas that epsilon is stated for, besides the budget's own.
DELTAS = ("1e-5", "1e-6", "1e-8", "1e-10")
_UNMEASURED = "Nothing has been measured for this page: it is computed from the schema and the budget alone."


@dataclass(frozen=True, slots=True)
class Promise:
    """What may be said about privacy.

    Attributes:
        sentence: the one to sign.
        is_private: whether anything is promised.
        statement: the budget as it was stated, where that holds for the noise.
        notions: for each notion of privacy its name, what holds in it, and a remark.
        epsilons: pairs of delta and epsilon.
        curve: where epsilon comes from.
        in_words: what the promise means.
        caution: the sentence on a budget beyond reason; empty for others.
        terms: the names of all notions that the page uses.
        measured: for each of several measurements its number, its noise and where that came from, its tables, and
            its cost in rho-zCDP; empty for one.
    """

    sentence: str
    is_private: bool
    statement: str
    notions: tuple[tuple[str, str, str], ...]
    epsilons: tuple[tuple[str, str], ...]
    curve: str
    in_words: str
    caution: str
    terms: str
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
        sentence = _in_decimals(noise.sentence, cost / 2)
    epsilons = claim.epsilons(DELTAS)
    texts = column_rounded_up([epsilon for _, epsilon in epsilons])
    measured = () if tables is None else _measured_rows(tables.noise)
    stated = "Budget as stated" if claim.statement == plan.budget.statement and not measured else "Budget"
    statement = _decimal_statement(plan.budget) if claim.statement == plan.budget.statement else claim.statement
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


def _in_decimals(sentence: str, rho: Fraction) -> str:
    """The sentence to sign with rho as a decimal, rounded up; the fraction that it is stands in the manifest."""
    decimal = decimal_text_up(rho)
    return sentence.replace(f"rho = {fraction_text(rho)} (<= {decimal})", f"rho at most {decimal}")


def _decimal_statement(budget: Budget) -> str:
    """A budget as it was stated, but with fractions as decimals, rounded up.

    Example:
        >>> from residualplanner import approx_dp, zcdp
        >>> _decimal_statement(zcdp("1/3")), _decimal_statement(approx_dp(1, "1e-9"))
        ('0.333334-zCDP', '(1, 1e-9)-DP')
    """
    return budget.worded(*(decimal_text_up(Fraction(text)) if "/" in text else text for text in budget.given))


def _measured_rows(noise: NoiseRecord) -> tuple[tuple[str, ...], ...]:
    """What each of several measurements was, in words."""
    return tuple(
        (
            str(number),
            f"{record.kind} Gaussian",
            record.randomness,
            number_text(len(plan.workload)),
            f"rho = {rounded_up((plan.budget.pcost_exact if record.pcost is None else record.pcost) / 2)}",
        )
        for number, (plan, record) in enumerate(noise.measured, 1)
    )
