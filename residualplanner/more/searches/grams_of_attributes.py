"""In which form the kinds of query of an attribute are given to the search for its basis."""

from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.attribute_grams import AttributeGrams
from residualplanner.more.searches.exchangeable import exchangeable_groups, merged_rows
from residualplanner.more.searches.merged_grams import merged_grams
from residualplanner.more.searches.tree import tree_of_rows
from residualplanner.more.searches.tree_grams import TreeGrams
from residualplanner.more.searches.workload_grams import plain_grams

#: Attributes of at most so many values have matrices: these are as quick, and Newton steps bring them closer.
MERGED_ABOVE = 96
#: Up to so many groups the problem is solved for all of them together: for sums of variances, and for the maximum.
_MOST_FOR_SUM, _MOST_FOR_MAXIMUM = 400, 2048


def grams_for_sum(workload: Workload, size: int, codes: tuple[int, ...]) -> AttributeGrams:
    """The kinds (numbers in the workload) of an attribute, for weighted sums of variances.

    Raises:
        WorkloadError: as `plain_grams`, where the rows are not those of one hierarchy.
    """
    return _forms(workload, size, codes, _MOST_FOR_SUM)


def grams_for_maximum(workload: Workload, size: int, codes: tuple[int, ...]) -> AttributeGrams:
    """The same for the largest variance."""
    return _forms(workload, size, codes, _MOST_FOR_MAXIMUM)


def _forms(workload: Workload, size: int, codes: tuple[int, ...], most: int) -> AttributeGrams:
    if size <= MERGED_ABOVE:
        return plain_grams(workload, size, codes)
    own = [workload.kinds[code] for code in codes]
    group = exchangeable_groups(own, size)
    count = int(group.max()) + 1
    if count < size:
        if count <= most:
            return merged_grams(own, codes, group)
        rows = [merged_rows(kind, group) for kind in own]
        tree = tree_of_rows(rows)
        if tree is not None:
            return TreeGrams.of(own, codes, group, rows, tree)
    return plain_grams(workload, size, codes)
