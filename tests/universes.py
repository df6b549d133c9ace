"""Random workloads with queries about some of the records, and their rows by definition, entry by entry."""

from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st

import dense
import residualplanner as rp
from dense import Matrix

DOMAIN = rp.Domain(
    {"age": rp.Bins([0, 18, 30, 65, 120]), "sex": {1: "female", 2: "male"}, "employed": ["yes", "part time", "no"]}
)
Codes = Mapping[str, tuple[int, ...]]


def rows_about(domain: rp.Domain, names: tuple[str, ...], selected: Codes) -> Matrix:
    """The rows of a table of single values about records with some values only, over the whole domain."""
    factors = []
    for name, size in zip(domain.names, domain.sizes, strict=True):
        codes = selected.get(name, tuple(range(size)))
        values = np.array([[float(column == code) for column in range(size)] for code in codes])
        factors.append(values if name in names else values.sum(axis=0, keepdims=True))
    in_order = [name for name in domain.names if name in names]
    rows = dense.product(factors)
    shape = [len(selected.get(name, range(domain[name].size))) for name in in_order]
    return dense.transposition(shape, [in_order.index(name) for name in names]) @ rows


@st.composite
def universes(draw: st.DrawFn, domain: rp.Domain) -> dict[str, tuple[int, ...]]:
    """The values that are selected, of some attributes."""
    chosen = draw(st.sets(st.sampled_from(domain.names), max_size=2))
    codes = {name: st.sets(st.sampled_from(range(domain[name].size)), min_size=1) for name in sorted(chosen)}
    return {name: tuple(sorted(draw(of_name))) for name, of_name in codes.items()}


@st.composite
def universe_workloads(draw, domain=None):
    """A workload of three attributes of 2 to 4 values, unless a domain is given, and for each query its rows."""
    domain = domain or rp.Domain(dict(zip("abc", draw(st.tuples(*[st.integers(2, 4)] * 3)), strict=True)))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        names = tuple(draw(st.permutations(sorted(draw(st.sets(st.sampled_from(domain.names), max_size=2))))))
        selected = draw(universes(domain))
        where = {name: [domain[name].value_labels[code] for code in codes] for name, codes in selected.items()}
        found.append((rp.Among(names, where=where), rows_about(domain, names, selected)))
    return rp.Workload(domain, [query for query, _ in found]), found
