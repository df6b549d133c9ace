"""Relaxed adaptive projection: which cells to measure is learned from the records, at a price, round after round.

Reads: a `RapPlan`, confidential records, perhaps a ledger.  Gives: `RapResult`, a mixture that answers any query.
Protocol: a plan is checked before a record is read, and its whole budget is charged before the first selection; within
a run every selection and every answer is charged to an exact `Account` before it is drawn.
Besides `measurement`, this is the only room that sees records.
Source: docs/adaptive-projection.md eqs. (a) to (h).
"""

from residualplanner.relaxed_projection.gate import rap
from residualplanner.relaxed_projection.plan import RapPlan
from residualplanner.relaxed_projection.projection import ProjectionSettings
from residualplanner.relaxed_projection.relaxed_records import RelaxedRecords
from residualplanner.relaxed_projection.result import RapResult, RapRound

__all__ = ["ProjectionSettings", "RapPlan", "RapResult", "RapRound", "RelaxedRecords", "rap"]
