"""A seeded sample of mutated models and checkpoints."""

from __future__ import annotations

import pytest

from tests.fuzz import models
from tests.fuzz.harness import run


@pytest.mark.parametrize("share", [2, pytest.param(1, marks=pytest.mark.thorough)])
def test_models(share: int) -> None:
    counts = {one.name: one.n_sampled // share for one in models.FORMATS}
    for name, outcome in run(counts).items():
        assert outcome.problems == []
        assert outcome.n_read == counts[name]
        assert 0 < outcome.n_refused < counts[name]
