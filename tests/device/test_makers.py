"""Makers of GPUs, by what drivers say of their vendors."""

import pytest

from pyopencl_gbdt.device.drivers import makers
from tests.device.fakes import make_caps


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"vendor": "NVIDIA Corporation", "name": "H200"}, "NVIDIA"),
        ({"vendor": "NVIDIA", "name": "H200"}, "NVIDIA"),  # CUDA, and Apple
        ({"vendor": "Advanced Micro Devices, Inc.", "name": "gfx1100"}, "AMD"),
        ({"vendor": "AMD", "name": "AMD Radeon RX 6600 (radeonsi, navi23)"}, "AMD"),
        ({"vendor": "Intel(R) Corporation", "name": "Intel(R) Arc(TM) A770 Graphics"}, "Intel"),
        ({"vendor": "Intel Inc.", "name": "Iris"}, "Intel"),
        ({"vendor": "Intel", "name": "Mesa Intel(R) Arc(tm) A770 Graphics (DG2)"}, "Intel"),
        # the number, where the text names none or nobody
        ({"vendor": "Unknown (vendor-id: 0x10DE)", "vendor_id": 0x10DE}, "NVIDIA"),
        ({"vendor": "Microsoft", "vendor_id": 0x1002}, "AMD"),
        ({"vendor": "", "vendor_id": 0x8086}, "Intel"),
        ({"vendor": "X.Org", "name": "AMD CEDAR (DRM 2.50)"}, "AMD"),
        ({"vendor": "Unknown", "name": "zink Vulkan 1.3(Radeon RX 580 (RADV))"}, "AMD"),
        # the text before the number: PoCL's number of a processor is always the same
        ({"vendor": "AuthenticAMD", "vendor_id": 0x8086, "name": "pthread"}, "AMD"),
        ({"vendor": "Unknown (vendor-id: 0x10005)", "vendor_id": 0x10005}, ""),
        ({"vendor": "ARM", "name": "Mali-G610", "vendor_id": 0xA8670000}, ""),
        ({"vendor": "Apple", "name": "Apple M2", "vendor_id": 0x1027F00}, ""),
    ],
)
def test_what_drivers_say(facts, expected):
    assert makers.maker(make_caps(**facts)) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"vendor": "NVIDIA Corporation"}, 255),
        ({"vendor": "Unknown", "vendor_id": 0x10DE, "platform": "rusticl"}, 255),
        ({"vendor": "AMD", "name": "AMD Radeon RX 6600 (radeonsi, navi23)"}, 256),
        ({"vendor": "AuthenticAMD", "kind": "cpu"}, 0),
        ({"vendor": "Intel(R) Corporation"}, 0),
        ({"vendor": "Nobody"}, 0),
    ],
)
def test_registers_of_a_work_item(facts, expected):
    assert makers.registers(make_caps(**facts)) == expected


def test_every_name_means_a_maker_with_a_driver():
    assert set(makers.NAMES) == {"nvidia", "amd", "intel", "radeon", "arc", "rocm", "hip"}
    assert set(makers.NAMES.values()) == set(makers.PACKAGES)
