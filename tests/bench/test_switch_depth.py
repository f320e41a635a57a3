"""``python -m bench switch-depth``: a line for every depth, and one model."""

import pytest

from bench import switch_depth
from pyopencl_gbdt.errors import GBDTError
from tests.conftest import TEST_DEVICE

TINY = ["--only", "exact-d6", "--rows-scale", "0.001", "--turns", "1", "--rounds", "2",
        "--depths", "0", "3", "--device", TEST_DEVICE]  # fmt: skip


def test_every_depth_has_a_line(capsys):
    assert switch_depth.main(TINY) == 0
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert "2 rounds of depth 6" in lines[0]
    for line, depth in zip(lines[1:], (0, 3), strict=True):
        label, name, *figures = line.split()
        assert (label, name) == ("depth", str(depth))
        assert all(float(figure) > 0 for figure in figures)
        assert len(figures) == 4


def test_depths_that_change_the_model_are_an_error(monkeypatch):
    models = iter("ab")
    monkeypatch.setattr(switch_depth, "_fit", lambda *_: ((1.0, 1.0), next(models)))
    with pytest.raises(GBDTError, match="exact-d6: the depth changes the model"):
        switch_depth.main(TINY)


def test_a_device_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit):
        switch_depth.main(["--device", "opencl:9:9"])
    assert "opencl:9:9" in capsys.readouterr().err
