"""Fixtures of the tests in which fits fail."""

from __future__ import annotations

import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.drivers import fallback
from pyopencl_gbdt.device.variants import choosing
from tests.device import fits


@pytest.fixture(scope="session")
def expected():
    """The model file of ``fits.fit()``."""
    return fits.text_of(fits.fit())


@pytest.fixture
def nothing_refused(monkeypatch):
    """What did not build or run in other tests is tried, and the other way round."""
    monkeypatch.setattr(choosing, "REFUSED", set())
    monkeypatch.setattr(fallback, "REFUSED", choosing.REFUSED)


@pytest.fixture
def opened(monkeypatch):
    """The devices that fits open from now on."""
    devices = []

    def remember(*arguments, **options):
        devices.append(open_device(*arguments, **options))
        return devices[-1]

    monkeypatch.setattr("pyopencl_gbdt.training.open_fit.open_device", remember)
    return devices
