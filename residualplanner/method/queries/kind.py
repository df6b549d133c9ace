"""Kinds of query on one attribute: their matrices, the labels of their answers, and what most have in common.

The attributes of a query fall into groups.  Each attribute of an ordinary kind is answered for itself; those of one
joint kind together, as an r-of-k threshold, which is a linear map of the table of their counts that commutes with
permutations of each attribute's values.  On the residual of a set of attributes such a map is a number.
Source: eqs. (58) and (59).
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label, label_text
from residualplanner.method.kron.arrays import SameArray
from residualplanner.method.queries.rows import Centered, Rows

#: The most values of an attribute with any kind but the identity: n x n matrices are formed.
SIZE_LIMIT = 10_000
#: What the name of an attribute is followed by in the name of the column of its meanings.
MEANING = "meaning"


class Kind(Rows):
    """A kind of query on one attribute of n values: a basic matrix W (q, n).

    Of counts, the row of ones is in its row space.  Sums of amounts, and those that statistics are made of, are no
    counts.

    Kinds are immutable and hashable; equal kinds have the same rows.

    A kind that is written in the labels of an attribute has one more method, ``on(attribute)``, which gives the same
    kind tied to the attribute's values; it has a matrix only then.  A `Selection` is about some of the records only,
    so that its rows need not give the total.
    """

    where: tuple[Label, ...] = ()  # of which a record must have one for a query to be about it; none for all records
    where_words: str = ""  # these in words, such as "yes or part-time"
    #: Of all attributes of this kind in a query, how many a record must match, fewer than all: such a kind is *joint*,
    #: as a query answers its attributes together.  0 where it answers each for itself.
    at_least: int = 0
    #: What the statistics are called whose sums are its answers, for one of each group; "" where they are of none.
    statistics: ClassVar[str] = ""

    @property
    @abstractmethod
    def name(self) -> str:
        """The word for this kind in error tables and files."""

    @property
    def file_word(self) -> str:
        """The word for this kind in the names of files."""
        return self.name

    @property
    def is_axis(self) -> bool:
        """Whether tables have an axis for its answers, and not just one answer about some of the records."""
        return True

    @property
    def unselected(self) -> "Kind":
        """The same answers about all records, if there is an axis of them."""
        return self

    @property
    def universe(self) -> "Kind":
        """The number of the records that it is about, without an axis; the kind itself where these are all."""
        return self

    @property
    def scale(self) -> float:
        """What losses measure errors of its answers in: 1 for counts; for sums of amounts the largest amount."""
        return 1.0

    @property
    def written(self) -> "Kind":
        """The kind as users write it: of one that was tied to bins, what it is on any attribute."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The kind as a JSON object that `kind_from_json` reads: its name, where that says all."""
        return {"kind": self.name}

    def unit(self, attribute: Attribute) -> str:
        """The unit of its answers, in words; "" where they are counts."""
        del attribute
        return ""

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError, naming the attribute, unless the kind fits it."""
        require_size(attribute)

    @abstractmethod
    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The labels of the answers, in terms of the attribute's values, (q,); no two are equal."""

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The labels of the answers in words: the same in terms of the meanings of the values, (q,)."""
        return tuple(map(str, self.labels(attribute)))

    def columns_beside(self, attribute: Attribute) -> dict[str, tuple[str, ...]]:
        """What stands beside the labels in tables, (q,) each, by the word that the name of the column ends in."""
        meanings = meanings_of(self, attribute)
        return {} if meanings is None else {MEANING: meanings}

    def full_names(self, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
        """Other words than its label that an answer may be looked up by, (q,); two answers may share one."""
        meanings = meanings_of(self, attribute)
        return tuple((meaning,) for meaning in meanings) if meanings else ((),) * len(self.labels(attribute))


class KindByContent(Kind):
    """Kinds that are equal where what they are made of is, which each of them says."""

    @property
    @abstractmethod
    def _content(self) -> object: ...

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


class PlainRows(Kind):
    """Kinds whose rows contain no large constant, and whose columns all differ."""

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: as many as it has values."""
        return size

    def gram(self, size: int) -> FloatArray:
        """``W^T W``, (size, size)."""
        return self.weighted_gram(np.ones(self.rows(size)), size)

    def sparse_rows(self, size: int) -> "scipy.sparse.csr_array":
        """W without its entries 0, (q, size)."""
        return scipy.sparse.csr_array(self.matrix(size))

    def augmented_gram(self, size: int, weights: FloatArray | None = None) -> FloatArray:
        """The Gram matrix of the rows times the roots of ``weights`` (q,), with a border of 0, (1 + size, 1 + size)."""
        # Of rows without a constant part the border of the augmented form is 0.
        return np.pad(self.gram(size) if weights is None else self.weighted_gram(weights, size), ((1, 0), (1, 0)))

    def centered(self, size: int) -> Centered:
        """The kind itself."""
        del size
        return Centered(self, np.zeros(1))

    def equal_columns(self, size: int) -> IntArray:
        """Each value itself, (size,)."""
        return np.arange(size)

    def exchangeable_values(self, size: int) -> IntArray:
        """None: each value has a number of its own, (size,)."""
        return np.arange(size)


