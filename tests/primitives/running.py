"""How the primitives' tests run what they prepare, and with which variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt.device import Device, Launch, Variant, runnable
from pyopencl_gbdt.errors import DataError, ParameterError


def run_without_waiting(device: Device, launches: Sequence[Launch]) -> None:
    """Run what is bound, and see that the host waits for nothing."""
    waits = device.n_waits
    for launch in launches:
        launch()
    assert device.n_waits == waits


def narrow(device: Device, kernel: str, **params: int) -> Variant:
    """Return the portable variant with 8 work-items, as a driver may allow no more of them."""
    variant = next(
        variant for variant in runnable(kernel, device.caps) if variant.name == "portable"
    )
    return replace(variant, params={**variant.params, "wg_size": 8, **params})


def many_groups(variant: Variant, items: int, alone: int | None = None) -> Variant:
    """Return a variant with small tiles in many work-groups.

    Work-items take ``items`` at a time, or ``alone`` where a work-group has just one of them.
    """
    if alone is not None and variant.params["wg_size"] == 1:
        items = alone
    return replace(variant, params={**variant.params, "groups_per_unit": 7, "items": items})


def check_refusals(
    function: Callable[..., Any], device: Device, other_device: Device, n_out: int
) -> None:
    """See that reduce or scan refuses what is no number, no array of the device or no operation.

    Of 4 values the result has ``n_out`` elements.
    """
    values = device.zeros(4, np.int32)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: list; expected a DeviceArray"):
        function([1, 2])
    with pytest.raises(DataError, match="dtype: dtype uint8; expected one of int32"):
        function(device.zeros(4, np.uint8))
    with pytest.raises(DataError, match=f"out: 3 elements; expected {n_out}"):
        function(values, device.zeros(3, np.int32))
    with pytest.raises(DataError, match="out: dtype int64"):
        function(values, device.zeros(n_out, np.int64))
    with pytest.raises(DataError, match="out: lies on another opened device"):
        function(values, other_device.zeros(n_out, np.int32))
    with pytest.raises(ParameterError, match="op='mean'"):
        function(values, op="mean")
    with pytest.raises(ParameterError, match="op='max' of pairs of int64: expected op='sum'"):
        function(device.zeros((4, 2), np.int64), op="max")
    assert device.n_launches == launched
