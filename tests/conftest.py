"""Fixtures shared by all tests, and how many processes run them.

``device`` opens what ``PYOPENCL_GBDT_DEVICE`` names, else PoCL; every test that takes ``variant``
runs each variant that this device can run.

PoCL builds most kernels without optimising them, see ``quick_builds``.

Tests marked ``thorough`` repeat a proof at more points. They run where ``-m`` asks for them and
where the command line names them with ``::``.
"""

from __future__ import annotations

import gc
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from pyopencl_gbdt.device import Device, DeviceArray, builds, find, open_device
from pyopencl_gbdt.device.opencl import device as opencl
from pyopencl_gbdt.device.paper import Allocation
from pyopencl_gbdt.growth import recipe
from tests.quick_builds import builds_quickly

#: What was tuned on this machine is no part of the tests; those of the tuning switch it on.
os.environ["PYOPENCL_GBDT_TUNING"] = "off"
#: Other tests run on the cores that would compile ahead.
os.environ["PYOPENCL_GBDT_BUILD_AHEAD"] = "off"
if "PYTEST_XDIST_WORKER" in os.environ:
    #: XGBoost's threads would wait for each other on cores that other processes run tests on.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

TEST_DEVICE = os.environ.get("PYOPENCL_GBDT_DEVICE", "portable computing language")
#: Processes that run the tests at most: each takes up to 1 GB.
_MOST_WORKERS = 8
#: Folders in which a test's cases are all combinations of several parameters. By default, each
#: value of each parameter has a case; all combinations are ``thorough``. A module elsewhere says
#: ``ONCE_EACH = True``.
_ONCE_EACH = {"primitives", "steps", "objectives"}
#: The programs of all modules that say ``OPTIMISED = True``, by their sources.
_optimised_programs: dict[Any, Any] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes ``-n auto`` starts: one for each core that this one may use.

    None are started for tests that are named with ``::``, and for those of a GPU: they fill its
    memory and take times.
    """
    if all("::" in word for word in config.args):
        return 0
    if "PYOPENCL_GBDT_DEVICE" in os.environ:
        caps = find(TEST_DEVICE).caps
        if caps is None or caps.kind != "cpu":
            return 0
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cores, _MOST_WORKERS) if cores > 1 else 0


def _repeats(item: pytest.Item, seen: dict[str, set[tuple[str, str]]]) -> bool:
    """Tell whether every value of a case's parameters was seen in an earlier case; note them."""
    module = getattr(item, "module", None)
    params = getattr(getattr(item, "callspec", None), "params", {})
    where = item.path.relative_to(Path(__file__).parent).parts[0]
    if where not in _ONCE_EACH and not getattr(module, "ONCE_EACH", False):
        return False
    known = seen[item.nodeid.partition("[")[0]]
    own = {(name, repr(value)) for name, value in params.items()}
    repeats = len(own) > 1 and own <= known
    known |= own
    return repeats


def _leave_few(items: list[pytest.Item]) -> None:
    """Mark the cases of a test marked ``few`` but so many, spread evenly."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("thorough"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for own in cases.values():
        marker = own[0].get_closest_marker("few")
        assert marker is not None
        (most,) = marker.args
        kept = {len(own) * k // most for k in range(most)}
        for place, item in enumerate(own):
            if place not in kept:
                item.add_marker("thorough")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked ``thorough`` that nobody asked for.

    A module's ``THOROUGH`` marks those of a test's cases for whose parameters it is true. Where
    ``_ONCE_EACH`` says so, cases of which every parameter's value occurs in an earlier case of
    the same test are marked, too; so are those that ``few`` leaves out.
    """
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for item in items:
        if _repeats(item, seen):
            item.add_marker("thorough")
        rule = getattr(getattr(item, "module", None), "THOROUGH", {}).get(
            getattr(item, "originalname", "")
        )
        if rule is not None and rule(**item.callspec.params):  # type: ignore[attr-defined]
            item.add_marker("thorough")
    _leave_few(items)
    if config.option.markexpr or any("::" in word for word in config.args):
        return
    thorough = [item for item in items if item.get_closest_marker("thorough")]
    if thorough:
        config.hook.pytest_deselected(items=thorough)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_collection_finish() -> None:
    """Leave what was imported and collected, a million objects, out of garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture(scope="module", autouse=True)
def quick_builds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Build kernels quickly; see ``tests/quick_builds.py``.

    Optimised are a CPU's kernels in modules that say ``OPTIMISED = True``, and all that ``python -m
    tests.portability`` runs.
    """
    optimised = getattr(request.module, "OPTIMISED", False)
    with builds_quickly(optimised_for_cpus=optimised), pytest.MonkeyPatch.context() as patch:
        if optimised:  # not what another module built
            patch.setattr(opencl, "_programs", _optimised_programs)
        yield


@pytest.fixture
def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grow trees by launches for each step, also where one launch grows those of few rows."""
    monkeypatch.setattr(recipe, "MOST_WHOLE_ROWS", 0)


@pytest.fixture(scope="session", autouse=True)
def silent_builds() -> Iterator[None]:
    """Say nothing of long builds: tests read what a program writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "LONG_SECONDS", math.inf)
        yield


@pytest.fixture(scope="session", autouse=True)
def eighty_columns() -> Iterator[None]:
    """Lay out output as on a terminal of 80 columns, whatever the one of the tests has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(scope="session")
def device() -> Device:
    return open_device(TEST_DEVICE)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> WeakKeyDictionary[Device, list[Allocation]]:
    """The arrays that each device is asked for from now on, in order."""
    found: WeakKeyDictionary[Device, list[Allocation]] = WeakKeyDictionary()
    empty = Device.empty

    def record(device: Device, shape: Any, dtype: Any, name: str = "") -> DeviceArray:
        array = empty(device, shape, dtype, name)
        found.setdefault(device, []).append(Allocation(name, array.shape, array.dtype))
        return array

    monkeypatch.setattr(Device, "empty", record)
    return found
