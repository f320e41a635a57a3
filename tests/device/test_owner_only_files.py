"""What another user could have written is neither read nor loaded."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from pyopencl_gbdt.device import cache, owner_only_files
from pyopencl_gbdt.device.variants import tuning
from tests.device import strangers
from tests.device.test_tuning import CAPS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no modes of files")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder that the user named."""
    place = tmp_path / "cache"
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(place))
    return place


@pytest.fixture
def usual(tmp_path, monkeypatch):
    """The cache folder that is this library's alone."""
    monkeypatch.delenv("PYOPENCL_GBDT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "caches"))
    monkeypatch.setattr(owner_only_files, "temporary_bases", lambda: [tmp_path / "tmp"])
    (tmp_path / "tmp").mkdir(mode=0o700)
    monkeypatch.setattr(cache, "_unusable", {})
    return tmp_path / "home" / "caches" / "pyopencl_gbdt"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def give_away():
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    return lambda path: os.chown(path, strangers.STRANGER, strangers.STRANGER)


# -- modes -------------------------------------------------------------------------------------
@pytest.mark.parametrize("umask", [0, 0o002, 0o022, 0o077, 0o777])
def test_folders_and_files_are_closed_whatever_the_umask(usual, umask):
    before = os.umask(umask)
    try:
        assert cache.store("key", b"payload")
        log = cache.store_log("key", "a log")
        assert cache.load("key") == b"payload"
    finally:
        os.umask(before)
    assert [mode(p) for p in (usual, usual.parent, usual.parent.parent)] == [0o700] * 3
    assert {mode(p) for p in usual.iterdir()} == {0o600}
    assert log.read_text() == "a log"


@pytest.mark.parametrize("open_to_others", [0o770, 0o707, 0o775, 0o1777])
def test_a_named_folder_that_others_can_write_is_neither_read_nor_written(folder, open_to_others):
    cache.store("key", b"payload")
    folder.chmod(open_to_others)
    assert cache.load("key") is None
    assert not cache.store("key", b"other")
    assert cache.store_log("key", "a log") is None
    assert mode(folder) == open_to_others  # the user named it: it may be shared on purpose
    folder.chmod(0o755)
    assert cache.load("key") == b"payload"


def test_the_librarys_own_folder_is_closed_where_a_umask_left_it_open(usual):
    cache.store("key", b"payload")
    usual.chmod(0o775)
    assert cache.load("key") == b"payload"
    assert mode(usual) == 0o700


@pytest.mark.parametrize("open_to_others", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_read(folder, open_to_others):
    cache.store("key", b"payload")
    (folder / "key.bin").chmod(open_to_others)
    assert cache.load("key") is None
    assert cache.store("key", b"payload")
    assert cache.load("key") == b"payload"


# -- owners ------------------------------------------------------------------------------------
def test_a_folder_of_another_user(folder, give_away):
    cache.store("key", b"payload")
    give_away(folder)
    assert cache.load("key") is None
    assert not cache.store("key", b"other")


def test_a_file_of_another_user_is_not_read_and_is_replaced(folder, give_away):
    cache.store("key", b"planted")
    give_away(folder / "key.bin")
    assert cache.load("key") is None
    assert cache.store("key", b"mine")
    assert cache.load("key") == b"mine"


def test_a_tuning_of_another_user(folder, give_away):
    tuning.store(CAPS, {})
    give_away(tuning.path_of(CAPS))
    tuning._loaded.clear()
    assert cache.read(tuning.path_of(CAPS).name) is None


def test_a_stranger_reads_roots_folder_and_does_not_trust_one_that_all_can_write(tmp_path):
    """Root's own folder, closed for writing, is shared; a sticky one, as /tmp, is not."""
    code = """
import sys
from pyopencl_gbdt.device import cache
print(cache.load("shared"), cache.load("planted"), cache.store("new", b"x"))
"""
    place = tmp_path / "cache"
    place.mkdir()
    os.environ["PYOPENCL_GBDT_CACHE"], before = str(place), os.environ.get("PYOPENCL_GBDT_CACHE")
    try:
        assert cache.store("shared", b"good")
        assert cache.store("planted", b"bad")
    finally:
        if before is None:
            del os.environ["PYOPENCL_GBDT_CACHE"]
        else:
            os.environ["PYOPENCL_GBDT_CACHE"] = before
    for file in place.iterdir():
        file.chmod(0o644)
    (place / "planted.bin").chmod(0o666)
    places = {"PYOPENCL_GBDT_CACHE": str(place), "HOME": "/nonexistent"}
    done = strangers.run(["-c", code], places, stranger=True)
    assert done.stdout == "b'good' None False\n", done.stderr
    place.chmod(0o1777)
    done = strangers.run(["-c", code], places, stranger=True)
    assert done.stdout == "None None False\n", done.stderr


# -- links, other names, other kinds ------------------------------------------------------------
def test_a_link_in_a_files_place(folder, tmp_path):
    cache.store("key", b"payload")
    (tmp_path / "elsewhere").write_bytes((folder / "key.bin").read_bytes())
    (folder / "key.bin").unlink()
    (folder / "key.bin").symlink_to(tmp_path / "elsewhere")
    assert cache.load("key") is None
    assert cache.store("key", b"mine")
    assert not (folder / "key.bin").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_a_files_place_does_not_wait(folder):
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "key.bin", 0o600)
    assert cache.load("key") is None


def test_a_file_under_another_files_name(folder):
    cache.store("one", b"payload")
    (folder / "one.bin").rename(folder / "two.bin")
    assert cache.load("two") is None


def test_a_link_in_the_place_of_the_folder_among_everybodys(usual, tmp_path, monkeypatch):
    usual.parent.parent.write_text("no home")
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    (tmp_path / "tmp" / f"pyopencl_gbdt-{os.geteuid()}").symlink_to(mine)
    assert not cache.store("key", b"payload")
    assert list(mine.iterdir()) == []


# -- folders that a driver is given the path of ------------------------------------------------
def test_folders_that_others_can_rename(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True, mode=0o700)
    assert owner_only_files.why_unusable(inner, 0) == ""
    (tmp_path / "a").chmod(0o777)
    assert "can be written by other users" in owner_only_files.why_unusable(inner, 0)
    (tmp_path / "a").chmod(0o1777)
    assert owner_only_files.why_unusable(inner, 0) == ""


def test_a_link_of_another_user_on_the_way(tmp_path, give_away):
    """Its owner may let it lead elsewhere a moment later."""
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "first").symlink_to(tmp_path / "link")
    for name in ("link", "first"):
        assert owner_only_files.why_unusable(tmp_path / name / "kcache", 0) == ""
    os.lchown(tmp_path / "link", strangers.STRANGER, strangers.STRANGER)
    for name in ("link", "first"):
        why = owner_only_files.why_unusable(tmp_path / name / "kcache", 0)
        assert "link of another user" in why


