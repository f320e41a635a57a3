"""Files appear whole or not at all; nothing stays behind, and errors name the file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyopencl_gbdt.cli.output import write_text
from pyopencl_gbdt.data.files.whole_file import remove_partial_files, write_whole
from pyopencl_gbdt.errors import FileWriteError, GBDTError, MissingFolderError, ParameterError
from pyopencl_gbdt.model import write_model
from pyopencl_gbdt.owners import resolved
from tests.device import strangers
from tests.full_disk import fill, small_disk
from tests.model.samples import make_ensemble

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")
STALE = ".pyopencl_gbdt-00000000deadbeef.partial"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for data in (b"", b"one\n", b"two"):
        write_whole(path, data)
        assert path.read_bytes() == data
        assert names(tmp_path) == ["a.txt"]
    before = os.umask(0o027)
    try:
        write_whole(path, b"three")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640  # as files that `open` makes


@pytest.mark.parametrize("write", [write_model, write_whole])
def test_a_missing_folder_is_named(write, tmp_path: Path) -> None:
    what = make_ensemble([1]) if write is write_model else b""
    path = tmp_path / "none" / "m.json"
    arguments = (what, path) if write is write_model else (path, what)
    with pytest.raises(MissingFolderError, match=r"none is absent.*create it first") as caught:
        write(*arguments)
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, GBDTError)
    assert str(path) in str(caught.value)
    assert ".partial" not in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("folder", "folder: is a folder: expected the path of a file"),
        ("pipe", "pipe: is a device"),
        ("file/m.json", "file is not a folder"),
        ("x" * 300, "cannot be written .*give a shorter name"),
    ):
        with pytest.raises(FileWriteError, match=words):
            write_whole(tmp_path / name, b"")
    for path in (3, "a\0b", None):
        with pytest.raises(ParameterError, match="expected the path of a file"):
            write_whole(path, b"")  # type: ignore[arg-type]
    assert names(tmp_path) == ["file", "folder", "pipe"]


def test_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    write_whole(link, b"newer", follow_link=False)
    assert not link.is_symlink()
    assert (real.read_text(), link.read_text()) == ("new", "newer")


@strangers.only_root_gives_away
@pytest.mark.parametrize("write", [write_model, write_whole])
def test_a_link_of_another_user_is_not_followed(write, tmp_path: Path) -> None:
    """Neither in the file's place nor on the way to it, nor at the end of the user's own."""
    shared, mine = strangers.shared_folder(tmp_path / "shared"), tmp_path / "mine"
    mine.mkdir()
    (mine / "secret").write_text("mine")
    strangers.link(shared / "m.json", mine / "secret")
    strangers.link(shared / "folder", mine)
    (mine / "own.json").symlink_to(shared / "m.json")
    what = make_ensemble([1]) if write is write_model else b""
    for path in (shared / "m.json", shared / "folder" / "m.json", mine / "own.json"):
        arguments = (what, path) if write is write_model else (path, what)
        with pytest.raises(FileWriteError, match=r"is a link that belongs to user 54321") as caught:
            write(*arguments)
        assert str(caught.value).startswith(f"{path}: ")
        assert "give another name, or a folder that no other user can write" in str(caught.value)
    assert (names(mine), names(shared)) == (["own.json", "secret"], ["folder", "m.json"])
    assert (mine / "secret").read_text() == "mine"


@strangers.only_root_gives_away
def test_links_that_are_followed(tmp_path: Path) -> None:
    """Those of a folder's owner, and those where no other user can write."""
    shared, closed, real = tmp_path / "shared", tmp_path / "closed", tmp_path / "real"
    strangers.shared_folder(shared)
    closed.mkdir(mode=0o755)
    for number, folder in enumerate((shared, closed)):
        strangers.link(folder / "m.json", real)
        if folder is shared:
            os.chown(folder, strangers.STRANGER, strangers.STRANGER)
        write_whole(folder / "m.json", b"%d" % number)
        assert real.read_bytes() == b"%d" % number
    (closed / "loop").symlink_to("loop")
    with pytest.raises(FileWriteError, match=r"cannot be written .*symbolic links"):
        write_whole(closed / "loop", b"")


