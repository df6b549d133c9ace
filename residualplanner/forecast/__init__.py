"""Which queries will be asked: distributions of attributes, how they drift, and samples of queries from them.

Reads: a domain, masses.  Gives: `FeatureDistribution`, sets of attribute names, and workloads with a history.
Nothing here has seen a record: what people are interested in says nothing about the records.
Source: docs/adaptive-projection.md eqs. (i) to (k); Avent and Korolova, section on partial knowledge.
"""

from residualplanner.forecast.features import FeatureDistribution
from residualplanner.forecast.histories import with_history
from residualplanner.forecast.sampling import LAWS, sample_sets

__all__ = ["LAWS", "FeatureDistribution", "sample_sets", "with_history"]
