"""A device that is lost in the middle ends the training; a checkpoint resumes on fewer devices."""

import os
import signal
import threading
import time

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.device import find, selection
from pyopencl_gbdt.device.opencl import program
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.model import to_json
from tests import host_member
from tests.conftest import TEST_DEVICE
from tests.kill_hosts import processes, resumed, started, watched
from tests.training.test_mpi import RUN
from tests.training.test_team import listed

#: Seconds within which a training has to end.
LIMIT = 60.0
ROUNDS = 12
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "verbosity": 0}


def rows():
    rng = np.random.default_rng(8)
    values = rng.normal(size=(900, 5)).astype(np.float32)
    label = (values[:, 0] + rng.normal(size=900) > 0).astype(np.float32)
    return Dataset(values, label)


def trained(device, folder, callbacks=()):
    saver = TrainingCheckPoint(folder, interval=1)
    params = {**PARAMS, "device": device}
    return to_json(train(params, rows(), ROUNDS, callbacks=[saver, *callbacks]).ensemble)


@pytest.mark.few(1)
@pytest.mark.skipif(find(TEST_DEVICE).caps.api != "opencl", reason="an error of OpenCL's queues")
@pytest.mark.parametrize("victim", [0, 2])
def test_a_driver_that_fails(monkeypatch, tmp_path, victim):
    """The queue of one of three members raises an error of the driver in round 5."""
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)
    enqueue, names = cl.enqueue_nd_range_kernel, {0: "MainThread", 2: "member 2 of a team"}
    fails = threading.Event()

    def failing(queue, *given):
        if fails.is_set() and threading.current_thread().name == names[victim]:
            raise cl.RuntimeError("clEnqueueNDRangeKernel failed: INVALID_COMMAND_QUEUE")
        return enqueue(queue, *given)

    class InRound5(TrainingCheckPoint):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 4:
                fails.set()
            return False

    monkeypatch.setattr(program.cl, "enqueue_nd_range_kernel", failing)
    alone = trained(TEST_DEVICE, tmp_path / "alone")
    before, began = threading.active_count(), time.monotonic()
    folder = tmp_path / "lost"
    with pytest.raises(DeviceError, match="INVALID_COMMAND_QUEUE") as error:
        trained(listed([TEST_DEVICE] * 3), folder, [InRound5(folder, interval=1000)])
    assert time.monotonic() - began < LIMIT
    assert find(TEST_DEVICE).caps.label in str(error.value)
    assert threading.active_count() <= before
    fails.clear()
    assert any(folder.glob("*.json"))
    assert trained(listed([TEST_DEVICE] * 2), folder) == alone


@pytest.mark.skipif(RUN is None, reason="mpirun is not here")
def test_a_rank_that_is_killed(tmp_path):
    """The job of three ends; one of two resumes to the same bytes."""
    pytest.importorskip("mpi4py")
    job, lines = started(3, tmp_path), []
    reader = watched(job, lines)
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("*.json"))) == 0 or len(processes(lines)) < 3:
        assert job.poll() is None, "".join(lines)
        assert time.monotonic() < until, "".join(lines)
        time.sleep(0.01)
    os.kill(processes(lines)[1], signal.SIGKILL)
    assert job.wait(LIMIT)  # not 0
    reader.join(LIMIT)
    params = {**host_member.PARAMS, "device": TEST_DEVICE}
    alone = train(params, host_member.rows(0, 1), host_member.ROUNDS)
    resumed(2, tmp_path, host_member.digest(alone))
