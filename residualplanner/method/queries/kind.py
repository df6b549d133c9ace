"""The protocol of kinds of query on one attribute."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from residualplanner.ground.completion import hides
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label
from residualplanner.method.queries.rows import Rows

#: The most values of an attribute with any kind but the identity: n x n matrices are formed.
SIZE_LIMIT = 10_000


@hides(
    "at_least",
    "columns_beside",
    "file_word",
    "full_names",
    "is_axis",
    "is_statistic",
    "of_codes",
    "require_fit",
    "scale",
    "to_json",
    "universe",
    "unselected",
    "where_words",
    "written",
)
class Kind(Rows, Protocol):
    """A kind of query on one attribute of n values: a basic matrix W (q, n).

    Of counts, the row of ones is in its row space.  Sums of amounts are no counts.

    Kinds are immutable and hashable; equal kinds have the same rows.

    A kind that is written in the labels of an attribute has one more method, ``on``: see `LabeledKind`.  A `Selection`
    is about some of the records only, so that its rows need not give the total.
    """

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        ...

    @property
    def file_word(self) -> str:
        """The word for this kind in the names of files."""
        ...

    @property
    def where(self) -> tuple[Label, ...]:
        """The labels of which a record must have one for a query to be about it; none where it is about all."""
        ...

    @property
    def where_words(self) -> str:
        """These labels in words, such as "yes or part-time"; empty where there are none."""
        ...

    @property
    def is_axis(self) -> bool:
        """Whether tables have an axis for its answers, and not just one answer about some of the records."""
        ...

    @property
    def unselected(self) -> "Kind":
        """The same answers about all records, if there is an axis of them."""
        ...

    @property
    def universe(self) -> "Kind":
        """The number of the records that it is about, without an axis; the kind itself where these are all."""
        ...

    @property
    def at_least(self) -> int:
        """Of all attributes of this kind in a query, how many a record must match: fewer than all.

        Such a kind is *joint*: a query answers its attributes together.  0 where it answers each for itself.
        """
        ...

    @property
    def scale(self) -> float:
        """What losses measure errors of its answers in: 1 for counts; for sums of amounts the largest amount."""
        ...

    @property
    def is_statistic(self) -> bool:
        """Whether its answers are the sums that one statistic of each group is made of."""
        ...

    @property
    def written(self) -> "Kind":
        """The kind as users write it: of one that was tied to bins, what it is on any attribute."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The kind as a JSON object that `kind_from_json` reads."""
        ...

    def unit(self, attribute: Attribute) -> str:
        """The unit of its answers, in words; "" where they are counts."""
        ...

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError, naming the attribute, unless the kind fits it."""
        ...

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The labels of the answers, in terms of the attribute's values, (q,); no two are equal."""
        ...

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The labels of the answers in words: the same in terms of the meanings of the values, (q,)."""
        ...

    def columns_beside(self, attribute: Attribute) -> dict[str, tuple[str, ...]]:
        """What stands beside the labels in tables, (q,) each, by the word that the name of the column ends in."""
        ...

    def full_names(self, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
        """Other words than its label that an answer may be looked up by, (q,); two answers may share one."""
        ...


def statistic_among(kinds: Sequence[Kind]) -> int | None:
    """The position of the statistic among the kinds of a query; None where there is none.

    Raises:
        WorkloadError: there are several.
    """
    found = [position for position, kind in enumerate(kinds) if kind.is_statistic]
    if len(found) > 1:
        names = " and ".join(kinds[position].name for position in found)
        raise WorkloadError(f"a query is for one statistic, got {names}; write a query for each")
    return found[0] if found else None


def require_size(attribute: Attribute) -> None:
    """Raise WorkloadError where an attribute has too many values for matrices of n x n."""
    if attribute.size > SIZE_LIMIT:
        raise WorkloadError(
            f"{attribute.name!r} has {attribute.size:,} values; attributes with more than "
            f"{SIZE_LIMIT:,} allow only one count per value: use coarser values, or leave its kind of query out"
        )


@runtime_checkable
class LabeledKind(Protocol):
    """A kind that is written in labels, and has a matrix only once it is tied to an attribute."""

    def on(self, attribute: Attribute) -> Kind:
        """The same kind, tied to the values of one attribute; WorkloadError, naming it, where they do not fit."""
        ...


def tied_kind(kind: Kind, attribute: Attribute) -> Kind:
    """The kind, checked for an attribute, and tied to its values if it is written in labels, or to its bins' ends.

    A workload holds kinds in this form only.

    Raises:
        WorkloadError: it does not fit the attribute.

    Example:
        >>> from residualplanner import Identity, Numeric
        >>> tied = tied_kind(Identity(), Attribute("salary", numeric=Numeric(0, 30, bins=[10])))
        >>> tied.matrix(4).astype(int).tolist(), tied.written
        ([[1, 1, 0, 0], [0, 0, 1, 1]], Identity())
    """
    if attribute.numeric is not None:
        from residualplanner.more.amounts.statistics import kind_on_amounts  # a door

        kind = kind_on_amounts(kind, attribute)
    elif isinstance(kind, LabeledKind):
        kind = kind.on(attribute)
    kind.require_fit(attribute)
    return kind
