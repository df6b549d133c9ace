"""What does not go together: a rule for each, with the reason, from which the manual's table is made.

Every pair that no rule names works.  A pair that is refused is refused before anything is charged, by a message in
which ``says`` is found; a pair that is absent, with no ``says``, has no words in which it could be asked for.
"""

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from meetings.factors import AMOUNTS, FACTORS, ODD_ENTRIES, PEOPLE, PRODUCTS, SOURCES, THRESHOLDS, WEIGHTS

LIMITED = [name for name, people in PEOPLE.items() if people.limited]
ROUNDED = [name for name, product in PRODUCTS.items() if product.base]
LABELED = [name for name, rules in ODD_ENTRIES.items() if {rules.unknown, rules.missing} - {"error", "drop"}]
DROPPED = [name for name, rules in ODD_ENTRIES.items() if "drop" in (rules.unknown, rules.missing)]
WITH_AMOUNTS = [name for name in AMOUNTS if name != "none"]
WEIGHTED = [name for name in WEIGHTS if name != "none"]
THRESHOLDED = [name for name in THRESHOLDS if name != "none"]
COMMANDS = ["release", "plan, measure, reconstruct"]
FILES = ["csv", "csv.gz", "Parquet", "folder"]
NOT_FILES = [name for name in SOURCES if name not in FILES]


@dataclass(frozen=True)
class Rule:
    """Values of two factors that do not go together.

    Attributes:
        words: a row of the manual's table, this | with | because; of what is absent why it is.
        pair: the two factors, and of each the values.
        says: what the message says; absent if there is no message.
        of_tables: Python refuses it when tables are made, from a measurement that gives others at no cost, and the
            command line before it charges.
    """

    words: str
    pair: Mapping[str, Collection[str]]
    says: str = ""
    of_tables: bool = False

    def __post_init__(self) -> None:
        for factor, values in self.pair.items():
            assert set(values) <= set(FACTORS[factor]), values

    def forbids(self, values: Mapping[str, str]) -> bool:
        """Whether a case has both."""
        return all(values.get(factor) in refused for factor, refused in self.pair.items())

    @property
    def pairs(self) -> list[dict[str, str]]:
        """Each pair of values."""
        return [dict(zip(self.pair, values, strict=True)) for values in itertools.product(*self.pair.values())]


RULES = [
    Rule(
        'the rule `"drop"` | `neighbors="replace"` | the number of records is public, and must not depend on values',
        {"odd entries": DROPPED, "neighbors": ["replace"]},
        "drop",
    ),
    Rule(
        '`LimitedRecords` | `neighbors="replace"` | how many records of all persons are kept is not public',
        {"people": LIMITED, "neighbors": ["replace"]},
        "add-remove",
    ),
    Rule(
        'weights | `neighbors="replace"` | the total changes where a record is replaced by one of another weight',
        {"weights": WEIGHTED, "neighbors": ["replace"]},
        "add-remove",
    ),
    Rule(
        "weights with a unit such as 0.5 | a matrix of codes | it holds integers; give a frame or a file",
        {"weights": ["halves, clipped"], "source": ["codes"]},
        "integer codes",
    ),
    Rule(
        '`bases="optimal_by_set"` | targets of some tables only | they are found for losses of all tables',
        {"bases": ["by set"], "loss": ["targets"]},
        'bases="optimal"',
    ),
    Rule(
        "bases of your own | thresholds on their attributes | a threshold treats all values in the same way",
        {"bases": ["given"], "threshold": THRESHOLDED},
        "without a basis",
    ),
    Rule(
        "a hierarchy whose only group is everything | `leaves=False` | it gives nothing but the total",
        {"column": ["truth values"], "kind": ["hierarchy without leaves"]},
        "nothing but the total",
    ),
    Rule(
        "`rp.Proportions()` | an attribute with one value | every record has it",
        {"kind": ["proportions"], "column": ["one value"]},
        "two values or more",
    ),
    Rule(
        "amounts | rounded tables | they are of integers; declare `rp.Bins`",
        {"amounts": WITH_AMOUNTS, "product": ROUNDED},
        "leave them out",
        of_tables=True,
    ),
    Rule(
        '`format="parts"` | the profiles `"acs"` and `"gls"` | parts have columns of their own',
        {"format": ["parts"], "profile": ["acs", "gls"]},
        "other formats",
        of_tables=True,
    ),
    Rule(
        '`format="parts"` | `quality=` | parts have columns of their own',
        {"format": ["parts"], "quality": ["graded", "suppressed"]},
        "quality",
        of_tables=True,
    ),
    Rule(
        "a matrix of codes, and tables of counts | `LimitedRecords` | neither says whose a record is",
        {"source": ["codes", "counts"], "people": LIMITED},
        "whose a record is",
    ),
    Rule(
        "a stream of Arrow batches | `memory=` for several blocks | it can be read only once",
        {"source": ["Arrow, stream"], "memory": ["in blocks"]},
        "only once",
    ),
    Rule(
        "a stream of Arrow batches | `measure_in_store` | it can be read only once",
        {"source": ["Arrow, stream"], "road": ["store"]},
        "only once",
    ),
    Rule(
        "a matrix of codes, and tables of counts | tables that are joined (`rp.linked`) | neither says whose a record "
        "is",
        {"source": ["codes", "counts"], "road": ["linked tables"]},
        "whose a record is",
    ),
    Rule(
        "a convex loss | several tables with one budget (`rp.linked`) | it does not say how to split the budget",
        {"loss": ["convex"], "road": ["linked tables"]},
        "how to split a budget",
    ),
    Rule(
        "a basis of your own | an attribute with one value | there is nothing beside the total to measure",
        {"bases": ["given"], "column": ["one value"]},
        "n >= 2",
    ),
    Rule("a label of its own is a second value", {"column": ["one value"], "odd entries": LABELED}),
    Rule("commands read files", {"road": COMMANDS, "source": NOT_FILES}),
    Rule("a spec has no functions", {"road": COMMANDS, "loss": ["convex"]}),
    Rule("a spec has no matrices of bases", {"road": COMMANDS, "bases": ["given"]}),
    Rule("commands publish", {"road": COMMANDS, "noise": ["continuous", "test bits"]}),
    Rule("they have no such option", {"road": [*COMMANDS, "store", "linked tables"], "memory": ["in blocks"]}),
    Rule("both are charged to a ledger", {"road": ["session", "store"], "noise": ["continuous", "test bits"]}),
    Rule("test bits are for small tests", {"noise": ["test bits"], "memory": ["in blocks"]}),
]


def manual() -> str:
    """The table of the manual: what is refused."""
    rows = [f"| {rule.words} |" for rule in RULES if rule.says]
    return "\n".join(["| this | with | because |", "|---|---|---|", *rows])


def rule_of(values: Mapping[str, str]) -> Rule | None:
    """The first rule that forbids a case, or a part of one."""
    return next((rule for rule in RULES if rule.forbids(values)), None)
