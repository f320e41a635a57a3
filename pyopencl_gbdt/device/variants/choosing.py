"""Choose the variant of a kernel for a device."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.variants import tuning
from pyopencl_gbdt.device.variants.table import KERNELS
from pyopencl_gbdt.device.variants.variant import Kernel, Variant
from pyopencl_gbdt.errors import ParameterError


def kernels() -> list[str]:
    """Return the kernels of the variant table, in its order."""
    return list(KERNELS)


def runnable(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return every variant of a kernel that a device can run."""
    known = KERNELS[kernel].variants if isinstance(kernel, str) and kernel in KERNELS else ()
    return [variant for variant in known if not variant.lacks(caps)]


#: Variants that are gone, as (kernel, name), and the one that runs in place of each.
FORMER = {
    ("histogram", "local_atomic_partials"): "local_atomic",
    ("histogram", "bin_range_atomic"): "bin_range_passes",
}
#: Variants that failed to build or launch in this process, as keys of ``refusal``; not tried again.
REFUSED: set[tuple[str, str, str, str]] = set()


def refusal(variant: Variant, caps: Capabilities) -> tuple[str, str, str, str]:
    """Return the key in ``REFUSED`` of a variant that a device's driver cannot build or launch."""
    return caps.device_id, caps.driver, variant.kernel, variant.name


@contextlib.contextmanager
def same_refusals() -> Iterator[None]:
    """Forget at the end which variants failed in between."""
    before = set(REFUSED)
    try:
        yield
    finally:
        REFUSED.clear()
        REFUSED.update(before)


#: What ``_ranked`` has returned, with the table's entry and the capabilities that it is for.
_rankings: dict[tuple[str, int], tuple[Kernel, Capabilities, list[Variant]]] = {}


def _ranked(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return the variants that a device can run, those for its kind first; a fit asks often."""
    entry, key = KERNELS[kernel], (kernel, id(caps))
    found = _rankings.get(key)
    if found is None or found[0] is not entry or found[1] is not caps:
        order = sorted(runnable(kernel, caps), key=lambda variant: not variant.suits(caps))
        found = _rankings[key] = entry, caps, order
    return found[2]


def fallbacks(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return the variants that a device can run, best first.

    First comes the one that was tuned for the device (see ``tuning``), then those for its kind,
    then the others. Variants in ``REFUSED`` are left out, unless all of them are.
    """
    variants = tuning.tuned(kernel, _ranked(kernel, caps), caps)
    return [variant for variant in variants if refusal(variant, caps) not in REFUSED] or variants


def choose(kernel: str, caps: Capabilities, name: str = "auto") -> Variant:
    """Return the variant that a device uses for a kernel.

    Parameters
    ----------
    kernel : str
        Kernel name, as in the table.
    caps : Capabilities
        The device.
    name : str, default "auto"
        The name of a variant; "auto" takes the first one that fits. A name in ``FORMER`` warns.

    Raises
    ------
    ParameterError
        If the kernel or the variant does not exist, or the device lacks what the variant needs.
    """
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ParameterError(f"kernel={kernel!r}: expected one of {kernels()}; choose one")
    variants = KERNELS[kernel].variants
    if isinstance(name, str) and (kernel, name) in FORMER:
        former, name = name, FORMER[kernel, name]
        warnings.warn(
            f"{kernel}={former!r}: this variant is gone, and {name!r} is used; a later release "
            f"refuses the name, so give {name!r} or 'auto'",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(name, str) and name == "auto":
        return fallbacks(kernel, caps)[0]
    for variant in variants:
        if isinstance(name, str) and variant.name == name:
            if variant.lacks(caps):
                raise ParameterError(
                    f"{kernel}={name!r}: {caps.label} lacks {variant.lacks(caps)}; use 'auto'"
                )
            return variant
    raise ParameterError(
        f"{kernel}={name!r}: expected 'auto' or one of {[variant.name for variant in variants]}"
    )


def summary(variants: Mapping[str, str], caps: Capabilities) -> str:
    """Describe the chosen variants in a line, such as ``all kernels: CPU variants``.

    ``variants``: each kernel's variant; what follows a name after a space is for people.
    ``caps``: the device. Variants that devices of its kind do not use by default are counted.
    """
    names = {kernel: name.split(" ")[0] for kernel, name in variants.items()}
    own = sum(
        variant.suits(caps)
        for kernel, name in names.items()
        for variant in KERNELS[kernel].variants
        if variant.name == name
    )
    kind = caps.kind if caps.kind == "accelerator" else caps.kind.upper()
    if own == len(names):
        return f"all kernels: {kind} variants"
    return f"{own} of {len(names)} kernels: {kind} variants, {len(names) - own} others"
