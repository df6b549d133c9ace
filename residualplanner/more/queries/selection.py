"""Records that have some of an attribute's values only: the universe of a query, which values, and how that is said."""

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import IntArray, value_text
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label, label_text, plain_label
from residualplanner.method.queries.kind import Kind, KindByContent, require_size, tied_kind
from residualplanner.method.queries.rows import ENTRY_LIMIT
from residualplanner.method.queries.runs import Range, span_texts

#: How many letters of a selection stand in the name of a file.
_LETTERS = 40
#: Runs of values are recognized by their labels up to this many values.
_RUNS = 512
#: How many labels, or runs of them, are spelled out in words.
SPELLED = 4


@dataclass(frozen=True, eq=False, init=False, repr=False, slots=True)  # slots stand before the attributes of kinds
class Selection(KindByContent):
    """How many records have one of some values, or the answers of another kind about these records.

    A query in which an attribute has ``Selection(values)`` is about these records only, its universe, and its table has
    no axis for the attribute.  ``Selection(values, of)`` has the answers of the kind ``of`` about these records.
    Answers about none of them are left out; of several about the same ones the answer with the fewest values stays.
    `Among` writes such queries.

    Unlike those of other kinds, the rows need not give the total.

    Args:
        values: labels of values, or of runs of them as `Range` has them; a single one may stand by itself.
        of: the kind of query whose answers they are; none for the number of these records.

    Attributes:
        where: the labels; once it is tied to an attribute, those of the values, in its order.
        of: the kind of query whose answers they are; none for the number of these records.
        codes (m,): of the values, ascending; none as long as there is no attribute.
        size: how many values the attribute has; 0 as long as there is none.
        where_words: the values in words, such as "yes or part-time".

    Raises:
        WorkloadError: there are no values, one is no label, or ``of`` is no kind that records can be selected for.

    Source: eq. (108).

    Example:
        >>> employed = Selection("yes").on(Attribute("employed", labels=["yes", "no", "child"]))
        >>> employed.matrix(3).astype(int).tolist(), employed.name
        ([[1, 0, 0]], 'among yes')
    """

    where: tuple[Label, ...]
    of: Kind | None
    codes: tuple[int, ...]
    size: int
    where_words: str

    def __init__(
        self,
        values: Label | Iterable[Label],
        of: Kind | None = None,
        *,
        codes: tuple[int, ...] = (),
        size: int = 0,
        where_words: str = "",
    ) -> None:
        where = checked_values(values)
        if of is not None and (not callable(getattr(of, "gram", None)) or isinstance(of, type)):
            raise WorkloadError(f"the answers of a selection are those of a kind such as Prefix, got {value_text(of)}")
        if of is not None and of.at_least:
            raise WorkloadError("an attribute that a threshold matches cannot be selected from; select from others")
        if of is not None and of.where:
            raise WorkloadError("the answers of a selection are those of another kind, not of a selection")
        words = where_words or " or ".join(map(str, where))
        for name, value in (("where", where), ("of", of), ("codes", codes), ("size", size), ("where_words", words)):
            object.__setattr__(self, name, value)

    def on(self, attribute: Attribute) -> Kind:
        """The same, tied to the values of one attribute; ``of`` itself where all of them are selected.

        Raises:
            DomainError: the attribute has no such value.
            WorkloadError: it has too many, or ``of`` does not fit it.
        """
        if self.codes:
            return self
        if self.of is not None and self.of.statistics:
            raise WorkloadError(f"the {self.of.name} of {attribute.name!r} cannot be about some of its own values only")
        require_size(attribute)
        codes = selected_codes(attribute, self.where)
        of = None if self.of is None else tied_kind(self.of, attribute)
        if of is not None and len(codes) == attribute.size:
            return of
        where = tuple(attribute.value_labels[code] for code in codes)
        words = selected_words(attribute, codes)
        return Selection(where, of, codes=codes, size=attribute.size, where_words=words)

    @property
    def name(self) -> str:
        """The word for this kind in error tables and files."""
        among = f"among {self.where_words}"
        return among if self.of is None else f"{self.of.name} {among}"

    @property
    def file_word(self) -> str:
        """The same in the names of files: small letters, digits and ``-``; two selections may have the same."""
        is_short = self.of is not None and self.of.is_identity
        text = f"only {self.where_words}" if is_short else self.name
        word = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
        return word if len(word) <= _LETTERS else word[:_LETTERS].rpartition("-")[0]

    @property
    def is_axis(self) -> bool:
        """Whether there is a kind whose answers they are."""
        return self.of is not None

    @property
    def unselected(self) -> Kind:
        """The kind whose answers they are; the selection itself, where there is none."""
        return self if self.of is None else self.of

    @property
    def universe(self) -> "Selection":
        """The number of the selected records."""
        if self.of is None:
            return self
        return Selection(self.where, codes=self.codes, size=self.size, where_words=self.where_words)

    def to_json(self) -> dict[str, Any]:
        """The values by code, label and in words, and the kind whose answers they are, or null."""
        of = None if self.of is None else self.of.to_json()
        fields = {"codes": list(self.codes), "labels": list(self.where), "words": self.where_words}
        return {"kind": "selection", "size": self.size, **fields, "of": of}

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless it is a selection of this attribute's values."""
        require_size(attribute)
        labels = attribute.value_labels
        if self.size != attribute.size or repr(tuple(labels[code] for code in self.codes)) != repr(self.where):
            raise WorkloadError(f"the selection from {attribute.name!r} is tied to other values than that has")
        if self.of is not None:
            self.of.require_fit(attribute)
            _ = self._rows

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The basic matrix, (q, size), without a column that is not 0 but those of the values."""
        if size != self.size:
            raise WorkloadError(f"the selection is from {self.size} values, not from {size}")
        return self._rows[1]

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The labels of the kind's answers, (q,); or the values in words."""
        return (self.where_words,) if self.of is None else self._kept(self.of.labels(attribute))

    def meanings(self, attribute: Attribute) -> tuple[str, ...]:
        """The same in the meanings of the values, (q,)."""
        if self.of is None:
            meanings = [attribute.value_meanings[code] for code in self.codes]
            return (" or ".join(meanings) if len(meanings) <= SPELLED else self.where_words,)
        return self._kept(self.of.meanings(attribute))

    def columns_beside(self, attribute: Attribute) -> dict[str, tuple[str, ...]]:
        """What stands beside the labels of the kind's answers, (q,) each; or the meanings of the values."""
        if self.of is None:
            return Kind.columns_beside(self, attribute)
        return {word: self._kept(entries) for word, entries in self.of.columns_beside(attribute).items()}

    def full_names(self, attribute: Attribute) -> tuple[tuple[str, ...], ...]:
        """Other words for the kind's answers, (q,); or the meanings of the values."""
        return Kind.full_names(self, attribute) if self.of is None else self._kept(self.of.full_names(attribute))

    def __repr__(self) -> str:
        return f"Selection({list(self.where)!r}{'' if self.of is None else f', {self.of!r}'})"

    def _kept(self, labels: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(labels[row] for row in self._rows[0].tolist())

    @cached_property
    def _rows(self) -> tuple[IntArray, sparse.csr_array]:
        if self.of is None:
            entries, columns = np.ones(len(self.codes)), np.array(self.codes, dtype=np.int32)
            only = sparse.csr_array((entries, columns, np.array([0, len(columns)])), shape=(1, self.size))
            return np.zeros(1, dtype=np.int64), only
        return _selected_rows(self.of, self.codes, self.size)

    @cached_property
    def _content(self) -> tuple[object, ...]:
        # As strings, which distinguish True from 1; tuples do not.
        return repr(self.where), self.codes, self.size, self.of


def _selected_rows(of: Kind, codes: tuple[int, ...], size: int) -> tuple[IntArray, sparse.csr_array]:
    """The rows of a kind that have one of the values, with 0 for all others, and their numbers; equal ones once."""
    if of.is_identity:
        ones, columns, starts = np.ones(len(codes)), np.array(codes, dtype=np.int32), np.arange(len(codes) + 1)
        return columns.astype(np.int64), sparse.csr_array((ones, columns, starts), (len(codes), size))
    if of.rows(size) * size > 4 * ENTRY_LIMIT:
        raise WorkloadError(f"too large: {of.rows(size):,} answers of {of.name} on {size:,} values, some selected")
    matrix, chosen = of.matrix(size), np.array(codes)
    lengths = np.count_nonzero(matrix, axis=1)
    shortest = np.argsort(lengths, kind="stable")
    _, first = np.unique(matrix[np.ix_(shortest, chosen)], axis=0, return_index=True)
    rows = np.sort(shortest[first])
    rows = rows[np.abs(matrix[np.ix_(rows, chosen)]).max(axis=1) > 0]
    if not len(rows):
        raise WorkloadError(f"no answer of {of.name} is about the values that are selected")
    entries = np.zeros((len(rows), size))
    entries[:, chosen] = matrix[np.ix_(rows, chosen)]
    return rows, sparse.csr_array(entries)


def checked_values(values: object) -> tuple[Label, ...]:
    """The labels of a selection, each once; a single one may stand by itself."""
    several = values if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    given = list(several)
    plain = [label.isoformat() if isinstance(label, dt.date) else plain_label(label) for label in given]
    wrong = next((label for label, found in zip(given, plain, strict=True) if found is None), None)
    if wrong is not None or None in plain:
        raise WorkloadError(f'a selection has labels of values, such as ["yes", "part-time"], got {value_text(wrong)}')
    if not plain:
        raise WorkloadError("a selection of no values counts no records; name the labels of one value or more")
    return tuple({(type(label), label): label for label in plain if label is not None}.values())


def selected_codes(attribute: Attribute, labels: Iterable[Label]) -> tuple[int, ...]:
    """The codes of the values with these labels, or in runs with these labels, ascending; DomainError for others."""
    found: set[int] = set()
    runs: dict[str, tuple[int, int]] | None = None
    for label in labels:
        try:
            found.add(attribute.code_of_label(label))
        except DomainError:
            runs = _runs_with_labels(attribute) if runs is None else runs
            if not isinstance(label, str) or label not in runs:
                raise
            first, last = runs[label]
            found.update(range(first, last + 1))
    return tuple(sorted(found))


def selected_words(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """The selected values in words: runs of bins and of integers as such, other values one by one, many in short."""
    is_ordered = attribute.bins is not None or type(attribute.value_labels[0]) is int
    runs = _runs(codes) if is_ordered else [(code, code) for code in codes]
    shown = runs if len(runs) <= SPELLED else runs[: SPELLED - 1]
    labels = attribute.value_labels
    texts = [
        label_text(labels[first]) if first == last else span_texts(attribute, [(first, last)])[0]
        for first, last in shown
    ]
    return " or ".join([*texts, *([f"{len(runs) - len(shown)} more"] if len(runs) > len(shown) else [])])


def _runs_with_labels(attribute: Attribute) -> dict[str, tuple[int, int]]:
    if attribute.size > _RUNS:
        return {}
    first, last = np.triu_indices(attribute.size)
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    labels: Any = Range().labels(attribute)
    return dict(zip(labels, pairs, strict=True))


def _runs(codes: tuple[int, ...]) -> list[tuple[int, int]]:
    cuts = np.flatnonzero(np.diff(codes) > 1) + 1
    return [(int(run[0]), int(run[-1])) for run in np.split(np.array(codes), cuts)]
