"""An r-of-k threshold as users write it.

Reads: names.  Gives: Threshold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.queries.identity import Identity, Matching
from residualplanner.method.queries.kind import Kind
from residualplanner.more.queries.thresholds import require_threshold


@dataclass(frozen=True, slots=True, init=False)
class Threshold(Mapping[str, Kind]):
    """A query that counts, for each combination of values, the records that have at least so many of them.

    It is a mapping from attribute names to kinds of query, and goes wherever such a mapping does.  Its table has the
    shape of the marginal's, and a record counts in several cells.  A threshold of all its attributes is the marginal.

    Attributes:
        attributes: their names, in the order of the table's axes.
        at_least: how many of them must match, from 1 (any of them) to all.

    Raises:
        WorkloadError: the attributes are not names in order, or ``at_least`` is not an integer from 1 to their number.

    Source: eq. (58).

    Example:
        >>> either = Threshold(("sex", "region"), 1)
        >>> dict(either)
        {'sex': Matching(at_least=1), 'region': Matching(at_least=1)}
        >>> dict(Threshold(("sex", "region"), 2))
        {'sex': Identity(), 'region': Identity()}
    """

    attributes: tuple[str, ...]
    at_least: int

    def __init__(self, attributes: Sequence[str], at_least: int) -> None:
        is_listed = isinstance(attributes, Sequence) and not isinstance(attributes, str)
        if not is_listed or not all(isinstance(name, str) for name in attributes):
            raise WorkloadError(
                f"the attributes of a threshold must be names in order, got {value_text(attributes)}; write "
                'Threshold(("age", "sex", "race"), 2)'
            )
        require_threshold(at_least, len(attributes))
        object.__setattr__(self, "attributes", tuple(attributes))
        object.__setattr__(self, "at_least", at_least)

    def __getitem__(self, name: str) -> Kind:
        if name not in self.attributes:
            raise KeyError(name)
        return Identity() if self.at_least == len(self.attributes) else Matching(self.at_least)

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)
