"""Records from a release, and what to measure for them.

Everything here is post-processing, or planning: it sees no record and costs no privacy budget.
"""

from residualplanner.fits.synthesis.records import RoundingName, SyntheticRecords, rounding_named
from residualplanner.fits.synthesis.saving import is_sidecar, require_records_file, sidecar_path
from residualplanner.fits.synthesis.synthesize import count_to_make, synthesis_plan, synthesize

__all__ = [
    "RoundingName",
    "SyntheticRecords",
    "count_to_make",
    "is_sidecar",
    "require_records_file",
    "rounding_named",
    "sidecar_path",
    "synthesis_plan",
    "synthesize",
]
