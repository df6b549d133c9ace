"""A measurement read from a file is the one that was written, tells nothing about the records, and fits its plan."""

import json
import zipfile

import numpy as np
import pytest

from residualplanner._archive import read_archive, write_archive
from residualplanner.domain import Domain
from residualplanner.errors import FileFormatError, ResidualPlannerError
from residualplanner.measurement import load_measurement, measure
from residualplanner.plan import load_plan, plan_hash, plan_to_archive, select
from residualplanner.privacy import zcdp
from residualplanner.workload import marginals

DOMAIN = Domain({"a": 3, "one": 1, "b": 2, "c": ["x", "y", "z", "w"]})
PLAN = select(marginals(DOMAIN, up_to=2), budget=zcdp(0.5))
CODES = np.random.default_rng(5).integers(0, DOMAIN.sizes, (40, 4))
KIND = {"kind": "measurement", "version": 1}


@pytest.fixture
def path(tmp_path):
    measure(PLAN, CODES).save(tmp_path / "measurement")
    return tmp_path / "measurement"


def test_a_measurement_comes_back_as_it_was(tmp_path):
    for seed in (None, 0, 2**70):
        saved = measure(PLAN, CODES, seed=seed)
        saved.save(tmp_path / "file")
        loaded = load_measurement(tmp_path / "file")
        assert (loaded.residuals.values == saved.residuals.values).all()
        assert not loaded.residuals.values.flags.writeable
        assert loaded.noise == saved.noise
        assert plan_hash(loaded.plan) == plan_hash(PLAN)


def test_a_file_says_by_which_plan_it_was_measured(path, tmp_path):
    PLAN.save(tmp_path / "plan")
    header, _ = read_archive(path, **KIND)
    assert header["plan_sha256"] == plan_hash(load_plan(tmp_path / "plan"))


def test_files_differ_in_the_noisy_answers_alone_however_many_records_there_were(tmp_path):
    """No number of records, no name, no time: with the same seed even the noise is the same."""
    headers, sizes = [], []
    for records in (0, 1, 100_000):
        codes = np.random.default_rng(records).integers(0, DOMAIN.sizes, (records, 4))
        measure(PLAN, codes, seed=9).save(tmp_path / str(records))
        header, arrays = read_archive(tmp_path / str(records), **KIND)
        headers.append((header, sorted(arrays), {n: a.tobytes() for n, a in arrays.items() if n != "residuals"}))
        sizes.append((tmp_path / str(records)).stat().st_size)
    assert headers[0] == headers[1] == headers[2]
    assert len(set(sizes)) == 1


def test_equal_measurements_have_equal_files(tmp_path):
    for name in ("one", "two"):
        measure(PLAN, CODES, seed=9).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def rewrite(path, edit):
    """Change the header and arrays of a file, all its checksums made to fit."""
    header, arrays = read_archive(path, **KIND)
    arrays = {name: array.copy() for name, array in arrays.items()}
    edit(header, arrays)
    write_archive(path, **KIND, header=header, arrays=arrays)


def other_plan(header, arrays):
    plan = select(marginals(DOMAIN, order=1), budget=zcdp(0.5))
    header["plan"], theirs = plan_to_archive(plan)
    for name in [name for name in arrays if name.startswith("plan/")]:
        del arrays[name]
    arrays.update({f"plan/{name}": array for name, array in theirs.items()})


def spoil(value):
    def edit(_header, arrays):
        arrays["residuals"][3] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (other_plan, "not the one that was measured"),
        (lambda h, a: h["plan"].update(gap=0.5), "not the one that was measured"),
        (lambda h, a: a["plan/noise_variance"].__setitem__(0, 1e9), "not the one that was measured"),
        (lambda h, a: h.update(plan_sha256="0" * 64), "not the one that was measured"),
        (lambda h, a: h.update(plan_sha256=None), "not the one that was measured"),
        (lambda h, a: h.update(more=1), "must have the fields"),
        (lambda h, a: h.pop("noise"), "must have the fields"),
        (lambda h, a: h.update(plan=None), "must have the fields"),
        (lambda h, a: a.update(more=np.zeros(1)), "must have residuals and the arrays of its plan, and no others"),
        (lambda h, a: a.pop("residuals"), "must have residuals and the arrays of its plan, and no others"),
        (lambda h, a: a.update(residuals=a["residuals"][:-1]), "the plan needs 18 residual answers"),
        (lambda h, a: a.update(residuals=np.append(a["residuals"], 0.0)), "the plan needs 18 residual answers"),
        (lambda h, a: a.update(residuals=a["residuals"].reshape(2, -1)), "the plan needs 18 residual answers"),
        (lambda h, a: a.update(residuals=a["residuals"].astype("<f4")), "the plan needs 18 residual answers"),
        (spoil(np.nan), "must be finite"),
        (spoil(-np.inf), "must be finite"),
        (lambda h, a: h.update(noise="gaussian"), "must say of what kind its noise is"),
        (lambda h, a: h["noise"].pop("guarantee"), "must say of what kind its noise is"),
        (lambda h, a: h["noise"].update(seed=-1), "a seed must be a whole number"),
        (lambda h, a: h["noise"].update(seed=True), "a seed must be a whole number"),
        (lambda h, a: h["noise"].update(seed=5), "contradicts itself"),
        (lambda h, a: h["noise"].update(kind="discrete"), "contradicts itself"),
        (lambda h, a: h["noise"].update(guarantee="pure differential privacy"), "contradicts itself"),
        (lambda h, a: h["noise"].update(randomness="seeded, not private"), "contradicts itself"),
    ],
)
def test_an_edited_measurement_is_refused(path, edit, reason):
    rewrite(path, edit)
    with pytest.raises(FileFormatError, match=reason):
        load_measurement(path)


def fields(value, place=()):
    """Every place in a JSON value that holds something."""
    yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from fields(value[key], (*place, key))


def test_any_field_of_the_header_replaced_is_refused_in_our_own_words(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    whole = json.loads(members["header.json"])
    for place in fields(whole):
        if not place or place == ("package_version",):
            continue
        for value in (None, -1, [], {}, "x", 10**30):
            header = json.loads(members["header.json"])
            inner = header
            for key in place[:-1]:
                inner = inner[key]
            if inner[place[-1]] == value:
                continue
            inner[place[-1]] = value
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in members.items():
                    archive.writestr(name, json.dumps(header) if name == "header.json" else content)
            with pytest.raises(ResidualPlannerError):
                load_measurement(path)


def test_a_plan_is_not_taken_for_a_measurement(tmp_path):
    PLAN.save(tmp_path / "plan")
    with pytest.raises(FileFormatError, match="holds a 'plan', not a 'measurement'; name the measurement file"):
        load_measurement(tmp_path / "plan")
