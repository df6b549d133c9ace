"""Tables that follow from a measurement, unbiased or adjusted: what is known of them, and how they are to be saved.

Reads: tables, and what a user asks for.  Gives: ReleaseTables; the format of their files.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import require_path
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.export import require_exportable
from residualplanner.publish.files.export_files import PARTS_FORMAT, FormatName, chosen_format
from residualplanner.publish.files.profiles import ProfileName
from residualplanner.release.quality import Quality
from residualplanner.release.tables import Tables

if TYPE_CHECKING:
    from residualplanner.gate.measurement.combined import NoisyAnswers


class ReleaseTables(Tables):
    """A mapping from queries to tables that follow from a measurement, as they are or adjusted."""

    if TYPE_CHECKING:  # where the program runs, a property would hide the field of a dataclass

        @property
        @abstractmethod
        def measurement(self) -> NoisyAnswers:
            """The noisy answers that the unbiased tables follow from."""

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.measurement.plan

    @property
    def noise(self) -> NoiseRecord:
        """How the noise was drawn."""
        return self.measurement.noise

    def _format_to_save(
        self,
        folder: PathLike,
        format: FormatName | None,
        profile: ProfileName,
        quality: Quality | None,
        only: Iterable[int] | None,
    ) -> FormatName:
        """The format of the files: the one that is asked for, "parts" where some of these are, or the usual one.

        Raises:
            ArgumentError: ``folder`` is no path.
            WorkloadError, MissingExtraError: the tables cannot be written so.
        """
        require_path("release.save", folder, 'release.save("release")')
        if only is not None and format not in (PARTS_FORMAT, None):
            raise WorkloadError(f'only= is for format="parts", not {format!r}')
        chosen = chosen_format(self.plan.workload, format if only is None else "parts", profile, quality=quality)
        require_exportable(self.plan.workload, chosen, profile, quality=quality)
        return chosen
