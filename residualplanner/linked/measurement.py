"""What was measured of several tables together: noisy answers of each, and what may be claimed for all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.linked.plan import LinkedPlan
from residualplanner.release.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class LinkedMeasurement(Mapping[str, Measurement]):
    """A mapping from tables to their measurements.  Everything computed from it is free of cost.

    Attributes:
        plan: what was measured, with how much noise.
        measurements: that of each table.
    """

    plan: LinkedPlan
    measurements: Mapping[str, Measurement]

    def __getitem__(self, name: str) -> Measurement:
        return self.measurements[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plan)

    def __len__(self) -> int:
        return len(self.measurements)

    def __repr__(self) -> str:
        return f"<LinkedMeasurement of {' and '.join(map(repr, self))}{warning_of(self.noise)}>"

    @property
    def noise(self) -> NoiseRecord:
        """How the noise of all tables was drawn, what it cost together, and the sentence that may be signed for it."""
        return noise_of_tables(self.plan, self.measurements)


def noise_of_tables(plan: LinkedPlan, measurements: Mapping[str, Measurement | Release]) -> NoiseRecord:
    """The noise of all tables together, whose costs add up for a unit with all its records.  Source: eq. (146)."""
    own = [measurements[name] for name in plan]
    found = NoiseRecord.of_several([each.plan for each in own], [each.noise for each in own])
    tables, notion = plan.tables, plan.notion
    return replace(found, neighbors=tables.change(notion), omission=tables.omission(notion))
