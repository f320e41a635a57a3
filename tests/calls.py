"""Which functions of the package run from ``train`` to the first histogram, room by room."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pyopencl_gbdt
from pyopencl_gbdt.device.program import Launch

PACKAGE = Path(pyopencl_gbdt.__file__).parent
_PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"


def rooms() -> list[str]:
    """Return the rooms of the table in docs/architecture.md, from the ground up."""
    table = _PAGE.read_text().partition("| room | knows |")[2].partition("**Only `device/`")[0]
    return re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)


@dataclass
class Calls:
    """Counts calls between the files of the package until a kernel is launched.

    Attributes
    ----------
    until : str
        Name of the template's kernel whose first launch ends the count.
    files : Counter of str
        Calls of functions of each file.
    upward : Counter of (str, str)
        Calls from a file of one room to a file of a room above it, which imports the former.
    """

    until: str
    files: Counter[str] = field(default_factory=Counter)
    upward: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_over: bool = False

    def __post_init__(self) -> None:
        self._floor = {name: number for number, name in enumerate(rooms())}

    def __enter__(self) -> Calls:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or self.is_over or _is_of_an_import(frame):
            return
        name = _file(frame)
        if not name:
            return
        self.files[name] += 1
        caller = frame.f_back
        while caller is not None and not _file(caller):
            caller = caller.f_back
        if caller is not None and self._of(name) > self._of(_file(caller)):
            self.upward[_file(caller), name] += 1
        launch = frame.f_locals.get("self")
        if frame.f_code.co_name == "__call__" and isinstance(launch, Launch):
            self.is_over = launch.name == self.until

    def _of(self, name: str) -> int:
        return self._floor.get(name.partition("/")[0], -1)


def _is_of_an_import(frame: FrameType) -> bool:
    """Tell whether the import system calls a function, of a finder that somebody installed."""
    caller = frame.f_back
    return caller is not None and caller.f_code.co_filename.startswith("<frozen importlib")


def _file(frame: FrameType) -> str:
    """Return the path of a frame's file in the package; empty for others."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else ""
