"""Folders of tables that were made from unbiased ones.

Reads: tables.  Gives: files.
"""

from collections.abc import Iterable

from residualplanner._atomic import PathLike
from residualplanner._checks import require_path
from residualplanner.errors import WorkloadError, memory_for
from residualplanner.reconstruction import (
    PARTS_FORMAT,
    FormatName,
    ProfileName,
    Publication,
    Quality,
    Table,
    Tables,
    save_tables,
)


@memory_for("to write these tables; write smaller ones, or use a machine with more memory")
def save_made(
    made: Tables,
    tables: Iterable[Table],
    folder: PathLike,
    format: FormatName,
    *,
    profile: ProfileName,
    level: float | None,
    quality: Quality | None,
    publication: Publication | None,
) -> None:
    """Write tables in a format that has a file for each, as `Release.save` does.

    Raises:
        WorkloadError: the format is "parts"; and as `Release.save`.
    """
    require_path("save", folder, 'save("release")')
    if format == PARTS_FORMAT:
        raise WorkloadError(f'"parts" is for unbiased tables; write {made.product.name} ones as "parquet"')
    save_tables(
        tables,
        made.plan,
        made.noise,
        folder,
        file_format=format,
        profile=profile,
        level=level,
        product=made.product,
        quality=quality,
        publication=publication,
    )
