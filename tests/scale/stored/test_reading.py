"""What is read from a store is data that anyone may have changed: it is what was published, or it is refused."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks.protocol_world import MemoryStore
from inner_parts import InsecureTestBits, release
from stored_releases import DOMAIN, LITTLE, PLAN, RECORDS, stopped, stored

OTHER = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp(2))


def new_store(plan=PLAN):
    store = MemoryStore()
    return store, stored(plan, RECORDS, store, task_cells=LITTLE).residuals.numbers


STORE, INTEGERS = new_store()
NAMES = STORE.names("")
READ = [name for name in NAMES if name.startswith((release.ANSWERS, release.MANIFEST, release.RELEASE, "plans/"))]


def copy(changed=()):
    store = MemoryStore()
    for name in NAMES:
        store.create_if_absent(name, STORE.read(name))
    for name, content in dict(changed).items():
        store.remove(name)
        if content is not None:
            store.create_if_absent(name, content)
    return store


@given(st.sampled_from(READ), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_byte_that_was_changed_anywhere_changes_no_answer(name, place, by):
    content = bytearray(STORE.read(name))
    content[int(place * len(content))] ^= by
    try:
        found = rp.scale.load_stored_measurement(copy({name: bytes(content)}))
    except rp.errors.ResidualPlannerError:
        return
    assert (found.residuals.numbers == INTEGERS).all()


@pytest.mark.parametrize("name", READ)
def test_an_object_that_was_removed_cut_off_or_replaced_is_refused(name):
    other, _ = new_store(OTHER)
    twin = name if name in other.names("") else other.names("plans/")[0]
    for content in (None, b"", STORE.read(name)[:-1], b"closed", other.read(twin), b"\xff" * 100, b"[" * 10**5):
        with pytest.raises((rp.errors.FileFormatError, rp.errors.StoreError)):
            rp.scale.load_stored_measurement(copy({name: content}))


def test_answers_of_one_task_are_not_read_as_those_of_another():
    first, second = STORE.names(release.ANSWERS)[:2]
    with pytest.raises(rp.errors.FileFormatError, match="belong to another release or task"):
        rp.scale.load_stored_measurement(copy({first: STORE.read(second), second: STORE.read(first)}))


def test_answers_that_the_manifest_does_not_list_are_not_read():
    store = copy({"answers/000000.000007": STORE.read("answers/000000.000000")})
    assert (rp.scale.load_stored_measurement(store).residuals.numbers == INTEGERS).all()


CHANGES = {
    "the cost": (("noise", "pcost"), "1/3"),
    "the neighbors": (("noise", "neighbors"), "replacing one record"),
    "the mark of the random bytes": (("noise", "source"), "InsecureTestBits: not private"),
    "the sentence": (("noise", "guarantee"), "anything"),
    "the plan": (("plan_sha256",), "0" * 64),
    "the release": (("release",), "0" * 32),
    "the version": (("version",), 2),
    "a field more": (("more",), 1),
    "fewer answers": (("answers",), []),
    "answers of another type": (("answers",), [["0", 1]]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_manifest_that_says_something_else_is_refused(change):
    (*path, last), value = CHANGES[change]
    stated = json.loads(STORE.read(release.MANIFEST))
    inner = stated
    for word in path:
        inner = inner[word]
    inner[last] = value
    with pytest.raises(rp.errors.ResidualPlannerError):
        rp.scale.load_stored_measurement(copy({release.MANIFEST: json.dumps(stated).encode()}))


def test_the_noise_of_another_source_of_bits_is_refused():
    other = MemoryStore()
    stored(PLAN, RECORDS, other, source=InsecureTestBits(0))
    stated, theirs = (json.loads(store.read(release.MANIFEST)) for store in (STORE, other))
    with pytest.raises(rp.errors.FileFormatError, match="states other noise than the release was opened with"):
        rp.scale.load_stored_measurement(
            copy({release.MANIFEST: json.dumps(stated | {"noise": theirs["noise"]}).encode()})
        )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("task_cells", value) for value in (0, 2**31 + 1, True)),
        *(("again", 1), ("identifier", "x"), ("source", "x" * 201), ("more", 1), ("version", 9)),
    ],
)
def test_terms_that_this_library_never_writes_are_refused(field, value):
    stated = json.loads(STORE.read(release.RELEASE)) | {field: value}
    message = "newer version|missing or unknown fields|never writes"
    with pytest.raises(rp.errors.FileFormatError, match=message):
        rp.scale.load_stored_measurement(copy({release.RELEASE: json.dumps(stated).encode()}))


def test_an_empty_store_holds_no_release():
    for use in (
        rp.scale.load_stored_measurement,
        rp.scale.abort_measuring,
        lambda store: rp.scale.resume_measuring(store, RECORDS),
    ):
        with pytest.raises(rp.errors.FileFormatError, match="holds no release"):
            use(MemoryStore())


def test_answers_that_were_damaged_before_the_manifest_end_the_run():
    store = MemoryStore()
    stopped(store)
    name = store.names(release.ANSWERS)[0]
    content = store.read(name)
    store.remove(name)
    store.create_if_absent(name, content[:-5])
    with pytest.raises(rp.errors.FileFormatError):
        rp.scale.resume_measuring(store, RECORDS)
    assert store.names(release.MANIFEST) == []


def test_the_answers_are_put_together_in_the_folder_that_is_named(tmp_path):
    found = rp.scale.load_stored_measurement(STORE, scratch=tmp_path)
    assert os.listdir(tmp_path) == []
    assert (found.residuals.numbers == INTEGERS).all()


def test_a_receipt_is_read_back():
    for receipt in (
        release.Receipt(3, release.Outcome.ANSWERED, 1, "a" * 64, "b" * 64),
        release.Receipt(0, release.Outcome.FAILED),
    ):
        assert release.receipt_of_bytes(receipt.to_bytes()) == receipt
