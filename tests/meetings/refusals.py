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
    """Values of two factors that do not go together, why, and what the message says; absent if there is no message."""

    first: str
    firsts: Collection[str]
    second: str
    seconds: Collection[str]
    reason: str
    says: str = ""

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
    Rule("bases", ["by set"], "neighbors", ["replace"], "only bounds of their cost are known", "optimal"),
    Rule("bases", ["by set"], "loss", ["max", "targets", "convex"], "they are found for sums only", "use bases=\"optimal\""),
    Rule("bases", ["given"], "threshold", THRESHOLDED, "thresholds need bases that tell no values apart", "without a basis"),
    Rule("column", ["truth values"], "kind", ["hierarchy without leaves"], "one group of both values is the total", "nothing but the total"),
    Rule("amounts", WITH_AMOUNTS, "product", ROUNDED, "only counts are rounded", "amount|sum"),
    Rule("format", ["parts"], "profile", ["acs", "gls"], "parts have columns of their own", "default"),
    Rule("format", ["parts"], "quality", ["graded", "suppressed"], "parts have columns of their own", "quality"),
    Rule("source", ["codes", "counts"], "people", LIMITED, "neither has a column of persons", "person|column"),
    Rule("source", ["arrow, a stream"], "memory", ["in blocks"], "it can be read only once", "only once"),
    Rule("source", ["arrow, a stream"], "road", ["store"], "tasks read it again", "only once"),
    Rule("road", COMMANDS, "source", NOT_FILES, "commands read files"),
    Rule("road", COMMANDS, "loss", ["convex"], "a spec has no functions"),
    Rule("road", COMMANDS, "bases", ["given"], "a spec has no matrices of bases"),
    Rule("road", COMMANDS, "noise", ["continuous", "test bits"], "commands publish"),
    Rule("road", [*COMMANDS, "store"], "memory", ["in blocks"], "they have no such option"),
    Rule("road", ["session", "store"], "noise", ["continuous", "test bits"], "both charge a ledger"),
    Rule("noise", ["test bits"], "memory", ["in blocks"], "it is for tests"),
]


def rule_of(values: Mapping[str, str]) -> Rule | None:
    """The first rule that forbids a case, or a part of one."""
    return next((rule for rule in RULES if rule.forbids(values)), None)
