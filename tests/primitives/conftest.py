"""Every test that takes ``variant`` runs each variant of a kernel that the device can.

The kernel is the module's ``KERNEL``, else the one that the test is called after.

``other_device`` is the same device, opened a second time.
"""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.device import Device, find, open_device, runnable
from tests.conftest import TEST_DEVICE


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "variant" in metafunc.fixturenames:
        caps = find(TEST_DEVICE).caps
        named = metafunc.function.__name__.removeprefix("test_")
        variants = runnable(getattr(metafunc.module, "KERNEL", named), caps) if caps else []
        metafunc.parametrize("variant", variants, ids=[variant.name for variant in variants])


@pytest.fixture(scope="session")
def other_device() -> Device:
    return open_device(TEST_DEVICE)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)
