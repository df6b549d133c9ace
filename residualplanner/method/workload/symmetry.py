"""Symmetry of a workload: which queries, and which sets of its closure, a permutation of attributes exchanges.

Attributes are put in classes.  Two sets have the same type if they hold as many attributes of each class (and, in
queries, of each kind).  The types are the orbits of all permutations within the classes, and the workload is unchanged
by these permutations iff all possible queries of every type that occurs are there, with one weight.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.workload.attribute_sets import numbers_of_blocks, row_numbers
from residualplanner.method.workload.workload import Workload

_ROUNDS = 8


@dataclass(frozen=True, eq=False, slots=True)
class Orbits:
    """The orbits of queries and of closure sets; each is one of its own where there is no symmetry."""

    query: IntArray  # (m,), the orbit of each query
    query_size: IntArray  # (q,), how many queries each orbit has
    representative: IntArray  # (q,), the number of one query of each orbit
    member: IntArray  # (c,), the orbit of each set of the closure

    @classmethod
    def trivial(cls, workload: Workload) -> "Orbits":
        """Every query and every set of the closure on its own."""
        queries, sets = (frozen(np.arange(count)) for count in (len(workload), len(workload.closure)))
        return cls(queries, frozen(np.ones_like(queries)), queries, sets)

    def sum_sets(self, rows: Any) -> Any:
        """Add up the columns (r, c) of the sets of each orbit, (r, o); sparse or not."""
        count, orbits = len(self.member), int(self.member.max()) + 1
        if orbits == count:
            return rows
        ones, starts = np.ones(count), np.arange(count + 1)
        return rows @ scipy.sparse.csr_array((ones, self.member, starts), shape=(count, orbits))


def workload_orbits(workload: Workload, interchangeable: ArrayLike, weights: ArrayLike, *, gain: float = 2.0) -> Orbits:
    """The orbits of a workload whose queries carry ``weights`` (m,); trivial ones if symmetry gains little.

    Equal numbers in ``interchangeable`` (d,) mark attributes that may be exchanged as far as their own numbers go;
    ``weights`` are whatever else must agree for queries to be exchanged; ``gain`` is how many queries there must be for
    each orbit.  Cost: a few sorts of the queries.
    """
    weight_class = np.unique(np.asarray(weights, dtype=np.float64), return_inverse=True)[1]
    classes = np.unique(np.asarray(interchangeable), return_inverse=True)[1]
    if len(np.unique(classes)) == len(classes):
        return Orbits.trivial(workload)
    # A class may hold attributes that the workload treats differently: then queries of a type are missing, and classes
    # are split by how often their attributes occur, until every type that occurs is complete.
    for _ in range(_ROUNDS):
        # The type of every query, numbered, and how many queries of its type are possible.
        kinds, class_size = len(workload.kinds), np.bincount(classes)
        codes = [np.sort(classes[block.attributes] * kinds + block.kinds, axis=1) for block in workload.blocks]
        possible = np.concatenate([_type_size(each, each // kinds, class_size) for each in codes])
        orbit = _numbered(numbers_of_blocks(codes), weight_class)
        size = np.bincount(orbit)
        if gain * len(size) > len(workload):
            return Orbits.trivial(workload)
        if np.array_equal(size[orbit], possible):
            break
        refined = _refined(workload, classes, orbit)
        if len(np.unique(refined)) == len(np.unique(classes)):
            return Orbits.trivial(workload)
        classes = refined
    else:
        return Orbits.trivial(workload)
    member = numbers_of_blocks(np.sort(classes[block], axis=1) for block in workload.closure.blocks)
    representative = np.unique(orbit, return_index=True)[1]
    return Orbits(frozen(orbit), frozen(size), frozen(representative), frozen(member))


def _type_size(codes: IntArray, class_of: IntArray, class_size: IntArray) -> FloatArray:
    """How many queries have the type of each sorted row of ``codes`` (m, k): choices within each class, by kind."""
    size = np.ones(len(codes))
    in_class, in_code = np.zeros(len(codes)), np.ones(len(codes))
    for column in range(codes.shape[1]):
        if column:
            in_class = np.where(class_of[:, column] == class_of[:, column - 1], in_class + 1, 0)
            in_code = np.where(codes[:, column] == codes[:, column - 1], in_code + 1, 1)
        # Product first, so that every partial result is an integer.
        size = size * (class_size[class_of[:, column]] - in_class) / in_code
    return np.rint(size)


def _refined(workload: Workload, classes: IntArray, orbit: IntArray) -> IntArray:
    """Split classes whose attributes do not occur equally often in the queries of each type."""
    marks = np.random.default_rng(0).random(int(orbit.max()) + 1)
    occurrence = np.zeros(len(classes))
    for queries, block in workload.runs():
        mark = marks[orbit[queries]]
        for column in range(block.attributes.shape[1]):
            occurrence += np.bincount(block.attributes[:, column], weights=mark, minlength=len(classes))
    return _numbered(classes, np.unique(np.round(occurrence, 6), return_inverse=True)[1])


def _numbered(left: IntArray, right: IntArray) -> IntArray:
    return row_numbers(np.stack([left, right], axis=1))
