"""Variants of kernels: their table, the choice for a device, and what tuning chose and stored."""

from __future__ import annotations

from pyopencl_gbdt.device.variants.choosing import (
    REFUSED,
    choose,
    fallbacks,
    kernels,
    refusal,
    runnable,
    same_refusals,
    summary,
)
from pyopencl_gbdt.device.variants.table import KERNELS, LOCAL_HEADROOM, TABLE
from pyopencl_gbdt.device.variants.variant import NEEDS, Variant

__all__ = [
    "KERNELS", "LOCAL_HEADROOM", "NEEDS", "REFUSED", "TABLE", "Variant", "choose", "fallbacks",
    "kernels", "refusal", "runnable", "same_refusals", "summary",
]  # fmt: skip
