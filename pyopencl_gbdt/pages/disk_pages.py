"""Pages of codes on disk: one file a page, with a checksum; gone when the fit ends.

    cache_dir/pyopencl_gbdt-0123456789abcdef/    a folder for each fit, in every folder given
        lock                                     held by the process while it lives
        000000.page, 000002.page, ..             pages take turns among the folders

A killed process leaves its folder behind. The next fit that writes to the same ``cache_dir``
removes it: its lock is free.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import secrets
import shutil
import struct
import weakref
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.errors import DataError, FileWriteError, MissingFolderError
from pyopencl_gbdt.pages.codecs import Codec, PageOrder, Plain, choose
from pyopencl_gbdt.pages.page import Layout

try:
    import fcntl
except ImportError:  # Windows; it refuses to remove an open file, so no lock is needed
    fcntl = None  # type: ignore[assignment]

U8 = npt.NDArray[np.uint8]
Bounds = Sequence[tuple[int, int]]
_FOLDER = re.compile(r"pyopencl_gbdt-[0-9a-f]{16}")
#: Magic and version, fit, number of the page, its bytes, bytes stored, their checksum, codec.
_HEADER = struct.Struct("<8s16sQQQI8s")
_MAGIC = b"gbdtpag3"
#: Codes begin where a page of the system's memory does, so that a file can be mapped.
BEGIN = 4096
#: Words of 64 bits that are added up for the checksum.
_BLOCK_WORDS = 512
#: A page whose file nobody has changed is added up in one load of so many. A pass loads a page at
#: most once, so this is about once a tree. Adding up takes half as long as a read from the system's
#: cache; in each load it took 10 of 80 ms a round (1 M x 28, depth 8, PoCL, 2 cores).
CHECK_EVERY = 8
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class DiskPages:
    """Pages of codes in files: ``StoredPages`` of ``pages.stored``.

    Parameters
    ----------
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    folders : sequence of path-like
        Existing folders, on different disks if there are several; pages take turns among them.
    caps : Capabilities
        The capabilities of the device that reads the pages.

    Raises
    ------
    MissingFolderError, FileWriteError
        If a folder does not exist, or cannot be written to.
    """

    def __init__(
        self,
        layout: Layout,
        bounds: Bounds,
        folders: Sequence[str | os.PathLike[str]],
        caps: Capabilities,
    ) -> None:
        self.layout = layout
        self.bounds: Bounds = list(bounds)
        self._order = PageOrder(layout, coalesced=caps.coalesces_reads)
        self._on_host_cores = caps.on_host_cores
        self._fit = secrets.token_bytes(16)
        self._codec: Codec | None = None
        self._checked: dict[int, tuple[int, ...]] = {}  # by page: its file when it was added up
        self._n_loads = [0] * len(self.bounds)
        self._folders: list[Path] = []
        locks: list[IO[Any]] = []
        self._end = weakref.finalize(
            self, _remove, self._folders, locks, os.getpid()
        )  # also as Python ends
        try:
            for folder in folders:
                _own_folder(Path(folder), self._folders, locks)
        except BaseException:
            self._end()
            raise
        self.stored_bytes = 0
        """Bytes of all files."""

    def add(self, index: int, page: U8) -> None:
        """Write a page's codes by row to its file.

        Raises
        ------
        FileWriteError
            If the file cannot be written, such as on a full disk; all files of the fit are gone.
        """
        if self._codec is None:
            self._codec, stored = choose(
                self.layout, self._order, page, on_host_cores=self._on_host_cores
            )
        else:
            stored = self._codec.encode(page)
        header = _HEADER.pack(
            _MAGIC, self._fit, index, page.size, stored.size, checksum(stored),
            self._codec.name,
        )  # fmt: skip
        path = self.path(index)
        try:
            with path.open("wb") as file:
                file.write(header.ljust(BEGIN, b"\0"))
                file.write(stored.data)
        except OSError as error:
            self.close()
            raise _unwritten(path.parent.parent, error, page.size, len(self.bounds)) from error
        self.stored_bytes += BEGIN + stored.size

    def load(self, index: int, into: U8) -> None:
        """Read a page's codes by row.

        The checksum is compared when a page is read first, when its file has changed since, and in
        one load of ``CHECK_EVERY``; at other times the file's identity, size and times are.

        Raises
        ------
        DataError
            If the file is missing, damaged, or that of another fit.
        """
        path = self.path(index)
        with self._opened(index, into.size) as (file, n_stored, found):
            stored = into if self.is_plain else np.empty(n_stored, np.uint8)
            n_read = _fill(file, stored)
        if n_read < n_stored:
            raise _broken(path, f"is damaged: it has {n_read} bytes of codes")
        self._add_up(index, stored, *found)
        if self.is_plain:
            return
        assert self._codec is not None
        try:
            self._codec.decode(stored, into)
        except ValueError as error:
            raise _broken(path, f"is damaged ({error})") from error

    @property
    def is_plain(self) -> bool:
        """Whether files hold codes as a device reads them."""
        return isinstance(self._codec, Plain)

    def mapped(self, index: int, n_bytes: int) -> mmap.mmap:
        """Return a page's file in memory; codes begin at ``BEGIN``. Raises as ``load``."""
        with self._opened(index, n_bytes) as (file, _, _):
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def check(self, index: int, codes: U8) -> bool:
        """Look whether a mapped page is still the one that was written; raises as ``load``.

        Returns whether it was added up.
        """
        if not self._is_due(index, _status(self.path(index))):
            self._n_loads[index] += 1
            return False
        with self._opened(index, codes.size) as (_, _, found):
            self._add_up(index, codes, *found)
        return True

    @contextlib.contextmanager
    def _opened(self, index: int, n_bytes: int) -> Iterator[tuple[Any, int, tuple[Any, ...]]]:
        """Open a page's file behind its header; yield it, its bytes, its identity and checksum."""
        path = self.path(index)
        try:
            with path.open("rb", buffering=0) as file:
                header = file.read(BEGIN)
                if len(header) < BEGIN:
                    raise _broken(path, f"has {len(header)} bytes")
                magic, fit, number, size, n_stored, expected, _ = _HEADER.unpack(
                    header[: _HEADER.size]
                )
                if magic != _MAGIC or fit != self._fit or number != index:
                    raise _broken(path, "belongs to another fit, or is another file")
                now = _identity(os.fstat(file.fileno()))
                there = now[0] - BEGIN
                if size != n_bytes or n_stored != there:
                    raise _broken(path, f"is damaged: it has {there} bytes of codes")
                yield file, n_stored, (now, expected)
        except OSError as error:
            raise _broken(path, f"cannot be read ({error.strerror or error})") from error

    def _add_up(self, index: int, stored: U8, now: tuple[int, ...], expected: int) -> None:
        """Compare the checksum if the file is new or changed, and once in ``CHECK_EVERY`` loads."""
        if self._is_due(index, now):
            if checksum(stored) != expected:
                raise _broken(self.path(index), "is damaged: its checksum differs")
            self._checked[index] = now
        self._n_loads[index] += 1

    def _is_due(self, index: int, now: tuple[int, ...]) -> bool:
        n_loads = self._n_loads[index] + 1
        return self._checked.get(index) != now or (n_loads + index) % CHECK_EVERY == 0

    def path(self, index: int) -> Path:
        """Return the path of a page's file."""
        return self._folders[index % len(self._folders)] / f"{index:06d}.page"

    def close(self) -> None:
        """Remove all files and folders of the fit."""
        self._end()


