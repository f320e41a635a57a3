"""The bench of partial dependence and proximities: a line for each figure."""

import re

import pytest

from bench import dependence
from tests.conftest import TEST_DEVICE


@pytest.mark.thorough
def test_every_way_is_measured(capsys):
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    words = "--rows 300 --columns 3 --trees 2 --depth 3 --values 5 --pairs 40 --repeats 2 --peers"
    assert dependence.main([*words.split(), "--device", TEST_DEVICE]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.endswith("300 x 3, 2 trees of depth 3; seconds")
    assert len(lines) == 6
    assert all(re.search(r" \d+\.\d{3}$", line) for line in lines)
