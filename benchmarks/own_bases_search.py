"""The best mechanism with bases of its own for groups of sets of attributes: a search down the slope.

A point holds the bases of all groups, the precisions and the messages (``own_bases``); the search minimizes log loss +
log cost from the library's plan, with smooth maxima in the cost that become sharper.  The problem is not convex: what
is found is an upper bound of what the family can do.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize

import residualplanner as rp
from benchmarks.own_bases import (
    Array,
    Basis,
    Mechanism,
    Members,
    Place,
    Query,
    basis_of,
    closure,
    cost_and_slopes,
    loss_and_slopes,
    queries_of,
)

#: The maxima in the cost are smooth at first: sharpness at privacy cost 1, and steps at each.
SHARPNESS = (30.0, 100.0, 300.0, 1e3, 3e3, 1e4)
STEPS = 150
#: Ways to group the sets that contain an attribute: by the kinds asked of it in queries that contain the set, by these
#: and the number of attributes in the set, each set by itself.
GROUPS = ("kinds", "orders", "sets")


@dataclass(frozen=True)
class Family:
    """The mechanisms for a workload whose bases agree within groups of places, as points of a vector space.

    A point holds for each group Z'u and S Z, where the columns of Z are an orthonormal basis of the vectors of sum 0,
    for each set the logarithm of its precision, and the messages.
    """

    asked: rp.Workload
    groups: str

    @cached_property
    def queries(self) -> list[Query]:
        return queries_of(self.asked)

    @cached_property
    def group_of(self) -> dict[Place, Hashable]:
        return {(A, i): self._group(A, i) for A in closure(self.queries) for i in A}

    def _group(self, A: Members, i: int) -> Hashable:
        kinds = frozenset(query.kinds[i] for query in self.queries if set(A) <= set(query.members))
        return {"kinds": (i, kinds), "orders": (i, kinds, len(A)), "sets": (i, A)}[self.groups]

    @cached_property
    def members(self) -> dict[Hashable, list[Place]]:
        found: dict[Hashable, list[Place]] = {}
        for place, group in self.group_of.items():
            found.setdefault(group, []).append(place)
        return found

    @cached_property
    def zero_sum(self) -> list[Array]:
        """Z of each attribute, (n, n-1)."""
        return [np.linalg.qr(np.eye(n)[:, : n - 1] - 1 / n)[0] for n in self.asked.domain.sizes]

    def point(self, mechanism: Mechanism) -> Array:
        parts = []
        for places in self.members.values():
            basis, Z = mechanism.bases[places[0]], self.zero_sum[places[0][1]]
            parts += [Z.T @ basis.u, basis.S @ Z]
        parts += [np.log(list(mechanism.precision.values())), *mechanism.messages.values()]
        return np.concatenate([np.ravel(part) for part in parts])

    def mechanism(self, point: Array) -> Mechanism:
        sizes, start, of_group = self.asked.domain.sizes, 0, {}
        for group, places in self.members.items():
            i, n = places[0][1], sizes[places[0][1]] - 1
            share, core = point[start : start + n], point[start + n : start + n + n * n].reshape(n, n)
            u = 1 / sizes[i] + self.zero_sum[i] @ share
            S = core @ (self.zero_sum[i].T - share[:, None])
            of_group[group] = Basis(S, u, self.zero_sum[i] @ np.linalg.inv(core))
            start += n + n * n
        sets = closure(self.queries)
        precision = dict(zip(sets, np.exp(point[start : start + len(sets)]).tolist(), strict=True))
        start += len(sets)
        messages = {}
        for A, i in self.group_of:
            if len(A) > 1:
                messages[A, i] = point[start : start + sizes[i]]
                start += sizes[i]
        return Mechanism({place: of_group[group] for place, group in self.group_of.items()}, precision, messages)

    def value(self, point: Array, sharpness: float | None = None) -> tuple[float, Array]:
        """The logarithm of loss times cost, and its slope."""
        found = self.mechanism(point)
        loss, by_loss = loss_and_slopes(self.queries, found.bases, found.precision)
        cost, by_cost = cost_and_slopes(found, sharpness)
        parts = []
        for places in self.members.values():
            basis, Z = found.bases[places[0]], self.zero_sum[places[0][1]]
            core, inverse = basis.S @ Z, Z.T @ basis.G
            by_form = Z.T @ sum(by_loss.by_form[place] for place in places) @ Z
            by_u = sum(by_loss.by_u[place] for place in places)
            by_S = 2 * basis.S * sum(by_cost.by_lengths[place] for place in places) / cost
            by_core = by_S @ (Z.T - (Z.T @ basis.u)[:, None]).T - 2 * inverse.T @ by_form @ inverse @ inverse.T / loss
            parts += [Z.T @ by_u / loss - core.T @ by_S.sum(axis=1), by_core]
        by_precision = [by_loss.by_precision[A] / loss + by_cost.by_precision[A] / cost for A in found.precision]
        parts += [np.array(by_precision), *(by_cost.by_message[place] / cost for place in found.messages)]
        return math.log(loss) + math.log(cost), np.concatenate([np.ravel(part) for part in parts])

    def library(self) -> Mechanism:
        """The library's plan at privacy cost 1; columns of its bases have lengths of at most 1."""
        names, bases, sets = self.asked.domain.names, [], closure(self.queries)
        chosen = rp.select(self.asked, budget=rp.pcost(1)).bases
        for name, Z in zip(names, self.zero_sum, strict=True):
            matrix = chosen[name].matrix
            basis = basis_of(Z.T if matrix is None else matrix.astype(float))
            bases.append(basis_of(basis.S / math.sqrt(basis.lengths.max())))
        of_place = {(A, i): bases[i] for A, i in self.group_of}
        _, slopes = loss_and_slopes(self.queries, of_place, dict.fromkeys(sets, 1.0))
        precision = {A: math.sqrt(-slopes.by_precision[A]) for A in sets}
        nothing = {(A, i): np.zeros(self.asked.domain.sizes[i]) for A, i in self.group_of if len(A) > 1}
        return scaled(Mechanism(of_place, precision, nothing))


def scaled(mechanism: Mechanism) -> Mechanism:
    """The same with privacy cost 1."""
    cost, _ = cost_and_slopes(mechanism)
    precision = {A: value / cost for A, value in mechanism.precision.items()}
    return replace(
        mechanism, precision=precision, messages={place: phi / cost for place, phi in mechanism.messages.items()}
    )


def best_found(family: Family, sharpness: tuple[float, ...] = SHARPNESS, steps: int = STEPS) -> Mechanism:
    """The member of privacy cost 1 at the end of the search, or the best on the way to it."""
    best = here = family.library()
    for sharp in sharpness:
        found = optimize.minimize(
            family.value,
            family.point(here),
            args=(sharp,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-9},
        )
        here = scaled(family.mechanism(found.x))
        if family.value(family.point(here))[0] < family.value(family.point(best))[0]:
            best = here
    return best


def loss_of(family: Family, mechanism: Mechanism) -> float:
    return loss_and_slopes(family.queries, mechanism.bases, mechanism.precision)[0]
