"""The bench of categorical columns: every system has a line, and the area is the curve's."""

import json

import numpy as np
import pytest

from bench import categories
from bench.category_shapes import Table
from tests.conftest import TEST_DEVICE


def small():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 30, 400)]).astype(np.float32)
    return Table(X, (rng.random(400) < 0.5).astype(np.float32), [1])


@pytest.mark.exhaustive
def test_every_system_has_a_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(categories, "access", small)
    file = tmp_path / "a.json"
    words = [
        "--rounds",
        "2",
        "--repeats",
        "1",
        "--device",
        TEST_DEVICE,
        "--peers",
        "--json",
        str(file),
    ]
    assert categories.main(words) == 0
    printed = capsys.readouterr().out
    results = json.loads(file.read_text())["results"]["access"]
    assert results.keys() == categories.OURS.keys()
    for name, found in results.items():
        assert name in printed
        assert found["set_up"] > 0
        assert 0 <= found["auc"] <= 1


def test_area_is_the_share_of_ordered_pairs():
    label = np.array([1, 0, 1, 0, 0], np.float32)
    scores = np.array([0.9, 0.9, 0.4, 0.2, 0.5], np.float32)
    assert categories.area(label, scores) == pytest.approx((0.5 + 2 + 1) / 6)


def test_few_rounds_are_refused(capsys):
    with pytest.raises(SystemExit):
        categories.main(["--rounds", "1"])
    assert "--rounds >= 2" in capsys.readouterr().err