@strangers.only_root_gives_away
def test_a_file_of_another_user_is_not_replaced(tmp_path: Path) -> None:
    """In a sticky folder; elsewhere the folder's mode lets users replace each other's."""
    shared = strangers.shared_folder(tmp_path / "shared")
    (shared / "m.json").write_text("theirs")
    os.chown(shared / "m.json", strangers.STRANGER, strangers.STRANGER)
    for follow in (True, False):
        with pytest.raises(FileWriteError, match=r"m\.json belongs to user 54321, in a folder"):
            write_whole(shared / "m.json", b"", follow_link=follow)
    assert (shared / "m.json").read_text() == "theirs"
    shared.chmod(0o777)
    write_whole(shared / "m.json", b"mine")
    assert (shared / "m.json").read_text() == "mine"


@pytest.mark.parametrize("path", ["a/../b/m", "a/link/../m", "a/link/m", "a/chain", "none/../m"])
def test_links_lead_where_the_system_says(path: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to("../b/c")
    (tmp_path / "a" / "chain").symlink_to(tmp_path / "a" / "link" / "m")
    assert resolved(tmp_path / path) == Path(os.path.realpath(tmp_path / path))


def test_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        write_whole(disk / "m.json", b"old")
        fill(disk, leave=8192)
        for write in (
            lambda: write_whole(disk / "m.json", bytes(20_000)),
            lambda: write_text(str(disk / "m.json"), "x" * 20_000),
        ):
            with pytest.raises(FileWriteError, match=r"m\.json: .*free some space") as caught:
                write()
            assert caught.value.errno == errno.ENOSPC
        assert names(disk) == ["filler", "m.json"]
        assert (disk / "m.json").read_bytes() == b"old"


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", "hidden")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(FileWriteError, match=r"m\.json: .*a folder that you may write to") as found:
        write_whole(tmp_path / "m.json", b"")
    assert "hidden" not in str(found.value)


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / STALE).write_text("half")
    kept = [".pyopencl_gbdt-1.partial", ".x.partial", "a.partial", f"{STALE}.json"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    write_whole(tmp_path / "m.json", b"")
    assert names(tmp_path) == sorted([*kept, "m.json"])


def test_what_a_living_process_writes_stays(tmp_path: Path) -> None:
    """Links and other users' files stay too."""
    partial = tmp_path / STALE
    link = tmp_path / STALE.replace("deadbeef", "0000beef")
    link.symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_text("mine")
    with partial.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_partial_files(tmp_path)
        assert partial.exists()
    remove_partial_files(tmp_path)
    assert not partial.exists()
    assert (tmp_path / "victim").read_text() == "mine"
    remove_partial_files(tmp_path / "none")


def test_a_file_that_is_taken_for_stale_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may look at it before it is locked."""
    replace, n_lost = Path.replace, 0

    def lose(self: Path, target: Path) -> Path:
        nonlocal n_lost
        if n_lost < 2:
            n_lost += 1
            self.unlink()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", lose)
    write_whole(tmp_path / "m.json", b"all")
    assert n_lost == 2
    assert (tmp_path / "m.json").read_bytes() == b"all"
    assert names(tmp_path) == ["m.json"]


WRITER = """
import sys, itertools
from pyopencl_gbdt.data.files.whole_file import write_whole
print("ready", flush=True)
for number in itertools.count():
    write_whole(sys.argv[1], bytes([number % 256]) * 3_000_000)
"""


@pytest.mark.thorough
def test_kills_and_concurrent_writers(tmp_path: Path) -> None:
    """Three at a time into one file; it is whole at every moment, and nothing stays."""
    path, n_partial = tmp_path / "m.json", 0
    for attempt in range(12):
        if attempt > 1 and n_partial:  # a kill did hit a write
            break
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        until = time.monotonic() + 60
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.1 + 0.02 * attempt)
        data = path.read_bytes()
        assert len(data) == 3_000_000
        assert len(set(data)) == 1
        assert [writer.poll() for writer in writers] == [None] * 3
        for writer in writers:
            writer.kill()
            writer.communicate()
        n_partial += len(names(tmp_path)) - 1
    assert n_partial > 0
    write_whole(path, b"")
    assert names(tmp_path) == ["m.json"]
