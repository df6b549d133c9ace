"""A file of answers is hashed once: whoever knows that it is still the same believes it, and nobody else does."""

import hashlib
import json
import os
from dataclasses import replace

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import answers as answers_part
from inner_parts import array_hashes as _array_hashes
from inner_parts import averages
from inner_parts import measurement as measurement_part

PLAN = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abc", 40)), up_to=2), budget=rp.pcost(1))
RECORDS = np.zeros((10, 3), dtype=int)


@pytest.fixture
def time_step(monkeypatch):
    """Set how many nanoseconds after a change another one may go unseen."""
    return lambda nanoseconds: monkeypatch.setattr(_array_hashes, "TIME_STEP", nanoseconds)


@pytest.fixture
def path(tmp_path, time_step):
    """The file of a measurement, written long ago: later changes show at once."""
    time_step(-(10**15))
    rp.measure(PLAN, RECORDS).save(tmp_path / "some.measurement")
    return tmp_path / "some.measurement"


@pytest.fixture
def hashed(monkeypatch):
    """How many entries each array had that was hashed."""
    sizes, hash_of = [], _array_hashes.array_hash

    def counted(array):
        sizes.append(array.size)
        return hash_of(array)

    monkeypatch.setattr(_array_hashes, "array_hash", counted)
    return sizes


def flip(path, keeps_times=False):
    """Alter the last answer in a file, in place."""
    times = os.stat(path)
    answers = rp.load_measurement(path).residuals.numbers
    content = bytearray(path.read_bytes())
    content[content.rindex(answers.tobytes()) + 8 * len(answers) - 8] ^= 1
    with open(path, "r+b") as file:
        file.write(content)
    if keeps_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def hash_by_hand(measurement):
    """Of the answers as the page on files describes them: type, shape and bytes of each array, as JSON."""
    about = {}
    for name, array in measurement.residuals.to_arrays().items():
        sha256 = hashlib.sha256(array.tobytes()).hexdigest()
        about[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": sha256}
    return hashlib.sha256(json.dumps([{}, about], sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@pytest.mark.parametrize("mapped", [True, False])
def test_the_hash_is_that_of_the_answers_wherever_they_come_from(path, mapped):
    loaded = rp.load_measurement(path, mapped=mapped)
    assert loaded.answers_sha256 == hash_by_hand(loaded)
    measured = rp.measure(PLAN, RECORDS)
    assert measured.answers_sha256 == hash_by_hand(measured) != loaded.answers_sha256
    other = measured.with_residuals(answers_part.Residuals(loaded.residuals.groups, loaded.residuals.values))
    assert other.answers_sha256 == hash_by_hand(other)


def test_answers_are_hashed_when_they_are_loaded_and_never_again(path, hashed):
    answers = rp.load_measurement(path, mapped=True)
    many = answers.residuals.numbers.size
    assert hashed.count(many) == 1
    _ = answers.answers_sha256, answers.answers_sha256
    again = averages.as_one([measurement_part.map_measurement(answers.mapped_from)])
    assert again.answers_sha256 == answers.answers_sha256
    assert np.array_equal(again.residuals.numbers, answers.residuals.numbers)
    assert hashed.count(many) == 1


@pytest.mark.parametrize("keeps_times", [False, True])
def test_a_file_that_was_altered_in_place_is_not_believed(path, keeps_times):
    loaded = rp.load_measurement(path, mapped=True)
    file = loaded.mapped_from
    flip(path, keeps_times)
    assert not file.is_unchanged()
    with pytest.raises(rp.errors.FileFormatError, match=r"array 'integers' was altered"):
        measurement_part.map_measurement(file)
    with pytest.raises(rp.errors.FileFormatError, match=r"some\.measurement was altered while it was in use"):
        _ = loaded.answers_sha256


def test_a_file_that_was_only_just_written_is_hashed_by_everybody(path, hashed, time_step):
    time_step(10**15)
    file = rp.load_measurement(path, mapped=True).mapped_from
    assert file.state is None
    before = len(hashed)
    measurement_part.map_measurement(file)
    assert len(hashed) > before + 1


@pytest.mark.parametrize("field", ["device", "inode", "size", "modified_ns", "changed_ns"])
def test_whatever_the_system_says_otherwise_is_enough_to_hash_again(path, hashed, field):
    loaded = rp.load_measurement(path, mapped=True)
    file = loaded.mapped_from
    other = replace(file, state=file.state._replace(**{field: getattr(file.state, field) + 1}))
    before = len(hashed)
    measurement_part.map_measurement(other)
    assert len(hashed) > before + 1
    assert not other.is_unchanged()


def test_a_hash_that_is_believed_is_still_compared_with_the_header(path):
    file = rp.load_measurement(path, mapped=True).mapped_from
    with pytest.raises(rp.errors.FileFormatError, match="'integers' was altered"):
        measurement_part.map_measurement(replace(file, hashes=file.hashes | {"integers": "0" * 64}))
