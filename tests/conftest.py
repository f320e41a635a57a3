"""Fixtures shared by all tests.

``device`` opens what ``PYOPENCL_GBDT_DEVICE`` names, else PoCL; every test that takes ``variant``
runs each row of the variant table that this device can run.
"""

from __future__ import annotations

import os

import pytest

from pyopencl_gbdt.device import Device, open_device

TEST_DEVICE = os.environ.get("PYOPENCL_GBDT_DEVICE", "portable computing language")


@pytest.fixture(scope="session")
def device() -> Device:
    return open_device(TEST_DEVICE)
