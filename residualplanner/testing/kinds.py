"""Whether a kind of query does what its matrix does."""

from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, require_type
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import pcost
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.json import kind_from_json
from residualplanner.method.queries.kind import Kind, tied_kind
from residualplanner.method.workload.workload import Workload
from residualplanner.more.queries.json import READERS
from residualplanner.testing.comparing import agree, require
from residualplanner.testing.plans import check_plan, require_small

_OWN = "look at the method, or leave it out: the one of `Kind` computes it from `sparse_rows`"


def check_kind(kind: Kind, *attributes: Attribute | int, rows: Callable[[int], ArrayLike] | None = None) -> None:
    """Check a kind of query on some attributes: its matrix, its labels, and a plan for it.

    Args:
        kind: as users write it.
        attributes: on which it is checked; a number stands for an attribute of so many values.  With another attribute
            of two values they have at most 1,000 cells.
        rows: what its matrix (q, n) ought to be for n values, from its definition; by default what ``matrix`` says.

    Raises:
        AssertionError: a method does not do what the matrix does; labels are too few, or two are equal; a copy is not
            equal; the rows do not give the total, though they count all records; or a plan with the kind is not what it
            states, see `check_plan`.  The message says which.
        ArgumentError: ``kind`` is none, or an attribute is neither one nor a number.
        WorkloadError: the kind refuses an attribute, or there are too many cells.

    Source: eqs. (1), (26) and (113).

    Example:
        >>> from residualplanner import Prefix
        >>> check_kind(Prefix(), 2, 5, rows=lambda size: np.tri(size))
    """
    require_type("check_kind", "kind", kind, Kind, "write check_kind(Prefix(), 5)")
    require(len(attributes) > 0, "name an attribute, or a number of values, to check the kind on")
    for each in attributes:
        require_type("check_kind", "each of attributes", each, (Attribute, int), "write check_kind(Prefix(), 5)")
        attribute = Attribute("own", each) if isinstance(each, int) else each
        name, beside = attribute.name, f"beside {attribute.name}"
        more = {f"{name} {number}": attribute.size for number in range(kind.at_least)}  # joint kinds need several
        domain = Domain({name: attribute, beside: 2, **more})
        require_small(domain)
        require_kind(kind, attribute, None if rows is None else rows(attribute.size))
        own = dict.fromkeys((name, *more), kind)
        workload = Workload(domain, [own, own | {beside: Identity()}])
        check_plan(select(workload, budget=pcost(1), bases="optimal"))


def require_kind(kind: Kind, attribute: Attribute, rows: ArrayLike | None = None) -> None:
    """Check a kind on an attribute without a plan, against its matrix ``rows`` (q, n); see `check_kind`."""
    again, tied, size = deepcopy(kind), tied_kind(kind, attribute), attribute.size
    require(
        again == kind and hash(again) == hash(kind), f"a copy of {kind!r} is another kind; define `__eq__`, `__hash__`"
    )
    W = np.asarray(tied.matrix(size), dtype=np.float64)
    is_matrix = W.ndim == 2 and W.shape[1:] == (size,) and len(W) > 0 and bool(np.isfinite(W).all())
    require(
        is_matrix, f"the matrix of {kind!r} has shape {W.shape}; it needs a column for each of {size} values, finite"
    )
    if rows is not None:
        agree(
            W, rows, f"the matrix of {kind!r} for {size} values", "it is not the definition", within=1e-13, by_row=True
        )
    _require_methods(tied, W)
    _require_labels(tied, attribute, len(W))
    if attribute.numeric is None and not tied.where and not tied.statistics:
        total = W.T @ np.linalg.lstsq(W.T, np.ones(size), rcond=None)[0]
        agree(total, np.ones(size), "the row of ones as the rows give it", "add a row that holds the rest", within=1e-8)
    try:
        is_read = kind_from_json(tied.to_json()) == tied
    except FileFormatError:
        is_read = tied.to_json()["kind"] not in READERS  # then saved plans with it cannot be read
    require(is_read, f"{kind!r} is not read from its `to_json` as it was; look at its line in `READERS`")


def _require_methods(kind: Kind, W: FloatArray) -> None:
    """That each method does what the matrix W (q, n) does, with numbers that nothing cancels in."""
    count, size = W.shape
    chance = np.random.default_rng(0)
    weights = np.array(chance.uniform(0.5, 2, count))
    half: FloatArray = chance.normal(size=(size, size))
    form = half + half.T
    require(kind.rows(size) == count, f"`rows` is {kind.rows(size)}, and the matrix has {count} rows; {_OWN}")
    agree(kind.sparse_rows(size).toarray(), W, "`sparse_rows`", "it is the matrix", within=0)
    agree(kind.gram(size), W.T @ W, "`gram`", _OWN)
    agree(kind.weighted_gram(weights, size), W.T @ (weights[:, None] * W), "`weighted_gram`", _OWN)
    agree(kind.row_forms(form), [row @ form @ row for row in W], "`row_forms`", _OWN)
    rest, constant = kind.centered(size)
    parts = np.column_stack([np.broadcast_to(constant, count), rest.matrix(size)])
    agree(parts[:, :1] + parts[:, 1:], W, "the sum of the parts of `centered`", _OWN, by_row=True)
    agree(kind.augmented_gram(size), parts.T @ parts, "`augmented_gram`", _OWN)
    agree(kind.augmented_gram(size, weights), parts.T @ (weights[:, None] * parts), "`augmented_gram` of weights", _OWN)
    for axis in range(3):
        array = chance.normal(size=np.insert((2, 3), axis, size))
        kept, expected = array.copy(), np.moveaxis(np.tensordot(W, array, axes=(1, axis)), 0, axis)
        for at in (axis, axis - 3):
            found = kind.apply(array, at)
            agree(array, kept, "the array that was given to `apply`", "do not write to it", within=0)
            require(
                found.shape == expected.shape, f"`apply` gives shape {found.shape}, expected {expected.shape}; {_OWN}"
            )
            rows, wanted = (np.moveaxis(each, axis, 0) for each in (found, expected))
            agree(rows, wanted, f"the answers of `apply` along axis {at}", _OWN, by_row=True)
    agree(kind.apply(np.empty((0, size)), 1), np.empty((0, count)), "`apply` to no arrays", _OWN)
    columns = list(map(tuple, W.T.tolist()))
    agree(kind.equal_columns(size), [columns.index(each) for each in columns], "`equal_columns`", _OWN, within=0)
    groups = kind.exchangeable_values(size)
    for group in np.unique(groups):  # swaps of neighbors among its members make all their orders
        for one, other in pairwise(np.flatnonzero(groups == group).tolist()):
            order = np.arange(size)
            order[[one, other]] = other, one
            is_kept = sorted(W[:, order].tolist()) == sorted(W.tolist())
            require(
                is_kept, f"`exchangeable_values` has one number for the values {one} and {other}; rows tell them apart"
            )


def _require_labels(kind: Kind, attribute: Attribute, count: int) -> None:
    """That there is a label for each of so many answers, and no two are equal."""
    labels = kind.labels(attribute)
    require(len(labels) == count, f"{kind!r} has {len(labels)} labels, and {count} answers; give each answer one")
    twice = [label for number, label in enumerate(labels) if label in labels[:number]]
    require(not twice, f"{kind!r} has two answers of the label {twice[:1]}; tables are looked up by labels")
    beside = {"`meanings`": kind.meanings(attribute), "`full_names`": kind.full_names(attribute)}
    for word, words in (beside | kind.columns_beside(attribute)).items():
        require(len(words) == count, f"{word} of {kind!r} are {len(words)}, and there are {count} answers")
