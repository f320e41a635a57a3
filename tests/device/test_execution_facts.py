"""How a device runs work-groups: facts of their own, which its kind does not tell."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt.comparison.tuning_fits import TuningData
from pyopencl_gbdt.device import limited_device
from pyopencl_gbdt.device.capabilities import CARD, HOST_CORES
from pyopencl_gbdt.device.opencl import facts as opencl_facts
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.growth.split import MANY_FEATURES, has_many_features
from pyopencl_gbdt.pages.disk_pages import DiskPages
from pyopencl_gbdt.primitives.histogram import CodeHistogram
from pyopencl_gbdt.primitives.packed_codes import empty_codes
from pyopencl_gbdt.training.division import with_own_cores
from tests.device.fakes import BASELINE, Platform, make_caps, opencl_device
from tests.pages.test_disk_pages import layout_of

CPU = make_caps(kind="cpu")
EMULATOR = Platform("Intel(R) FPGA Emulation Platform for OpenCL(TM)", ())
ACCELERATOR = cl.device_type.ACCELERATOR


def recorded(device, monkeypatch):
    """Return the parameters of every template that the device will build, by its name."""
    seen, build = {}, device.build

    def recording(template, **params):
        seen[template] = params
        return build(template, **params)

    monkeypatch.setattr(device, "build", recording)
    return seen


def facts_of(caps):
    return {name: getattr(caps, name) for name in CARD}


@pytest.mark.parametrize(
    ("platform", "type_", "kind", "expected"),
    [
        ("Portable Computing Language", cl.device_type.CPU, "cpu", HOST_CORES),
        ("Nobody's OpenCL", cl.device_type.GPU, "gpu", CARD),
        ("Nobody's OpenCL", ACCELERATOR, "accelerator", CARD),
        (EMULATOR.name, ACCELERATOR, "accelerator", HOST_CORES),  # an accelerator on host's cores
    ],
)
def test_what_drivers_say(platform, type_, kind, expected):
    caps = opencl_facts.capabilities(
        opencl_device(Platform(platform, ()), type=type_), "opencl:0:0"
    )
    assert (caps.kind, facts_of(caps)) == (kind, expected)


@pytest.mark.parametrize("name", limited_device.PRETENCES)
def test_a_pretended_gpu_has_the_facts_of_one(name):
    assert facts_of(limited_device.PRETENCES[name](CPU)) == CARD


@pytest.mark.parametrize("caps", [BASELINE, CPU], ids=["gpu", "cpu"])
@pytest.mark.parametrize("fact", [False, True])
class TestEachFactDecidesAlone:
    """Whatever the device's kind, and whatever the other facts."""

    def test_blocks_of_many_rows_lie_together_where_reads_coalesce(self, caps, fact):
        device = PaperDevice(replace(caps, coalesces_reads=fact))
        assert empty_codes(device, 4, 64, np.dtype(np.uint8)).order.together == (2 if fact else 4)

    def test_more_rows_are_tuned_on_where_latency_is_hidden(self, caps, fact):
        own = replace(caps, hides_latency=fact)
        assert TuningData.of_device(own, quick=True).n_rows == (250_000 if fact else 20_000)

    def test_atomics_are_unrolled_where_the_compiler_can(self, caps, fact, monkeypatch):
        device = PaperDevice(replace(caps, unrolls_atomics=fact))
        rendered = recorded(device, monkeypatch)
        CodeHistogram(device, 100, 20, np.uint8, 30, variant="local_atomic")
        assert rendered["histogram"]["unroll"] is fact

    def test_groups_leave_the_search_where_barriers_may_be_skipped(self, caps, fact):
        own = replace(caps, skips_barriers=fact, hides_latency=True)
        features = SimpleNamespace(layout=SimpleNamespace(n_features=MANY_FEATURES))
        assert has_many_features(own, features) is fact

    def test_of_devices_on_the_hosts_cores_the_fastest_trains(self, caps, fact):
        device = PaperDevice(replace(caps, on_host_cores=fact))
        assert with_own_cores([device] * 3, [1.0, 3.0, 2.0]) == ([1] if fact else [0, 1, 2])

    def test_cores_that_train_unpack_only_what_shrinks_a_lot(
        self, caps, fact, monkeypatch, tmp_path
    ):
        monkeypatch.setitem(sys.modules, "zstandard", None)
        layout = layout_of(np.full(16, 64))  # codes of 6 bits
        pages = DiskPages(layout, [(0, 99)], [tmp_path], replace(caps, on_host_cores=fact))
        pages.add(0, np.zeros(99 * 16, np.uint8))
        assert pages.is_plain == fact
