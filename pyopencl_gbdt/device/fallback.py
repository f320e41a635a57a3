"""A kernel that a driver fails to build: the next variant, a warning, and the log kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.cache import cache_key, store_log
from pyopencl_gbdt.device.variants import REFUSED, Variant, choose, refusal
from pyopencl_gbdt.errors import KernelBuildError, KernelFallbackWarning

T = TypeVar("T")


def build_variant(
    device: Device,
    kernel: str,
    variant: str | Variant | Callable[[], Variant],
    build: Callable[[Variant], T],
) -> tuple[Variant, T]:
    """Build a kernel's chosen variant, or the next one where its driver fails to.

    Parameters
    ----------
    device : Device
    kernel : str
        As in the variant table.
    variant : str, Variant or callable
        A row or the name of one, which is not replaced; "auto"; or a function that chooses among
        the rows that were not refused.
    build : callable
        Builds a row; called for one row after another.

    Returns
    -------
    Variant
        The row that was built.
    object
        What ``build`` returned.

    Raises
    ------
    KernelBuildError
        If no variant builds, or the one that was asked for does not.
    """
    caps = device.caps
    if isinstance(variant, Variant):
        return variant, build(variant)
    if isinstance(variant, str) and variant != "auto":
        row = choose(kernel, caps, variant)
        return row, build(row)
    chosen = variant if callable(variant) else lambda: choose(kernel, caps)
    while True:
        row = chosen()
        try:
            return row, build(row)
        except KernelBuildError as error:
            tried_already = refusal(row, caps) in REFUSED
            REFUSED.add(refusal(row, caps))
            other = chosen()
            if tried_already or refusal(other, caps) in REFUSED:
                raise  # every row was tried
            log = store_log(cache_key(caps.label, caps.driver, kernel, row.name), str(error))
            kept = f"; the compiler's log is in {log}" if log else ""
            warnings.warn(
                f"{kernel}: {row.name!r} does not build on {caps.label}, driver {caps.driver}: "
                f"{other.name!r} is used instead, which gives the same results, perhaps later"
                f"{kept}. Please report it with what `pyopencl-gbdt doctor` says",
                KernelFallbackWarning,
                stacklevel=3,
            )
