"""Relaxed adaptive projection: which cells to measure is learned from the records, at a price, round after round.

Protocol: a plan is checked before a record is read, and its whole budget is charged before the first selection; within
a run every selection and every answer is charged to an exact `Account` before it is drawn.
Besides the gate and the stages of synthetic records, this is the only room of fits that sees records.
Source: docs/adaptive-projection.md eqs. (a) to (g).
"""

from residualplanner.fits.rap.mechanism import RapResult, RapRound, rap
from residualplanner.fits.rap.own_queries import QueryClass
from residualplanner.fits.rap.plan import RapPlan
from residualplanner.fits.rap.projection import ProjectionSettings
from residualplanner.fits.rap.relaxed_records import RelaxedRecords

__all__ = ["ProjectionSettings", "QueryClass", "RapPlan", "RapResult", "RapRound", "RelaxedRecords", "rap"]
