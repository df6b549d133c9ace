"""What a plan or a release promises, in the notions of privacy that may be claimed for it.

Reads: Subject.  Gives: sentences and a small table.  Every number is rounded to the safe side.
"""

from dataclasses import dataclass

from residualplanner._words import rounded_up
from residualplanner.privacy import Budget, pcost
from residualplanner.reporting.subject import Subject
from residualplanner.reporting.words import column_rounded_up

#: The deltas that epsilon is told for, besides the budget's own.
DELTAS = ("1e-5", "1e-6", "1e-8", "1e-10")


@dataclass(frozen=True, slots=True)
class Promise:
    """What may be said about privacy.

    Attributes:
        sentence: the one to sign.
        is_private: whether anything is promised.
        notions: names of notions, what holds, and a remark.
        epsilons: delta and epsilon.
        in_words: what that means.
    """

    sentence: str
    is_private: bool
    notions: tuple[tuple[str, str, str], ...]
    epsilons: tuple[tuple[str, str], ...]
    in_words: str


def promise_of(subject: Subject) -> Promise:
    """What the budget of a plan, or the noise of a release, promises."""
    noise = subject.noise
    spent = subject.budget if noise is None or noise.pcost is None else pcost(noise.pcost)
    deltas = dict.fromkeys((*_given_delta(subject.budget), *DELTAS))
    falling = sorted(deltas, key=float, reverse=True)
    epsilons = tuple(zip(falling, column_rounded_up([spent.epsilon(delta) for delta in falling]), strict=True))
    change = subject.neighbors.words
    delta = next(iter(_given_delta(subject.budget)), "1e-6")
    return Promise(
        sentence=_plan_sentence(subject) if noise is None else noise.guarantee.removeprefix("none: "),
        is_private=noise is None or noise.is_private,
        notions=_notions(subject, spent),
        epsilons=epsilons,
        in_words=(
            f"{change[:1].upper()}{change[1:]} changes the probability of any set of outcomes by at most a factor of "
            f"e^{rounded_up(spent.epsilon(delta))}, plus {delta}."
        ),
    )


def _plan_sentence(subject: Subject) -> str:
    return (
        f"Measured once with exact discrete Gaussian noise, which is the default, this plan satisfies rho-zCDP with "
        f"rho at most {rounded_up(subject.budget.rho)} under {subject.neighbors.words}.  Nothing has been measured "
        "for this page: it is computed from the schema and the budget alone."
    )


def _notions(subject: Subject, spent: Budget) -> tuple[tuple[str, str, str], ...]:
    kind = None if subject.noise is None else subject.noise.kind
    rho = ("rho-zCDP", f"rho = {rounded_up(spent.rho)}", "proved for the noise that is drawn")
    mu = ("mu-GDP", f"mu = {rounded_up(spent.mu)}", "for continuous Gaussian noise in real numbers")
    if kind == "discrete":
        mu = ("mu-GDP", "not claimed", "it is proved for continuous noise, and this is discrete")
    if kind == "gaussian":
        rho = ("rho-zCDP", f"rho = {rounded_up(spent.rho)}", "for continuous Gaussian noise in real numbers")
    return (("Budget as stated", subject.budget.statement, ""), rho, mu)


def _given_delta(budget: Budget) -> tuple[str, ...]:
    return budget.given[1:] if budget.notion == "approx_dp" else ()
