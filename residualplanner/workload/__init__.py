"""Queries over a domain, families of them, and the downward closure whose residuals answer them."""

from residualplanner.workload.asked import QueryLike, WrittenQuery, query_of, read_query, written_query
from residualplanner.workload.attribute_sets import AttributeSets, row_numbers
from residualplanner.workload.bases_by_set import BasesBySet
from residualplanner.workload.closure import Closure, downward_closure, subset_products
from residualplanner.workload.families import marginals
from residualplanner.workload.shape_groups import (
    ShapeGroups,
    shape_groups,
    shape_groups_by_set,
)
from residualplanner.workload.symmetry import Orbits, workload_orbits
from residualplanner.workload.workload import QueryBlock, Workload, require_workload

__all__ = [
    "AttributeSets",
    "BasesBySet",
    "Closure",
    "Orbits",
    "QueryBlock",
    "QueryLike",
    "ShapeGroups",
    "Workload",
    "WrittenQuery",
    "downward_closure",
    "marginals",
    "query_of",
    "read_query",
    "require_workload",
    "row_numbers",
    "shape_groups",
    "shape_groups_by_set",
    "subset_products",
    "workload_orbits",
    "written_query",
]
