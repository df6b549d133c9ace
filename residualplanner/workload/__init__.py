"""The queries to publish, and the downward closure whose residuals answer them.

Reads: a domain, queries as users write them, weights.  Gives: `Workload`, its `Closure`, and `Orbits` of equal queries.
Protocol: queries are held by order as arrays of positions; `Workload.runs` gives them in runs; the closure numbers all
subsets of their attributes (paper section 4), and its arrays have an entry for each.
Nothing here ever sees a record.
"""

from residualplanner.workload.among import Among, Where
from residualplanner.workload.attribute_sets import (
    AttributeSets,
    indices_of_numbers,
    numbers_of_blocks,
    row_numbers,
    subsets_of,
)
from residualplanner.workload.blocks import QueryBlock
from residualplanner.workload.closure import Closure, downward_closure, subset_products
from residualplanner.workload.families import marginals
from residualplanner.workload.html import workload_html
from residualplanner.workload.query import (
    QueryKey,
    QueryLike,
    WrittenQuery,
    kinds_by_name,
    query_of,
    selection_text,
    written_query,
)
from residualplanner.workload.query_numbers import query_numbers
from residualplanner.workload.symmetry import Orbits, workload_orbits
from residualplanner.workload.threshold import Threshold
from residualplanner.workload.workload import Workload, require_workload
from residualplanner.workload.written_queries import checked_weights

__all__ = [
    "Among",
    "AttributeSets",
    "Closure",
    "Orbits",
    "QueryBlock",
    "QueryKey",
    "QueryLike",
    "Threshold",
    "Where",
    "Workload",
    "WrittenQuery",
    "checked_weights",
    "downward_closure",
    "indices_of_numbers",
    "kinds_by_name",
    "marginals",
    "numbers_of_blocks",
    "query_numbers",
    "query_of",
    "require_workload",
    "row_numbers",
    "selection_text",
    "subset_products",
    "subsets_of",
    "workload_html",
    "workload_orbits",
    "written_query",
]
