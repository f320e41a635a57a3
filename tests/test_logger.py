"""Messages go through one logger, which a program can register, redirect or silence."""

import logging
import random

import numpy as np
import pytest

import pyopencl_gbdt
from pyopencl_gbdt import Dataset, GBDTRegressor, train
from pyopencl_gbdt.callbacks import ProgressBar, monitor
from pyopencl_gbdt.device import program as builds
from pyopencl_gbdt.device.opencl.pocl import POCL
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.gradients.gradients import EXPONENTS
from pyopencl_gbdt.logger import NOTES, ROUNDS, register_logger, tell
from tests.conftest import TEST_DEVICE

ROWS = np.arange(40, dtype=np.float32).reshape(20, 2)
DATA = Dataset(ROWS, ROWS[:, 0])


class Lines:
    """What a program may register: anything with the two methods."""

    def __init__(self):
        self.infos, self.details = [], []

    def info(self, text):
        self.infos.append(text)

    def debug(self, text):
        self.details.append(text)


@pytest.fixture
def registered():
    lines = Lines()
    register_logger(lines)
    yield lines
    register_logger(None)


@pytest.fixture
def slow_builds(monkeypatch):
    monkeypatch.setattr(builds, "LONG_SECONDS", 0.0)


def fit(verbosity=1, verbose=True, **more):
    params = {"device": TEST_DEVICE, "verbosity": verbosity, "max_depth": 2}
    return train(params, DATA, 2, evals=[(DATA, "train")], verbose=verbose, **more)


def test_by_default_lines_are_plain(slow_builds, capsys):
    fit()
    captured = capsys.readouterr()
    assert [line.split("\t")[0] for line in captured.out.splitlines()] == ["[0]", "[1]"]
    assert captured.err.startswith("building kernels for ")
    assert captured.err.count("\n") == 1


def test_a_registered_logger_gets_everything_and_the_terminal_nothing(
    registered, slow_builds, capsys
):
    fit()
    assert [line[:3] for line in registered.infos if line.startswith("[")] == ["[0]", "[1]"]
    assert sum(line.startswith("building kernels") for line in registered.infos) == 1
    assert capsys.readouterr() == ("", "")


def test_estimators_and_progress_report_to_it_too(registered, monkeypatch, capsys):
    monkeypatch.setattr(monitor, "_tqdm", lambda: None)
    bar = ProgressBar("rounds")
    model = GBDTRegressor(n_estimators=2, max_depth=2, device=TEST_DEVICE, callbacks=[bar])
    model.fit(ROWS, ROWS[:, 0], eval_set=[(ROWS, ROWS[:, 0])], verbose=True)
    assert sum(line.startswith("rounds: round") for line in registered.infos) == 2
    assert sum(line.startswith("[") for line in registered.infos) == 2
    assert capsys.readouterr() == ("", "")


def test_pythons_logger_silences(slow_builds, capsys):
    before = NOTES.level
    try:
        logging.getLogger("pyopencl_gbdt").setLevel(logging.WARNING)
        fit()
    finally:
        NOTES.setLevel(before)
    assert capsys.readouterr() == ("", "")


def test_rounds_have_a_logger_of_their_own(slow_builds, capsys):
    try:
        ROUNDS.disabled = True
        fit()
    finally:
        ROUNDS.disabled = False
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "building kernels" in captured.err


def test_records_reach_a_handler_of_pythons_logger(capsys):
    class Handler(logging.Handler):
        def emit(self, record):
            seen.append((record.name, record.levelname, record.getMessage()))

    seen, handler = [], Handler()
    NOTES.addHandler(handler)
    try:
        fit()
    finally:
        NOTES.removeHandler(handler)
    assert [(name, level) for name, level, _ in seen] == [("pyopencl_gbdt.rounds", "INFO")] * 2


def test_a_text_with_percent_signs_is_no_format(capsys):
    tell("100% of %s")
    assert capsys.readouterr().err == "100% of %s\n"


@pytest.mark.parametrize("verbosity", range(4))
def test_verbosity_decides_what_is_said(verbosity, registered, slow_builds):
    fit(verbosity, verbose=False)
    begun = [line.split(" ")[0] for line in registered.infos]
    assert begun == ["building", "training"][:verbosity]
    assert bool(registered.details) == (verbosity == 3)
    assert all(line.startswith("built ") for line in registered.details)


@pytest.mark.parametrize("wrong", ["a name", print, object()])
def test_what_is_no_logger_is_refused_and_changes_nothing(wrong, registered):
    with pytest.raises(ParameterError, match=r"register_logger: logger=.* give a logging.Logger"):
        pyopencl_gbdt.register_logger(wrong)
    tell("still here")
    assert registered.infos == ["still here"]


def test_the_drivers_compiler_says_nothing(device, capfd):
    """PoCL's counts its warnings on the standard error of the process."""
    if device.caps.platform != POCL:
        pytest.skip("other compilers leave their warnings in the log")
    new = random.randrange(1 << 40)
    loss = f"g = margin - label; h = {new}.0f;"
    switches = dict.fromkeys(
        ("weighted", "sampled", "counted", "squared", "clears", "ahead"), False
    )
    values = {"wg_size": 1, "n_exponents": EXPONENTS, **switches}
    device.build("gradients", loss=loss, **values)
    assert capfd.readouterr() == ("", "")
