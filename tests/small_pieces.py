"""Small releases in many pieces: limits of parts, row groups and batches that a few cells reach."""

from contextlib import contextmanager

import pytest

from residualplanner.release import batches, layout, reference_answers, stacks


@contextmanager
def _limits(module, **limits):
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(module, name, limit)
        yield


def small_parts(part=64, row_group=16):
    """Parts and row groups end after so many cells."""
    return _limits(layout, PART_CELLS=part, ROW_GROUP_CELLS=row_group)


@contextmanager
def small_batches(cells, *, chunk=2**18, tables=4096):
    """So many cells are computed at a time, and so many, or tables, go together."""
    with (
        _limits(stacks, BATCH_CELLS=cells),
        _limits(reference_answers, BATCH_CELLS=cells),
        _limits(batches, _CHUNK_CELLS=chunk, _CHUNK_TABLES=tables),
    ):
        yield


def contents(folder):
    """All files of a folder by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def hidden_of(target):
    """Where an unfinished release in parts is."""
    return next(target.parent.glob(f".{target.name}.*.unfinished"))


def times_of(folder):
    """When each part was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "parts").glob("*.parquet")}


def interrupted(release, target, *, after=3, **options):
    """Write so many parts or more, and stop; when each was written."""

    def stop(_done, _total):
        if len(times_of(hidden_of(target))) >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        release.save(target, progress=stop, **{"format": "parts"} | options)
    assert "goes on from there" in caught.value.__notes__[0]
    return times_of(hidden_of(target))