def statistic_among(kinds: Sequence[Kind]) -> int | None:
    """The position of the statistic among the kinds of a query, None if there is none; WorkloadError for several."""
    found = [position for position, kind in enumerate(kinds) if kind.statistics]
    if len(found) > 1:
        several = [kinds[position].name for position in found]
        if len(set(several)) == 1:
            remedy = "the other columns make the groups; write a query for each"
            raise WorkloadError(f"only one column of a query can be {several[0]!r}; {remedy}")
        names = " and ".join(several)
        raise WorkloadError(f"a query is for one statistic, got {names}; write a query for each")
    return found[0] if found else None


def require_size(attribute: Attribute) -> None:
    """Raise WorkloadError where an attribute has too many values for matrices of n x n."""
    if attribute.size > SIZE_LIMIT:
        problem = f"{attribute.name!r} has {attribute.size:,} values; attributes with more than {SIZE_LIMIT:,} allow"
        raise WorkloadError(f"{problem} only one count per value: use coarser values, or leave its kind of query out")


def tied_kind(kind: Kind, attribute: Attribute) -> Kind:
    """The kind, checked for an attribute, and tied to its values if it is written in labels, or to its bins' ends.

    A workload holds kinds in this form only.  WorkloadError where it does not fit the attribute.
    """
    if attribute.numeric is not None:
        from residualplanner.more.amounts.statistics import kind_on_amounts  # a door

        kind = kind_on_amounts(kind, attribute)
    elif hasattr(kind, "on"):
        kind = kind.on(attribute)
    kind.require_fit(attribute)
    return kind


def meanings_of(kind: Kind, attribute: Attribute) -> tuple[str, ...] | None:
    """The labels of the answers in words, (q,); None where no value of the attribute has a meaning."""
    return kind.meanings(attribute) if attribute.meanings else None


def labels_in_words(kind: Kind, attribute: Attribute) -> tuple[str, ...]:
    """Each label with its meaning, where it has one, in one string such as "1 (female)", (q,)."""
    labels = tuple(map(label_text, kind.labels(attribute)))
    meanings = meanings_of(kind, attribute) or labels
    return tuple(
        label if meaning == label else f"{label} ({meaning})" for label, meaning in zip(labels, meanings, strict=True)
    )


def answered_jointly(tables: SameArray, kinds: Sequence[Kind], *, first_axis: int = 0) -> SameArray:
    """Tables (.., q_1, .., q_k) of attributes answered one by one, with the joint ones answered together: eq. (58).

    ``kinds`` (k,) are of the attributes, the axis of the first of which is ``first_axis``; all before it are of stacks.
    Where no kind is joint, it is the same array.
    """
    for joint in dict.fromkeys(kind for kind in kinds if kind.at_least):
        from residualplanner.more.queries.thresholds import threshold_map  # a door

        axes = [first_axis + axis for axis, kind in enumerate(kinds) if kind == joint]
        tables = threshold_map(tables, joint.at_least, axes=axes)
    return tables


def joint_factors(kinds: Sequence[Kind], codes: NDArray[np.int16], sizes: IntArray) -> FloatArray:
    """What queries multiply the residual of every subset of their attributes by, (m, 2**k); (m, 1) where all have 1.

    Column j is for the subset that has the i-th attribute of its row iff bit i of j is set.  A factor of 0 is replaced
    by one so small that no variance changes: so every noise variance in the closure has an optimum. ``codes`` (m, k)
    number the kinds of the attributes among ``kinds``, ``sizes`` (m, k) how many values these have.  Source: eq. (59).
    """
    factors: FloatArray = np.ones((len(codes), 1))
    for at_least, is_joint in _groups(kinds, codes):
        from residualplanner.more.queries.thresholds import threshold_factors  # a door

        factors = factors * threshold_factors(is_joint, sizes, at_least)
    return factors


def require_joint(kinds: Sequence[Kind], codes: NDArray[np.int16]) -> None:
    """Raise WorkloadError where a query has too few attributes of a joint kind, of which fewer than all must match."""
    for at_least, is_joint in _groups(kinds, codes):
        counts = is_joint.sum(axis=1)
        if ((counts > 0) & (counts <= at_least)).any():
            problem = f"Matching({at_least}) is for more than {count_text(at_least, 'attribute')} of a query"
            raise WorkloadError(f"{problem}, of which at least {at_least} must match; where all must, write Identity()")


def _groups(kinds: Sequence[Kind], codes: NDArray[np.int16]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """For each joint kind in how many attributes a record must match, and which attributes have it, (m, k)."""
    for joint in dict.fromkeys(kind for kind in kinds if kind.at_least):
        yield joint.at_least, np.isin(codes, [code for code, kind in enumerate(kinds) if kind == joint])
