"""The model of several workers: hand counts, laws, and what the command prints."""

import pytest

from bench import scaling
from bench.scaling_model import (
    NETWORKS,
    Network,
    Shape,
    best_workers,
    by_features,
    in_halves,
    in_slices,
    round_seconds,
    to_all,
)

SHAPE = Shape(n_rows=1000, n_features=2, n_bins=8, depth=3)


def test_bytes_of_levels():
    assert [SHAPE.level_bytes(level) for level in range(3)] == [256, 256, 512]


def test_ways_to_add_up():
    """1 s a message, 10 bytes a second sent, 1000 added up; 40 bytes of 4 workers."""
    net = Network("slow", 1.0, 10.0)
    assert to_all(net, 4, 40, 1000) == pytest.approx(3 * (1 + 4 + 0.04))
    assert in_slices(net, 4, 40, 1000) == pytest.approx(6 + 6 + 0.03)
    assert in_halves(net, 4, 40, 1000) == pytest.approx(4 + 6 + 0.03)
    assert by_features(net, 4, 40, 1000) == pytest.approx(4 + 3 + 0.03)


def test_rounds():
    net = NETWORKS[0]
    assert round_seconds(SHAPE, net, 1, 4000, 1e9) == (1.0, 0.0)  # 2000 values, then twice 1000
    work, sums = round_seconds(SHAPE, net, 4, 4000, 1e9)
    assert work == 0.25
    assert sums > 0
    found = [best_workers(Shape(10**7, 28, 256, 6), net, 1e9, 1e10) for net in NETWORKS]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_the_command_prints_the_model(capsys):
    assert scaling.main(["--no-processes", "--values-speed", "1e9"]) == 0
    said = capsys.readouterr().out
    assert "11 M x 28, depth 6, 256 bins: 3.7 MB of sums a tree" in said
    assert "   4096  " in said
