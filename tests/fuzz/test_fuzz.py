"""A seeded sample of the mutations, and the harness held against formats that break its rules."""

from __future__ import annotations

from tests.fuzz import tables
from tests.fuzz.harness import run


def test_tables() -> None:
    counts = {one.name: one.n_sampled for one in tables.FORMATS}
    for name, outcome in run(counts).items():
        assert outcome.problems == []
        assert outcome.n_read == counts[name]
        assert 0 < outcome.n_refused < counts[name]