def checksum(stored: U8) -> int:
    """Return the CRC-32 of the sums of each 4 KiB, as words of 64 bits, and of the bytes behind.

    Sums take an eighth of the time of a CRC of all bytes, and find every change of a single word,
    and others but for one in 2^64.
    """
    end = stored.size // (8 * _BLOCK_WORDS) * 8 * _BLOCK_WORDS
    words = stored[:end].view(np.uint64).reshape(-1, _BLOCK_WORDS)
    return zlib.crc32(stored[end:].data, zlib.crc32(words.sum(axis=1, dtype=np.uint64).tobytes()))


def _fill(file: IO[bytes], into: U8) -> int:
    """Read to an array; return the bytes that there were."""
    view, done = into.data, 0
    while done < len(view):
        n = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not n:
            break
        done += n
    return done


def _status(path: Path) -> tuple[int, ...]:
    """Return the identity of a file; empty if there is none."""
    try:
        return _identity(path.stat())
    except OSError:
        return ()


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Return a file's identity, which changes if another program writes or replaces the file."""
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _own_folder(folder: Path, folders: list[Path], locks: list[IO[Any]]) -> None:
    """Make a folder for this fit in a user's folder, hold its lock, and remove what is stale."""
    if not folder.is_dir():
        raise MissingFolderError(
            f"cache_dir={str(folder)!r}: no such folder: expected one or more existing folders; "
            "make it"
        )
    own = folder / f"pyopencl_gbdt-{secrets.token_hex(8)}"
    # another fit takes a folder for stale until it is locked; Windows does not rename open files
    made = own if fcntl is None else own.with_name(f".{own.name}")
    try:
        remove_stale(folder)
        made.mkdir(mode=0o700)  # codes tell what the rows are
        folders.append(made)
        lock = (made / "lock").open("wb")
        locks.append(lock)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            made.rename(own)
            folders[-1] = own
    except OSError as error:
        raise _unwritten(folder, error) from error


def remove_stale(folder: Path) -> None:
    """Remove the folders of killed processes of this user; never raises."""
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if _FOLDER.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
                with contextlib.suppress(OSError):
                    _remove_unless_locked(entry)


def _remove_unless_locked(folder: Path) -> None:
    if fcntl is None:
        (folder / "lock").unlink()  # raises while a process has it open
        shutil.rmtree(folder)
        return
    if folder.lstat().st_uid != os.geteuid():
        return
    with (folder / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while a process holds it
        shutil.rmtree(folder)


def _remove(folders: list[Path], locks: list[IO[Any]], process: int) -> None:
    if process != os.getpid():  # a forked process has a copy of the object, but not the files
        return
    if fcntl is None:  # Windows does not remove an open file
        for lock in locks:
            lock.close()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for lock in locks:
        lock.close()


def _unwritten(folder: Path, error: OSError, page: int = 0, n_pages: int = 0) -> FileWriteError:
    needs = f" {n_pages} pages of {page} bytes or fewer;" if n_pages else ""
    move = "choose a folder that you may write to"
    if error.errno in _NO_SPACE:
        move = "free some space, or give a folder on another disk, or several"
    found = FileWriteError(
        f"cache_dir={str(folder)!r}: cannot be written ({error.strerror or error}): expected room "
        f"for the codes:{needs} {move}"
    )
    found.errno = error.errno
    return found


def _broken(path: Path, what: str) -> DataError:
    return DataError(
        f"{path}: this page of codes {what}: expected the file that this fit wrote; train again, "
        "with a cache_dir that no other program changes"
    )
