"""Read a file as bytes of text: gzip, encoding, line ends; errors name the place."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO

from pyopencl_gbdt.arguments import check_path
from pyopencl_gbdt.data.budget import Budget
from pyopencl_gbdt.errors import DataError, MissingFileError
from pyopencl_gbdt.messages import no_such_file

Data = bytes | bytearray

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

PIECE = 1 << 20
"""Bytes unpacked, or read from a pipe, at a time."""


def read_bytes(
    path: str | PathLike[str], max_bytes: int | None = None
) -> tuple[bytes | bytearray, Budget]:
    """Read a whole file; unpack it if its first bytes are those of gzip.

    Returns
    -------
    data : bytes or bytearray
    budget : Budget
        The memory limit of the file; `data` counts towards it.

    Raises
    ------
    DataError
        The file is missing, unreadable, empty, a damaged gzip file, or too large.
    ParameterError
        The path is empty or has a NUL character.
    """
    check_path("path", path)
    file = Path(fspath(path))
    try:
        with file.open("rb") as stream:
            data = _read(stream, path, max_bytes)
    except FileNotFoundError as error:
        raise MissingFileError(no_such_file(path)) from error
    except OSError as error:
        raise unreadable(path, error) from error
    budget = Budget(path, len(data), max_bytes)
    if data.startswith(GZIP_MAGIC):
        data = _unpack(data, budget)
    elif file.suffix == ".gz" and data:
        raise DataError(
            f"{path}: the name ends in .gz, but the file starts with {bytes(data[:2])!r}: expected "
            f"gzip ({GZIP_MAGIC!r}); rename it if it is not compressed"
        )
    if is_blank(data):
        raise DataError(f"{path}: the file is empty; expected at least one row")
    return data, budget


def _read(stream: BinaryIO, path: str | PathLike[str], max_bytes: int | None) -> Data:
    about = os.fstat(stream.fileno())
    if stat.S_ISREG(about.st_mode):
        Budget(path, about.st_size, max_bytes).check(about.st_size, "reading it takes")
        return stream.read()
    data = bytearray()  # the size of a pipe is unknown
    while piece := stream.read(PIECE):
        data += piece
        Budget(path, len(data), max_bytes).check(len(data), "reading it takes")
    return data


def _unpack(data: Data, budget: Budget) -> bytearray:
    """Unpack gzip piece by piece, up to the memory limit."""
    out = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while piece := stream.read(PIECE):
                budget.check(
                    len(data) + len(out) + len(piece), "unpacking it takes at least",
                    "unpack it with gunzip",
                )  # fmt: skip
                out += piece
    except (OSError, EOFError, zlib.error) as error:
        raise damaged_gzip(budget.path, error) from error
    return out


def unreadable(path: str | PathLike[str], error: OSError) -> DataError:
    """Return the error for a file that the system does not read."""
    reason = error.strerror or str(error)
    return DataError(f"{path}: cannot be read ({reason}); give a readable file")


def damaged_gzip(path: str | PathLike[str], error: Exception) -> DataError:
    """Return the error for a file that cannot be unpacked."""
    return DataError(f"{path}: damaged gzip file ({error}); copy it again, or test it with gzip -t")


def is_blank(
    data: Data, start: int = 0, end: int | None = None, blank: bytes | None = None
) -> bool:
    """Tell whether the bytes are only white space (or `blank` bytes), without copying them all."""
    end = len(data) if end is None else end
    while start < end:
        step = min(end, start + 256)
        if data[start:step].strip(blank):
            return False
        start = step
    return True


def lines_of(data: Data, start: int = 0, end: int | None = None) -> Iterator[str]:
    """Yield the lines from position `start` on, one at a time, without line ends."""
    end = len(data) if end is None else end
    while start <= end:
        stop = data.find(b"\n", start, end)
        stop = end if stop < 0 else stop
        yield data[start:stop].decode("utf-8")
        start = stop + 1


def to_text(data: Data, path: str | PathLike[str], first_line: int = 1) -> Data:
    r"""Check that bytes are UTF-8, remove a byte order mark and end every line with ``\n``.

    ``first_line`` is the number of the first line, for error messages.

    Raises
    ------
    DataError
        There is a NUL byte or invalid UTF-8; the message names the line.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    wrong = data.find(0)
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            wrong = error.start if wrong < 0 else min(wrong, error.start)
    if wrong >= 0:
        line = data.count(b"\n", 0, wrong) + first_line
        raise DataError(
            f"{path}, line {line}: byte 0x{data[wrong]:02x} is not UTF-8 text: expected CSV, TSV, "
            f"libsvm or npz; save the table as UTF-8 text"
        )
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
