"""Mechanisms in which an attribute has another basis in each set: estimates, sums of variances, a bound of the cost.

Every set A of attributes measures the residuals of its table, (kron of S over A) v_A, with independent noise of
variance sigma_A^2.  The S of attribute i in A is any matrix for which [1'; S] is invertible, and [u | G] is the
inverse; the library's plans are the members whose S does not depend on A.  (T1) to (T4) are derived in
docs/decisions/0010-one-basis-for-an-attribute.md.  Nothing here is larger than a table of the workload.

Tables have an axis for each attribute, in ascending order.  Slopes are derivatives, for the search for the best member.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp

Array = NDArray[np.float64]
Members = tuple[int, ...]
#: An attribute in a set: what has a basis.
Place = tuple[Members, int]


class Basis(NamedTuple):
    """S (n-1, n), with the inverse [u | G] of [1'; S]: u (n,) and G (n, n-1)."""

    S: Array
    u: Array
    G: Array

    @property
    def lengths(self) -> Array:
        """Squared lengths of the columns of S, (n,)."""
        return np.asarray((self.S * self.S).sum(axis=0))


def basis_of(S: Array) -> Basis:
    inverse = np.linalg.inv(np.vstack([np.ones(S.shape[1]), S]))
    return Basis(S, inverse[:, 0], inverse[:, 1:])


class Query(NamedTuple):
    """What is asked of a set of attributes: the Gram matrix and the kind of each, and the weight of its variances."""

    members: Members
    grams: dict[int, Array]
    kinds: dict[int, Any]
    weight: float


@dataclass(frozen=True)
class Mechanism:
    """A member of the family.

    Attributes:
        bases: one for each place.
        precision: 1 / sigma_A^2 for each set A, those of fewer attributes first.
        messages: phi in (T4), for each place in a set of two attributes or more; they do not change the mechanism.
    """

    bases: dict[Place, Basis]
    precision: dict[Members, float]
    messages: dict[Place, Array]


def queries_of(asked: rp.Workload) -> list[Query]:
    names, sizes, found = asked.domain.names, asked.domain.sizes, []
    for query, weight in zip(asked, asked.weights.tolist(), strict=True):
        named = query if isinstance(query, dict) else dict.fromkeys(query, rp.Identity())
        kinds = {i: named[name] for i, name in enumerate(names) if name in named}
        found.append(Query(tuple(kinds), {i: kind.gram(sizes[i]) for i, kind in kinds.items()}, kinds, weight))
    return found


def subsets(members: Members, *, proper: bool = False) -> Iterable[Members]:
    """Those of fewer attributes first."""
    orders = range(len(members) + (not proper))
    return itertools.chain.from_iterable(itertools.combinations(members, order) for order in orders)


def closure(queries: Iterable[Query]) -> list[Members]:
    found = {part for query in queries for part in subsets(query.members)}
    return sorted(found, key=lambda members: (len(members), members))


def without(members: Members, part: Members) -> Members:
    return tuple(i for i in members if i not in part)


def product(*factors: Any, onto: Members) -> Array:
    """The product of tables, given as table, axes, table, axes, ..., summed over the axes that are not in ``onto``."""
    return np.asarray(np.einsum(*factors, onto))


def along(table: Array, members: Members, matrices: Mapping[int, Array]) -> Array:
    """Apply a matrix to each axis of a table on ``members``."""
    for axis, i in enumerate(members):
        table = np.moveaxis(np.tensordot(matrices[i], table, axes=(1, axis)), 0, axis)
    return table


def estimates(answers: Mapping[Members, Array], bases: Mapping[Place, Basis]) -> dict[Members, Array]:
    """The tables, from the noisy answers of all sets of a closure (T1)."""
    found: dict[Members, Array] = {}
    for A in sorted(answers, key=len):
        table = along(answers[A], A, {i: bases[A, i].G for i in A})
        for C in subsets(A, proper=True):
            table = table - (-1) ** (len(A) - len(C)) * product(found[C], C, *_origins(bases, A, C), onto=A)
        found[A] = table
    return found


def shares(sets: Iterable[Members], bases: Mapping[Place, Basis]) -> dict[tuple[Members, Members], Array]:
    """h_{A,B} for all B in A (T2): the estimate of A's table holds (G over B) w_B times it, a table on A without B."""
    h: dict[tuple[Members, Members], Array] = {}
    for A in sets:
        h[A, A] = np.ones(())
        for B in subsets(A, proper=True):
            h[A, B] = np.asarray(
                sum(sign * product(*term, onto=without(A, B)) for sign, term in _terms(h, bases, A, B))
            )
    return h


def _origins(bases: Mapping[Place, Basis], A: Members, C: Members) -> list[Any]:
    """Factors of :func:`product`: the u of A's attributes outside C."""
    return [factor for i in without(A, C) for factor in (bases[A, i].u, (i,))]


def _terms(h: Any, bases: Mapping[Place, Basis], A: Members, B: Members) -> Iterable[tuple[int, list[Any]]]:
    """Signs and factors of the sum (T2); the first factor is h_{C,B}, and the second its axes, C without B."""
    rest = without(A, B)
    for more in subsets(rest, proper=True):
        C = tuple(sorted(B + more))
        yield -((-1) ** (len(rest) - len(more))), [h[C, B], more, *_origins(bases, A, C)]


class LossSlopes(NamedTuple):
    """Derivatives of a loss: by G G' and by u of each place, and by the logarithm of each set's precision."""

    by_form: dict[Place, Array]
    by_u: dict[Place, Array]
    by_precision: dict[Members, float]


def loss_and_slopes(
    queries: Iterable[Query], bases: Mapping[Place, Basis], precision: Mapping[Members, float]
) -> tuple[float, LossSlopes]:
    """The weighted sum of all cell variances (T3)."""
    h, loss = shares(precision, bases), 0.0
    slopes = LossSlopes(defaultdict(lambda: np.zeros(())), defaultdict(lambda: np.zeros(())), defaultdict(float))
    by_share: dict[tuple[Members, Members], Array] = defaultdict(lambda: np.zeros(()))
    for query in queries:
        for B in subsets(query.members):
            t = {i: float(np.vdot(query.grams[i] @ bases[B, i].G, bases[B, i].G)) for i in B}
            share = h[query.members, B]
            weighed = along(share, without(query.members, B), query.grams)
            factor = query.weight / precision[B] * math.prod(t.values())
            term = factor * float(np.vdot(share, weighed))
            loss += term
            slopes.by_precision[B] -= term
            by_share[query.members, B] = by_share[query.members, B] + 2 * factor * weighed
            for i in B:
                slopes.by_form[B, i] = slopes.by_form[B, i] + term / t[i] * query.grams[i]
    for A in sorted(precision, key=len, reverse=True):
        for B in subsets(A, proper=True):
            if (A, B) in by_share:
                _back_through_terms(h, bases, (A, B), by_share, slopes.by_u)
    return loss, slopes


def _back_through_terms(
    h: Any, bases: Mapping[Place, Basis], pair: tuple[Members, Members], by_share: Any, by_u: Any
) -> None:
    """The chain rule of (T2): from the slope by h_{A,B} to those by the h_{C,B} and by the u it is made of."""
    A, B = pair
    for sign, term in _terms(h, bases, A, B):
        more = term[1]
        if more:
            C = tuple(sorted(B + more))
            by_share[C, B] = by_share[C, B] + sign * product(
                by_share[pair], without(A, B), *_origins(bases, A, C), onto=more
            )
        for position in range(2, len(term), 2):
            others = term[:position] + term[position + 2 :]
            (i,) = term[position + 1]
            by_u[A, i] = by_u[A, i] + sign * product(by_share[pair], without(A, B), *others, onto=(i,))


class CostSlopes(NamedTuple):
    """Derivatives of a cost: by the squared columns of S and by the messages of each place, and by log precisions."""

    by_lengths: dict[Place, Array]
    by_message: dict[Place, Array]
    by_precision: dict[Members, float]


def cost_and_slopes(mechanism: Mechanism, sharpness: float | None = None) -> tuple[float, CostSlopes]:
    """A bound of the privacy cost (T4), for any messages; with ``sharpness``, a smooth function just above it."""
    bases, messages = mechanism.bases, mechanism.messages
    slopes, cost = CostSlopes({}, {}, {}), 0.0
    single: dict[int, Array] = defaultdict(lambda: np.zeros(()))
    for A, precision in mechanism.precision.items():
        columns = [factor for i in A for factor in (bases[A, i].lengths, (i,))]
        if len(A) == 1:
            single[A[0]] = single[A[0]] + precision * bases[A, A[0]].lengths
            continue
        own = precision * product(*columns, onto=A) if A else np.array(precision)
        rest = own
        for axis, i in enumerate(A):
            rest = rest - messages[A, i].reshape([-1 if other == axis else 1 for other in range(len(A))])
            single[i] = single[i] + messages[A, i]
        value, share = largest(rest, sharpness)
        cost += value
        slopes.by_precision[A] = float(np.vdot(share, own))
        for position, i in enumerate(A):
            others = columns[: 2 * position] + columns[2 * position + 2 :]
            slopes.by_lengths[A, i] = precision * product(share, A, *others, onto=(i,))
            slopes.by_message[A, i] = -product(share, A, onto=(i,))
    for i, column in single.items():
        value, share = largest(column, sharpness)
        cost += value
        for A, member in messages:
            if member == i:
                slopes.by_message[A, i] = slopes.by_message[A, i] + share
        if (i,) in mechanism.precision:
            slopes.by_lengths[(i,), i] = mechanism.precision[(i,)] * share
            slopes.by_precision[(i,)] = float(mechanism.precision[(i,)] * share @ bases[(i,), i].lengths)
    return cost, slopes


def largest(table: Array, sharpness: float | None) -> tuple[float, Array]:
    """The maximum, or log sum exp(sharpness * table) / sharpness, which is not below it; and its derivative."""
    most = float(table.max())
    if sharpness is None:
        return most, (table == most) / np.sum(table == most)
    powers = np.exp(sharpness * (table - most))
    return most + math.log(powers.sum()) / sharpness, powers / powers.sum()
