"""Each set is drawn once, whoever dies, is doubled or comes back; `benchmarks.protocol` injects a thousand deaths."""

import random

import pytest

from benchmarks.protocol_world import MemoryStore, Scene, World
from inner_parts import Folder, generations, measuring
from inner_parts import release as release_part


def wrongs(seeds, make_store=MemoryStore):
    """What must not happen, and did, in the histories of some seeds."""
    found = set()
    for seed in seeds:
        found |= set(World(make_store(), random.Random(seed)).history().wrongs)
    return found


def test_each_set_has_one_answer_whoever_dies():
    assert wrongs(range(8)) == set()


@pytest.mark.slow
def test_each_set_has_one_answer_whoever_dies_often(tmp_path):
    assert wrongs(range(8, 24)) == set()
    left = iter(range(6))
    assert wrongs(range(34, 40), lambda: Folder(tmp_path / str(next(left)))) == set()


def closing(folders):
    """`close`, with these of its two objects only."""

    def close(release, tasks, issued):
        for generation in issued:
            for task in tasks:
                for folder in folders:
                    name = release_part.object_name(folder, task, generation)
                    release.store.create_if_absent(name, release_part.CLOSED)

    return close


class Overwriting(MemoryStore):
    """A store that passes the check before the charge, and then overwrites answers."""

    def create_if_absent(self, name, content):
        if name.startswith(release_part.ANSWERS):
            self._objects[name] = content
            return True
        return super().create_if_absent(name, content)


WRITE_MANIFEST = measuring.reading.write_manifest


def written_without_claims(release, *arguments):
    WRITE_MANIFEST(release, *arguments)
    for name in release.store.names(release_part.CLAIMS):
        release.store.remove(name)


#: What is planted, the scene in which it shows, and what is seen of it.
FAULTS = {
    "draws without a claim": (
        [(generations.Drawing, "_claim", lambda self, task: True)],
        Scene("create answers", 2),
        "noise was drawn after a lost claim",
    ),
    "answers are not closed": (
        [(generations, "close", closing([release_part.CLAIMS]))],
        Scene("create answers"),
        "a task has two answers",
    ),
    "claims are not closed": (
        [(generations, "close", closing([release_part.ANSWERS]))],
        Scene("create claims"),
        "a task was claimed in a generation that is over",
    ),
    "nothing is charged": (
        [(measuring, "_charged", lambda *_: None)],
        Scene("create answers"),
        "noise was drawn before the charge",
    ),
    "claims are removed in the end": (
        [(measuring.reading, "write_manifest", written_without_claims)],
        Scene("create claims", 2),
        "a task was drawn twice in one generation",
    ),
}


def wrongs_of_scene(scene, make_store=MemoryStore):
    """What must not happen, and did, where nothing is left to chance."""
    world = World(make_store(), random.Random(0), scene=scene).history()
    assert world.injected
    return world.wrongs


STEPS = ["list answers", "read plans", "list claims", "create claims", "draw", "create answers"]


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_stalls_and_goes_on_after_the_manifest_changes_nothing(step, attempts):
    assert wrongs_of_scene(Scene(step, attempts)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_protocol_with_a_fault_is_found_out(fault, monkeypatch):
    planted, scene, seen = FAULTS[fault]
    for what in planted:
        monkeypatch.setattr(*what)
    assert seen in wrongs_of_scene(scene)


def test_a_store_that_overwrites_is_found_out():
    assert "a task has two answers" in wrongs_of_scene(Scene("create answers"), Overwriting)
