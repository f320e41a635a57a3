"""The model of several workers: hand counts, laws, and what the command prints."""

import pytest

from bench import scaling
from bench.scaling_model import (
    NETWORKS,
    Network,
    Workers,
    by_features,
    in_halves,
    in_slices,
    to_all,
)
from pyopencl_gbdt.parameters.parameters import Parameters


def test_ways_to_add_up():
    """1 s a message, 10 bytes a second sent, 1000 added up; 40 bytes of 4 workers."""
    net = Network("slow", 1.0, 10.0)
    assert to_all(net, 4, 40, 1000) == pytest.approx(3 * (1 + 4 + 0.04))
    assert in_slices(net, 4, 40, 1000) == pytest.approx(6 + 6 + 0.03)
    assert in_halves(net, 4, 40, 1000) == pytest.approx(4 + 6 + 0.03)
    assert by_features(net, 4, 40, 1000) == pytest.approx(4 + 3 + 0.03)


def test_rounds():
    params = Parameters.from_dict({"max_depth": 3, "max_bin": 8})
    teams = [Workers(net, 1e9, 1e10) for net in NETWORKS]
    one, four = (teams[0].round(size, params, 1000, 2) for size in (1, 4))
    assert one.sums == 0
    assert four.rows == one.rows / 4
    assert four.search == one.search
    every = in_halves(NETWORKS[0], 4, 4 * 2 * 8 * 16, 1e10)  # of the root, and of 1 and 2 children
    assert four.sums == pytest.approx(every + 4 * in_halves(NETWORKS[0], 4, 0, 1e10))
    found = [team.best(Parameters.from_dict({"max_depth": 6}), 10**7, 28) for team in teams]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_the_command_prints_the_model(capsys):
    assert scaling.main(["--no-processes", "--values-speed", "1e9"]) == 0
    said = capsys.readouterr().out
    assert "11 M x 28, depth 6, 256 bins: 3.7 MB of sums a tree" in said
    assert "   4096  " in said
