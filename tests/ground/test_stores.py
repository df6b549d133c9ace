"""Of several who create an object at most one succeeds, nobody sees a part of one; other stores are refused."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks.s3_server import s3_server
from inner_parts import Bucket, Folder, object_store, open_store, require_create_if_absent


@pytest.fixture(scope="module")
def server():
    with s3_server() as bucket:
        yield bucket


@pytest.fixture(params=["folder", "bucket"])
def store(request, tmp_path):
    if request.param == "folder":
        return Folder(tmp_path / "store")
    return request.getfixturevalue("server")(tmp_path.name)


def test_an_object_is_made_once_and_stays_what_it_was_until_it_is_removed(store):
    name = "answers/000001.000000"
    with pytest.raises(FileNotFoundError):
        store.read(name)
    store.remove(name)
    assert store.create_if_absent(name, b"first")
    assert not store.create_if_absent(name, b"second")
    assert store.read(name) == b"first"
    sent = pickle.loads(pickle.dumps(store))  # noqa: S301 - our own
    assert (sent, hash(sent)) == (store, hash(store))
    assert sent.read(name) == b"first"
    store.remove(name)
    require_create_if_absent(store)  # which keeps nothing
    store.remove_unfinished()
    assert store.names("") == []


def test_of_many_who_create_an_object_at_once_one_succeeds(store):
    made, start = [], threading.Barrier(12)

    def create(number):
        start.wait()
        if store.create_if_absent("claims/000000.000000", b"%d" % number):
            made.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert store.read("claims/000000.000000") == b"%d" % made[0]


def test_objects_are_listed_by_the_start_of_their_names_in_order(store):
    names = ["answers/000002.000000", "answers/000001.000001", "answers/000001.000000", "claims/000001.000000", "top"]
    for name in names:
        store.create_if_absent(name, b"")
    assert store.names("answers/") == sorted(names[:3])
    assert store.names("answers/000001.") == ["answers/000001.000000", "answers/000001.000001"]
    assert store.names("to") == ["top"]
    assert store.names("nothing/") == store.names("nothing") == []
    assert store.names("") == sorted(names)


def test_names_that_could_lead_out_of_a_store_are_refused(store):
    for name in ("", "/a", "a/", "../a", "a/../b", ".hidden", "a//b", "A", "a b", "a\n", "ä", "a" * 201):
        for use in (store.read, store.remove, lambda word: store.create_if_absent(word, b"")):
            with pytest.raises(ValueError, match="names of objects are lower-case words"):
                use(name)


@given(st.text(alphabet="abz019-_./", max_size=30))
def test_a_name_that_is_allowed_is_a_path_below_the_folder(text):
    try:
        name = object_store.require_name(text)
    except ValueError:
        return
    assert os.path.normpath(name) == name
    assert not any(word.startswith(".") for word in name.split("/"))


def test_files_and_folders_are_their_owners_alone(tmp_path):
    store = Folder(tmp_path / "store")
    store.create_if_absent("answers/000001.000000", b"x")
    for folder, _, files in os.walk(tmp_path / "store"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert all(stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode) == 0o600 for file in files)


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_the_call_returns(tmp_path, monkeypatch):
    store, done = Folder(tmp_path), []
    store.create_if_absent("answers/first", b"")  # makes the folders
    sync, link = os.fsync, os.link
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(os.readlink(f"/proc/self/fd/{handle}")), sync(handle)))
    monkeypatch.setattr(os, "link", lambda old, new: (done.append("link"), link(old, new)))
    store.create_if_absent("answers/second", b"x")
    assert [word.removeprefix(str(tmp_path)).split("/")[1] for word in (done[0], done[2])] == [".unfinished", "answers"]
    assert done[1] == "link"
    assert len(done) == 3


KILLED = """
import os, pathlib, signal, sys
from residualplanner.ground.stores.object_store import Folder
os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Folder(pathlib.Path(sys.argv[1])).create_if_absent("answers/000001.000000", b"x")
"""


def test_what_a_killed_writer_leaves_behind_is_no_object_and_can_be_removed(tmp_path):
    store = Folder(tmp_path)
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False).returncode == -signal.SIGKILL
    assert os.listdir(tmp_path / ".unfinished") != []
    assert store.names("") == []
    store.remove_unfinished()
    assert not (tmp_path / ".unfinished").exists()
    assert store.create_if_absent("answers/000001.000000", b"x")


def test_folders_that_cannot_be_made_written_or_listed_are_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(rp.errors.StoreError, match="could not be read or written"):
        require_create_if_absent(Folder(tmp_path / "file"))
    with pytest.raises(rp.errors.StoreError, match="could not be read or written"):
        Folder(tmp_path / "file" / "within").names("")
    assert Folder(tmp_path / "mount" / "s").free_bytes() > 0
    with pytest.raises(rp.errors.StoreError, match=r"s cannot be made: there is no .*mount; make it"):
        Folder(tmp_path / "mount" / "s").create_if_absent("a", b"")
    assert not (tmp_path / "mount").exists()


class Overwriting(Folder):
    def create_if_absent(self, name, content):
        self.remove(name)
        return Folder.create_if_absent(self, name, content)


class Untruthful(Folder):
    def create_if_absent(self, name, content):
        Folder.create_if_absent(self, name, content)
        return True


class Forgetful(Folder):
    def names(self, prefix):
        return []


@pytest.mark.parametrize("kind", [Overwriting, Untruthful, Forgetful])
def test_a_store_that_does_not_keep_the_promise_is_refused(kind, tmp_path):
    with pytest.raises(
        rp.errors.ResourceError, match=r"does not create an object only where none.*Nothing was charged"
    ):
        require_create_if_absent(kind(tmp_path))


def test_an_object_store_that_ignores_conditions_is_refused():
    with s3_server(ignores_conditions=True) as bucket, pytest.raises(rp.errors.ResourceError, match="If-None-Match"):
        require_create_if_absent(bucket("a"))


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_the_environment_alone_can_say_where_a_bucket_is_and_with_which_keys(server, monkeypatch, variable):
    told = server("")
    settings = dict(told.settings)
    monkeypatch.setenv(variable, settings["endpoint"])
    for name in ("region", "access_key_id", "secret_access_key"):
        monkeypatch.setenv(f"AWS_{name.upper()}", settings[name])
    store = open_store(f"{told}/{variable}")
    assert store.create_if_absent("answers/000001.000000", b"first")
    assert server(variable).read("answers/000001.000000") == b"first"


def test_a_server_that_cannot_be_reached_is_told_without_keys():
    settings = (("endpoint", "http://127.0.0.1:9"), ("access_key_id", "id"), ("secret_access_key", "secret"))
    store = Bucket("s3://b/p", (*settings, ("region", "r"), ("max_retries", "0")))
    assert "secret" not in repr(store)
    with pytest.raises(rp.errors.StoreError, match="could not be read or written") as caught:
        store.read("a")
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert "127" not in str(caught.value)


def test_object_stores_without_their_package_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"pip install 'residualplanner\[s3\]'"):
        Bucket("s3://b").names("")


def test_addresses_and_paths_open_stores(tmp_path):
    assert open_store("s3://bucket/some/prefix/") == Bucket("s3://bucket/some/prefix")
    assert open_store(tmp_path) == open_store(str(tmp_path)) == Folder(tmp_path)
    assert open_store(Folder(tmp_path)) == Folder(tmp_path)
    assert (str(open_store("s3://bucket/a/b")), str(open_store(str(tmp_path)))) == ("s3://bucket/a/b", str(tmp_path))
    for other in ("gs://bucket/p", "s3a://bucket/p", "abfss://box@account.dfs.core.windows.net/p"):
        assert open_store(other) == Bucket(other)
    assert open_store((tmp_path / "a b").as_uri()) == Folder(tmp_path / "a b")
    for other in ("hdfs://machine/p", "https://example.org/p", "file://machine/p"):
        with pytest.raises(rp.errors.ArgumentError, match=f"a store must be the path of a folder, .*got '{other}'"):
            open_store(other)
    for nowhere in ("", "s3://", "s3:///prefix", 3):
        with pytest.raises(rp.errors.ArgumentError, match="a store must be the path of a folder, or an address"):
            open_store(nowhere)
