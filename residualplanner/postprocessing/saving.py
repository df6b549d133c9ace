"""Folders of tables that were made from unbiased ones.

Reads: tables.  Gives: files.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from residualplanner._atomic import PathLike
from residualplanner._checks import require_path
from residualplanner.errors import WorkloadError, memory_for
from residualplanner.postprocessing.published_errors import PublishedErrors, require_errors_of
from residualplanner.reconstruction import (
    PARTS_FORMAT,
    PUBLISHED_ERRORS_FILE,
    FormatName,
    ProfileName,
    Publication,
    Quality,
    Table,
    Tables,
    profile_named,
    save_tables,
)


@dataclass(frozen=True, eq=False, slots=True)
class SavingOptions:
    """How tables are written.

    Attributes:
        format: of the files.
        profile: the columns beside the labels.
        level: the confidence level; the profile's if None.
        quality: which estimates are reliable, if that is to be said.
        publication: title, author and the like.
        with_unbiased: whether unbiased estimates stand beside the numbers.
        errors: to be written beside the tables, if any.
    """

    format: FormatName
    profile: ProfileName
    level: float | None
    quality: Quality | None
    publication: Publication | None
    with_unbiased: bool
    errors: PublishedErrors | None


@memory_for("to write these tables; write smaller ones, or use a machine with more memory")
def save_made(made: Tables, tables: Iterable[Table], folder: PathLike, options: SavingOptions) -> None:
    """Write tables in a format that has a file for each, as `Release.save` does.

    Raises:
        WorkloadError: the format is "parts"; the errors are of other tables; and as `Release.save`.
    """
    require_path("save", folder, 'save("release")')
    if options.format == PARTS_FORMAT:
        raise WorkloadError(f'"parts" is for unbiased tables; write {made.product.name} ones as "parquet"')
    more = {}
    if options.errors is not None:
        require_errors_of(made, options.errors)
        more[PUBLISHED_ERRORS_FILE] = options.errors.to_frame()
    save_tables(
        tables,
        made.plan,
        made.noise,
        folder,
        file_format=options.format,
        profile=profile_named(options.profile)
        .of(made.product, with_unbiased=options.with_unbiased)
        .graded(options.quality),
        level=options.level,
        publication=options.publication,
        more=more,
    )
