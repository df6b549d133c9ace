"""What a plan or a release promises, in the notions of privacy that may be claimed for it.

Reads: Subject.  Gives: sentences and a small table.  Every number is rounded to the safe side.
"""

from dataclasses import dataclass
from typing import cast

from residualplanner._words import rounded_up
from residualplanner.privacy import Noise, PrivacyClaim, claim_of_budget
from residualplanner.reporting.subject import NoiseTold, Subject
from residualplanner.reporting.words import column_rounded_up

#: The deltas that epsilon is told for, besides the budget's own.
DELTAS = ("1e-5", "1e-6", "1e-8", "1e-10")


@dataclass(frozen=True, slots=True)
class Promise:
    """What may be said about privacy.

    Attributes:
        sentence: the one to sign.
        is_private: whether anything is promised.
        statement: the budget as it was stated, where that holds for the noise.
        notions: names of notions, what holds, and a remark.
        epsilons: delta and epsilon.
        curve: where epsilon comes from.
        in_words: what that means.
        terms: the names of all notions that the page uses.
    """

    sentence: str
    is_private: bool
    statement: str
    notions: tuple[tuple[str, str, str], ...]
    epsilons: tuple[tuple[str, str], ...]
    curve: str
    in_words: str
    terms: str


def promise_of(subject: Subject) -> Promise:
    """What the budget of a plan, or the noise of a release, promises."""
    noise = subject.noise
    claim = claim_of_budget(subject.budget, subject.neighbors) if noise is None else _claim_of_noise(subject, noise)
    told = claim.epsilons(DELTAS)
    texts = column_rounded_up([epsilon for _, epsilon in told])
    stated = "Budget as stated" if claim.statement == subject.budget.statement else "Budget"
    held = [(holding.notion, f"{holding.parameter} = {rounded_up(holding.value)}", holding.remark)
            for holding in claim.holdings]  # fmt: skip
    return Promise(
        sentence=_plan_sentence(claim) if noise is None else noise.guarantee.removeprefix("none: "),
        is_private=noise is None or noise.is_private,
        statement=claim.statement,
        notions=((stated, claim.statement, ""), *held),
        epsilons=tuple((delta, text) for (delta, _), text in zip(told, texts, strict=True)),
        curve=claim.curve,
        in_words=f"{claim.promise[:1].upper()}{claim.promise[1:]}.",
        terms=", ".join([notion for notion, _, _ in held] + ["(epsilon, delta)-DP"]),
    )


def _claim_of_noise(subject: Subject, noise: NoiseTold) -> PrivacyClaim:
    """What may be said of noise that has been drawn: for its exact cost, or where none is known for the budget's."""
    cost = subject.budget.pcost_exact if noise.pcost is None else noise.pcost
    return PrivacyClaim(cost, subject.neighbors.words, cast("Noise", noise.kind), subject.budget)


def _plan_sentence(claim: PrivacyClaim) -> str:
    unmeasured = "Nothing has been measured for this page: it is computed from the schema and the budget alone."
    return f"{claim.planned}  {unmeasured}"
