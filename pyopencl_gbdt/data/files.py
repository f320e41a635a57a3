"""A path -> bytes -> text: gzip, encoding, line ends, and errors that name the place."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from pyopencl_gbdt.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Read a file whole; unpack it if it starts as gzip does.

    Raises
    ------
    DataError
        The file is missing, unreadable, empty, or a damaged gzip file.
    """
    file = Path(fspath(path))
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; check the path") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path}: cannot be read ({reason}); give a readable file") from error
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(
                f"{path}: damaged gzip file ({error}); copy it again, or test it with gzip -t"
            ) from error
    elif file.suffix == ".gz" and data:
        raise DataError(
            f"{path}: the name ends in .gz, yet the file starts with {data[:2]!r}: expected gzip "
            f"({GZIP_MAGIC!r}); rename it if it is not compressed"
        )
    if not data.strip():
        raise DataError(f"{path}: the file is empty; expected at least one row")
    return data


def lines_of(text: str, start: int = 0) -> Iterator[str]:
    """Yield the lines from position `start` on, one at a time and without their ends."""
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def to_text(data: bytes, path: str | PathLike[str]) -> str:
    r"""Decode UTF-8, drop a byte order mark and make every line end in ``\n``.

    Raises
    ------
    DataError
        There is a NUL byte or something that is not UTF-8; the message names the line.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    nul = data.find(0)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = error.start if nul < 0 else min(nul, error.start)
    else:
        wrong = nul
    if wrong >= 0:
        line = data.count(b"\n", 0, wrong) + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{data[wrong]:02x} is not UTF-8 text: expected CSV, TSV, "
            f"libsvm or npz; save the table as UTF-8 text"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
