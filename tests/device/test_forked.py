"""A process that was forked after drivers were opened is told so, and does not hang."""

import os

import pytest

from tests.device import strangers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")

#: Runs `works` in a child; ends it when it hangs.
PREPARE = """
import os, signal, sys
import numpy as np
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import devices, find, open_device
from pyopencl_gbdt.errors import DeviceError

POCL = "portable computing language"
X = np.arange(40, dtype=np.float32).reshape(20, 2)

def fit(device=POCL):
    return train({"max_depth": 1, "device": device}, Dataset(X, X[:, 0]), 1)

def in_child(*works):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for work in works:
            try:
                work()
                print("worked")
            except DeviceError as error:
                print(str(error) if "spawn" not in str(error) else "refused")
        sys.stdout.flush()
        sys.exit(0)
    status = os.waitpid(child, 0)[1]
    print("status", status, flush=True)
"""


def lines_of(code):
    caches = ("HOME", "XDG_CACHE_HOME", "PYOPENCL_GBDT_CACHE", "POCL_CACHE_DIR")
    places = {name: os.environ[name] for name in caches if name in os.environ}
    places["PYOPENCL_GBDT_DEVICE"] = "cpu"
    places["RUSTICL_ENABLE"] = ""  # Mesa's own clean-up crashes at the exit of a forked child
    done = strangers.run(["-c", PREPARE + code], places)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.thorough
def test_the_child_of_a_process_that_fitted():
    """A fit, a prediction, a listing, and work on the parent's own device are all refused.

    Each kind of work is the first of a child of its own.
    """
    code = """
model = fit()
device = open_device(POCL)
array = device.upload(np.zeros(3, np.float32))
params = {"wg_size": 1, "items": 1, "rows": 0, "categories": False}
program = device.build("predict", **params)
for works in (
    [fit, lambda: fit("oclgrind"), lambda: fit("auto")],
    [devices, lambda: model.predict(X, device=POCL), lambda: model.predict(X, device=device)],
    [array.get, lambda: array.set([1]), lambda: device.empty(3, np.float32)],
    [device.finish, device.mark, lambda: device.build("predict", **params)],
):
    in_child(*works)
in_child(lambda: None)  # a child that uses no device ends as others do
assert np.isfinite(model.predict(X, device=device)).all()  # and the parent goes on
"""
    assert lines_of(code) == [*["refused"] * 3, "status 0"] * 4 + ["worked", "status 0"]


@pytest.mark.thorough
def test_listing_the_devices_starts_the_drivers_threads():
    assert lines_of("devices()\nin_child(fit)") == ["refused", "status 0"]


@pytest.mark.thorough
def test_a_fork_before_any_device_was_opened():
    code = "import pyopencl_gbdt.device\nin_child(fit)\nfit()\nprint('parent')"
    assert lines_of(code) == ["worked", "status 0", "parent"]


@pytest.mark.thorough
def test_a_grandchild_is_told_who_opened_the_drivers():
    code = """
fit()
parent = os.getpid()
def grandchild():
    in_child(fit)
    try:
        find(POCL)
    except DeviceError as error:
        assert f"forked from process {parent}" in str(error), error
in_child(grandchild)
"""
    assert lines_of(code) == ["refused", "status 0", "worked", "status 0"]


@pytest.mark.thorough
def test_multiprocessing_and_joblib():
    """The remedies that the message names work; the ways that hang are refused."""
    pytest.importorskip("joblib")
    code = """
import joblib, multiprocessing

def refused(_):
    try:
        find(POCL)
    except DeviceError:
        return True

fit()
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map(refused, [0]))
print(joblib.Parallel(2, backend="multiprocessing")(joblib.delayed(refused)(i) for i in range(2)))
print([model.num_boosted_rounds() for model in joblib.Parallel(2)([joblib.delayed(fit)()])])
"""
    assert lines_of(code) == ["[True]", "[True, True]", "[1]"]
