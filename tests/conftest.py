"""Fixtures shared by all tests, and how many processes run them.

``device`` opens what ``PYOPENCL_GBDT_DEVICE`` names, else PoCL. Every test that takes ``variant``
runs each variant of a kernel that this device can run: of its module's ``KERNEL``, else of the one
that the test is called after. ``wg`` runs over the module's ``WG_SIZES``; a CPU takes
``WG_SIZES_CPU``, where a module has them, because PoCL needs 10 s and more to build a kernel with
many barriers for one work-group size.

PoCL builds most kernels without optimising them, see ``quick_builds``.

Tests marked ``thorough`` repeat a proof at more points. They run where ``-m`` asks for them and
where the command line names them with ``::``.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest

from pyopencl_gbdt.device import (
    Device,
    DeviceArray,
    Variant,
    find,
    open_device,
    program,
    runnable,
    selection,
    variants,
)
from pyopencl_gbdt.device.drivers import fallback
from pyopencl_gbdt.device.paper import Allocation
from pyopencl_gbdt.device.variants import choosing
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.growth.whole_trees import WholeTrees
from pyopencl_gbdt.pages import small_columns
from tests.chosen_cases import mark_cases
from tests.quick_builds import builds_quickly, links_quickly

#: What was tuned on this machine is no part of the tests; those of the tuning switch it on.
os.environ["PYOPENCL_GBDT_TUNING"] = "off"
#: Other tests run on the cores that would compile ahead.
os.environ["PYOPENCL_GBDT_BUILD_AHEAD"] = "off"
#: Small data reach the kernels of large fits, on NVIDIA's GPUs, too; tests of small fits say "on".
os.environ.setdefault("PYOPENCL_GBDT_SMALL_FITS", "off")
TEST_DEVICE = os.environ.get("PYOPENCL_GBDT_DEVICE", "portable computing language")
#: Processes that run the tests at most: each takes up to 1 GB.
_MOST_WORKERS = 8


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let XGBoost and NumPy have one thread in processes that run tests beside each other.

    Their threads would wait for each other on cores that other processes use. NumPy reads this
    when it is imported, so it is said before the processes start.
    """
    if getattr(session.config.option, "numprocesses", 0):
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        # Threads that a test asks for by number sleep while they wait.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes ``-n auto`` starts: one more than cores that this one may use.

    Two on two cores left a fifth of both idle, while tests wait for processes, locks and pauses.
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
    return min(cores + 1, _MOST_WORKERS) if cores > 1 else 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked ``thorough`` or ``exhaustive`` that nobody asked for.

    ``tests/chosen_cases.py`` says which cases of a test are marked.
    """
    mark_cases(items)
    if any("::" in word for word in config.args):
        return
    asked = config.option.markexpr
    unwanted = [] if asked else ["thorough"]
    unwanted += [] if "exhaustive" in asked else ["exhaustive"]
    left_out = [item for item in items if any(map(item.get_closest_marker, unwanted))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not any(map(item.get_closest_marker, unwanted))]


def _import_from_an_own_place(config: pytest.Config) -> None:
    """Import the modules of tests, in each process from another place of their list.

    pytest rewrites the assertions of a module before its first import, which takes most of the
    time of a collection, and keeps the result on disk. Processes that begin at the same module
    would all rewrite each module, because none of them finds a result that another one kept.
    """
    own: dict[str, Any] = getattr(config, "workerinput", {})
    if not own or sys.dont_write_bytecode:
        return
    root = config.rootpath
    paths = [config.invocation_params.dir / word for word in config.args]
    files = [file for path in paths for file in sorted(path.rglob("test_*.py"))]
    count = own["workercount"]
    begin = len(files) * int(own["workerid"].removeprefix("gw")) // count
    for file in files[begin:] + files[:begin]:
        if file.is_relative_to(root):
            # Collecting imports it again, and tells what is wrong or missing.
            with contextlib.suppress(Exception, pytest.skip.Exception):
                import_module(".".join(file.relative_to(root).with_suffix("").parts))


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Leave what is imported and collected, a million objects, out of garbage collection."""
    gc.disable()
    _import_from_an_own_place(session.config)
    yield
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def quick_builds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Build kernels quickly; see ``tests/quick_builds.py``.

    Optimised are a CPU's kernels in modules that say ``OPTIMISED = True``, and all that ``python -m
    tests.portability`` runs.
    """
    optimised = getattr(request.module, "OPTIMISED", False)
    with builds_quickly(optimised_for_cpus=optimised):
        yield


@pytest.fixture(scope="module", autouse=True)
def lone_groups(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let one work-group grow whole trees, but in modules that say ``SHARED_TREES = True``.

    Work-groups that share a tree wait for each other, and on cores that other processes use they
    wait long: most of the processor's time of a small fit.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "SHARED_TREES", False):
            patch.setattr(WholeTrees, "groups", 1)
        yield


@pytest.fixture
def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grow trees by launches for each step, also where one launch does several."""
    monkeypatch.setattr(recipe, "MOST_WHOLE_ROWS", 0)
    monkeypatch.setenv("PYOPENCL_GBDT_LAST_GROUP", "off")