def test_the_working_folder_is_not_a_temporary_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    assert tmp_path not in owner_only_files.temporary_bases()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert owner_only_files.temporary_bases()[0] == tmp_path


def test_what_is_absent_is_not_made_where_others_were_first(tmp_path):
    """With HOME=/tmp, whoever makes /tmp/.cache first would own what PoCL loads."""
    assert owner_only_files.why_unusable(tmp_path / "new" / "kcache", 0) == ""
    tmp_path.chmod(0o1777)
    assert "can be written" in owner_only_files.why_unusable(tmp_path / "new" / "kcache", 0)
    assert not (tmp_path / "new").exists()


def test_space_and_odd_paths(tmp_path):
    assert "MiB left" in owner_only_files.why_unusable(tmp_path, 1 << 61)
    (tmp_path / "file").write_text("")
    assert "no folder" in owner_only_files.why_unusable(tmp_path / "file" / "x", 0)
    assert "no absolute path" in owner_only_files.why_unusable(Path("~/.cache"), 0)


def test_a_temporary_folder_is_removed_by_the_process_that_made_it(tmp_path):
    code = """
import os
from pyopencl_gbdt.device import owner_only_files
folder = owner_only_files.temporary_folder()
assert os.stat(folder).st_mode & 0o777 == 0o700
child = os.fork()
if child == 0:
    raise SystemExit
os.waitpid(child, 0)
print(folder.is_dir())
"""
    done = strangers.run(["-c", code], {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)})
    assert done.stdout == "True\n", done.stderr
    assert list(tmp_path.iterdir()) == []


# -- messages ----------------------------------------------------------------------------------
def test_a_full_disk_names_the_file(tmp_path):
    code = """
import sys
from pathlib import Path
from pyopencl_gbdt.device import cache
try:
    cache.write("a.bin", bytes(1 << 20))
except OSError as error:
    print(error.filename, error.strerror)
print(sorted(Path(sys.argv[1]).iterdir()))
"""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    done = strangers.run(
        ["-c", code, str(place)],
        {"PYOPENCL_GBDT_CACHE": str(place), "HOME": str(tmp_path)},
        mount=f"mount -t tmpfs -o size=64k,mode=700 tmpfs {place}",
    )
    assert done.stdout == f"{place}/a.bin No space left on device\n[]\n", done.stderr
