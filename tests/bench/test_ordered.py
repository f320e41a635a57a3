"""``python -m bench ordered``: all ways of a set, with few rounds."""

import pytest

pytest.importorskip("sklearn")

from bench import ordered
from tests.conftest import TEST_DEVICE


@pytest.mark.thorough
def test_every_way_has_losses(monkeypatch):
    monkeypatch.setattr(ordered, "SETS", {"iris": ordered.SETS["iris"]})
    table = list(ordered.lines(range(2), TEST_DEVICE, n_estimators=2, max_depth=2))
    assert len(table) == 3
    cells = [cell.strip() for cell in table[-1].strip("|").split("|")]
    assert cells[0] == "iris"
    for cell in cells[1:-1]:
        least, last = map(float, cell.split(";"))
        assert 0 < least <= last < 1.1
    assert cells[-1].endswith("of 2")
