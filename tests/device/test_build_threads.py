"""Programs that threads build: the same kernels, and errors that reach whoever needs one."""

import threading

import pytest

from pyopencl_gbdt.device import build_threads


@pytest.fixture
def switched_on(monkeypatch):
    monkeypatch.delenv(build_threads.ENVIRONMENT, raising=False)
    monkeypatch.setattr(build_threads, "usable_cores", lambda: 2)
    monkeypatch.setattr(build_threads, "_pools", {})


def test_two_builds_run_at_a_time(switched_on):
    assert build_threads.wanted()
    meet = threading.Barrier(2, timeout=20)
    builds = [build_threads.begin(meet.wait) for _ in range(2)]
    assert sorted(build.result() for build in builds) == [0, 1]


def test_a_build_that_has_not_ended_is_not_begun_again(switched_on):
    goes_on = threading.Event()
    builds = [build_threads.begin(lambda: goes_on.wait(20), key) for key in ("a", "a", "b", None)]
    goes_on.set()
    assert builds[0] is builds[1]
    assert len(set(builds)) == 3
    assert all(build.result() for build in builds)


def test_errors_wait_for_the_result(switched_on):
    def fails():
        raise ValueError("does not compile")

    with pytest.raises(ValueError, match="does not compile"):
        build_threads.begin(fails).result()


def test_one_core_builds_no_program_aside(switched_on, monkeypatch):
    monkeypatch.setattr(build_threads, "usable_cores", lambda: 1)
    assert not build_threads.wanted()


def test_the_switch(switched_on, monkeypatch):
    monkeypatch.setenv(build_threads.ENVIRONMENT, "off")
    assert not build_threads.wanted()
