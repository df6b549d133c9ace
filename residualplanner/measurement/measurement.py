"""What leaves the gate: noisy answers, the plan they were made by, and how the noise was drawn.

Nothing here knows how many records there were, where they came from, or when.
"""

from dataclasses import dataclass, field
from pathlib import Path

from residualplanner._atomic import PathLike
from residualplanner.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.measurement.noise_record import NoiseRecord
from residualplanner.plan import Plan
from residualplanner.strategy import BasisGroups, basis_groups


@dataclass(frozen=True, eq=False)
class Measurement:
    """The noisy answers of all base mechanisms of a plan.  Everything computed from it is free of cost.

    Attributes:
        plan: what was measured, with how much noise.
        residuals: the answers: `IntegerResiduals` where the noise is discrete, `FloatResiduals` where it is continuous.
        noise: how the noise was drawn.
        mapped_from: the file in which the answers stand, if they were left on disk.
    """

    plan: Plan
    residuals: IntegerResiduals | FloatResiduals
    noise: NoiseRecord
    mapped_from: Path | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Measurement of {len(self.plan.closure):,} attribute sets: {self.noise.kind}, {self.noise.randomness}>"

    def save(self, path: PathLike) -> None:
        """Write the measurement and its plan to one file, whole or not at all; `load_measurement` reads it.

        Raises:
            OSError: the file cannot be written.
        """
        from residualplanner.measurement.files import save_measurement

        save_measurement(self, path)


def groups_of_plan(plan: Plan) -> BasisGroups:
    """The sets of a plan's closure by the bases that their attributes are measured with in them."""
    return basis_groups(plan.strategy)
