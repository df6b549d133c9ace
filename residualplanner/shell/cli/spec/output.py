"""What the published tables look like: the [output] of a spec file."""

from typing import Literal

from pydantic import Field, model_validator

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.style import chosen_format
from residualplanner.release.profiles import FormatName, level_of
from residualplanner.release.quality import Publication, Quality
from residualplanner.shell.cli.spec.tables import Cells, KnownTable
from residualplanner.shell.cli.spec.values import BetweenZeroAndOne, Real, SpecTable, TextOrDate, refusal

#: How numbers become others than the unbiased estimates.
_ADJUSTED = "write nonnegative = true or round_to = 1, or as options --nonnegative or --round-to 1"


class QualityTable(SpecTable):
    """Which estimates are too noisy to use, by their coefficient of variation: standard error over estimate."""

    reliable: Real = 0.15  # below this an estimate is "reliable"
    usable: Real = 0.30  # below this it is to "use with caution", else it is "unreliable"
    suppress: bool = False  # whether files leave out unreliable estimates

    @model_validator(mode="after")
    def _is_in_order(self) -> "QualityTable":
        try:
            Quality(**dict(self))
        except WorkloadError as error:
            raise refusal(str(error)) from None
        return self


class PublicationTable(SpecTable):
    """What is said to readers about all tables together."""

    title: str = ""
    author: str = ""
    date: TextOrDate = ""
    contact: str = ""
    source: str = ""
    note: str = ""

    @property
    def publication(self) -> Publication:
        """The same for tables."""
        return Publication(**{name: str(text) for name, text in self.model_dump().items()})


class MapTable(SpecTable):
    """The shapes of the areas that the values of an attribute are."""

    geojson: str  # a GeoJSON file beside the spec
    code: str  # the property of its features that has their codes


class OutputTable(SpecTable):
    """What the published tables look like, and what their numbers are."""

    format: FormatName | None = None
    profile: Literal["default", "acs", "gls"] = "default"
    level: BetweenZeroAndOne | None = None  # of margins of error; the profile's if not given

    nonnegative: bool = False
    known: list[KnownTable] = Field([], max_length=1000)  # tables that are public anyway: not protected
    impossible: list[Cells] = Field([], max_length=1000)
    round_to: int | None = Field(None, ge=1, le=10**9)  # multiples of this that add up
    with_unbiased: bool = False
    published_errors: int | None = Field(None, ge=10, le=10_000)  # how many simulations tell them
    quality: QualityTable | None = None
    maps: dict[str, MapTable] = Field({})  # for a report, by attribute
    publication: PublicationTable = PublicationTable()

    @model_validator(mode="after")
    def _goes_together(self) -> "OutputTable":
        if problem := self.problem:
            raise refusal(problem)
        return self

    @property
    def problem(self) -> str:
        """What does not go together, and what to write instead; empty where all does."""
        if (self.known or self.impossible) and not self.nonnegative:
            return (
                "known and impossible are for tables without negative cells; write nonnegative = true, or --nonnegative"
            )
        if self.with_unbiased and not self.is_adjusted:
            return f"with_unbiased is for other numbers beside them; {_ADJUSTED}"
        if self.published_errors is not None and not self.is_adjusted:
            return (
                "published_errors are those of numbers that are not unbiased; the plan has those of unbiased ones; "
                f"{_ADJUSTED}"
            )
        return ""

    @property
    def is_adjusted(self) -> bool:
        """Whether the numbers are others than the unbiased estimates."""
        return self.nonnegative or self.round_to is not None

    @property
    def chosen_quality(self) -> Quality | None:
        """Which estimates are reliable, if tables are to say it."""
        return None if self.quality is None else Quality(**dict(self.quality))

    def file_format(self, workload: Workload) -> FormatName:
        """The format of the tables of a workload: given, or else chosen by what is wanted and how many there are."""
        return chosen_format(workload, self.format, self.profile, quality=self.chosen_quality)

    @property
    def chosen_level(self) -> float:
        """The confidence level, given or the profile's."""
        return level_of(self.profile, self.level)
