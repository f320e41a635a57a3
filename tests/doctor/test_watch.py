"""A worker that answers, fails, crashes, hangs, or says other things on the way."""

import sys
import time

import pytest

from pyopencl_gbdt.doctor import watch
from tests.conftest import TEST_DEVICE
from tests.doctor.machines import CPU, GPU

ONE = '{"case": "scan", "chosen": true, "problem": "", "seconds": 0.1}'
START = '{"starting": "radix_sort", "chosen": %s}'


@pytest.fixture
def worker(monkeypatch):
    """Put a few lines of Python in the worker's place."""

    def be(code):
        monkeypatch.setattr(watch, "_WORKER", (sys.executable, "-c", code))

    return be


def printing(*lines):
    return "\n".join(f"print('''{line}''', flush=True)" for line in lines)


def test_a_worker_that_does_well(worker):
    seen = []
    worker(printing(START % "true", ONE))
    run = watch.run_self_test(CPU, 20, seen.append)
    assert run.passed
    assert run.ended == ""
    assert seen == ["1. radix_sort"]
    assert run.verdict.startswith("passed: 1 of 1 comparisons")


def test_a_worker_that_finds_a_difference(worker):
    bad = ONE.replace('""', '"3 of 4 differ"')
    worker(printing(ONE, bad))
    run = watch.run_self_test(CPU, 20, print)
    assert not run.passed
    assert [case["problem"] for case in run.failed] == ["3 of 4 differ"]
    assert run.verdict.startswith("FAILED: 1 of 2")
    worker(printing(ONE, bad.replace("true", "false")))
    assert watch.run_self_test(CPU, 20, print).passed  # of a variant that it does not get


def test_what_explains_a_difference_stands_before_it(worker):
    bad = ONE.replace('""', '"sums: digest 12 instead of 34"')
    more = '{"explained": "scan", "detail": "right when it ran again"}'
    worker(printing(bad, START % "false", more))
    run = watch.run_self_test(CPU, 20, print)
    (case,) = run.failed
    assert case["problem"] == "right when it ran again\nsums: digest 12 instead of 34"
    worker(printing(bad, START % "false") + "\nimport os; os.kill(os.getpid(), 9)")
    (case,) = watch.run_self_test(CPU, 20, print).failed
    assert case["problem"] == "sums: digest 12 instead of 34"


def test_a_driver_that_crashes(worker):
    worker(printing(ONE, START % "true") + "\nimport os, signal; os.kill(os.getpid(), 11)")
    run = watch.run_self_test(CPU, 20, print)
    assert not run.passed
    assert run.ended.startswith("radix_sort ends the process by signal 11")
    assert "What PoCL keeps in" in run.ended
    assert "What PoCL keeps in" not in watch.run_self_test(GPU, 20, print).ended


def test_a_driver_that_crashes_in_a_variant_that_nobody_needs(worker):
    worker(printing(ONE, START % "false") + "\nimport os; os.kill(os.getpid(), 9)")
    run = watch.run_self_test(CPU, 20, print)
    assert run.passed
    assert "radix_sort ends the process" in run.verdict


@pytest.mark.thorough
def test_a_driver_that_hangs(worker):
    worker(printing(ONE, START % "true") + "\nimport time; time.sleep(60)")
    begin = time.monotonic()
    run = watch.run_self_test(CPU, 4, print)
    assert time.monotonic() - begin < 50
    assert not run.passed
    assert run.ended == "stopped after 4 s, at radix_sort"


def test_a_worker_that_raises_or_says_nothing(worker):
    worker("raise RuntimeError('no such device')")
    run = watch.run_self_test(CPU, 20, print)
    assert run.ended == "opening the device fails: RuntimeError: no such device"
    worker("")
    assert not watch.run_self_test(CPU, 20, print).passed
    assert watch.list_devices("auto").failure == "says nothing"


def test_listing_fails(worker):
    worker("import os; os.kill(os.getpid(), 11)")
    listing = watch.list_devices("auto")
    assert listing.failure == "ends the process by signal 11"
    assert listing.devices == ()
    worker("import time; time.sleep(60)")
    assert watch.list_devices("auto", 1).failure == "takes more than 1 s"


def test_the_true_worker():
    listing = watch.list_devices(TEST_DEVICE)
    assert listing.failure == ""
    device = listing.device(listing.chosen)
    assert device.usable
    assert device.variants["histogram"]
    lost = watch.list_devices("no-such-device")
    assert lost.chosen == ""
    assert "no usable device fits" in lost.problem
