"""A release as a folder of files, in any format, whole or not at all."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import require_path
from residualplanner.ground.errors import ArgumentError, WorkloadError, memory_for
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.export import require_exportable, save_tables
from residualplanner.publish.files.export_files import PARTS_FORMAT, chosen_format
from residualplanner.publish.files.sidecar import PUBLISHED_ERRORS_FILE, Description
from residualplanner.publish.parts.saving import save_parts
from residualplanner.release.devices import HOST, Device
from residualplanner.release.numbers import Numbers
from residualplanner.release.profiles import FormatName, ProfileName, level_of, profile_named
from residualplanner.release.publication import Publication
from residualplanner.release.published_errors import PublishedErrors, require_errors_of
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table
from residualplanner.scale.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a release is written; see `Release.save`.

    Attributes:
        format: of the files; chosen by how many tables there are where it is None.
        profile: which columns there are beside the labels.
        level: the confidence level of margins and intervals; the profile's where it is None.
        quality: which estimates are reliable, if that is to be said.
        publication: what is said to readers about all tables together.
        with_unbiased: whether unbiased estimates stand beside numbers that were made from them.
    """

    format: FormatName | None = None
    profile: ProfileName = "default"
    level: float | None = None
    quality: Quality | None = None
    publication: Publication | None = None
    with_unbiased: bool = False

    def format_for(self, workload: Workload, only: Iterable[int] | None = None) -> FormatName:
        """The format of the files of a workload: the one that is named, "parts" for some of these, or the usual one.

        Raises:
            WorkloadError, MissingExtraError: the tables cannot be written so.
        """
        if only is not None and self.format not in (PARTS_FORMAT, None):
            raise WorkloadError(f'only= is for format="parts", not {self.format!r}')
        chosen: FormatName | None = self.format if only is None else "parts"
        found = chosen_format(workload, chosen, self.profile, quality=self.quality)
        require_exportable(workload, found, self.profile, quality=self.quality)
        return found


class Saveable(Protocol):
    """What is read of a `Release` to save it; the door to here stands there, so that it cannot be named."""

    @property
    def measurement(self) -> NoisyAnswers: ...  # noqa: D102

    @property
    def numbers(self) -> Numbers: ...  # noqa: D102

    @property
    def device(self) -> Device: ...  # noqa: D102

    def tables(self, progress: Progress | None = None) -> Iterator[Table]: ...  # noqa: D102


@memory_for("to write these tables; write smaller ones, or use a machine with more memory")
def save(
    release: Saveable,
    folder: PathLike,
    style: Style,
    *,
    errors: PublishedErrors | None = None,
    workers: int | Workers = 1,
    only: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the tables of a release's workload to a new folder; arguments and errors as of `Release.save`."""
    require_path("release.save", folder, 'release.save("release")')
    _require_made_here(release.numbers)
    measurement, numbers = release.measurement, release.numbers
    chosen = style.format_for(measurement.plan.workload, only)
    more = _files_of(release, errors)
    profile = profile_named(style.profile).of(numbers.product, with_unbiased=style.with_unbiased).graded(style.quality)
    described = Description(
        measurement.plan,
        measurement.noise,
        chosen,
        profile,
        level_of(style.profile, style.level),
        style.publication or Publication(),
    )
    if chosen == PARTS_FORMAT:
        _require_host(release.device)
        save_parts(described, measurement, numbers, folder, workers=workers, only=only, progress=progress, more=more)
    else:
        save_tables(described, release.tables(progress), measurement, folder, more=more)


def _require_made_here(numbers: Numbers) -> None:
    """Raise ArgumentError for a release that was read: intervals of its numbers do not follow from these alone."""
    if numbers.folder is not None:
        raise ArgumentError(
            f"release.save: this release is in {numbers.folder} already; copy the folder, or write "
            "reconstruct(tables).save(folder) for another form of what was measured"
        )


def _require_host(device: Device) -> None:
    if device is not HOST:
        raise ArgumentError(
            "release.save: parts are computed by NumPy, the same bytes each time; write "
            'reconstruct(measurement).save(folder, format="parts"), without device'
        )


def _files_of(release: Saveable, errors: PublishedErrors | None) -> Mapping[str, Any]:
    """The errors of published numbers as a data frame, by the name of its file."""
    if errors is None:
        return {}
    require_errors_of(release.measurement.plan, release.numbers.product, errors)
    return {PUBLISHED_ERRORS_FILE: errors.to_frame()}
