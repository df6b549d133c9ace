"""Orbits are found where a workload is symmetric, and never where it only looks so."""

import itertools
from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from residualplanner import Domain, Workload
from residualplanner.method.workload.symmetry import workload_orbits
from strategies import NAMES, names_of, positions_of


def symmetries(queries: dict[tuple[int, ...], float], sizes) -> list[tuple[int, ...]]:
    """All permutations of the attributes that keep every size and every query with its weight."""
    found = []
    for image in itertools.permutations(range(len(sizes))):
        moved = {tuple(sorted(image[i] for i in members)): weight for members, weight in queries.items()}
        if moved == queries and all(sizes[i] == sizes[image[i]] for i in range(len(sizes))):
            found.append(image)
    return found


def orbits_under(group: list[tuple[int, ...]], sets: list[tuple[int, ...]]) -> dict[tuple[int, ...], frozenset]:
    return {members: frozenset(tuple(sorted(image[i] for i in members)) for image in group) for members in sets}


def grouped(sets: list[tuple[int, ...]], numbers: np.ndarray) -> list[set[tuple[int, ...]]]:
    found = defaultdict(set)
    for members, number in zip(sets, numbers.tolist(), strict=True):
        found[number].add(members)
    return list(found.values())


@st.composite
def nearly_symmetric(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[tuple[int, ...], float]]:
    """Complete types of queries over classes of attributes, sometimes with a query gone or a weight changed."""
    sizes = tuple(draw(st.lists(st.sampled_from([2, 2, 2, 3]), min_size=3, max_size=5)))
    classes = [draw(st.integers(0, 1)) if draw(st.booleans()) else size for size in sizes]
    kinds = list(zip(sizes, classes, strict=True))
    queries = {}
    for members in itertools.chain.from_iterable(itertools.combinations(range(len(sizes)), k) for k in range(4)):
        label = tuple(sorted(kinds[i] for i in members))
        queries.setdefault(label, []).append(members)
    chosen = draw(st.lists(st.sampled_from(sorted(queries)), min_size=1, unique=True))
    weights = {members: float(1 + rank % 2) for rank, label in enumerate(chosen) for members in queries[label]}
    if draw(st.booleans()) and len(weights) > 1:
        del weights[draw(st.sampled_from(sorted(weights)))]
    if draw(st.integers(0, 3)) == 0:
        weights[draw(st.sampled_from(sorted(weights)))] = 5.0
    return sizes, weights


def workload_of(sizes, weights) -> Workload:
    domain = Domain(dict(zip(NAMES, sizes, strict=False)))
    return Workload(domain, [names_of(members) for members in weights], weights=list(weights.values()))


@given(nearly_symmetric())
def test_sets_in_one_orbit_are_exchanged_by_a_symmetry_of_the_workload(problem):
    sizes, weights = problem
    workload = workload_of(sizes, weights)
    orbits = workload_orbits(workload, sizes, workload.weights)
    if len(orbits.query_size) == len(workload):
        return
    group = symmetries(weights, sizes)
    queries, sets = [positions_of(query) for query in workload], list(workload.closure)
    true_queries, true_sets = orbits_under(group, queries), orbits_under(group, sets)
    for found in grouped(queries, orbits.query):
        assert found == true_queries[min(found)]
    for found in grouped(sets, orbits.member):
        assert found == true_sets[min(found)]
    assert orbits.query_size.tolist() == np.bincount(orbits.query).tolist()
    assert orbits.query[orbits.representative].tolist() == list(range(len(orbits.query_size)))
