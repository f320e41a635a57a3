"""A kernel that a driver fails to build or to launch: the next variant, and a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from pyopencl_gbdt.device.base import Device, Program
from pyopencl_gbdt.device.cache import cache_key, store_log
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.render import Param, declared
from pyopencl_gbdt.device.variants import REFUSED, Variant, choose, refusal
from pyopencl_gbdt.errors import KernelBuildError, KernelFallbackWarning, KernelLaunchError

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
        return variant, _named(build(variant), kernel)
    if isinstance(variant, str) and variant != "auto":
        row = choose(kernel, caps, variant)
        return row, _named(build(row), kernel)
    chosen = variant if callable(variant) else lambda: choose(kernel, caps)
    while True:
        row = chosen()
        try:
            built = build(row)
            if isinstance(built, Program):
                built.refuse = partial(_refuse, row, caps, chosen)
            return row, _named(built, kernel)
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


def build_row(
    device: Device,
    kernel: str,
    variant: str | Variant | Callable[[], Variant],
    *,
    derived: Callable[[Variant], Mapping[str, Param]] = lambda row: {},
    **params: Param,
) -> tuple[Variant, Program]:
    """Build a kernel's variant from its row's template, with what the template declares of the row.

    Parameters
    ----------
    device, kernel, variant
        As for ``build_variant``, which also says what is raised.
    derived : callable
        What follows from a row besides its own parameters; a template may declare it or not.
    **params
        The template's other parameters.
    """

    def build(row: Variant) -> Program:
        template, wg_size = row.template or kernel, row.params["wg_size"]
        of_row = {**row.params, **derived(row)}
        own = {name: of_row[name] for name in of_row.keys() & declared(template) - {"wg_size"}}
        return device.build(template, wg_size=wg_size, **own, **params)

    return build_variant(device, kernel, variant, build)


def _named(built: T, kernel: str) -> T:
    if isinstance(built, Program):
        built.kernel = kernel
    return built


def _refuse(
    row: Variant, caps: Capabilities, chosen: Callable[[], Variant]
) -> tuple[str, str, str]:
    """Take a row out of use; return its kernel, its name and the row chosen instead, if any."""
    REFUSED.add(refusal(row, caps))
    other = chosen()
    return row.kernel, row.name, "" if refusal(other, caps) in REFUSED else other.name


def with_fallbacks(work: Callable[[], T]) -> T:
    """Do some work; from the start again where a device refuses to launch a variant.

    Parameters
    ----------
    work : callable
        Builds its kernels by ``build_variant``. What it had done until then is lost.

    Raises
    ------
    KernelLaunchError
        If a kernel has no variant left, or the one that was asked for by name is refused.
    """
    while True:
        try:
            return work()
        except KernelLaunchError as error:
            if not error.instead:
                raise
            said = (
                f"{error.kernel}: {error.refused!r} does not run: {error}. It starts again with "
                f"{error.instead!r}, which gives the same results, perhaps later. Please report it "
                "with what `pyopencl-gbdt doctor` says"
            )
        # out here, nothing holds the memory of the attempt that failed any more
        warnings.warn(said, KernelFallbackWarning, stacklevel=2)
