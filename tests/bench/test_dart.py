"""``python -m bench dart``: rounds with dropped trees beside plain ones, and held-out AUC."""

import re

import pytest

pytest.importorskip("sklearn")

from bench import dart
from tests.conftest import TEST_DEVICE


@pytest.mark.thorough
def test_rounds_and_quality_are_told(monkeypatch, capsys):
    monkeypatch.setattr(dart, "_BEFORE", 6)
    small = ["--device", TEST_DEVICE, "--rows", "300", "--depth", "2", "--rounds", "2"]
    assert dart.main([*small, "--turns", "1", "--dropped", "3"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"300 x 28, depth 2: a plain round [\d.]+ ms .* with [\d.]+ dropped", told)
    monkeypatch.setattr(dart, "SETTINGS", {"one": {"one_drop": True}})
    assert dart.main([*small, "--quality", "--seeds", "2"]) == 0
    ours, theirs = map(float, re.findall(r"([\d.]+) \+-", capsys.readouterr().out))
    assert 0.5 < ours < 1
    assert 0.5 < theirs < 1
