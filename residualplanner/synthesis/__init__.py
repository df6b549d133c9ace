"""Records from a release, and what to measure for them.

Reads: a release, facts; or a domain and a budget.  Gives: SyntheticRecords; a plan.
Everything here is post-processing, or planning: it sees no record and costs no privacy budget.
"""

from residualplanner.synthesis.records import SyntheticRecords
from residualplanner.synthesis.rounding import RoundingName
from residualplanner.synthesis.synthesis_plan import synthesis_plan
from residualplanner.synthesis.synthesize import synthesize

__all__ = ["RoundingName", "SyntheticRecords", "synthesis_plan", "synthesize"]
