"""A plan to save, and the tools of a forger: files that are well formed and whose hashes agree with their content."""

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inner_parts import plan_from_archive, plan_hash, plan_to_archive
from residualplanner import Bins, Domain, Plan, load_plan, marginals, select, zcdp

__all__ = ["plan_from_archive", "plan_hash", "plan_to_archive"]

DOMAIN = Domain({"age": Bins([0, 18, 65, 120]), "sex": ["F", "M"], "region": 4})


def small_plan() -> Plan:
    return select(marginals(DOMAIN, up_to=2), budget=zcdp("0.5"))


def require_equal(left: Plan, right: Plan) -> None:
    """The two plans agree in every field, arrays to the bit."""
    assert left.domain == right.domain
    assert list(left.workload) == list(right.workload)
    assert left.workload.kinds == right.workload.kinds
    for mine, theirs in zip(left.workload.blocks, right.workload.blocks, strict=False):
        for name in ("attributes", "kinds", "weights", "every_axes"):
            one, other = getattr(mine, name), getattr(theirs, name)
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes()
    assert left.noise_variances.tobytes() == right.noise_variances.tobytes()
    assert left.loss.to_archive()[0] == right.loss.to_archive()[0]
    for name in ("budget", "pcost", "loss_value", "gap", "suboptimality", "status", "neighbors"):
        assert getattr(left, name) == getattr(right, name)


def write(path: Path, header: Mapping[str, Any], members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("header.json")), members


def packed(array: np.ndarray) -> tuple[bytes, dict[str, Any]]:
    """An array as the bytes of a member and the header's words for it, hash included."""
    array = np.ascontiguousarray(array)
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0))
    told = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": hashlib.sha256(array.tobytes()).hexdigest()}
    return file.getvalue(), told


def forge(path: Path, plan: Plan, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """The plan's file with another content and other arrays, all hashes recomputed."""
    plan.save(path)
    whole, _ = read(path)
    pieces = {name: packed(array) for name, array in arrays.items()}
    whole["content"] = dict(header)
    whole["arrays"] = {name: told for name, (_, told) in pieces.items()}
    return write(path, whole, {f"{name}.npy": content for name, (content, _) in pieces.items()})


def changes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Every place in JSON values."""
    found = [(path, value)]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        found += changes(part, (*path, key))
    return found


def placed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with the value at ``path`` replaced."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = placed(value[path[0]], path[1:], new)
    return changed


def removed(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy without the value at ``path``."""
    *above, last = path
    inner = value
    for key in above:
        inner = inner[key]
    left = copy.copy(inner)
    del left[last]
    return placed(value, tuple(above), left)


def through_a_file(plan: Plan, folder: Path) -> Plan:
    """What is read back of a plan, which agrees with it."""
    plan.save(folder / "plan")
    again = load_plan(folder / "plan")
    require_equal(plan, again)
    assert plan_hash(plan) == plan_hash(again)
    return again


def require_equal_bases(left: Plan, right: Plan) -> None:
    """Every attribute and every factor has the same basis, and the messages are the same to the bit."""
    one, other = left.strategy, right.strategy
    assert one.messages.tobytes() == other.messages.tobytes()
    factors = zip(one.factor_bases.tolist(), other.factor_bases.tolist(), strict=True)
    pairs = [
        *zip(one.of_attributes, other.of_attributes, strict=True),
        *((one.bases[i], other.bases[j]) for i, j in factors),
    ]
    for mine, theirs in pairs:
        assert (mine.size, mine.family, mine.pcost) == (theirs.size, theirs.family, theirs.pcost)
        for name in ("matrix", "u", "G"):
            array, again = getattr(mine, name), getattr(theirs, name)
            assert (array is None) == (again is None)
            assert array is None or (array.dtype == again.dtype and array.tobytes() == again.tobytes())
