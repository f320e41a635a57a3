"""A seeded sample of mutated models and checkpoints."""

from __future__ import annotations

import pytest

from tests.fuzz import binary_models, category_models, checkpoints, foreign_models, models
from tests.fuzz.harness import run


@pytest.mark.thorough
def test_models() -> None:
    formats = [
        *models.FORMATS, *category_models.FORMATS, *binary_models.FORMATS, *foreign_models.FORMATS,
        *checkpoints.FORMATS,
    ]  # fmt: skip
    counts = {one.name: one.n_sampled for one in formats}
    for name, outcome in run(counts).items():
        assert outcome.problems == []
        assert outcome.n_read == counts[name]
        assert 0 < outcome.n_refused < counts[name]
