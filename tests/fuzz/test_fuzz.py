"""A seeded sample of the mutations, and the harness held against formats that break its rules."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from pyopencl_gbdt.errors import DataError
from tests.fuzz import comparisons, tables
from tests.fuzz.formats import Format, all_formats
from tests.fuzz.harness import run


def test_tables() -> None:
    judge([*tables.FORMATS, *comparisons.FORMATS])


def judge(formats: list[Format]) -> None:
    counts = {one.name: one.n_sampled for one in formats}
    outcomes = run(counts)
    assert [outcome.problems for outcome in outcomes.values()] == [[]] * len(counts)
    assert {name: outcome.n_read for name, outcome in outcomes.items()} == counts
    assert all(outcome.n_refused for outcome in outcomes.values())
    assert any(outcome.n_refused < outcome.n_read for outcome in outcomes.values())


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


def test_the_harness_sees_every_broken_rule() -> None:
    """Each bad format's first file breaks a rule; the next one is read all the same."""
    outcomes = run({one.name: 2 for one in BAD}, limit=1.0, module="tests.fuzz.test_fuzz")
    words = {
        "crash": "crash, exit code -6", "hang": "more than 1 s", "memory": "MB for a file of 6",
        "foreign": "foreign error: OverflowError", "nameless": "does not name the file",
    }  # fmt: skip
    for name, outcome in outcomes.items():
        assert outcome.n_read == 2
        assert len(outcome.problems) == 2 * (name in words)
        assert all(words[name] in problem for problem in outcome.problems)
    assert outcomes["named"].n_refused == 2
    assert outcomes["fine"].n_refused == 0


def test_a_mutation_is_the_same_each_time() -> None:
    formats = all_formats()
    assert {"csv", "tsv", "libsvm", "npz", "csv.gz"} <= set(formats)
    for one in formats.values():
        assert one.mutation(3, 1) == one.mutation(3, 1)
        assert len({one.mutation(number, 0) for number in range(10)}) > 5