@pytest.fixture
def cut_by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut and encode columns by kernels, also where the host does so for few values."""
    monkeypatch.setattr(small_columns, "MOST_VALUES", 0)


@pytest.fixture(scope="session", autouse=True)
def quick_links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Link kernels quickly; see ``tests/quick_builds.py``."""
    with links_quickly(tmp_path_factory.mktemp("linker")):
        yield


@pytest.fixture(scope="session", autouse=True)
def silent_builds() -> Iterator[None]:
    """Say nothing of long builds: tests read what a program writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "LONG_SECONDS", math.inf)
        yield


@pytest.fixture(scope="session", autouse=True)
def eighty_columns() -> Iterator[None]:
    """Lay out output as on a terminal of 80 columns, whatever the one of the tests has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module, names = metafunc.module, metafunc.fixturenames
    kernel = getattr(module, "KERNEL", metafunc.function.__name__.removeprefix("test_"))
    tries = "variant" in names and kernel in variants.KERNELS
    sized = "wg" in names and hasattr(module, "WG_SIZES")
    caps = find(TEST_DEVICE).caps if tries or sized else None
    if tries:
        found = runnable(kernel, caps) if caps else []
        metafunc.parametrize("variant", found, ids=[variant.name for variant in found])
    if sized:
        few = caps is not None and caps.kind == "cpu"
        sizes = getattr(module, "WG_SIZES_CPU", module.WG_SIZES) if few else module.WG_SIZES
        metafunc.parametrize("wg", sizes)


@pytest.fixture(scope="session")
def device() -> Device:
    return open_device(TEST_DEVICE)


@pytest.fixture(scope="session")
def other_device() -> Device:
    """The same device, opened a second time."""
    return open_device(TEST_DEVICE)


@pytest.fixture
def devices_named_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a training name a device twice, which then has a queue for each."""
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.fixture
def force(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Variant]:
    """A function that makes the steps take a variant, with some of its parameters replaced."""

    def do(variant: Variant, **params: int) -> Variant:
        params = {**variant.params, **params}
        forced = replace(variant, params=params, chosen_on=frozenset({"gpu", "cpu", "accelerator"}))
        table = variants.KERNELS[forced.kernel]
        others = [other for other in table.variants if other.name != forced.name]
        changed = replace(table, variants=(forced, *others))
        monkeypatch.setitem(variants.KERNELS, forced.kernel, changed)
        return forced

    return do


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


@pytest.fixture(scope="session")
def expected() -> str:
    """The model file of ``tests.device.fits.fit()``."""
    from tests.device import fits

    return fits.text_of(fits.fit())


@pytest.fixture
def nothing_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What did not build or run in other tests is tried, and the other way round."""
    monkeypatch.setattr(choosing, "REFUSED", set())
    monkeypatch.setattr(fallback, "REFUSED", choosing.REFUSED)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """The devices that fits open from now on."""
    devices: list[Device] = []

    def remember(*arguments: Any, **options: Any) -> Device:
        devices.append(open_device(*arguments, **options))
        return devices[-1]

    monkeypatch.setattr("pyopencl_gbdt.device.open_device", remember)
    return devices
