"""Fixtures shared by all tests.

``device`` opens what ``PYOPENCL_GBDT_DEVICE`` names, else PoCL; every test that takes ``variant``
runs each row of the variant table that this device can run.
"""

from __future__ import annotations

import os

import pytest

from pyopencl_gbdt.device import Device, open_device

#: What was tuned on this machine is no part of the tests; those of the tuning switch it on.
os.environ["PYOPENCL_GBDT_TUNING"] = "off"

TEST_DEVICE = os.environ.get("PYOPENCL_GBDT_DEVICE", "portable computing language")


@pytest.fixture(scope="session")
def device() -> Device:
    return open_device(TEST_DEVICE)
