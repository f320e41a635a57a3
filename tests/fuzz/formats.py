"""What the harness has to know of a file format."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from pathlib import Path

import numpy as np

import tests.fuzz
from tests.fuzz.mutations import mutate


class Format:
    """A format of files: right files, a way to damage them, and what reads them.

    Attributes
    ----------
    name : str
        For ``--format`` and for messages.
    suffix : str
        What the files' names end in, with its dot.
    n_mutations : int
        How many the command reads unless it is told otherwise.
    n_sampled : int
        How many the tests read.
    pieces : tuple of bytes
        What mutations write into files, beside random bytes.
    """

    name = ""
    suffix = ""
    n_mutations = 10_000
    n_sampled = 12
    pieces: tuple[bytes, ...] = ()

    def prepare(self) -> None:
        """Import, once, what no mutation shall account for; the seeds are read besides."""

    def seeds(self) -> list[bytes]:
        """Return files that `read` accepts; the same ones each time."""
        raise NotImplementedError

    def read(self, path: Path) -> None:
        """Read a file and use what it holds.

        Raises an error of `pyopencl_gbdt.errors` for a file that cannot be used, and
        ``AssertionError`` where something was accepted that should not be.
        """
        raise NotImplementedError

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        """Return a seed with random damage."""
        return mutate(data, rng, self.pieces)

    def mutation(self, number: int, seed: int) -> bytes:
        """Return a mutation by its number, the same bytes each time."""
        rng = np.random.default_rng([seed, number, zlib.crc32(self.name.encode())])
        seeds = self.seeds()
        return self.mutate(seeds[rng.integers(len(seeds))], rng)


def all_formats() -> dict[str, Format]:
    """Return every format of the modules of this package, by name."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(tests.fuzz.__path__, "tests.fuzz."):
        if module.name.rpartition(".")[2].startswith(("test_", "__")):
            continue
        for one in getattr(importlib.import_module(module.name), "FORMATS", ()):
            assert one.name not in found, f"two formats are called {one.name}"
            found[one.name] = one
    return found
