"""A seeded sample of mutated models and checkpoints."""

from __future__ import annotations

from tests.fuzz import models
from tests.fuzz.harness import run


def test_models() -> None:
    counts = {one.name: one.n_sampled for one in models.FORMATS}
    for name, outcome in run(counts).items():
        assert outcome.problems == []
        assert outcome.n_read == counts[name]
        assert 0 < outcome.n_refused < counts[name]
