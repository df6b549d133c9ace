"""Parts that an engine's workers write are those that this process writes; Spark's are tested where a session is."""

import dask
import numpy as np
import pytest

import residualplanner as rp
from residualplanner.release import layout


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Of six parts, whose file is mapped."""
    monkeypatch.setattr(layout, "PART_CELLS", 64)
    monkeypatch.setattr(layout, "ROW_GROUP_CELLS", 16)
    plan = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abcd", 5)), up_to=2), budget=rp.pcost(1))
    rp.measure(plan, np.zeros((10, 4), dtype=int)).save(tmp_path / "some.measurement")
    return rp.reconstruct(rp.load_measurement(tmp_path / "some.measurement", mapped=True))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Noted:
    """Workers in this process that note what they are asked."""

    def __init__(self):
        self.asked = []

    def require_ready(self):
        self.asked.append("ready")

    def require_single_attempts(self):
        raise AssertionError("writing parts twice does no harm")

    def map(self, function, numbers):
        self.asked.append(list(numbers))
        return [function(number) for number in numbers]


@pytest.mark.parametrize("is_mapped", [True, False])
def test_the_files_are_the_same(release, tmp_path, is_mapped):
    if not is_mapped:
        release = rp.reconstruct(rp.load_measurement(tmp_path / "some.measurement"))
    release.save(tmp_path / "one", "parts")
    with dask.config.set(scheduler="threads"):
        release.save(tmp_path / "workers", "parts", workers=rp.scale.DaskWorkers())
    assert contents(tmp_path / "workers") == contents(tmp_path / "one")
    assert not (tmp_path / "workers" / "answers.measurement").exists()


def test_only_what_is_missing_is_written_again(release, tmp_path):
    workers, times = Noted(), {}
    release.save(tmp_path / "one", "parts", workers=workers)
    assert workers.asked == ["ready", [*range(len(list((tmp_path / "one/parts").iterdir())))]]

    class Failing(Noted):
        def map(self, function, numbers):
            super().map(function, numbers[:2])
            raise rp.errors.ResourceError("the engine failed")

    with pytest.raises(rp.errors.ResourceError, match="the engine failed"):
        release.save(tmp_path / "two", "parts", workers=Failing())
    (hidden,) = tmp_path.glob(".two.*")
    times = {path.name: path.stat().st_mtime_ns for path in (hidden / "parts").iterdir()}
    assert len(times) == 2
    release.save(tmp_path / "two", "parts", workers=Noted())
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert all((tmp_path / "two/parts" / name).stat().st_mtime_ns == time for name, time in times.items())


def test_workers_that_do_not_see_the_measurement_say_so(release, tmp_path):
    class Elsewhere(Noted):
        def map(self, function, numbers):
            (tmp_path / "some.measurement").unlink()
            return super().map(function, numbers)

    with pytest.raises(OSError, match=r"could not write a part \(No such file or directory: .*some\.measurement\)"):
        release.save(tmp_path / "out", "parts", workers=Elsewhere())
    assert not (tmp_path / "out").exists()


def test_workers_that_are_not_ready_write_nothing(release, tmp_path):
    class Unready(Noted):
        def require_ready(self):
            raise rp.errors.ResourceError("they have another version")

    workers = Unready()
    with pytest.raises(rp.errors.ResourceError, match="they have another version"):
        release.save(tmp_path / "out", "parts", workers=workers)
    assert workers.asked == []


def test_what_has_no_workers_is_refused(release, tmp_path):
    with pytest.raises(rp.errors.WorkloadError, match=r"or an engine's, such as SparkWorkers\(spark\), got 'spark'"):
        release.save(tmp_path / "out", "parts", workers="spark")
