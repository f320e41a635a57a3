"""The main memory that reading a file may take, checked before the memory is allocated."""

from __future__ import annotations

import operator
import re
import sys
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show

BASE = 32 << 20
PER_BYTE = 32
"""A file of n bytes may take BASE + PER_BYTE * n bytes, unless ``max_bytes`` says otherwise.

Together with the temporary memory of a parser, that is below 64 MB plus 40 times the file.
"""

UNQUESTIONED = 1 << 20
"""Up to so many bytes are allowed without asking the system for its free memory."""


@dataclass(frozen=True)
class Budget:
    """The limit on the main memory that reading one file may take.

    Attributes
    ----------
    size : int
        Size of the file on disk; of a compressed file, the compressed size.
    max_bytes : int or None
        The user's limit; it replaces the default ones.
    """

    path: str | PathLike[str]
    size: int
    max_bytes: int | None = None

    def check(self, n_bytes: int, what: str, move: str = "") -> None:
        """Raise `DataError` if ``n_bytes`` exceeds the limit.

        Parameters
        ----------
        n_bytes : int
            Memory in use at the same time, the file's bytes included.
        what : str
            What needs the memory, as subject and verb for the message, such as ``it unpacks to``.
        move : str
            A remedy for the message, besides a larger ``max_bytes``.
        """
        if n_bytes <= self._justified:
            if self.max_bytes is not None or n_bytes <= UNQUESTIONED:
                return
            there = self._there
            if there is None or n_bytes <= there:
                return
            most, why = there, "which this machine has left"
        elif self.max_bytes is not None:
            most, why = self._justified, "which is max_bytes"
        else:
            most = self._justified
            why = f"which is {readable(BASE)} and {PER_BYTE} times the file's bytes"
        raise DataError(
            f"{self.path}, {readable(self.size)}: {what} {readable(n_bytes)}: expected at most "
            f"{readable(most)}, {why}; {move + ', or ' if move else ''}pass max_bytes={n_bytes} "
            "or more if that is right and there is memory"
        )

    @property
    def _justified(self) -> int:
        if self.max_bytes is None:
            return BASE + PER_BYTE * self.size
        return min(self.max_bytes, sys.maxsize)  # no array can be larger

    @cached_property
    def _there(self) -> int | None:
        return available_memory()


def check_free(n_bytes: int, what: str, move: str) -> None:
    """Raise `DataError` if the machine has fewer bytes of main memory left than `what` takes."""
    there = None if n_bytes <= UNQUESTIONED else available_memory()
    if there is not None and n_bytes > there:
        raise DataError(
            f"{what} take {readable(n_bytes)}: expected at most {readable(there)}, which this "
            f"machine has left; {move}"
        )


def check_max_bytes(max_bytes: Any) -> int | None:
    """Return the user's limit as an integer; raise `DataError` if it is not one."""
    if max_bytes is None:
        return None
    try:
        number = operator.index(max_bytes)
    except TypeError:
        number = 0
    if isinstance(max_bytes, bool) or number < 1:
        raise DataError(
            f"max_bytes={show(max_bytes)}: expected a whole number of bytes from 1, or None; "
            f"leave it out for {readable(BASE)} and {PER_BYTE} times the file's bytes"
        )
    return number


def readable(n_bytes: int) -> str:
    """Format a number of bytes for people, in powers of 1000."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if n_bytes >= 10**power:
            return f"{n_bytes // 10 ** (power - 2) / 100:.4g} {unit}"
    return f"{n_bytes} bytes"


def available_memory(root: str | PathLike[str] = "/") -> int | None:
    """Return the bytes of main memory that this process can still get; None if unknown.

    The smallest of Linux's free memory, the limits of control groups (containers) and ulimit.

    ``root``: root folder of the system files; tests pass another one.
    """
    folder = Path(root)
    found = [_free_memory(folder), _free_address_space(folder), *_control_groups(folder)]
    known = [max(0, n_bytes) for n_bytes in found if n_bytes is not None]
    return min(known) if known else None


def _free_memory(root: Path) -> int | None:
    text = _text(root / "proc/meminfo")
    numbers = [_kilobytes(text, word) for word in ("MemAvailable", "SwapFree")]
    return None if numbers[0] is None else numbers[0] + (numbers[1] or 0)


def _free_address_space(root: Path) -> int | None:
    """Return the bytes left of the process's limit of address space (``ulimit -v``)."""
    limit = re.search(r"^Max address space +(\d+)", _text(root / "proc/self/limits"), re.M)
    used = _kilobytes(_text(root / "proc/self/status"), "VmSize")
    return None if limit is None or used is None else int(limit[1]) - used


def _control_groups(root: Path) -> list[int]:
    """Return the memory left in this process's control group and in each of its parents."""
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, name = [*line.split(":", 2), "", ""][:3]
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        most, used = ("memory.max", "memory.current")
        if controllers:
            most, used = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        folder = top / name.lstrip("/")
        for group in (folder, *folder.parents):
            limit, now = _text(group / most).strip(), _text(group / used).strip()
            if limit.isdigit() and now.isdigit():
                cache = re.search(r"^(?:total_)?inactive_file (\d+)$",
                                  _text(group / "memory.stat"), re.M)  # fmt: skip
                found.append(int(limit) - int(now) + (int(cache[1]) if cache else 0))
            if group == top:
                break
    return found


def _kilobytes(text: str, word: str) -> int | None:
    found = re.search(rf"^{word}:\s*(\d+) kB$", text, re.M)
    return int(found[1]) * 1024 if found else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
