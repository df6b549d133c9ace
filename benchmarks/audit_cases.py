"""Plans and records that are audited, and mechanisms that break their claim, which an audit must find."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import residualplanner as rp
from benchmarks.auditing import Experiment, plan_by_set

PAIR = rp.Domain({"a": 2, "b": 3})
TRIPLE = rp.Domain({"a": 2, "b": 2, "c": 3})
BUDGET = rp.zcdp("0.5")


class Case(NamedTuple):
    """A plan, and the records of one person.

    Attributes:
        plan: what is audited.
        records: codes and amounts, and the weight last where there is one; a row for each record.
    """

    plan: rp.Plan
    records: list[list[int]]

    @property
    def experiment(self) -> Experiment:
        """A table without these records, and with them."""
        return Experiment.adding_entries(self.plan, self.records)


def counts() -> dict[str, rp.Plan]:
    """Plans of counts."""
    return {
        "sum of variances": rp.select(rp.marginals(PAIR, up_to=2), budget=BUDGET),
        "maximum variance": rp.select(rp.marginals(TRIPLE, up_to=2), budget=BUDGET, loss="max"),
        "weights": rp.select(rp.Workload(PAIR, [("a",), ("a", "b")], weights=[25, 0.5]), budget=BUDGET),
        "bases by set": plan_by_set(),
    }


@cache
def pay_by_sex(**options: Any) -> rp.Plan:
    """Counts by bin and sums of amounts, by sex."""
    pay = rp.Numeric(0, 30, bins=[10], outside="clip")
    weight = options.pop("weight", None)
    domain = rp.Domain({"sex": 2, "pay": pay}, **({} if weight is None else {"weight": weight}))
    return rp.select(
        rp.Workload(domain, [("sex", "pay"), {"sex": rp.Identity(), "pay": rp.Sum()}]), budget=BUDGET, **options
    )


def amounts() -> dict[str, Case]:
    """Sums of amounts, with a record at the end of a bin, beyond it, inside, and inside two bins."""
    pay, hours = rp.Numeric(0, 30, bins=[10], outside="clip"), rp.Numeric(-8, 60, unit=4)
    both = rp.Domain({"pay": pay, "hours": hours})
    two = rp.select(rp.Workload(both, [{"pay": rp.Sum(), "hours": rp.Sum()}, ("pay",)]), budget=BUDGET)
    one = pay_by_sex()
    return {
        "amount at an end": Case(one, [[1, 30]]),
        "amount beyond the end": Case(one, [[1, 3000]]),
        "amount inside a bin": Case(one, [[0, 17]]),
        "amounts at two ends": Case(two, [[30, 60]]),
        "amounts inside two bins": Case(two, [[4, 24]]),
    }


@cache
def hours_by_pair(**options: Any) -> rp.Plan:
    """All tables of two attributes, of records that are weighted by hours."""
    hours = rp.Weight("hours", maximum=60, unit=0.5, above="clip")
    workload = rp.marginals(rp.Domain({"a": 2, "b": 3}, weight=hours), up_to=2)
    return rp.select(workload, budget=BUDGET, **options)


def weights() -> dict[str, Case]:
    """Records of the largest weight, of another, of one that is cut, and with an amount."""
    hours = rp.Weight("hours", maximum=60, unit=0.5, above="clip")
    return {
        "weight at the maximum": Case(hours_by_pair(), [[1, 2, 60]]),
        "weight above the maximum": Case(hours_by_pair(), [[1, 2, 3000]]),
        "weight between": Case(hours_by_pair(), [[1, 2, 47]]),
        "weight and amount": Case(pay_by_sex(weight=hours), [[1, 17, 47]]),
    }


def mixtures() -> dict[str, Case]:
    """Several records of one person, which together are a mixture of records at ends; and amounts in universes."""
    pay = pay_by_sex(records_per_person=2)
    hours = hours_by_pair(records_per_person=3)
    domain = rp.Domain({"sex": 2, "works": 2, "pay": rp.Numeric(0, 30, bins=[10], outside="clip")})
    total = {"sex": rp.Identity(), "pay": rp.Sum()}
    workers = rp.Among(total, where={"works": [1]})
    universes = rp.select(rp.Workload(domain, [total, workers, ("sex",)]), budget=BUDGET)
    return {
        "two records at one end": Case(pay, [[1, 30], [1, 30]]),
        "records at two ends": Case(pay, [[1, 10], [1, 30]]),
        "records at an end and inside": Case(pay, [[1, 0], [1, 17]]),
        "three weighted records": Case(hours, [[1, 2, 60], [1, 2, 47], [0, 0, 5]]),
        "amount at an end in a universe": Case(universes, [[1, 1, 30]]),
        "amount inside in a universe": Case(universes, [[0, 1, 17]]),
        "amount outside a universe": Case(universes, [[1, 0, 30]]),
    }


def records() -> dict[str, Case]:
    """All cases of amounts, weights and persons."""
    return amounts() | weights() | mixtures()


# Mechanisms that break their claim.


def weight_above_its_maximum() -> Experiment:
    """A weight of twice the maximum that was not clipped."""
    honest = Case(hours_by_pair(), [[1, 2, 60]]).experiment
    return replace(honest, neighbor=2 * honest.neighbor - honest.table)


def clipped_after_interpolation() -> Experiment:
    """An amount of twice the limit, divided between two ends as it is: 5/2 at the high one and -3/2 at the low one."""
    plan = pay_by_sex()
    high, low = Experiment.adding(plan, (1, 3)), Experiment.adding(plan, (1, 2))
    change = (5 * (high.neighbor - high.table) - 3 * (low.neighbor - low.table)) // 2
    return replace(high, neighbor=high.table + change)


def one_record_more_than_kept() -> Experiment:
    """Three records of a person of whom two count."""
    return Case(pay_by_sex(records_per_person=2), [[1, 30]] * 3).experiment


FAULTS: dict[str, Callable[[], Experiment]] = {
    "a weight above its maximum": weight_above_its_maximum,
    "an amount clipped after it was divided": clipped_after_interpolation,
    "one record more than are kept": one_record_more_than_kept,
}
