"""What does not go together: a rule for each, with the reason, from which the manual's table is made.

Every pair that no rule names works.  A pair that is refused is refused before anything is charged, by a message in
which ``says`` is found; a pair that is ``absent`` has no words in which it could be asked for.
"""

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from meetings.factors import AMOUNTS, FACTORS, ODD_ENTRIES, PEOPLE, PRODUCTS, SOURCES, THRESHOLDS, WEIGHTS

LIMITED = [name for name, people in PEOPLE.items() if people.limited]
ROUNDED = [name for name, product in PRODUCTS.items() if product.base]
ADJUSTED = [name for name, product in PRODUCTS.items() if product.base or product.nonnegative]
DROPPED = [name for name, rules in ODD_ENTRIES.items() if "drop" in (rules.unknown, rules.missing)]
WITH_AMOUNTS = [name for name in AMOUNTS if name != "none"]
WEIGHTED = [name for name in WEIGHTS if name != "none"]
THRESHOLDED = [name for name in THRESHOLDS if name != "none"]
COMMANDS = ["release", "plan, measure, reconstruct"]
FILES = ["csv", "csv.gz", "parquet", "folder"]
NOT_FILES = [name for name in SOURCES if name not in FILES]


@dataclass(frozen=True)
class Rule:
    """Values of two factors that do not go together, why, and what the message says; absent if there is no message.

    Where ``of_tables``, Python refuses it when tables are made, from a measurement that gives others at no cost, and
    the command line before it charges.
    """

    first: str
    firsts: Collection[str]
    second: str
    seconds: Collection[str]
    reason: str
    says: str = ""
    of_tables: bool = False

    def __post_init__(self) -> None:
        assert set(self.firsts) <= set(FACTORS[self.first]), self.firsts
        assert set(self.seconds) <= set(FACTORS[self.second]), self.seconds

    def forbids(self, values: Mapping[str, str]) -> bool:
        """Whether a case has both."""
        return values.get(self.first) in self.firsts and values.get(self.second) in self.seconds

    @property
    def pairs(self) -> list[dict[str, str]]:
        """Each pair of values."""
        return [{self.first: one, self.second: two} for one, two in itertools.product(self.firsts, self.seconds)]


RULES = [
    Rule("odd entries", DROPPED, "neighbors", ["replace"], "how many records there are is public", "drop"),
    Rule("people", LIMITED, "neighbors", ["replace"], "how many records are kept in all is not public", "add-remove"),
    Rule("weights", WEIGHTED, "neighbors", ["replace"], "the sum of weights is not public", "add-remove"),
    Rule("weights", ["halves, clipped"], "source", ["codes"], "a matrix of codes holds integers", "integer codes"),
    Rule("bases", ["by set"], "neighbors", ["replace"], "only bounds of their cost are known", 'bases="optimal"'),
    Rule("bases", ["by set"], "loss", ["max", "targets", "convex"], "they are found for sums only", 'bases="optimal"'),
    Rule("bases", ["given"], "threshold", THRESHOLDED, "a threshold tells no values apart", "without a basis"),
    Rule("column", ["truth values"], "kind", ["hierarchy without leaves"], "one group of both values is the total",
         "nothing but the total"),
    Rule("amounts", WITH_AMOUNTS, "product", ROUNDED, "rounded tables are of integers", "Bins", of_tables=True),
    Rule("format", ["parts"], "profile", ["acs", "gls"], "parts have columns of their own", "other formats",
         of_tables=True),
    Rule("format", ["parts"], "quality", ["graded", "suppressed"], "parts have columns of their own", "quality",
         of_tables=True),
    Rule("source", ["codes", "counts"], "people", LIMITED, "no column says whose a record is", "whose a record is"),
    Rule("source", ["arrow, a stream"], "memory", ["in blocks"], "a stream can be read only once", "only once"),
    Rule("source", ["arrow, a stream"], "road", ["store"], "a stream can be read only once", "only once"),
    Rule("road", COMMANDS, "source", NOT_FILES, "commands read files"),
    Rule("road", COMMANDS, "loss", ["convex"], "a spec has no functions"),
    Rule("road", COMMANDS, "bases", ["given"], "a spec has no matrices of bases"),
    Rule("road", COMMANDS, "noise", ["continuous", "test bits"], "commands publish"),
    Rule("road", [*COMMANDS, "store"], "memory", ["in blocks"], "they have no such option"),
    Rule("road", ["session", "store"], "noise", ["continuous", "test bits"], "both are charged to a ledger"),
    Rule("noise", ["test bits"], "memory", ["in blocks"], "test bits are for small tests"),
]


def rule_of(values: Mapping[str, str]) -> Rule | None:
    """The first rule that forbids a case, or a part of one."""
    return next((rule for rule in RULES if rule.forbids(values)), None)
