"""Formats that break the rules of the harness, each in its own way."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from pyopencl_gbdt.errors import DataError
from tests.fuzz.formats import Format


class Bad(Format):
    """Breaks every rule, each by one seed."""

    suffix = ".bad"

    def __init__(self, name: str) -> None:
        self.name = name

    def seeds(self) -> list[bytes]:
        return [b"fine"]

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        return self.name.encode()

    def read(self, path: Path) -> None:
        kind = path.read_text()
        if kind == "crash":
            os.abort()
        if kind == "hang":
            time.sleep(60)
        if kind == "memory":
            np.ones(70 << 20, np.uint8)
        if kind == "foreign":
            raise OverflowError("no error of this library")
        if kind == "nameless":
            raise DataError("something is wrong somewhere")
        if kind == "named":
            raise DataError(f"{path}: wrong")


BAD = [Bad(name) for name in ("crash", "hang", "memory", "foreign", "nameless", "named", "fine")]
