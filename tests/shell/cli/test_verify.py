"""The command verify: what the verifier says, and its exit status."""

import shutil

import numpy as np
import pytest

import residualplanner as rp
from shell.specs import events


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("verified") / "release"
    plan = rp.select(rp.marginals(rp.Domain({"age": 3, "sex": 2}), up_to=2), budget=rp.zcdp("0.5"))
    rp.reconstruct(rp.measure(plan, np.random.default_rng(0).integers(0, [3, 2], (100, 2)))).save(path, format="csv")
    return path


def test_the_command_says_each_claim_and_exits_with_1_where_one_is_wrong(release, tmp_path, run):
    said = run("verify", release, status=0).output
    assert "privacy cost: verified: pcost 1, an exact fraction" in said
    assert len(events(run("verify", release, "tables/age.csv", "--json"))) == 11
    copy = tmp_path / "copy"
    shutil.copytree(release, copy)
    (copy / "errors.csv").write_bytes((copy / "errors.csv").read_bytes().replace(b"0", b"1"))
    wrong = run("verify", copy, "--quiet", status=1).output
    assert wrong == "files: NOT VERIFIED: errors.csv is not the file that is listed\n"
    assert "there is no file" in run("verify", tmp_path / "absent", status=2).output
    (tmp_path / "a.toml").write_text("")
    assert "verify wants a plan, or the folder of a release" in run("verify", tmp_path / "a.toml", status=2).output
    assert "there are no tables ['age']; write them" in run("verify", release, "age", status=2).output
