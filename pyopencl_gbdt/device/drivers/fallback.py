"""If a driver fails to build or launch a kernel's variant: warn, and use the next variant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.cache import cache_key, store_log
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.program import Program
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
    """Build a kernel's chosen variant, or the next one if the driver fails to build it.

    Parameters
    ----------
    variant : str, Variant or callable
        A variant or its name: only this one is tried. "auto": the device's variants are tried in
        turn. A function: it is called before each try, and chooses among the variants that were not
        refused.
    build : callable
        Builds a variant.

    Returns
    -------
    Variant
        The variant that was built.
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
        named = choose(kernel, caps, variant)
        return named, _named(build(named), kernel)
    choose_next = variant if callable(variant) else lambda: choose(kernel, caps)
    while True:
        attempt = Attempt(device, kernel, choose_next())
        with attempt as tried:
            return tried, attempt.built(build(tried), choose_next)
        attempt.go_on(choose_next())


class Attempt:
    """A try to build a variant of a kernel: a context that ends quietly if the driver fails to.

    Attributes
    ----------
    error : KernelBuildError or None
        Why the driver failed.
    """

    def __init__(self, device: Device, kernel: str, variant: Variant) -> None:
        self.device, self.kernel, self.variant = device, kernel, variant
        self.error: KernelBuildError | None = None
        self._before = refusal(variant, device.caps) in REFUSED

    def __enter__(self) -> Variant:
        return self.variant

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, KernelBuildError):
            return False
        self.error = error
        REFUSED.add(refusal(self.variant, self.device.caps))
        return True

    def built(self, built: T, choose_next: Callable[[], Variant]) -> T:
        """Return what was built; ``choose_next`` replaces it if the device refuses to launch it."""
        if isinstance(built, Program):
            built.refuse = partial(_refuse, self.variant, self.device.caps, choose_next)
        return _named(built, self.kernel)

    def go_on(self, other: Variant) -> None:
        """Warn that another variant is tried now.

        Raises
        ------
        KernelBuildError
            If the driver has failed to build that one, too.
        """
        caps, tried = self.device.caps, self.variant
        assert self.error is not None
        if self._before or refusal(other, caps) in REFUSED:
            raise self.error  # every variant was tried
        key = cache_key(caps.label, caps.driver, self.kernel, tried.name)
        log = store_log(key, str(self.error))
        kept = f"; the compiler's log is in {log}" if log else ""
        warnings.warn(
            f"{self.kernel}: {tried.name!r} does not build on {caps.label}, driver {caps.driver}: "
            f"{other.name!r} is used instead, which gives the same results, perhaps later"
            f"{kept}. Please report it with what `pyopencl-gbdt doctor` says",
            KernelFallbackWarning,
            stacklevel=4,
        )


def build_variant_program(
    device: Device,
    kernel: str,
    variant: str | Variant | Callable[[], Variant],
    *,
    wg_size: int = 0,
    derived: Callable[[Variant], Mapping[str, Param]] = lambda variant: {},
    **params: Param,
) -> tuple[Variant, Program]:
    """Build a kernel's variant from its template; return the variant and the program.

    The template gets those of the variant's parameters that it declares.

    Parameters
    ----------
    device, kernel, variant
        As for ``build_variant``; so are the errors.
    wg_size : int, default 0
        Work-items per work-group; 0 is the variant's own number.
    derived : callable
        Returns further parameters for a variant; the template gets those that it declares.
    """

    def build(variant: Variant) -> Program:
        template, size = variant.template or kernel, wg_size or variant.params["wg_size"]
        known = {**variant.params, **derived(variant)}
        own = {name: known[name] for name in known.keys() & declared(template) - {"wg_size"}}
        return device.build(template, wg_size=size, **own, **params)

    return build_variant(device, kernel, variant, build)


def _named(built: T, kernel: str) -> T:
    if isinstance(built, Program):
        built.kernel = kernel
    return built


def _refuse(
    variant: Variant, caps: Capabilities, choose_next: Callable[[], Variant]
) -> tuple[str, str, str]:
    """Take a variant out of use; return its kernel, its name and its replacement's name, if any."""
    REFUSED.add(refusal(variant, caps))
    other = choose_next()
    return variant.kernel, variant.name, "" if refusal(other, caps) in REFUSED else other.name


def with_fallbacks(work: Callable[[], T]) -> T:
    """Do some work; start it again with another variant if a device refuses to launch one.

    Parameters
    ----------
    work : callable
        Builds its kernels by ``build_variant``. What it did before it failed is lost.

    Raises
    ------
    KernelLaunchError
        If a kernel has no variant left, or the one that was asked for by name is refused.
    """
    for attempt in tries():
        with attempt:
            return work()
    raise AssertionError("the last try raises or returns")


class Try:
    """A try of some work: a context that ends quietly if a device refuses to launch a kernel.

    Attributes
    ----------
    said : str
        What to tell of it; empty where the work is done.
    """

    said = ""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, KernelLaunchError) or not error.instead:
            return False
        self.said = (
            f"{error.kernel}: {error.refused!r} does not run: {error}. It starts again with "
            f"{error.instead!r}, which gives the same results, perhaps later. Please report it "
            "with what `pyopencl-gbdt doctor` says"
        )
        return True


def tries() -> Iterator[Try]:
    """Yield contexts for some work, until it is done; see ``with_fallbacks``."""
    while True:
        attempt = Try()
        yield attempt
        if not attempt.said:
            return
        # outside the context, nothing keeps the memory of the failed try alive
        warnings.warn(attempt.said, KernelFallbackWarning, stacklevel=2)
